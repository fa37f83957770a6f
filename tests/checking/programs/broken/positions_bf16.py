import torch
torch.manual_seed(0)
positions = torch.arange(1024).to(torch.bfloat16)  # here: numerics/bf16-rounding
inv = (1.0 / 10000 ** (torch.arange(0, 8, 2) / 8)).to(torch.bfloat16)
angles = positions[:, None] * inv
print(angles.sin().float().sum().item())
