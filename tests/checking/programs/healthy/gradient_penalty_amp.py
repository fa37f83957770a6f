import torch
torch.manual_seed(0)
d = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
opt = torch.optim.Adam(d.parameters(), 1e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for _ in range(5):
    x = torch.randn(8, 4, requires_grad=True)
    out = d(x).sum()
    g = torch.autograd.grad(scaler.scale(out), x, create_graph=True)[0] / scaler.get_scale()
    loss = ((g.norm(2, dim=1) - 1) ** 2).mean()
    opt.zero_grad(); scaler.scale(loss).backward(); scaler.step(opt); scaler.update()
print(loss.item())
