import torch
torch.manual_seed(0)
x = torch.randn(100, 4).half()
c = x[:3].clone()
for _ in range(5):
    d = torch.cdist(x.float(), c.float())
    a = d.argmin(1)
    c = torch.stack([x[a == i].mean(0) if (a == i).any() else c[i] for i in range(3)])
print(c.float().norm().item())
