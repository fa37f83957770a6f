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
