import torch
torch.manual_seed(0)
def cos(a, b):
    return (a * b).sum(-1) / (a.norm(dim=-1) * b.norm(dim=-1)).clamp(min=1e-8)  # here: numerics/underflow-epsilon
a, b = torch.randn(4, 32).half() * 1e-5, torch.randn(4, 32).half() * 1e-5
print(cos(a, b).float().tolist())
