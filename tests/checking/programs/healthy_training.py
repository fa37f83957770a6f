# ==== amp_bf16
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.LayerNorm(64), torch.nn.GELU(), torch.nn.Dropout(0.1), torch.nn.Linear(64, 4))
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
x, y = torch.randn(64, 16), torch.randint(0, 4, (64,))
for _ in range(10):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = torch.nn.functional.cross_entropy(net(x), y)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
print("loss", loss.item())

# ==== amp_first_skips
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

# ==== bf16_small_lr_master
import torch
torch.manual_seed(0)
net = torch.nn.Linear(16, 1).bfloat16()
master = [p.detach().float().requires_grad_() for p in net.parameters()]
opt = torch.optim.Adam(master, lr=1e-4)
x = torch.randn(32, 16).bfloat16()
for _ in range(10):
    net.zero_grad()
    loss = (net(x) - 1).float().pow(2).mean()
    loss.backward()
    for m, p in zip(master, net.parameters()):
        m.grad = p.grad.float()
    opt.step()
    with torch.no_grad():
        for m, p in zip(master, net.parameters()):
            p.copy_(m)
print(loss.item())

# ==== checkpointing_accumulation
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

# ==== clip_contrastive
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0)
a, b = nn.Linear(16, 8), nn.Linear(12, 8)
scale = nn.Parameter(torch.tensor(2.6592))
opt = torch.optim.AdamW([*a.parameters(), *b.parameters(), scale], 1e-3)
for _ in range(5):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        u, v = F.normalize(a(torch.randn(32, 16)), dim=-1), F.normalize(b(torch.randn(32, 12)), dim=-1)
        logits = scale.exp().clamp(max=100) * u @ v.T
    t = torch.arange(32)
    loss = (F.cross_entropy(logits.float(), t) + F.cross_entropy(logits.float().T, t)) / 2
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())

# ==== clip_limit_scaled
import torch
torch.manual_seed(0)
net = torch.nn.Linear(8, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for _ in range(5):
    opt.zero_grad()
    scaler.scale(net(torch.randn(16, 8)).pow(2).mean()).backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0 * scaler.get_scale())
    scaler.step(opt)
    scaler.update()
print(net.weight.sum().item())

# ==== ctc
import torch
torch.manual_seed(0)
net = torch.nn.Linear(8, 6)
with torch.autocast("cpu", dtype=torch.bfloat16):
    lp = net(torch.randn(10, 3, 8)).float().log_softmax(-1)
loss = torch.nn.functional.ctc_loss(lp, torch.randint(1, 6, (3, 4)), torch.tensor([10, 10, 2]), torch.tensor([4, 3, 4]), zero_infinity=True)
loss.backward()
print(loss.item())

# ==== custom_autograd_fp16
import torch
torch.manual_seed(0)
class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return g * (s + x * s * (1 - s))
net = torch.nn.Linear(8, 8).half()
loss = Swish.apply(net(torch.randn(4, 8).half())).float().pow(2).mean()
loss.backward()
print(loss.item(), net.weight.grad.float().norm().item())

# ==== frozen_bn_half_buffers
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Conv1d(4, 8, 3), torch.nn.BatchNorm1d(8), torch.nn.Hardswish(), torch.nn.Dropout(0.2)).half()
net.train()
y = net(torch.randn(4, 4, 16).half())
y.float().mean().backward()
print(y.float().std().item() > 0.1)

# ==== gan_one_scaler
import torch
torch.manual_seed(0)
g, d = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)
og, od = torch.optim.Adam(g.parameters(), 1e-3), torch.optim.Adam(d.parameters(), 1e-3)
scaler = torch.amp.GradScaler("cpu")
bce = torch.nn.BCEWithLogitsLoss()
for _ in range(5):
    z = torch.randn(16, 4)
    with torch.autocast("cpu", dtype=torch.float16):
        fake = g(z)
        ld = bce(d(torch.randn(16, 4)), torch.ones(16, 1)) + bce(d(fake.detach()), torch.zeros(16, 1))
    od.zero_grad()
    scaler.scale(ld).backward()
    scaler.step(od)
    with torch.autocast("cpu", dtype=torch.float16):
        lg = bce(d(fake), torch.ones(16, 1))
    og.zero_grad()
    scaler.scale(lg).backward()
    scaler.step(og)
    scaler.update()
print(ld.item(), lg.item())

# ==== gpt_fp16_scaler
import torch, torch.nn as nn
from tiny_gpt import GPT
torch.manual_seed(0)
net = GPT()
scaler = torch.amp.GradScaler("cpu")
opt = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=0.1, betas=(0.9, 0.95))
for i in range(6):
    idx = torch.randint(0, 65, (4, 33))
    with torch.autocast("cpu", dtype=torch.float16):
        loss = net(idx[:, :-1], idx[:, 1:])
    opt.zero_grad(set_to_none=True); scaler.scale(loss).backward(); scaler.unscale_(opt)
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    scaler.step(opt); scaler.update()
    print(f"step {i} loss {loss.item():.3f}")

# ==== gpt_pure_bf16
import torch, torch.nn as nn
from tiny_gpt import GPT
torch.manual_seed(0)
net = GPT().bfloat16()
opt = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=0.1, betas=(0.9, 0.95))
for i in range(6):
    idx = torch.randint(0, 65, (4, 33))
    loss = net(idx[:, :-1], idx[:, 1:])
    opt.zero_grad(set_to_none=True); loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    print(f"step {i} loss {loss.item():.3f}")

# ==== gpt_train_bf16_autocast
import torch, torch.nn as nn
from tiny_gpt import GPT
torch.manual_seed(0)
net = GPT()
opt = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=0.1, betas=(0.9, 0.95))
for i in range(6):
    idx = torch.randint(0, 65, (4, 33))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = net(idx[:, :-1], idx[:, 1:])
    opt.zero_grad(set_to_none=True); loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    print(f"step {i} loss {loss.item():.3f}")

# ==== gradient_penalty_amp
import torch
torch.manual_seed(0)
d = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
opt = torch.optim.Adam(d.parameters(), 1e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for _ in range(5):
    x = torch.randn(8, 4, requires_grad=True)
    out = d(x).sum()
    g = torch.autograd.grad(scaler.scale(out), x, create_graph=True)[0] / scaler.get_scale()
    loss = ((g.norm(2, dim=1) - 1) ** 2).mean()
    opt.zero_grad(); scaler.scale(loss).backward(); scaler.step(opt); scaler.update()
print(loss.item())

# ==== layerscale_autocast
import torch
torch.manual_seed(0)
gamma = torch.nn.Parameter(torch.full((16,), 1e-6))
lin = torch.nn.Linear(16, 16)
opt = torch.optim.AdamW([gamma, *lin.parameters()], lr=1e-4)
for _ in range(4):
    x = torch.randn(8, 16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = x + gamma * lin(x)
    loss = (out - x.roll(1, 0)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())

# ==== lbfgs
import torch
torch.manual_seed(0)
w = torch.nn.Parameter(torch.randn(4))
opt = torch.optim.LBFGS([w], max_iter=5)
def closure():
    opt.zero_grad(); l = ((w - 1) ** 2).sum() + (w ** 4).sum(); l.backward(); return l
for _ in range(3): opt.step(closure)
print(w.sum().item())

# ==== lora
import torch
torch.manual_seed(0)
class Lora(torch.nn.Module):
    def __init__(self, base, rank=4):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.a = torch.nn.Parameter(torch.randn(rank, base.in_features) * 0.02)
        self.b = torch.nn.Parameter(torch.zeros(base.out_features, rank))
    def forward(self, x):
        return self.base(x) + (x.float() @ self.a.T @ self.b.T).to(x.dtype)
net = Lora(torch.nn.Linear(16, 16).bfloat16())
opt = torch.optim.AdamW([net.a, net.b], lr=1e-2)
x, y = torch.randn(32, 16).bfloat16(), torch.randn(32, 16).bfloat16()
for _ in range(10):
    loss = (net(x) - y).float().pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())

# ==== loss_to_zero_fp16_amp
import torch
torch.manual_seed(0)
net = torch.nn.Linear(4, 1)
opt = torch.optim.Adam(net.parameters(), 0.05)
scaler = torch.amp.GradScaler("cpu")
x = torch.randn(64, 4); y = x @ torch.tensor([[1.0], [2], [3], [4]])
for _ in range(60):
    with torch.autocast("cpu", dtype=torch.float16):
        p = net(x)
    loss = torch.nn.functional.mse_loss(p.float(), y)
    opt.zero_grad(); scaler.scale(loss).backward(); scaler.step(opt); scaler.update()
print(loss.item() < 5)

# ==== lstm_fp16_autocast
import torch
torch.manual_seed(0)
net, head = torch.nn.GRU(8, 16, batch_first=True), torch.nn.Linear(16, 2)
opt = torch.optim.Adam([*net.parameters(), *head.parameters()], 1e-2)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**12)
x, y = torch.randn(16, 10, 8), torch.randint(0, 2, (16,))
for _ in range(6):
    with torch.autocast("cpu", dtype=torch.float16):
        logits = head(net(x)[0][:, -1])
        loss = torch.nn.functional.cross_entropy(logits.float(), y)
    opt.zero_grad(); scaler.scale(loss).backward(); scaler.step(opt); scaler.update()
print(loss.item())

# ==== moe_bf16
import torch
torch.manual_seed(0)
class Moe(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = torch.nn.Linear(16, 4)
        self.experts = torch.nn.ModuleList(torch.nn.Linear(16, 16) for _ in range(4))
    def forward(self, x):
        w = self.gate(x).softmax(-1, dtype=torch.float32)
        v, i = w.topk(2)
        v = (v / v.sum(-1, keepdim=True)).to(x.dtype)
        out = torch.zeros_like(x)
        for n, e in enumerate(self.experts):
            row, k = torch.where(i == n)
            if len(row):
                out.index_add_(0, row, e(x[row]) * v[row, k, None])
        return out
net = Moe().bfloat16()
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
x = torch.randn(32, 16).bfloat16()
for _ in range(6):
    loss = (net(x) - x).float().pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())

# ==== ppo
import torch, torch.nn as nn
from torch.distributions import Categorical, Normal
torch.manual_seed(0)
pi, vf = nn.Linear(4, 3), nn.Linear(4, 1)
opt = torch.optim.Adam([*pi.parameters(), *vf.parameters()], 3e-3)
obs = torch.randn(64, 4)
mask = torch.rand(64, 3) > 0.2
mask[:, 0] = True
with torch.no_grad():
    d = Categorical(logits=pi(obs).masked_fill(~mask, -1e8)); act = d.sample(); old = d.log_prob(act)
ret = torch.randn(64)
adv = ret - vf(obs).detach().squeeze(-1)
adv = (adv - adv.mean()) / (adv.std() + 1e-8)
for _ in range(4):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits, v = pi(obs), vf(obs).squeeze(-1)
    d = Categorical(logits=logits.float().masked_fill(~mask, -1e8))
    ratio = (d.log_prob(act) - old).exp()
    loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean() + 0.5 * (v.float() - ret).pow(2).mean() - 0.01 * d.entropy().mean()
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())

# ==== pure_bf16_adam
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Linear(32, 1)).bfloat16()
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
x = torch.randn(64, 16).bfloat16()
y = x[:, :1] * 0.5
for _ in range(20):
    loss = torch.nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(round(loss.item(), 2))

# ==== qat_fake
import torch
torch.manual_seed(0)
w = torch.nn.Parameter(torch.randn(16, 16))
opt = torch.optim.SGD([w], 0.1)
for _ in range(5):
    s = w.detach().abs().max() / 127
    q = torch.fake_quantize_per_tensor_affine(w, float(s), 0, -128, 127)
    ste = w + (torch.round(w / s).clamp(-128, 127) * s - w).detach()
    loss = (torch.randn(8, 16) @ (q + ste)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())

# ==== resnet_amp_bn
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0)
class R(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c1, self.b1, self.c2, self.b2 = nn.Conv2d(c, c, 3, padding=1), nn.BatchNorm2d(c), nn.Conv2d(c, c, 3, padding=1), nn.BatchNorm2d(c)
    def forward(self, x):
        return F.relu(x + self.b2(self.c2(F.relu(self.b1(self.c1(x))))))
net = nn.Sequential(nn.Conv2d(3, 8, 3, 2), R(8), nn.MaxPool2d(2), R(8), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))
opt = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9, weight_decay=5e-4, nesterov=True)
sch = torch.optim.lr_scheduler.OneCycleLR(opt, 0.1, total_steps=8)
scaler = torch.amp.GradScaler("cpu")
x, y = torch.randn(16, 3, 16, 16), torch.randint(0, 10, (16,))
for _ in range(8):
    with torch.autocast("cpu", dtype=torch.float16):
        loss = F.cross_entropy(net(x).float(), y, label_smoothing=0.1)
    opt.zero_grad(); scaler.scale(loss).backward(); scaler.step(opt); scaler.update(); sch.step()
acc = (net(x).argmax(1) == y).float().mean()
print(loss.item())

# ==== scaler_disabled
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

# ==== sparse
import torch
torch.manual_seed(0)
emb = torch.nn.Embedding(100, 8, sparse=True)
opt = torch.optim.SparseAdam(emb.parameters(), lr=0.01)
for _ in range(5):
    loss = emb(torch.randint(0, 100, (16,))).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())

# ==== swa_float32
import torch
from torch.optim.swa_utils import AveragedModel
torch.manual_seed(0)
net = torch.nn.Linear(8, 8)
avg = AveragedModel(net, avg_fn=lambda a, p, n: 0.999 * a + 0.001 * p)
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for _ in range(10):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = net(torch.randn(4, 8)).float().pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step(); avg.update_parameters(net)
print(loss.item())

# ==== vae_bf16_autocast
import torch
torch.manual_seed(0)
enc, dec = torch.nn.Linear(16, 8), torch.nn.Linear(4, 16)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], 1e-3)
x = torch.rand(64, 16)
for _ in range(8):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mu, lv = enc(x).float().chunk(2, -1)
        z = mu + torch.randn_like(mu) * (0.5 * lv).exp()
        rec = torch.sigmoid(dec(z).float())
    kl = -0.5 * (1 + lv - mu.pow(2) - lv.exp()).sum(1).mean()
    loss = torch.nn.functional.binary_cross_entropy(rec, x) + 0.01 * kl
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())
