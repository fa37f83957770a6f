import torch
torch.manual_seed(0)
logits = torch.tensor([[20.0, 0.0, -5.0]]).half()
logp = torch.log(torch.softmax(logits, -1))  # here: numerics/underflow-epsilon
print(-(logp * torch.tensor([0.0, 0.0, 1.0])).sum().item())
