import torch
total = torch.zeros((), dtype=torch.float16)
for _ in range(5000):
    total = total + torch.ones((), dtype=torch.float16)  # here: numerics/bf16-rounding
print("mean", float(total) / 5000)
