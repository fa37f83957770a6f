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
