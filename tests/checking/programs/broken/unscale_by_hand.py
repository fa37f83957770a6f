import torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optim = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=4096.0)
data = torch.randn(32, 4)
for _ in range(20):
    optim.zero_grad()
    scaler.scale(model(data).pow(2).mean()).backward()
    for p in model.parameters():
        p.grad /= scaler.get_scale()  # here: amp/scaler-order
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optim)
    scaler.update()
print(model(data).pow(2).mean().item())
