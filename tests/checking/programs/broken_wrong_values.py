# ==== float_mask
import torch
torch.manual_seed(0)
q = k = v = torch.randn(1, 1, 8, 4).bfloat16()
mask = torch.ones(8, 8).tril().bfloat16()
out = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)  # here: dtype-mismatch/attention-mask
print(out.float().sum().item())

# ==== fp8_cast
import torch
torch.manual_seed(0)
x = torch.randn(16, 16) * 300
y = x.to(torch.float8_e4m3fn)  # here: quantized/accuracy
print(y.float().abs().mean().item())

# ==== int8_scale_coarse
import torch
torch.manual_seed(0)
w = torch.randn(32, 32) * 0.02
w[0, 0] = 30.0
scale = w.abs().max() / 127
q = torch.clamp(torch.round(w / scale), -128, 127).to(torch.int8)  # here: quantized/accuracy
x = torch.randn(4, 32)
print((x[:, 1:] @ (q.float() * scale)[1:]).norm().item())

# ==== int8_wrap
import torch
torch.manual_seed(0)
w = torch.randn(64, 64)
scale = w.abs().mean() / 127
q = (w / scale).round().to(torch.int8)  # here: quantized/accuracy
x = torch.randn(4, 64)
print((x @ (q.float() * scale)).norm().item())

# ==== int_buffer_mean
import torch
torch.manual_seed(0)
hist = torch.zeros(10, dtype=torch.int64)
vals = torch.rand(10)
hist[:] = vals  # here: dtype-mismatch/buffer-write
print((hist / 1.0).tolist())

# ==== kv_cache_int
import torch
torch.manual_seed(0)
cache = torch.zeros(4, 8, dtype=torch.long)
for i in range(4):
    cache[i] = torch.randn(8)  # here: dtype-mismatch/buffer-write
print(cache.float().norm().item())

# ==== nan_checkpoint
import torch
torch.manual_seed(0)
state = torch.nn.Linear(4, 4).state_dict()
state["weight"][1, 1] = float("nan")
net = torch.nn.Linear(4, 4)
net.load_state_dict(state)  # here: checkpoint/nan-weights
print(net(torch.randn(2, 4)).sum().item())

# ==== quant_zero_point
import torch
torch.manual_seed(0)
x = torch.randn(64) * 3 + 10
q = torch.quantize_per_tensor(x, 0.02, 0, torch.quint8)  # here: quantized/accuracy
print((q.dequantize() - x).abs().max().item())

# ==== to_empty
import torch
torch.manual_seed(0)
with torch.device("meta"):
    net = torch.nn.Linear(8, 8)
net = net.to_empty(device="cpu")  # here: checkpoint/uninitialized
print(net(torch.randn(2, 8)).shape)

# ==== uint8_overflow
import torch
torch.manual_seed(0)
img = torch.rand(3, 8, 8).half() * 1.5
out = (img * 255).to(torch.uint8)  # here: quantized/accuracy
print(out.float().mean().item())
