import torch
torch.manual_seed(0)
use_fp16 = False
net = torch.nn.Linear(8, 1)
opt = torch.optim.Adam(net.parameters(), 1e-2)
scaler = torch.amp.GradScaler("cpu", enabled=use_fp16)
for _ in range(6):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = net(torch.randn(16, 8)).float().pow(2).mean()
    opt.zero_grad(); scaler.scale(loss).backward(); scaler.unscale_(opt)
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    scaler.step(opt); scaler.update()
print(loss.item(), scaler.get_scale())
