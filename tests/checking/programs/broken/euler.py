import torch
t = torch.zeros(1, dtype=torch.bfloat16)
x = torch.ones(1, dtype=torch.bfloat16)
dt = 1e-3
for _ in range(3000):
    x = x - dt * x  # here: numerics/bf16-rounding
print("x at 3:", x.item())
