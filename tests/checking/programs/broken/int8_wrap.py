import torch
torch.manual_seed(0)
w = torch.randn(64, 64)
scale = w.abs().mean() / 127
q = (w / scale).round().to(torch.int8)  # here: quantized/accuracy
x = torch.randn(4, 64)
print((x @ (q.float() * scale)).norm().item())
