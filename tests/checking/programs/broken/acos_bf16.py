import torch
torch.manual_seed(0)
a = torch.nn.functional.normalize(torch.randn(200, 8), dim=-1).bfloat16()
cos = (a * a).sum(-1)
print(torch.acos(cos).float().mean().item())  # here: numerics/bf16-rounding
