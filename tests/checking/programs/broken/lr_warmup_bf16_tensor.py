import torch
torch.manual_seed(0)
step = torch.tensor(0, dtype=torch.bfloat16)
lrs = []
for i in range(400):
    step += 1  # here: numerics/bf16-rounding
    lrs.append(float(step) / 400)
print(lrs[-1])
