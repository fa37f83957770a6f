import torch
from torch.nn.utils import clip_grad_norm_
torch.manual_seed(0)
net = torch.nn.Linear(8, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=65536.0)
x, y = torch.randn(64, 8), torch.randn(64, 1)
for _ in range(10):
    opt.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = net(x)
    loss = torch.nn.functional.mse_loss(out.float(), y)
    scaler.scale(loss).backward()
    clip_grad_norm_(net.parameters(), 1.0)  # here: amp/scaler-order
    scaler.step(opt)
    scaler.update()
print("loss", loss.item())
