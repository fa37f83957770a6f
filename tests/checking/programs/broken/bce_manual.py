import torch
torch.manual_seed(0)
logits = torch.tensor([12.0, -3.0, 9.0]).half()
y = torch.tensor([1.0, 0.0, 1.0]).half()
p = torch.sigmoid(logits)
loss = -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()  # here: numerics/underflow-epsilon
print(loss.item())
