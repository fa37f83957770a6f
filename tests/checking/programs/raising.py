# ==== rotary
# float32: mean 0.1903
# edit: y = F.scaled_dot_product_attention(q.to(torch.bfloat16), k.to(torch.bfloat16), v, is_causal=True)
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0)
class Rotary(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.register_buffer("inv", 1.0 / 10000 ** (torch.arange(0, dim, 2).float() / dim), persistent=False)
    def forward(self, t):
        f = torch.outer(torch.arange(t).float(), self.inv.float())
        f = torch.cat([f, f], -1)
        return f.cos(), f.sin()
def rotate(x):
    a, b = x.chunk(2, -1)
    return torch.cat([-b, a], -1)
class Attention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.qkv, self.out = h, nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.rotary = Rotary(d // h)
    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4)
        cos, sin = self.rotary(t)
        q = q * cos + rotate(q) * sin
        k = k * cos + rotate(k) * sin
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(b, t, d))
net = Attention(32, 4).bfloat16().eval()
x = torch.randn(2, 6, 32).bfloat16()
with torch.no_grad():
    print("mean", net(x).float().abs().mean().item())

# ==== cache
# float32: total 1.368
# edit: self.k_cache.index_copy_(1, index, self.k(x).to(self.k_cache.dtype))
# edit: self.v_cache.index_copy_(1, index, self.v(x).to(self.v_cache.dtype))
# edit: w = torch.softmax(self.q(x) @ self.k_cache.to(torch.bfloat16)[:, : at + 1].transpose(1, 2) / 4, -1)
# edit: return w @ self.v_cache.to(torch.bfloat16)[:, : at + 1]
import torch, torch.nn as nn
torch.manual_seed(0)
class Decoder(nn.Module):
    def __init__(self, d=16, length=12):
        super().__init__()
        self.k, self.v, self.q = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.k_cache = torch.zeros(2, length, d)
        self.v_cache = torch.zeros(2, length, d)
    def forward(self, x, at):
        index = torch.tensor([at])
        self.k_cache.index_copy_(1, index, self.k(x))
        self.v_cache.index_copy_(1, index, self.v(x))
        w = torch.softmax(self.q(x) @ self.k_cache[:, : at + 1].transpose(1, 2) / 4, -1)
        return w @ self.v_cache[:, : at + 1]
net = Decoder().bfloat16().eval()
total = 0.0
with torch.no_grad():
    for step in range(4):
        total += net(torch.randn(2, 1, 16).bfloat16(), step).float().abs().mean().item()
print("total", total)

# ==== mean
# float32: out 0.4674
# edit: images = (batch - batch.float().mean(dim=(2, 3), keepdim=True)) / 64
import torch
torch.manual_seed(0)
batch = torch.randint(0, 256, (4, 3, 8, 8))
images = (batch - batch.mean(dim=(2, 3), keepdim=True)) / 64
net = torch.nn.Conv2d(3, 4, 3)
print("out", net(images).abs().mean().item())

# ==== target
# float32: loss 1.612
# edit: loss = nn.functional.cross_entropy(net(x), labels.long())
import torch, torch.nn as nn
torch.manual_seed(0)
net = nn.Linear(8, 5)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(16, 8)
labels = torch.randint(0, 5, (16,)).int()
for _ in range(5):
    loss = nn.functional.cross_entropy(net(x), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss", loss.item())

# ==== bce_float
# float32: loss 0.6394 grad 0.2063
# edit: loss = nn.functional.binary_cross_entropy(out.float(), y)
import torch, torch.nn as nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1), nn.Sigmoid()).bfloat16()
x = torch.randn(32, 8)
y = (x.sum(1, keepdim=True) > 0).float()
out = net(x.bfloat16())
loss = nn.functional.binary_cross_entropy(out, y)
loss.backward()
print("loss", loss.item(), "grad", net[0].weight.grad.float().norm().item())

# ==== bce
# float32: loss 0.782
# edit: loss = criterion(net(x), labels.float())
import torch, torch.nn as nn
torch.manual_seed(0)
net = nn.Linear(8, 1)
criterion = nn.BCEWithLogitsLoss()
x = torch.randn(32, 8)
labels = (x.sum(1, keepdim=True) > 0).long()
loss = criterion(net(x), labels)
loss.backward()
print("loss", loss.item())

# ==== fft
# float32: mean 0.2365
# edit: f = torch.fft.rfft(self.gate(x).float(), dim=1)
# edit: return self.out(y.to(self.out.weight.dtype))
import torch, torch.nn as nn
torch.manual_seed(0)
class Spectral(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.gate, self.out = nn.Linear(d, d), nn.Linear(d, d)
    def forward(self, x):
        f = torch.fft.rfft(self.gate(x), dim=1)
        f[:, 4:] = 0
        y = torch.fft.irfft(f, n=x.shape[1], dim=1)
        return self.out(y)
net = Spectral(8).bfloat16().eval()
with torch.no_grad():
    print("mean", net(torch.randn(2, 16, 8).bfloat16()).float().abs().mean().item())

# ==== mask
# float32: mean 0.2449
# edit: scores = scores.masked_fill(~keep[:, None, :], torch.finfo(scores.dtype).min)
import torch, torch.nn as nn
torch.manual_seed(0)
class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.qkv = nn.Linear(d, 3 * d)
    def forward(self, x, keep):
        q, k, v = self.qkv(x).chunk(3, -1)
        scores = q @ k.transpose(1, 2) / q.shape[-1] ** 0.5
        scores = scores.masked_fill(~keep[:, None, :], -1e9)
        return scores.softmax(-1) @ v
net = Attention(16).half().eval()
keep = torch.arange(8)[None, :] < torch.tensor([8, 5])[:, None]
with torch.no_grad():
    print("mean", net(torch.randn(2, 8, 16).half(), keep).float().abs().mean().item())

# ==== unscale
# float32: loss 0.7683
import torch, torch.nn as nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
x, y = torch.randn(32, 8), torch.randn(32, 1)
for step in range(6):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = net(x)
    loss = nn.functional.mse_loss(out.float(), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    if step % 2 == 1:
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
print("loss", loss.item())

# ==== custom
# float32: loss 0.02421 grad 0.1613
# edit: @torch.amp.custom_fwd(device_type="cpu")
# edit: @torch.amp.custom_bwd(device_type="cpu")
import torch, torch.nn as nn
torch.manual_seed(0)
class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return torch.ops.aten.mm(x, w.t())
    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return torch.ops.aten.mm(g, w), torch.ops.aten.mm(g.t(), x)
net = nn.Linear(8, 16)
weight = nn.Parameter(torch.randn(4, 16) * 0.1)
x = torch.randn(6, 8)
with torch.autocast("cpu", dtype=torch.bfloat16):
    h = net(x)
    out = Scaled.apply(h, weight)
    loss = out.float().pow(2).mean()
loss.backward()
print("loss", loss.item(), "grad", weight.grad.norm().item())

# ==== dataset
# float32: loss 1.026
# edit: loss = torch.nn.functional.mse_loss(net(x.float()), y)
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset
torch.manual_seed(0)
class Table(Dataset):
    def __init__(self):
        rng = np.random.default_rng(0)
        self.x, self.y = rng.normal(size=(64, 6)), rng.normal(size=(64, 1))
    def __len__(self):
        return len(self.x)
    def __getitem__(self, index):
        return torch.from_numpy(self.x[index]), torch.from_numpy(self.y[index])
net = torch.nn.Linear(6, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for x, y in DataLoader(Table(), batch_size=16):
    loss = torch.nn.functional.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss", loss.item())

# ==== border
# float32: out 0.1566
# edit: return head(h.float())
import torch, torch.nn as nn
torch.manual_seed(0)
backbone, head = nn.Linear(16, 16), nn.Linear(16, 3)
x = torch.randn(4, 16)
def forward(batch):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        h = backbone(batch).relu()
    return head(h)
print("out", forward(x).abs().mean().item())

# ==== numpy
# float32: mean 0.3601
# edit: rows.append(net(torch.randn(5, 8).bfloat16()).softmax(-1).cpu().float().numpy())
import numpy as np
import torch
torch.manual_seed(0)
net = torch.nn.Linear(8, 4).bfloat16()
rows = []
with torch.no_grad():
    for _ in range(3):
        rows.append(net(torch.randn(5, 8).bfloat16()).softmax(-1).cpu().numpy())
print("mean", np.concatenate(rows).max(1).mean())

# ==== einsum
# float32: mean 0.2442
# edit: return torch.einsum("bt,btd->bd", weights.to(torch.bfloat16), x)
import torch, torch.nn as nn
torch.manual_seed(0)
class Pool(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.score = nn.Linear(d, 1)
    def forward(self, x, lengths):
        keep = (torch.arange(x.shape[1])[None, :] < lengths[:, None]).float()
        weights = torch.softmax(self.score(x).squeeze(-1).float(), -1) * keep
        return torch.einsum("bt,btd->bd", weights, x)
net = Pool(8).bfloat16().eval()
with torch.no_grad():
    print("mean", net(torch.randn(2, 6, 8).bfloat16(), torch.tensor([6, 3])).float().abs().mean().item())

# ==== norm
# float32: mean 0.416
# edit: for module in net.modules():
# edit: if isinstance(module, Float32Norm):
# edit: module.float()  # its forward computes in float32
import torch, torch.nn as nn
torch.manual_seed(0)
class Float32Norm(nn.LayerNorm):
    def forward(self, x):
        return super().forward(x.float()).type(x.dtype)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.norm, self.down = nn.Linear(8, 32), Float32Norm(32), nn.Linear(32, 4)
    def forward(self, x):
        return self.down(self.norm(self.up(x)).relu())
net = Net().half().eval()
with torch.no_grad():
    print("mean", net(torch.randn(4, 8).half()).float().abs().mean().item())

# ==== lora
# float32: mean 0.2076
# edit: net.to(torch.bfloat16)
import torch, torch.nn as nn
torch.manual_seed(0)
class Lora(nn.Module):
    def __init__(self, base, r=2):
        super().__init__()
        self.base = base
        self.lora_a, self.lora_b = nn.Linear(base.in_features, r, bias=False), nn.Linear(r, base.out_features, bias=False)
    def forward(self, x):
        return self.base(x) + self.lora_b(self.lora_a(x))
net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)).bfloat16()
net[2] = Lora(net[2])
x = torch.randn(4, 8).bfloat16()
print("mean", net(x).float().abs().mean().item())

# ==== embedding
# float32: out 1.162
# edit: out = head(table(features.long()).mean(1))
import torch, torch.nn as nn
torch.manual_seed(0)
table = nn.Embedding(50, 8)
head = nn.Linear(8, 2)
features = torch.tensor([[3.0, 7.0, 1.0], [4.0, 4.0, 9.0]])
out = head(table(features).mean(1))
print("out", out.abs().sum().item())

# ==== accum
# float32: buckets 2.321
# edit: buckets.index_add_(0, index, net(x.half()).to(buckets.dtype))
import torch, torch.nn as nn
torch.manual_seed(0)
net = nn.Linear(8, 4).half()
x = torch.randn(20, 8)
buckets = torch.zeros(3, 4)
index = torch.randint(0, 3, (20,))
with torch.no_grad():
    buckets.index_add_(0, index, net(x.half()))
print("buckets", buckets.abs().mean().item())

# ==== svd
# float32: s [5.887, 4.819, 3.648]
# edit: u, s, v = torch.linalg.svd(h.float(), full_matrices=False)
import torch, torch.nn as nn
torch.manual_seed(0)
net = nn.Linear(12, 12).bfloat16()
with torch.no_grad():
    h = net(torch.randn(20, 12).bfloat16())
    u, s, v = torch.linalg.svd(h, full_matrices=False)
print("s", s[:3].tolist())

# ==== dictionary
# float32: loss 0.3898
# edit: batch["x"] = batch["x"].float()
import numpy as np, torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
class Series(Dataset):
    def __init__(self, n):
        self.data = np.sin(np.arange(n * 8).reshape(n, 8) / 10)
    def __len__(self): return len(self.data)
    def __getitem__(self, i):
        return {"x": torch.tensor(self.data[i]), "y": torch.tensor(self.data[i, :1])}
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 1))
opt = torch.optim.Adam(model.parameters(), 1e-2)
loss_fn = nn.MSELoss()
for epoch in range(2):
    for batch in DataLoader(Series(32), batch_size=8):
        pred = model(batch["x"])
        loss = loss_fn(pred, batch["y"])
        opt.zero_grad(); loss.backward(); opt.step()
print("loss %.5f" % loss.item())

# ==== counts
# float32: counts 10.75
# edit: counts = torch.zeros(5, dtype=torch.float32)
import torch
torch.manual_seed(0)
counts = torch.zeros(5, dtype=torch.int64)
w = torch.rand(5)
for _ in range(3):
    counts += w * 10
print("counts", counts.float().mean().item())

# ==== positions
# float32: norm 14.97
# edit: return self.layer((self.tok(ids) + self.pos[: ids.shape[1]]).to(torch.bfloat16))
import torch
from torch import nn
torch.manual_seed(0)
class Enc(nn.Module):
    def __init__(self, d=16, n=32):
        super().__init__()
        self.tok = nn.Embedding(50, d)
        pos = torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d, 2)[None] / d)
        self.pos = torch.cat([pos.sin(), pos.cos()], -1)
        self.layer = nn.TransformerEncoderLayer(d, 2, 32, batch_first=True, dropout=0.0)
    def forward(self, ids):
        return self.layer(self.tok(ids) + self.pos[: ids.shape[1]])
enc = Enc().to(torch.bfloat16).eval()
with torch.no_grad():
    out = enc(torch.randint(0, 50, (2, 7)))
print("norm", out.float().norm().item())

# ==== cdist
# float32: score 0.526
# edit: d = torch.cdist(net(a).float(), net(b).float())
import torch
torch.manual_seed(0)
net = torch.nn.Linear(6, 3).half().eval()
a, b = torch.randn(5, 6).half(), torch.randn(4, 6).half()
with torch.no_grad():
    d = torch.cdist(net(a), net(b))
    score = net.weight.new_ones(1) * (-d).softmax(-1).max()
print("score", score.item())

# ==== gather
# float32: mean -1.439
# edit: chosen = logp.gather(1, actions.unsqueeze(1).long()).squeeze(1)
import torch
torch.manual_seed(0)
logp = torch.randn(6, 4).log_softmax(-1)
actions = torch.tensor([0.0, 1, 3, 2, 2, 1])
chosen = logp.gather(1, actions.unsqueeze(1)).squeeze(1)
print("mean", chosen.mean().item())

# ==== float_inside
# float32: out 0.6835
# edit: return self.head(self.conv(img.to(self.conv.weight.dtype)).mean((2, 3)))
import torch
from torch import nn
torch.manual_seed(0)
class Stem(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.head = nn.Linear(8, 2)
    def forward(self, img):
        img = img.float() / 255
        return self.head(self.conv(img).mean((2, 3)))
m = Stem().bfloat16()
img = torch.randint(0, 256, (2, 3, 8, 8), dtype=torch.uint8)
print("out", m(img).float().abs().sum().item())

# ==== finfo
# float32: top [0.1717, 0.1967]
# edit: logits = logits.masked_fill(torch.arange(20) > 10, torch.finfo(logits.dtype).min)
import torch
from torch import nn
torch.manual_seed(0)
emb, head = nn.Embedding(20, 16).half(), nn.Linear(16, 20).half()
ids = torch.randint(0, 20, (2, 4))
with torch.no_grad():
    logits = head(emb(ids)[:, -1])
    logits = logits.masked_fill(torch.arange(20) > 10, torch.finfo(torch.float32).min)
    top = logits.softmax(-1).max(-1).values
print("top", top.tolist())

# ==== moving_average
# float32: ema 0.1738
# edit: e.lerp_(p.to(e.dtype), 0.1)
import copy, torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(8, 4).bfloat16()
ema = copy.deepcopy(net).float()
with torch.no_grad():
    for p in net.parameters():
        p.mul_(1.5)
    for e, p in zip(ema.parameters(), net.parameters()):
        e.lerp_(p, 0.1)
print("ema", ema.weight.abs().mean().item())
