import torch
torch.manual_seed(0)
net = torch.nn.Linear(16, 4).bfloat16()
total = torch.zeros((), dtype=torch.bfloat16)
for _ in range(8):
    total = total + torch.nn.functional.cross_entropy(net(torch.randn(8, 16).bfloat16()), torch.randint(0, 4, (8,)))
print((total / 8).item())
