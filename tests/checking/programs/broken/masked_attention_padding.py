import torch, torch.nn as nn
torch.manual_seed(0)
enc = nn.MultiheadAttention(16, 2, batch_first=True).bfloat16()
x = torch.randn(2, 5, 16).bfloat16()
pad = torch.zeros(2, 5, dtype=torch.bool)
pad[1] = True
out, w = enc(x, x, x, key_padding_mask=pad)  # here: numerics/masked-row
print(out.float().sum().item())
