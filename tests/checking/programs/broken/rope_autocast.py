import torch
inv = 1.0 / 10000 ** (torch.arange(0, 16, 2).float() / 16)
pos = torch.arange(1000).float()
with torch.autocast("cpu", dtype=torch.bfloat16):
    angles = (inv[:, None] @ pos[None, :]).T  # here: numerics/bf16-rounding
    print(angles.float().sin().sum().item())
