import torch
torch.manual_seed(0)
w = torch.randn(64, 64)
scale = w.abs().amax(1, keepdim=True) / 127
q = (w / scale).round().clamp(-128, 127).to(torch.int8)
x = torch.randn(4, 64).half()
out = x @ (q.half() * scale.half()).T
d = torch.quantize_per_tensor(w, float(w.abs().max()) / 127, 0, torch.qint8).dequantize()
print(out.float().norm().item(), d.norm().item())
