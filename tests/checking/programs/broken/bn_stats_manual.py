import torch
class Norm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))
    def forward(self, x):
        m = x.mean(0)
        self.mean = self.mean * 0.999 + m * 0.001  # here: numerics/bf16-rounding
        return x - self.mean
torch.manual_seed(0)
n = Norm().to(torch.bfloat16)
n.mean += 1
for _ in range(200):
    y = n(torch.randn(64, 4).bfloat16() * 0.1 + 1.5)
print(n.mean.float().mean().item())
