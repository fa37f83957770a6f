import torch
mask = torch.ones(1, 600)
pos = mask.half().bfloat16().cumsum(-1)  # here: numerics/bf16-rounding
print(pos.float().unique().numel())
