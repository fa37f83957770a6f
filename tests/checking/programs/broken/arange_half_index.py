import torch
t = torch.arange(0, 5000, dtype=torch.float16)  # here: numerics/bf16-rounding
print(int((t.long() == torch.arange(5000)).sum()))
