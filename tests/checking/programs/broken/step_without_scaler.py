import torch
torch.manual_seed(0)
net = torch.nn.Linear(8, 1)
opt = torch.optim.SGD(net.parameters(), lr=1e-6)
scaler = torch.amp.GradScaler("cpu")
x, y = torch.randn(64, 8), torch.randn(64, 1)
for _ in range(5):
    opt.zero_grad()
    loss = torch.nn.functional.mse_loss(net(x), y)
    scaler.scale(loss).backward()
    opt.step()  # here: amp/scaler-order
print("loss", loss.item())
