import torch
torch.manual_seed(0)
q, k, v = (torch.randn(2, 4, 16, 8).half() for _ in range(3))
mask = torch.full((16, 16), float("-inf")).triu(1).half()
scores = q @ k.transpose(-1, -2) / 8**0.5 + mask
out = scores.softmax(-1) @ v
out2 = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
print(out.float().sum().item(), out2.float().sum().item())
