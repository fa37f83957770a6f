import torch
torch.manual_seed(0)
net = torch.nn.Linear(64, 1).half()
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(3):
    opt.zero_grad()
    loss = (net(torch.randn(32, 64).half()) - 30).pow(2).mean()
    (loss * 2048).backward()  # here: numerics/fp16-overflow
    for p in net.parameters():
        p.grad /= 2048
    opt.step()
print(net.weight.float().sum().item())
