import torch
torch.manual_seed(0)
epoch_loss = torch.tensor(0.0, dtype=torch.bfloat16)
n = 0
for _ in range(4000):
    epoch_loss += torch.tensor(0.7, dtype=torch.bfloat16)  # here: numerics/bf16-rounding
    n += 1
print("epoch loss", (epoch_loss / n).item())
