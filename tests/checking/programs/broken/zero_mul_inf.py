import torch
torch.manual_seed(0)
keep = torch.tensor([1.0, 1.0, 0.0, 1.0])
bias = (1.0 - keep) * float("-inf")  # here: numerics/nan-loss
print((torch.randn(2, 4) + bias).softmax(-1).sum().item())
