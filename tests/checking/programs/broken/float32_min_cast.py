import torch
torch.manual_seed(0)
mask = torch.zeros(4, 4)
mask[1] = torch.finfo(torch.float32).min
mask = mask.to(torch.bfloat16)  # here: numerics/constant-overflow
print((torch.randn(4, 4).bfloat16() + mask).softmax(-1).float().sum().item())
