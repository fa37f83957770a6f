import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**24)
x = torch.randn(64, 16)
y = x.sum(1, keepdim=True)
for _ in range(15):
    opt.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        out = net(x)
        loss = torch.nn.functional.mse_loss(out.float(), y)
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    scaler.step(opt)
    scaler.update()
    print(loss.item(), scaler.get_scale())
