import torch
torch.manual_seed(0)
w = torch.nn.Parameter(torch.randn(4))
opt = torch.optim.LBFGS([w], max_iter=5)
def closure():
    opt.zero_grad(); l = ((w - 1) ** 2).sum() + (w ** 4).sum(); l.backward(); return l
for _ in range(3): opt.step(closure)
print(w.sum().item())
