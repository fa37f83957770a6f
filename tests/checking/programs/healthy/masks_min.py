import torch
torch.manual_seed(0)
x = torch.randn(2, 8, 8).bfloat16()
keep = torch.ones(8, 8).tril().bool()
out = x.masked_fill(~keep, torch.finfo(x.dtype).min).softmax(-1)
y = torch.where(keep, x, torch.full((), torch.finfo(x.dtype).min, dtype=x.dtype)).softmax(-1)
print(out.float().sum().item(), y.float().sum().item())
