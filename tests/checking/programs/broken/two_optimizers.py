import torch
torch.manual_seed(0)
g, d = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)
og, od = torch.optim.SGD(g.parameters(), lr=1e-5), torch.optim.SGD(d.parameters(), lr=1e-5)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**14)
for _ in range(4):
    og.zero_grad(); od.zero_grad()
    loss = d(g(torch.randn(8, 4))).pow(2).mean()
    scaler.scale(loss).backward()
    scaler.step(og)
    od.step()  # here: amp/scaler-order
    scaler.update()
print(d.weight.sum().item())
