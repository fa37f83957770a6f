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
