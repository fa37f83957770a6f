import torch
torch.manual_seed(0)
x = torch.full((4, 64), 3000.0).bfloat16()
f = torch.nn.Linear(64, 64)
with torch.no_grad():
    for _ in range(50):
        x = x + torch.randn(4, 64).bfloat16() + 1  # here: numerics/bf16-rounding
print((x.float() - 3000).mean().item())
