import torch
torch.manual_seed(0)
logits = torch.randn(4, 10).bfloat16()
labels = torch.full((4,), -100)
loss = torch.nn.functional.cross_entropy(logits, labels)  # here: numerics/masked-row
print(loss.item())
