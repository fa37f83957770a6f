import torch
torch.manual_seed(0)
x = torch.randn(8, 32).half()
y = x / (x.norm(dim=-1, keepdim=True) + 1e-8)
z = (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-5)
print(y.float().norm().item(), z.float().std().item())
