import torch
torch.manual_seed(0)
h = torch.randn(3, 5, 8).bfloat16()
mask = torch.tensor([[1, 1, 0, 0, 0], [1, 1, 1, 1, 1], [0, 0, 0, 0, 0]])
pooled = (h * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)  # here: numerics/masked-row
print(pooled.float().norm(dim=-1).tolist())
