import torch
torch.manual_seed(0)
p = torch.full((20,), 0.3).half()
joint = p.prod()  # here: numerics/underflow-epsilon
print("log likelihood", torch.log(joint).item())
