import torch
torch.manual_seed(0)
freqs = torch.exp(-torch.arange(4) / 4.0)
total = 0.0
for t in range(990, 1000):
    step = torch.tensor(t).to(torch.bfloat16)  # here: numerics/bf16-rounding
    total += (step.float() * freqs).sin().sum().item()
print(total)
