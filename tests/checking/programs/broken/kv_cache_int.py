import torch
torch.manual_seed(0)
cache = torch.zeros(4, 8, dtype=torch.long)
for i in range(4):
    cache[i] = torch.randn(8)  # here: dtype-mismatch/buffer-write
print(cache.float().norm().item())
