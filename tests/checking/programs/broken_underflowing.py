# ==== adam_eps_fp16
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1)).half()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(3):
    x = torch.randn(4, 8).half()
    loss = net(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()  # here: numerics/underflow-epsilon
    print("loss", loss.item())

# ==== bce_manual
import torch
torch.manual_seed(0)
logits = torch.tensor([12.0, -3.0, 9.0]).half()
y = torch.tensor([1.0, 0.0, 1.0]).half()
p = torch.sigmoid(logits)
loss = -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()  # here: numerics/underflow-epsilon
print(loss.item())

# ==== cosine_manual_fp16
import torch
torch.manual_seed(0)
def cos(a, b):
    return (a * b).sum(-1) / (a.norm(dim=-1) * b.norm(dim=-1)).clamp(min=1e-8)  # here: numerics/underflow-epsilon
a, b = torch.randn(4, 32).half() * 1e-5, torch.randn(4, 32).half() * 1e-5
print(cos(a, b).float().tolist())

# ==== dice_loss_half
import torch
torch.manual_seed(0)
def dice(p, t, eps=1e-8):
    inter = (p * t).sum((1, 2))
    return 1 - ((2 * inter + eps) / (p.sum((1, 2)) + t.sum((1, 2)) + eps)).mean()  # here: numerics/underflow-epsilon
p, t = torch.rand(2, 8, 8).half(), torch.zeros(2, 8, 8).half()
p[1] = 0
print(dice(p, t).item())

# ==== eps_fp16
import torch
torch.manual_seed(0)
def normalise(x):
    return x / (x.norm(dim=-1, keepdim=True) + 1e-8)  # here: numerics/underflow-epsilon
x = torch.randn(4, 8).half()
x[2] = 0
print(normalise(x).float().sum().item())

# ==== frozen_head_small_loss_weight
import torch
torch.manual_seed(0)
net = torch.nn.Linear(16, 4).half()
opt = torch.optim.SGD(net.parameters(), lr=100.0)
x = torch.randn(8, 16).half()
for _ in range(3):
    loss = net(x).pow(2).mean() * 1e-7
    opt.zero_grad()
    loss.backward()  # here: numerics/underflow-epsilon
    opt.step()
    print(net(x).pow(2).mean().item())

# ==== gradient_underflow
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)).half()
opt = torch.optim.SGD(net.parameters(), lr=1.0)
x = torch.randn(8, 16).half()
for _ in range(3):
    opt.zero_grad()
    loss = (net(x) * 1e-4).pow(2).mean()
    loss.backward()  # here: numerics/underflow-epsilon
    opt.step()
print(net[0].weight.float().sum().item())

# ==== log_clamp_fp16
import torch
torch.manual_seed(0)
p = torch.tensor([0.0, 0.3, 0.7]).half()
loss = -(p.clamp(min=1e-10)).log().mean()  # here: numerics/underflow-epsilon
print(loss.item())

# ==== log_softmax_manual
import torch
torch.manual_seed(0)
logits = torch.tensor([[20.0, 0.0, -5.0]]).half()
logp = torch.log(torch.softmax(logits, -1))  # here: numerics/underflow-epsilon
print(-(logp * torch.tensor([0.0, 0.0, 1.0])).sum().item())

# ==== no_scaler_autocast_fp16
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), lr=1e4)
x = torch.randn(64, 32)
for _ in range(3):
    with torch.autocast("cpu", dtype=torch.float16):
        out = net(x)
        loss = (out.float() * 1e-5).pow(2).mean()
    opt.zero_grad()
    loss.backward()  # here: numerics/underflow-epsilon
    opt.step()
    print(loss.item() * 1e10)

# ==== normalize_zero_rows
import torch, torch.nn.functional as F
torch.manual_seed(0)
e = torch.randn(4, 16).half()
e[1] = 0
z = F.normalize(e, dim=-1)  # here: numerics/underflow-epsilon
print((z @ z.T).float().sum().item())

# ==== prob_product
import torch
torch.manual_seed(0)
p = torch.full((20,), 0.3).half()
joint = p.prod()  # here: numerics/underflow-epsilon
print("log likelihood", torch.log(joint).item())

# ==== std_eps
import torch
torch.manual_seed(0)
adv = torch.zeros(8, dtype=torch.float16)
adv = (adv - adv.mean()) / (adv.std() + 1e-8)  # here: numerics/underflow-epsilon
print(adv.sum().item())
