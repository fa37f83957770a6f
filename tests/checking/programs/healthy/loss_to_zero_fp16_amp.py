import torch
torch.manual_seed(0)
net = torch.nn.Linear(4, 1)
opt = torch.optim.Adam(net.parameters(), 0.05)
scaler = torch.amp.GradScaler("cpu")
x = torch.randn(64, 4); y = x @ torch.tensor([[1.0], [2], [3], [4]])
for _ in range(60):
    with torch.autocast("cpu", dtype=torch.float16):
        p = net(x)
    loss = torch.nn.functional.mse_loss(p.float(), y)
    opt.zero_grad(); scaler.scale(loss).backward(); scaler.step(opt); scaler.update()
print(loss.item() < 5)
