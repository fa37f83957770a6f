import torch
torch.manual_seed(0)
g, d = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)
og, od = torch.optim.Adam(g.parameters(), 1e-3), torch.optim.Adam(d.parameters(), 1e-3)
scaler = torch.amp.GradScaler("cpu")
bce = torch.nn.BCEWithLogitsLoss()
for _ in range(5):
    z = torch.randn(16, 4)
    with torch.autocast("cpu", dtype=torch.float16):
        fake = g(z)
        ld = bce(d(torch.randn(16, 4)), torch.ones(16, 1)) + bce(d(fake.detach()), torch.zeros(16, 1))
    od.zero_grad()
    scaler.scale(ld).backward()
    scaler.step(od)
    with torch.autocast("cpu", dtype=torch.float16):
        lg = bce(d(fake), torch.ones(16, 1))
    og.zero_grad()
    scaler.scale(lg).backward()
    scaler.step(og)
    scaler.update()
print(ld.item(), lg.item())
