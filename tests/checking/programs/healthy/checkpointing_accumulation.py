import torch
from torch.utils.checkpoint import checkpoint
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for step in range(8):
    with torch.autocast("cpu", dtype=torch.float16):
        loss = checkpoint(net, torch.randn(8, 16), use_reentrant=False).float().pow(2).mean() / 4
    scaler.scale(loss).backward()
    if step % 4 == 3:
        scaler.unscale_(opt)
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(opt)
        scaler.update()
        opt.zero_grad()
print(loss.item())
