import torch
torch.manual_seed(0)
def normalise(x):
    return x / (x.norm(dim=-1, keepdim=True) + 1e-8)  # here: numerics/underflow-epsilon
x = torch.randn(4, 8).half()
x[2] = 0
print(normalise(x).float().sum().item())
