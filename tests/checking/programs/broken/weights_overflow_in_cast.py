import torch
torch.manual_seed(0)
net = torch.nn.Linear(4, 4)
with torch.no_grad():
    net.weight[0, 0] = 1e5
net = net.half()  # here: numerics/fp16-overflow
print(net(torch.randn(2, 4).half()).float().sum().item())
