import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0)
class R(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c1, self.b1, self.c2, self.b2 = nn.Conv2d(c, c, 3, padding=1), nn.BatchNorm2d(c), nn.Conv2d(c, c, 3, padding=1), nn.BatchNorm2d(c)
    def forward(self, x):
        return F.relu(x + self.b2(self.c2(F.relu(self.b1(self.c1(x))))))
net = nn.Sequential(nn.Conv2d(3, 8, 3, 2), R(8), nn.MaxPool2d(2), R(8), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))
opt = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9, weight_decay=5e-4, nesterov=True)
sch = torch.optim.lr_scheduler.OneCycleLR(opt, 0.1, total_steps=8)
scaler = torch.amp.GradScaler("cpu")
x, y = torch.randn(16, 3, 16, 16), torch.randint(0, 10, (16,))
for _ in range(8):
    with torch.autocast("cpu", dtype=torch.float16):
        loss = F.cross_entropy(net(x).float(), y, label_smoothing=0.1)
    opt.zero_grad(); scaler.scale(loss).backward(); scaler.step(opt); scaler.update(); sch.step()
acc = (net(x).argmax(1) == y).float().mean()
print(loss.item())
