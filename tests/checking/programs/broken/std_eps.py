import torch
torch.manual_seed(0)
adv = torch.zeros(8, dtype=torch.float16)
adv = (adv - adv.mean()) / (adv.std() + 1e-8)  # here: numerics/underflow-epsilon
print(adv.sum().item())
