import torch
torch.manual_seed(0)
class Lora(torch.nn.Module):
    def __init__(self, base, rank=4):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.a = torch.nn.Parameter(torch.randn(rank, base.in_features) * 0.02)
        self.b = torch.nn.Parameter(torch.zeros(base.out_features, rank))
    def forward(self, x):
        return self.base(x) + (x.float() @ self.a.T @ self.b.T).to(x.dtype)
net = Lora(torch.nn.Linear(16, 16).bfloat16())
opt = torch.optim.AdamW([net.a, net.b], lr=1e-2)
x, y = torch.randn(32, 16).bfloat16(), torch.randn(32, 16).bfloat16()
for _ in range(10):
    loss = (net(x) - y).float().pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
