import torch
torch.manual_seed(0)
p = torch.tensor([0.0, 0.3, 0.7]).half()
loss = -(p.clamp(min=1e-10)).log().mean()  # here: numerics/underflow-epsilon
print(loss.item())
