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
