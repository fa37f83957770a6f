import torch
torch.manual_seed(0)
net = torch.nn.Linear(8, 1)
opt = torch.optim.Adam(net.parameters(), 1e-2)
scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
def micro(x):
    return net(x).pow(2).mean() / 2
for _ in range(3):
    opt.zero_grad()
    scaler.scale(micro(torch.randn(4, 8))).backward()
    micro(torch.randn(4, 8)).backward()  # here: amp/scaler-order
    scaler.step(opt)
    scaler.update()
print(net.weight.sum().item())
