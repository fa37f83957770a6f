import torch
torch.manual_seed(0)
net = torch.nn.Linear(16, 4).half()
opt = torch.optim.SGD(net.parameters(), lr=100.0)
x = torch.randn(8, 16).half()
for _ in range(3):
    loss = net(x).pow(2).mean() * 1e-7
    opt.zero_grad()
    loss.backward()  # here: numerics/underflow-epsilon
    opt.step()
    print(net(x).pow(2).mean().item())
