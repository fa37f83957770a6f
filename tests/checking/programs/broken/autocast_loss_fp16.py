import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(16, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256))
with torch.autocast("cpu", dtype=torch.float16):
    h = net(torch.randn(4, 16) * 100)
    energy = h @ (h.T * 100)  # here: numerics/fp16-overflow
print(energy.float().mean().item())
