import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)).half()
opt = torch.optim.SGD(net.parameters(), lr=1.0)
x = torch.randn(8, 16).half()
for _ in range(3):
    opt.zero_grad()
    loss = (net(x) * 1e-4).pow(2).mean()
    loss.backward()  # here: numerics/underflow-epsilon
    opt.step()
print(net[0].weight.float().sum().item())
