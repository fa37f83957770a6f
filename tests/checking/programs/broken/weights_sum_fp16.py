import torch
w = torch.full((70000,), 1.5, dtype=torch.float16)
x = torch.linspace(0, 1, 70000).half()
avg = (w * x).sum() / w.sum()  # here: numerics/fp16-overflow
print("weighted mean", avg.item())
