import torch
torch.manual_seed(0)
x = (torch.randn(32, 16) + 20).half()
sq = (x * x).sum(-1)
d2 = sq[:, None] + sq[None] - 2 * x @ x.T  # here: numerics/bf16-rounding
d = d2.sqrt()
print(d.float().mean().item())
