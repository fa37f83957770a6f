import torch
class Rope(torch.nn.Module):
    def __init__(self, d):
        super().__init__()
        self.register_buffer("inv_freq", 1.0 / 10000 ** (torch.arange(0, d, 2).float() / d))
    def forward(self, n):
        t = torch.arange(n, dtype=self.inv_freq.dtype)  # here: numerics/bf16-rounding
        f = torch.outer(t, self.inv_freq)
        return f.cos(), f.sin()
r = Rope(16).bfloat16()
c, s = r(2048)
print(c.float().sum().item(), s.float().sum().item())
