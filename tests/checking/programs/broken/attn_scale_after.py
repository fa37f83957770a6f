import torch
torch.manual_seed(0)
q, k = (torch.randn(1, 2, 8, 64).half() * 60 for _ in range(2))
w = torch.matmul(q, k.transpose(-1, -2)) / 8.0  # here: numerics/fp16-overflow
w = torch.softmax(w.float(), dim=-1).half()
print(w.float().sum().item())
