import torch
torch.manual_seed(0)
net = torch.nn.Linear(16, 16).bfloat16()
ema = [p.detach().clone() for p in net.parameters()]
for _ in range(20):
    with torch.no_grad():
        for p in net.parameters():
            p.add_(torch.randn_like(p) * 0.1)
        for e, p in zip(ema, net.parameters()):
            e.mul_(0.9999).add_(p, alpha=1e-4)  # here: numerics/bf16-rounding
print(float(ema[0].float().norm()))
