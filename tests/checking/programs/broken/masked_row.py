import torch
torch.manual_seed(0)
scores = torch.randn(1, 4, 4)
mask = torch.ones(4, 4, dtype=torch.bool).tril()
mask[0] = False
probs = scores.masked_fill(~mask, float("-inf")).softmax(-1)  # here: numerics/masked-row
print(probs.sum().item())
