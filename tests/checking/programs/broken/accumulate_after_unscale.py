import torch
torch.manual_seed(0)
net = torch.nn.Linear(8, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
x, y = torch.randn(64, 8), torch.randn(64, 1)
scaler.scale((net(x) - y).pow(2).mean()).backward()
scaler.unscale_(opt)  # here: amp/scaler-order
scaler.scale((net(x) - y).pow(2).mean()).backward()
torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
scaler.step(opt)
print(net.weight.sum().item())
