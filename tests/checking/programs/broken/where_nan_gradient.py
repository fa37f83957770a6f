import torch
x = torch.nn.Parameter(torch.tensor([0.0, 1.0, 4.0]))
opt = torch.optim.SGD([x], lr=0.1)
for _ in range(2):
    y = torch.where(x > 0, torch.sqrt(x), torch.zeros_like(x)).sum()  # here: numerics/nan-loss
    opt.zero_grad(); y.backward(); opt.step()
print(x.tolist())
