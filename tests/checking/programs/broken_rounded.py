# ==== accum_grads_bf16
import torch
torch.manual_seed(1)
net = torch.nn.Linear(8, 1, bias=False).bfloat16()
opt = torch.optim.SGD(net.parameters(), lr=0.01)
x = torch.ones(1, 8).bfloat16()
for i in range(2000):
    loss = net(x).sum() / 2000
    loss.backward()  # here: numerics/bf16-rounding
opt.step()
print(net.weight.grad.float().mean().item())

# ==== accum_loss_bf16
import torch
torch.manual_seed(0)
epoch_loss = torch.tensor(0.0, dtype=torch.bfloat16)
n = 0
for _ in range(4000):
    epoch_loss += torch.tensor(0.7, dtype=torch.bfloat16)  # here: numerics/bf16-rounding
    n += 1
print("epoch loss", (epoch_loss / n).item())

# ==== acos_bf16
import torch
torch.manual_seed(0)
a = torch.nn.functional.normalize(torch.randn(200, 8), dim=-1).bfloat16()
cos = (a * a).sum(-1)
print(torch.acos(cos).float().mean().item())  # here: numerics/bf16-rounding

# ==== arange_half_index
import torch
t = torch.arange(0, 5000, dtype=torch.float16)  # here: numerics/bf16-rounding
print(int((t.long() == torch.arange(5000)).sum()))

# ==== averaged_model_bf16
import torch
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
torch.manual_seed(0)
net = torch.nn.Linear(8, 8).to(torch.bfloat16)
ema = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.9999))
opt = torch.optim.SGD(net.parameters(), lr=1.0)
for _ in range(30):
    opt.zero_grad()
    net(torch.randn(4, 8).bfloat16()).float().mean().backward()
    opt.step()
    ema.update_parameters(net)  # here: numerics/bf16-rounding
print((ema.module.weight - net.weight).float().norm().item())

# ==== betas_bf16
# told by the float32 run
import torch
betas = torch.linspace(1e-4, 2e-3, 1000).to(torch.bfloat16)
alphas = 1 - betas  # here: numerics/bf16-rounding
print("signal", alphas.float().cumprod(0)[-1].item())

# ==== bn_stats_manual
import torch
class Norm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))
    def forward(self, x):
        m = x.mean(0)
        self.mean = self.mean * 0.999 + m * 0.001  # here: numerics/bf16-rounding
        return x - self.mean
torch.manual_seed(0)
n = Norm().to(torch.bfloat16)
n.mean += 1
for _ in range(200):
    y = n(torch.randn(64, 4).bfloat16() * 0.1 + 1.5)
print(n.mean.float().mean().item())

# ==== distance_matrix
import torch
torch.manual_seed(0)
x = (torch.randn(32, 16) + 20).half()
sq = (x * x).sum(-1)
d2 = sq[:, None] + sq[None] - 2 * x @ x.T  # here: numerics/bf16-rounding
d = d2.sqrt()
print(d.float().mean().item())

# ==== ema_bf16
import torch
torch.manual_seed(0)
net = torch.nn.Linear(16, 16).bfloat16()
ema = [p.detach().clone() for p in net.parameters()]
for _ in range(20):
    with torch.no_grad():
        for p in net.parameters():
            p.add_(torch.randn_like(p) * 0.1)
        for e, p in zip(ema, net.parameters()):
            e.mul_(0.9999).add_(p, alpha=1e-4)  # here: numerics/bf16-rounding
print(float(ema[0].float().norm()))

# ==== ema_copy_fp16
import torch
torch.manual_seed(0)
student = torch.nn.Linear(8, 8).half()
teacher = torch.nn.Linear(8, 8).half()
teacher.load_state_dict(student.state_dict())
def update(decay):
    with torch.no_grad():
        for t, s in zip(teacher.parameters(), student.parameters()):
            t.copy_(decay * t + (1 - decay) * s)  # here: numerics/bf16-rounding
for _ in range(40):
    for s in student.parameters():
        s.data += 0.05
    update(0.99999)
print((student.weight - teacher.weight).float().mean().item())

# ==== ema_decay_fp16_buffer
import torch
class EMA:
    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = {k: v.clone() for k, v in model.state_dict().items()}
    def update(self, model):
        for k, v in model.state_dict().items():
            self.shadow[k] = self.decay * self.shadow[k] + (1 - self.decay) * v  # here: numerics/bf16-rounding
torch.manual_seed(0)
net = torch.nn.Linear(32, 32).to(torch.bfloat16)
ema = EMA(net, 0.9999)
for _ in range(50):
    with torch.no_grad():
        for p in net.parameters():
            p += 0.02
    ema.update(net)
print("distance", (ema.shadow["weight"] - net.weight).float().abs().mean().item())

# ==== euler
import torch
t = torch.zeros(1, dtype=torch.bfloat16)
x = torch.ones(1, dtype=torch.bfloat16)
dt = 1e-3
for _ in range(3000):
    x = x - dt * x  # here: numerics/bf16-rounding
print("x at 3:", x.item())

# ==== fp16_adam_lr
import torch
torch.manual_seed(0)
net = torch.nn.Linear(16, 16)
net = net.to(torch.float16)
opt = torch.optim.AdamW(net.parameters(), lr=1e-5, eps=1e-4)
w0 = net.weight.detach().clone()
for _ in range(10):
    opt.zero_grad()
    (net(torch.randn(8, 16).half()) - 1).pow(2).mean().backward()
    opt.step()  # here: numerics/bf16-rounding
print("moved", (net.weight - w0).abs().float().mean().item())

# ==== ids_half
import torch
torch.manual_seed(0)
batch = {"input_ids": torch.randint(3000, 30000, (2, 16)), "pixel": torch.randn(2, 3)}
batch = {k: v.to(torch.bfloat16) for k, v in batch.items()}  # here: numerics/bf16-rounding
emb = torch.nn.Embedding(30522, 8).bfloat16()
print(emb(batch["input_ids"].long()).float().sum().item())

# ==== lr_warmup_bf16_tensor
import torch
torch.manual_seed(0)
step = torch.tensor(0, dtype=torch.bfloat16)
lrs = []
for i in range(400):
    step += 1  # here: numerics/bf16-rounding
    lrs.append(float(step) / 400)
print(lrs[-1])

# ==== momentum_manual_bf16
import torch
torch.manual_seed(0)
w = torch.randn(64, 64, dtype=torch.bfloat16)
target = w + 0.5
for _ in range(100):
    g = (w - target)
    w = w - 1e-4 * g  # here: numerics/bf16-rounding
print((w - target).float().abs().mean().item())

# ==== position_ids_cumsum
import torch
mask = torch.ones(1, 600)
pos = mask.half().bfloat16().cumsum(-1)  # here: numerics/bf16-rounding
print(pos.float().unique().numel())

# ==== positions_bf16
import torch
torch.manual_seed(0)
positions = torch.arange(1024).to(torch.bfloat16)  # here: numerics/bf16-rounding
inv = (1.0 / 10000 ** (torch.arange(0, 8, 2) / 8)).to(torch.bfloat16)
angles = positions[:, None] * inv
print(angles.sin().float().sum().item())

# ==== pure_bf16_sgd
import torch
torch.manual_seed(0)
net = torch.nn.Linear(32, 1).bfloat16()
opt = torch.optim.SGD(net.parameters(), lr=1e-5)
x = torch.randn(64, 32).bfloat16()
y = x.sum(1, keepdim=True)
for _ in range(20):
    loss = (net(x) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()  # here: numerics/bf16-rounding
print(loss.item())

# ==== residual_absorbed
import torch
torch.manual_seed(0)
x = torch.full((4, 64), 3000.0).bfloat16()
f = torch.nn.Linear(64, 64)
with torch.no_grad():
    for _ in range(50):
        x = x + torch.randn(4, 64).bfloat16() + 1  # here: numerics/bf16-rounding
print((x.float() - 3000).mean().item())

# ==== rope_autocast
import torch
inv = 1.0 / 10000 ** (torch.arange(0, 16, 2).float() / 16)
pos = torch.arange(1000).float()
with torch.autocast("cpu", dtype=torch.bfloat16):
    angles = (inv[:, None] @ pos[None, :]).T  # here: numerics/bf16-rounding
    print(angles.float().sin().sum().item())

# ==== rope_buffer_bf16
import torch
class Rope(torch.nn.Module):
    def __init__(self, d):
        super().__init__()
        self.register_buffer("inv_freq", 1.0 / 10000 ** (torch.arange(0, d, 2).float() / d))
    def forward(self, n):
        t = torch.arange(n, dtype=self.inv_freq.dtype)  # here: numerics/bf16-rounding
        f = torch.outer(t, self.inv_freq)
        return f.cos(), f.sin()
r = Rope(16).bfloat16()
c, s = r(2048)
print(c.float().sum().item(), s.float().sum().item())

# ==== running_sum_fp16
import torch
total = torch.zeros((), dtype=torch.float16)
for _ in range(5000):
    total = total + torch.ones((), dtype=torch.float16)  # here: numerics/bf16-rounding
print("mean", float(total) / 5000)

# ==== sigmas_bf16
# told by the float32 run
import torch
steps = torch.linspace(1.0, 0.0, 1001, dtype=torch.bfloat16)
dts = steps[1:] - steps[:-1]  # here: numerics/bf16-rounding
x = torch.ones(1)
for d in dts:
    x = x + d.float() * x
print(x.item())

# ==== timestep_batch
import torch, math
torch.manual_seed(0)
def embed(t, dim=16):
    half = dim // 2
    freqs = torch.exp(-math.log(10000) * torch.arange(half) / half).to(t.dtype)
    a = t[:, None] * freqs
    return torch.cat([a.cos(), a.sin()], -1)
t = torch.tensor([981, 741, 501, 21])
print(embed(t.to(torch.bfloat16)).float().sum().item())  # here: numerics/bf16-rounding

# ==== timesteps_loop
import torch
torch.manual_seed(0)
freqs = torch.exp(-torch.arange(4) / 4.0)
total = 0.0
for t in range(990, 1000):
    step = torch.tensor(t).to(torch.bfloat16)  # here: numerics/bf16-rounding
    total += (step.float() * freqs).sin().sum().item()
print(total)

# ==== variance_fp16
import torch
torch.manual_seed(0)
x = (torch.randn(64, 256) * 0.01 + 3).half()
var = (x * x).mean(-1) - x.mean(-1) ** 2  # here: numerics/bf16-rounding
print(((x - x.mean(-1, keepdim=True)) / var.sqrt()[:, None]).float().std().item())

# ==== variance_loss
# told by the float32 run
import torch
torch.manual_seed(0)
x = (torch.randn(1000) * 0.1 + 10).bfloat16()
var = (x ** 2).mean() - x.mean() ** 2  # here: numerics/bf16-rounding
print("std", float(var.float().clamp(min=0).sqrt()))
