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
