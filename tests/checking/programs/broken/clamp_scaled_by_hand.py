import torch
torch.manual_seed(0)
net = torch.nn.Linear(8, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
x, y = torch.randn(64, 8), torch.randn(64, 1)
for _ in range(5):
    opt.zero_grad()
    loss = torch.nn.functional.mse_loss(net(x), y)
    scaler.scale(loss).backward()
    for p in net.parameters():
        p.grad.clamp_(-0.5, 0.5)  # here: amp/scaler-order
    scaler.step(opt)
    scaler.update()
print("loss", loss.item())
