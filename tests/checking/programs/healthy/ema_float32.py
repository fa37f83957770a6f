import torch
torch.manual_seed(0)
net = torch.nn.Linear(16, 16).bfloat16()
ema = [p.detach().float().clone() for p in net.parameters()]
for _ in range(20):
    with torch.no_grad():
        for p in net.parameters():
            p.add_(torch.randn_like(p) * 0.1)
        for e, p in zip(ema, net.parameters()):
            e.mul_(0.999).add_(p.float(), alpha=1e-3)
print(float(ema[0].norm()))
