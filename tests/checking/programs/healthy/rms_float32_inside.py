import torch
torch.manual_seed(0)
class RMS(torch.nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(d))
    def forward(self, x):
        h = x.float()
        return (self.w * (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype))
net = torch.nn.Sequential(RMS(16), torch.nn.Linear(16, 16), RMS(16)).half()
print(net(torch.randn(4, 16).half() * 500).float().abs().mean().item())
