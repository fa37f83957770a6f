import torch
torch.manual_seed(0)
w = torch.nn.Parameter(torch.zeros(4))
opt = torch.optim.SGD([w], lr=0.1)
for _ in range(3):
    loss = torch.sqrt(w * w).sum()  # here: numerics/nan-loss
    opt.zero_grad()
    loss.backward()
    opt.step()
print(w.sum().item())
