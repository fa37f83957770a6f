import torch
torch.manual_seed(0)
net = torch.nn.Linear(4, 1)
opt = torch.optim.Adam(net.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu")
for _ in range(4):
    opt.zero_grad()
    scaler.scale(net(torch.randn(8, 4)).pow(2).mean()).backward()
    scaler.step(opt)
    opt.step()  # here: amp/scaler-order
    scaler.update()
print(net.weight.sum().item())
