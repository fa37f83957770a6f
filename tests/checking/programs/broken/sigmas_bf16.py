# told by the float32 run
import torch
steps = torch.linspace(1.0, 0.0, 1001, dtype=torch.bfloat16)
dts = steps[1:] - steps[:-1]  # here: numerics/bf16-rounding
x = torch.ones(1)
for d in dts:
    x = x + d.float() * x
print(x.item())
