import torch
torch.manual_seed(0)
scores = torch.randn(2, 4, 4).half()
keep = torch.ones(2, 4, 4).half()
keep[1] = 0
bias = (1 - keep) * -1e9  # here: numerics/constant-overflow
print((scores + bias).softmax(-1).float().sum().item())
