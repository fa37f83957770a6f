import torch
torch.manual_seed(0)
betas = torch.linspace(1e-4, 0.02, 100)
bar = (1 - betas).cumprod(0)
net = torch.nn.Sequential(torch.nn.Linear(17, 64), torch.nn.SiLU(), torch.nn.Linear(64, 16)).bfloat16()
x = torch.randn(4, 16).bfloat16()
with torch.no_grad():
    for t in reversed(range(100)):
        emb = torch.full((4, 1), t / 100).bfloat16()
        eps = net(torch.cat([x, emb], 1))
        a, b = bar[t], betas[t]
        x = (x - (b / (1 - a).sqrt()).to(x.dtype) * eps) / (1 - b).sqrt().to(x.dtype)
        if t:
            x = x + b.sqrt().to(x.dtype) * torch.randn_like(x)
print(x.float().std().item())
