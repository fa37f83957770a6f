import torch
torch.manual_seed(0)
w = torch.randn(32, 32) * 0.02
w[0, 0] = 30.0
scale = w.abs().max() / 127
q = torch.clamp(torch.round(w / scale), -128, 127).to(torch.int8)  # here: quantized/accuracy
x = torch.randn(4, 32)
print((x[:, 1:] @ (q.float() * scale)[1:]).norm().item())
