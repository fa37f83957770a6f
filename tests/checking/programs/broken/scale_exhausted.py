import torch
torch.manual_seed(0)
w = torch.nn.Parameter(torch.ones(4))
opt = torch.optim.SGD([w], lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=16.0)
for _ in range(12):
    opt.zero_grad()
    loss = (w * 1e-3).sum() + torch.sqrt((w - w).abs()).sum()  # here: numerics/nan-loss
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()
print(w.sum().item())
