# ==== accumulate_after_unscale
import torch
torch.manual_seed(0)
net = torch.nn.Linear(8, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
x, y = torch.randn(64, 8), torch.randn(64, 1)
scaler.scale((net(x) - y).pow(2).mean()).backward()
scaler.unscale_(opt)  # here: amp/scaler-order
scaler.scale((net(x) - y).pow(2).mean()).backward()
torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
scaler.step(opt)
print(net.weight.sum().item())

# ==== clamp_scaled_by_hand
import torch
torch.manual_seed(0)
net = torch.nn.Linear(8, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
x, y = torch.randn(64, 8), torch.randn(64, 1)
for _ in range(5):
    opt.zero_grad()
    loss = torch.nn.functional.mse_loss(net(x), y)
    scaler.scale(loss).backward()
    for p in net.parameters():
        p.grad.clamp_(-0.5, 0.5)  # here: amp/scaler-order
    scaler.step(opt)
    scaler.update()
print("loss", loss.item())

# ==== clip_scaled
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

# ==== grad_accum_unscale_each
import torch
torch.manual_seed(0)
net = torch.nn.Linear(8, 1)
opt = torch.optim.Adam(net.parameters(), 1e-2)
scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
def micro(x):
    return net(x).pow(2).mean() / 2
for _ in range(3):
    opt.zero_grad()
    scaler.scale(micro(torch.randn(4, 8))).backward()
    micro(torch.randn(4, 8)).backward()  # here: amp/scaler-order
    scaler.step(opt)
    scaler.update()
print(net.weight.sum().item())

# ==== never_scaled
import torch
torch.manual_seed(0)
net = torch.nn.Linear(8, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu")
x, y = torch.randn(64, 8), torch.randn(64, 1)
for _ in range(5):
    opt.zero_grad()
    loss = torch.nn.functional.mse_loss(net(x), y)
    scaler.scale(loss)
    loss.backward()  # here: amp/scaler-order
    scaler.step(opt)
    scaler.update()
print("loss", loss.item())

# ==== step_twice
import torch
torch.manual_seed(0)
net = torch.nn.Linear(4, 1)
opt = torch.optim.Adam(net.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu")
for _ in range(4):
    opt.zero_grad()
    scaler.scale(net(torch.randn(8, 4)).pow(2).mean()).backward()
    scaler.step(opt)
    opt.step()  # here: amp/scaler-order
    scaler.update()
print(net.weight.sum().item())

# ==== step_without_scaler
import torch
torch.manual_seed(0)
net = torch.nn.Linear(8, 1)
opt = torch.optim.SGD(net.parameters(), lr=1e-6)
scaler = torch.amp.GradScaler("cpu")
x, y = torch.randn(64, 8), torch.randn(64, 1)
for _ in range(5):
    opt.zero_grad()
    loss = torch.nn.functional.mse_loss(net(x), y)
    scaler.scale(loss).backward()
    opt.step()  # here: amp/scaler-order
print("loss", loss.item())

# ==== two_optimizers
import torch
torch.manual_seed(0)
g, d = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)
og, od = torch.optim.SGD(g.parameters(), lr=1e-5), torch.optim.SGD(d.parameters(), lr=1e-5)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**14)
for _ in range(4):
    og.zero_grad(); od.zero_grad()
    loss = d(g(torch.randn(8, 4))).pow(2).mean()
    scaler.scale(loss).backward()
    scaler.step(og)
    od.step()  # here: amp/scaler-order
    scaler.update()
print(d.weight.sum().item())

# ==== unscale_by_hand
import torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optim = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=4096.0)
data = torch.randn(32, 4)
for _ in range(20):
    optim.zero_grad()
    scaler.scale(model(data).pow(2).mean()).backward()
    for p in model.parameters():
        p.grad /= scaler.get_scale()  # here: amp/scaler-order
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optim)
    scaler.update()
print(model(data).pow(2).mean().item())

# ==== unscale_clip_order
import torch
torch.manual_seed(0)
def train(model, opt, scaler, batches):
    for x, y in batches:
        opt.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.float16):
            loss = torch.nn.functional.mse_loss(model(x), y)
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_value_(model.parameters(), 0.5)  # here: amp/scaler-order
        scaler.unscale_(opt)
        scaler.step(opt)
        scaler.update()
    return loss
m = torch.nn.Linear(8, 1)
o = torch.optim.SGD(m.parameters(), lr=0.1)
l = train(m, o, torch.amp.GradScaler("cpu", init_scale=2048.0), [(torch.randn(16, 8), torch.randn(16, 1)) for _ in range(10)])
print(l.item())
