import torch, math
torch.manual_seed(0)
def embed(t, dim=16):
    half = dim // 2
    freqs = torch.exp(-math.log(10000) * torch.arange(half) / half).to(t.dtype)
    a = t[:, None] * freqs
    return torch.cat([a.cos(), a.sin()], -1)
t = torch.tensor([981, 741, 501, 21])
print(embed(t.to(torch.bfloat16)).float().sum().item())  # here: numerics/bf16-rounding
