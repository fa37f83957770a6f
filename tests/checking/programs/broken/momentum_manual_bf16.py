import torch
torch.manual_seed(0)
w = torch.randn(64, 64, dtype=torch.bfloat16)
target = w + 0.5
for _ in range(100):
    g = (w - target)
    w = w - 1e-4 * g  # here: numerics/bf16-rounding
print((w - target).float().abs().mean().item())
