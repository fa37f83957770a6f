# ==== beam_search
import torch
torch.manual_seed(0)
emb, head = torch.nn.Embedding(30, 8).half(), torch.nn.Linear(8, 30).half()
scores = torch.zeros(3)
scores[1:] = -1e9
seq = torch.ones(3, 1, dtype=torch.long)
with torch.no_grad():
    for _ in range(6):
        lp = head(emb(seq[:, -1])).float().log_softmax(-1) + scores[:, None]
        scores, idx = lp.view(-1).topk(3)
        seq = torch.cat([seq[idx // 30], (idx % 30)[:, None]], 1)
print(scores.max().item(), seq.shape)

# ==== bf16_inference
import torch
torch.manual_seed(0)
net = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), 2).bfloat16().eval()
with torch.no_grad():
    out = net(torch.randn(2, 16, 32).bfloat16())
print(out.float().mean().item(), out.float().std().item())

# ==== bf16_sum_metrics
import torch
torch.manual_seed(0)
net = torch.nn.Linear(8, 3).bfloat16().eval()
correct = total = 0
loss_sum = 0.0
with torch.no_grad():
    for _ in range(20):
        x, y = torch.randn(32, 8).bfloat16(), torch.randint(0, 3, (32,))
        out = net(x)
        loss_sum += torch.nn.functional.cross_entropy(out, y).item() * 32
        correct += (out.argmax(1) == y).sum().item(); total += 32
print(correct / total, loss_sum / total)

# ==== compile_bf16
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.Linear(8, 2)).bfloat16()
fast = torch.compile(net, backend="eager")
with torch.inference_mode():
    print(fast(torch.randn(3, 8).bfloat16()).float().abs().sum().item())

# ==== conv_batchnorm_fp16
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(8, 10)).half().eval()
with torch.no_grad():
    out = net((torch.randint(0, 256, (2, 3, 32, 32), dtype=torch.uint8).half() / 255 - 0.5) / 0.25)
print(out.softmax(-1).float().sum().item(), out.argmax(-1).tolist())

# ==== counts_small
import torch
torch.manual_seed(0)
ids = torch.arange(200)
pos = ids.to(torch.bfloat16) / 200
correct = (torch.randn(64, 4).argmax(-1) == torch.randint(0, 4, (64,))).half().mean()
lengths = torch.tensor([512, 300, 77]).to(torch.float16)
print(pos.float().mean().item(), correct.item(), (torch.ones(3).half() * 10 / lengths).float().sum().item())

# ==== diffusion
import torch
torch.manual_seed(0)
betas = torch.linspace(1e-4, 0.02, 100)
bar = (1 - betas).cumprod(0)
net = torch.nn.Sequential(torch.nn.Linear(17, 64), torch.nn.SiLU(), torch.nn.Linear(64, 16)).bfloat16()
x = torch.randn(4, 16).bfloat16()
with torch.no_grad():
    for t in reversed(range(100)):
        emb = torch.full((4, 1), t / 100).bfloat16()
        eps = net(torch.cat([x, emb], 1))
        a, b = bar[t], betas[t]
        x = (x - (b / (1 - a).sqrt()).to(x.dtype) * eps) / (1 - b).sqrt().to(x.dtype)
        if t:
            x = x + b.sqrt().to(x.dtype) * torch.randn_like(x)
print(x.float().std().item())

# ==== dynamic_quant
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)).eval()
q = torch.ao.quantization.quantize_dynamic(net, {torch.nn.Linear}, dtype=torch.qint8)
x = torch.randn(8, 16)
print((q(x) - net(x)).abs().max().item() < 0.1)

# ==== ema_float32
import torch
torch.manual_seed(0)
net = torch.nn.Linear(16, 16).bfloat16()
ema = [p.detach().float().clone() for p in net.parameters()]
for _ in range(20):
    with torch.no_grad():
        for p in net.parameters():
            p.add_(torch.randn_like(p) * 0.1)
        for e, p in zip(ema, net.parameters()):
            e.mul_(0.999).add_(p.float(), alpha=1e-3)
print(float(ema[0].norm()))

# ==== epsilon_not_needed
import torch
torch.manual_seed(0)
x = torch.randn(8, 32).half()
y = x / (x.norm(dim=-1, keepdim=True) + 1e-8)
z = (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-5)
print(y.float().norm().item(), z.float().std().item())

# ==== flow_float32_sigmas
import torch
torch.manual_seed(0)
sig = torch.linspace(1, 0, 21)
net = torch.nn.Linear(9, 8).bfloat16()
x = torch.randn(2, 8).bfloat16()
with torch.no_grad():
    for a, b in zip(sig[:-1], sig[1:]):
        v = net(torch.cat([x, a.expand(2, 1).bfloat16()], 1))
        x = (x.float() + (b - a) * v.float()).bfloat16()
print(x.float().std().item())

# ==== fp16_inference
import torch
torch.manual_seed(0)
net = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), 2).half().eval()
with torch.no_grad():
    out = net(torch.randn(2, 16, 32).half())
print(out.float().mean().item(), out.float().std().item())

# ==== fp16_manual_sigmoid
import torch
torch.manual_seed(0)
x = torch.randn(64).half() * 10
y = 1 / (1 + torch.exp(-x * 2))
best = torch.tensor(float("inf"))
best = torch.minimum(best, y.min().float())
print(y.float().mean().item(), best.item())

# ==== generate
import torch
torch.manual_seed(0)
emb, head = torch.nn.Embedding(50, 16).bfloat16(), torch.nn.Linear(16, 50).bfloat16()
ids = [1]
with torch.no_grad():
    for _ in range(20):
        logits = head(emb(torch.tensor(ids)).mean(0)).float() / 0.8
        top = logits.topk(5).values[-1]
        logits = logits.masked_fill(logits < top, -float("inf"))
        ids.append(int(torch.multinomial(logits.softmax(-1), 1)))
print(len(ids))

# ==== gpt_half_eval
import torch, torch.nn as nn
from tiny_gpt import GPT
torch.manual_seed(0)
net = GPT().half().eval()
with torch.no_grad():
    print(net(torch.randint(0, 65, (4, 32)), torch.randint(0, 65, (4, 32))).item())

# ==== kmeans_half
import torch
torch.manual_seed(0)
x = torch.randn(100, 4).half()
c = x[:3].clone()
for _ in range(5):
    d = torch.cdist(x.float(), c.float())
    a = d.argmin(1)
    c = torch.stack([x[a == i].mean(0) if (a == i).any() else c[i] for i in range(3)])
print(c.float().norm().item())

# ==== kv_cache_generate
import torch, torch.nn.functional as F
torch.manual_seed(0)
wq, wk, wv, emb = (torch.nn.Linear(16, 16).half() for _ in range(3)), None, None, None
wq, wk, wv = wq
E = torch.nn.Embedding(40, 16).half()
K = torch.zeros(1, 2, 32, 8, dtype=torch.half); V = torch.zeros_like(K)
ids = [3]
with torch.no_grad():
    for t in range(20):
        x = E(torch.tensor([[ids[-1]]]))
        q, k, v = (w(x).view(1, 1, 2, 8).transpose(1, 2) for w in (wq, wk, wv))
        K[:, :, t:t + 1], V[:, :, t:t + 1] = k, v
        m = torch.zeros(1, 1, 1, 32, dtype=torch.half).masked_fill(torch.arange(32) > t, torch.finfo(torch.half).min)
        o = F.scaled_dot_product_attention(q, K, V, attn_mask=m)
        h = o.transpose(1, 2).reshape(1, 16) @ E.weight.T
        ids.append(int(h.float().argmax()))
print(len(ids))

# ==== log_mel
import torch
torch.manual_seed(0)
wave = torch.randn(1, 4000)
spec = torch.stft(wave, 256, window=torch.hann_window(256), return_complex=True).abs().pow(2)
mel = torch.log10(spec.clamp(min=1e-10))
mel = torch.maximum(mel, mel.max() - 8).half()
net = torch.nn.Conv1d(129, 16, 3).half()
print(net(mel).float().mean().item())

# ==== loss_sum_bf16
import torch
torch.manual_seed(0)
net = torch.nn.Linear(16, 4).bfloat16()
total = torch.zeros((), dtype=torch.bfloat16)
for _ in range(8):
    total = total + torch.nn.functional.cross_entropy(net(torch.randn(8, 16).bfloat16()), torch.randint(0, 4, (8,)))
print((total / 8).item())

# ==== manual_sgd_bf16
import torch
torch.manual_seed(0)
w = torch.randn(16, 4).bfloat16().requires_grad_()
x = torch.randn(64, 16).bfloat16()
y = torch.randn(64, 4).bfloat16()
for _ in range(15):
    loss = (x @ w - y).pow(2).mean()
    (g,) = torch.autograd.grad(loss, w)
    with torch.no_grad():
        w -= 0.5 * g
print(loss.item())

# ==== masks_inf
import torch
torch.manual_seed(0)
q, k, v = (torch.randn(2, 4, 16, 8).half() for _ in range(3))
mask = torch.full((16, 16), float("-inf")).triu(1).half()
scores = q @ k.transpose(-1, -2) / 8**0.5 + mask
out = scores.softmax(-1) @ v
out2 = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
print(out.float().sum().item(), out2.float().sum().item())

# ==== masks_min
import torch
torch.manual_seed(0)
x = torch.randn(2, 8, 8).bfloat16()
keep = torch.ones(8, 8).tril().bool()
out = x.masked_fill(~keep, torch.finfo(x.dtype).min).softmax(-1)
y = torch.where(keep, x, torch.full((), torch.finfo(x.dtype).min, dtype=x.dtype)).softmax(-1)
print(out.float().sum().item(), y.float().sum().item())

# ==== nan_to_num_rows
import torch
torch.manual_seed(0)
s = torch.randn(2, 4, 4).half()
s[0, 0] = float("-inf")
p = torch.nan_to_num(s.softmax(-1))
print(p.float().sum().item())

# ==== numpy_and_dataloader
import numpy as np, torch
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
x = torch.from_numpy(np.random.RandomState(0).randn(32, 4).astype(np.float16))
y = torch.from_numpy((np.arange(32) % 2).astype(np.int64))
net = torch.nn.Linear(4, 2).half()
tot = 0
for a, b in DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True):
    with torch.no_grad():
        tot += torch.nn.functional.cross_entropy(net(a).float(), b, reduction="sum").item()
print(tot / 32, x.numpy().dtype)

# ==== quantized
import torch
torch.manual_seed(0)
w = torch.randn(64, 64)
scale = w.abs().amax(1, keepdim=True) / 127
q = (w / scale).round().clamp(-128, 127).to(torch.int8)
x = torch.randn(4, 64).half()
out = x @ (q.half() * scale.half()).T
d = torch.quantize_per_tensor(w, float(w.abs().max()) / 127, 0, torch.qint8).dequantize()
print(out.float().norm().item(), d.norm().item())

# ==== relu_dead_zero_init
import torch
torch.manual_seed(0)
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(16, 16), torch.nn.Linear(16, 16)
        torch.nn.init.zeros_(self.b.weight); torch.nn.init.zeros_(self.b.bias)
        self.gamma = torch.nn.Parameter(torch.full((16,), 1e-5))
    def forward(self, x):
        return x + self.gamma * self.b(torch.relu(self.a(x)))
net = torch.nn.Sequential(Block(), Block()).bfloat16()
print(net(torch.randn(4, 16).bfloat16()).float().norm().item())

# ==== rms_float32_inside
import torch
torch.manual_seed(0)
class RMS(torch.nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(d))
    def forward(self, x):
        h = x.float()
        return (self.w * (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype))
net = torch.nn.Sequential(RMS(16), torch.nn.Linear(16, 16), RMS(16)).half()
print(net(torch.randn(4, 16).half() * 500).float().abs().mean().item())

# ==== rope_float32
import torch
torch.manual_seed(0)
q = torch.randn(1, 2, 512, 16).bfloat16()
inv = 1.0 / 10000 ** (torch.arange(0, 16, 2) / 16)
angles = torch.outer(torch.arange(512).float(), inv)
cos, sin = angles.cos().repeat(1, 2).bfloat16(), angles.sin().repeat(1, 2).bfloat16()
half = torch.cat([-q[..., 8:], q[..., :8]], -1)
print((q * cos + half * sin).float().abs().mean().item())

# ==== save_load
import io, torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4)).bfloat16()
b = io.BytesIO(); torch.save(net.state_dict(), b); b.seek(0)
other = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4)).bfloat16()
print(other.load_state_dict(torch.load(b)))
with torch.device("meta"):
    third = torch.nn.Linear(4, 4, dtype=torch.bfloat16)
third.to_empty(device="cpu").load_state_dict({k[2:]: v for k, v in net.state_dict().items() if k.startswith("0.")})
print(other.eval()(third(torch.randn(2, 4).bfloat16())).float().norm().item())

# ==== uint8_image
import torch
torch.manual_seed(0)
img = torch.rand(3, 16, 16).half()
out = (img * 255).round().clamp(0, 255).to(torch.uint8)
back = out.to(torch.float16) / 255
print((back - img).abs().max().float().item() < 0.01, out.float().mean().item())

# ==== unet_diffusers_like
import torch, math, torch.nn as nn
torch.manual_seed(0)
def temb(t, dim):
    f = torch.exp(-math.log(10000) * torch.arange(dim // 2, dtype=torch.float32) / (dim // 2))
    e = t[:, None].float() * f[None]
    return torch.cat([e.sin(), e.cos()], -1)
class U(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp, self.t, self.out = nn.Conv2d(3, 8, 3, padding=1), nn.Linear(16, 8), nn.Conv2d(8, 3, 3, padding=1)
        self.norm = nn.GroupNorm(4, 8)
    def forward(self, x, t):
        e = self.t(nn.functional.silu(temb(t, 16).to(x.dtype)))
        return self.out(nn.functional.silu(self.norm(self.inp(x) + e[:, :, None, None])))
net = U().half()
betas = torch.linspace(0.00085 ** 0.5, 0.012 ** 0.5, 1000) ** 2
ac = torch.cumprod(1 - betas, 0)
x = torch.randn(1, 3, 8, 8).half()
with torch.no_grad():
    for t in torch.linspace(999, 0, 20).long():
        eps = net(x, t[None])
        a = ac[t]; ap = ac[t - 50] if t >= 50 else torch.tensor(1.0)
        x0 = (x - (1 - a).sqrt().half() * eps) / a.sqrt().half()
        x0 = x0.clamp(-1, 1)
        x = ap.sqrt().half() * x0 + (1 - ap).sqrt().half() * eps
img = ((x / 2 + 0.5).clamp(0, 1) * 255).round().to(torch.uint8)
print(img.float().mean().item())

# ==== vmap_grad
import torch
from torch.func import functional_call, grad, vmap
torch.manual_seed(0)
net = torch.nn.Linear(4, 1).bfloat16()
p = dict(net.named_parameters())
def loss(p, x): return functional_call(net, p, (x,)).float().pow(2).sum()
g = vmap(grad(loss), in_dims=(None, 0))({k: v.detach() for k, v in p.items()}, torch.randn(5, 4).bfloat16())
print(g["weight"].float().norm().item())

# ==== where_division
import torch
torch.manual_seed(0)
x = torch.randn(16).half()
n = torch.tensor([0.0, 1.0] * 8).half()
y = torch.where(n > 0, x / n, torch.zeros_like(x))
bias = torch.log(torch.tensor([1.0, 0.0, 1.0, 1.0]).bool().float())
print(y.float().sum().item(), (torch.randn(3, 4) + bias).softmax(-1).sum().item())

# ==== zero3_like_threads
import torch, threading
torch.manual_seed(0)
res = {}
net = torch.nn.Linear(4, 4).half()
x = torch.randn(2, 4).half()
def work(): res["y"] = net(x)
t = threading.Thread(target=work); t.start(); t.join()
print(res["y"].float().norm().item())
