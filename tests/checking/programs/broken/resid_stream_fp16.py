import torch, torch.nn as nn
torch.manual_seed(0)
class FF(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.wi, self.wo = nn.Linear(d, 4 * d, bias=False), nn.Linear(4 * d, d, bias=False)
    def forward(self, x):
        return x + self.wo(torch.relu(self.wi(x)))  # here: numerics/fp16-overflow
net = nn.Sequential(*[FF(32) for _ in range(6)])
for m in net: m.wo.weight.data *= 30; m.wi.weight.data *= 10
net = net.half()
out = net(torch.randn(2, 32).half())
print(torch.nn.functional.layer_norm(out.float(), (32,)).abs().mean().item())
