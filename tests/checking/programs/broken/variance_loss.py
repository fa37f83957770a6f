# told by the float32 run
import torch
torch.manual_seed(0)
x = (torch.randn(1000) * 0.1 + 10).bfloat16()
var = (x ** 2).mean() - x.mean() ** 2  # here: numerics/bf16-rounding
print("std", float(var.float().clamp(min=0).sqrt()))
