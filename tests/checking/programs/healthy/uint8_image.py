import torch
torch.manual_seed(0)
img = torch.rand(3, 16, 16).half()
out = (img * 255).round().clamp(0, 255).to(torch.uint8)
back = out.to(torch.float16) / 255
print((back - img).abs().max().float().item() < 0.01, out.float().mean().item())
