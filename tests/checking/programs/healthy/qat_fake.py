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
