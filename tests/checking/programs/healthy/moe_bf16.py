import torch
torch.manual_seed(0)
class Moe(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = torch.nn.Linear(16, 4)
        self.experts = torch.nn.ModuleList(torch.nn.Linear(16, 16) for _ in range(4))
    def forward(self, x):
        w = self.gate(x).softmax(-1, dtype=torch.float32)
        v, i = w.topk(2)
        v = (v / v.sum(-1, keepdim=True)).to(x.dtype)
        out = torch.zeros_like(x)
        for n, e in enumerate(self.experts):
            row, k = torch.where(i == n)
            if len(row):
                out.index_add_(0, row, e(x[row]) * v[row, k, None])
        return out
net = Moe().bfloat16()
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
x = torch.randn(32, 16).bfloat16()
for _ in range(6):
    loss = (net(x) - x).float().pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())
