import torch
torch.manual_seed(0)
q = k = v = torch.randn(1, 1, 8, 4).bfloat16()
mask = torch.ones(8, 8).tril().bfloat16()
out = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)  # here: dtype-mismatch/attention-mask
print(out.float().sum().item())
