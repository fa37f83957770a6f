import torch
torch.manual_seed(0)
lv = (torch.randn(8, 4) * 2 + 12).half()
mu = torch.randn(8, 4).half()
kl = -0.5 * (1 + lv - mu ** 2 - lv.exp()).sum(1).mean()  # here: numerics/fp16-overflow
print(kl.item())
