# ==== all_ignored
import torch
torch.manual_seed(0)
logits = torch.randn(4, 10).bfloat16()
labels = torch.full((4,), -100)
loss = torch.nn.functional.cross_entropy(logits, labels)  # here: numerics/masked-row
print(loss.item())

# ==== attn_scale_after
import torch
torch.manual_seed(0)
q, k = (torch.randn(1, 2, 8, 64).half() * 60 for _ in range(2))
w = torch.matmul(q, k.transpose(-1, -2)) / 8.0  # here: numerics/fp16-overflow
w = torch.softmax(w.float(), dim=-1).half()
print(w.float().sum().item())

# ==== autocast_loss_fp16
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(16, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256))
with torch.autocast("cpu", dtype=torch.float16):
    h = net(torch.randn(4, 16) * 100)
    energy = h @ (h.T * 100)  # here: numerics/fp16-overflow
print(energy.float().mean().item())

# ==== exp_kl
import torch
torch.manual_seed(0)
lv = (torch.randn(8, 4) * 2 + 12).half()
mu = torch.randn(8, 4).half()
kl = -0.5 * (1 + lv - mu ** 2 - lv.exp()).sum(1).mean()  # here: numerics/fp16-overflow
print(kl.item())

# ==== exp_overflow_attention
import torch
torch.manual_seed(0)
class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = torch.nn.Linear(64, 192)
    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        scores = q @ k.transpose(-1, -2)  # here: numerics/fp16-overflow
        return (scores / 8).softmax(-1) @ v
net = Attention().half()
print(net(torch.randn(1, 8, 64).half() * 400).float().abs().mean().item())

# ==== float32_min_cast
import torch
torch.manual_seed(0)
mask = torch.zeros(4, 4)
mask[1] = torch.finfo(torch.float32).min
mask = mask.to(torch.bfloat16)  # here: numerics/constant-overflow
print((torch.randn(4, 4).bfloat16() + mask).softmax(-1).float().sum().item())

# ==== half_checkpoint_inf
import torch, io
torch.manual_seed(0)
net = torch.nn.Linear(4, 4)
net.bias.data += 2e5
buf = io.BytesIO()
torch.save({k: v.half() for k, v in net.state_dict().items()}, buf)  # here: numerics/fp16-overflow
buf.seek(0)
net.load_state_dict(torch.load(buf))
print(net(torch.ones(1, 4)).tolist())

# ==== layernorm_var_overflow
import torch
torch.manual_seed(0)
class Norm(torch.nn.Module):
    def forward(self, x):
        mu = x.mean(-1, keepdim=True)
        var = ((x - mu) ** 2).mean(-1, keepdim=True)  # here: numerics/fp16-overflow
        return (x - mu) / torch.sqrt(var + 1e-5)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.proj, self.norm = torch.nn.Linear(8, 8), Norm()
    def forward(self, x):
        return self.norm(self.proj(x))
net = Net().half()
y = net(torch.randn(2, 8).half() * 2000)
print(y.float().abs().mean().item())

# ==== logsumexp_manual
import torch
torch.manual_seed(0)
logits = (torch.randn(4, 100) * 5 + 10).half()
lse = torch.log(torch.exp(logits).sum(-1))  # here: numerics/fp16-overflow
print("nll", (lse - logits[:, 0]).float().mean().item())

# ==== loss_scale_static_overflow
import torch
torch.manual_seed(0)
net = torch.nn.Linear(64, 1).half()
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(3):
    opt.zero_grad()
    loss = (net(torch.randn(32, 64).half()) - 30).pow(2).mean()
    (loss * 2048).backward()  # here: numerics/fp16-overflow
    for p in net.parameters():
        p.grad /= 2048
    opt.step()
print(net.weight.float().sum().item())

# ==== mask_constant
import torch
torch.manual_seed(0)
scores = torch.randn(2, 4, 4).half()
keep = torch.ones(2, 4, 4).half()
keep[1] = 0
bias = (1 - keep) * -1e9  # here: numerics/constant-overflow
print((scores + bias).softmax(-1).float().sum().item())

# ==== masked_attention_padding
import torch, torch.nn as nn
torch.manual_seed(0)
enc = nn.MultiheadAttention(16, 2, batch_first=True).bfloat16()
x = torch.randn(2, 5, 16).bfloat16()
pad = torch.zeros(2, 5, dtype=torch.bool)
pad[1] = True
out, w = enc(x, x, x, key_padding_mask=pad)  # here: numerics/masked-row
print(out.float().sum().item())

# ==== masked_row
import torch
torch.manual_seed(0)
scores = torch.randn(1, 4, 4)
mask = torch.ones(4, 4, dtype=torch.bool).tril()
mask[0] = False
probs = scores.masked_fill(~mask, float("-inf")).softmax(-1)  # here: numerics/masked-row
print(probs.sum().item())

# ==== mean_mask_zero
import torch
torch.manual_seed(0)
h = torch.randn(3, 5, 8).bfloat16()
mask = torch.tensor([[1, 1, 0, 0, 0], [1, 1, 1, 1, 1], [0, 0, 0, 0, 0]])
pooled = (h * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)  # here: numerics/masked-row
print(pooled.float().norm(dim=-1).tolist())

# ==== pooled_sum_fp16
import torch
torch.manual_seed(0)
feats = torch.rand(1, 70000, 2).half() * 2
total = feats.sum(1)  # here: numerics/fp16-overflow
print((total / 70000).tolist())

# ==== resid_stream_fp16
import torch, torch.nn as nn
torch.manual_seed(0)
class FF(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.wi, self.wo = nn.Linear(d, 4 * d, bias=False), nn.Linear(4 * d, d, bias=False)
    def forward(self, x):
        return x + self.wo(torch.relu(self.wi(x)))  # here: numerics/fp16-overflow
net = nn.Sequential(*[FF(32) for _ in range(6)])
for m in net: m.wo.weight.data *= 30; m.wi.weight.data *= 10
net = net.half()
out = net(torch.randn(2, 32).half())
print(torch.nn.functional.layer_norm(out.float(), (32,)).abs().mean().item())

# ==== rmsnorm_fp16
import torch
torch.manual_seed(0)
class RMSNorm(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(dim))
    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight  # here: numerics/fp16-overflow
norm = RMSNorm(16).half()
print(norm(torch.randn(2, 16).half() * 1000).float().abs().mean().item())

# ==== scale_exhausted
import torch
torch.manual_seed(0)
w = torch.nn.Parameter(torch.ones(4))
opt = torch.optim.SGD([w], lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=16.0)
for _ in range(12):
    opt.zero_grad()
    loss = (w * 1e-3).sum() + torch.sqrt((w - w).abs()).sum()  # here: numerics/nan-loss
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()
print(w.sum().item())

# ==== softplus_inverse
import torch
torch.manual_seed(0)
x = torch.randn(16).half() * 8
y = torch.log(1 + torch.exp(x * 2))  # here: numerics/fp16-overflow
print(y.float().mean().item())

# ==== sqrt_gradient
import torch
torch.manual_seed(0)
w = torch.nn.Parameter(torch.zeros(4))
opt = torch.optim.SGD([w], lr=0.1)
for _ in range(3):
    loss = torch.sqrt(w * w).sum()  # here: numerics/nan-loss
    opt.zero_grad()
    loss.backward()
    opt.step()
print(w.sum().item())

# ==== temperature
import torch
torch.manual_seed(0)
def sample(logits, temperature):
    scaled = logits / temperature  # here: numerics/fp16-overflow
    return torch.softmax(scaled, -1)
p = sample((torch.randn(2, 50) * 4).half(), 1e-5)
print(p.float().sum(-1))

# ==== weights_nan_buffer
import torch
torch.manual_seed(0)
class N(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(4, 4)
        self.register_buffer("big", torch.full((4,), 1e6))
    def forward(self, x):
        return self.lin(x) * self.big
net = N().half()  # here: numerics/constant-overflow
print(net(torch.randn(2, 4).half()).tolist())

# ==== weights_overflow_in_cast
import torch
torch.manual_seed(0)
net = torch.nn.Linear(4, 4)
with torch.no_grad():
    net.weight[0, 0] = 1e5
net = net.half()  # here: numerics/fp16-overflow
print(net(torch.randn(2, 4).half()).float().sum().item())

# ==== weights_sum_fp16
import torch
w = torch.full((70000,), 1.5, dtype=torch.float16)
x = torch.linspace(0, 1, 70000).half()
avg = (w * x).sum() / w.sum()  # here: numerics/fp16-overflow
print("weighted mean", avg.item())

# ==== where_nan_gradient
import torch
x = torch.nn.Parameter(torch.tensor([0.0, 1.0, 4.0]))
opt = torch.optim.SGD([x], lr=0.1)
for _ in range(2):
    y = torch.where(x > 0, torch.sqrt(x), torch.zeros_like(x)).sum()  # here: numerics/nan-loss
    opt.zero_grad(); y.backward(); opt.step()
print(x.tolist())

# ==== zero_mul_inf
import torch
torch.manual_seed(0)
keep = torch.tensor([1.0, 1.0, 0.0, 1.0])
bias = (1.0 - keep) * float("-inf")  # here: numerics/nan-loss
print((torch.randn(2, 4) + bias).softmax(-1).sum().item())
