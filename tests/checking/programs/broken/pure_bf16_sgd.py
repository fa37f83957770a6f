import torch
torch.manual_seed(0)
net = torch.nn.Linear(32, 1).bfloat16()
opt = torch.optim.SGD(net.parameters(), lr=1e-5)
x = torch.randn(64, 32).bfloat16()
y = x.sum(1, keepdim=True)
for _ in range(20):
    loss = (net(x) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()  # here: numerics/bf16-rounding
print(loss.item())
