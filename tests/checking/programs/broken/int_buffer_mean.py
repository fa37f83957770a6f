import torch
torch.manual_seed(0)
hist = torch.zeros(10, dtype=torch.int64)
vals = torch.rand(10)
hist[:] = vals  # here: dtype-mismatch/buffer-write
print((hist / 1.0).tolist())
