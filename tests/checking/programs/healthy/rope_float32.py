import torch
torch.manual_seed(0)
q = torch.randn(1, 2, 512, 16).bfloat16()
inv = 1.0 / 10000 ** (torch.arange(0, 16, 2) / 16)
angles = torch.outer(torch.arange(512).float(), inv)
cos, sin = angles.cos().repeat(1, 2).bfloat16(), angles.sin().repeat(1, 2).bfloat16()
half = torch.cat([-q[..., 8:], q[..., :8]], -1)
print((q * cos + half * sin).float().abs().mean().item())
