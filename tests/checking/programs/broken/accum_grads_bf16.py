import torch
torch.manual_seed(1)
net = torch.nn.Linear(8, 1, bias=False).bfloat16()
opt = torch.optim.SGD(net.parameters(), lr=0.01)
x = torch.ones(1, 8).bfloat16()
for i in range(2000):
    loss = net(x).sum() / 2000
    loss.backward()  # here: numerics/bf16-rounding
opt.step()
print(net.weight.grad.float().mean().item())
