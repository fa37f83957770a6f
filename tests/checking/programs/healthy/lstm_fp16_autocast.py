import torch
torch.manual_seed(0)
net, head = torch.nn.GRU(8, 16, batch_first=True), torch.nn.Linear(16, 2)
opt = torch.optim.Adam([*net.parameters(), *head.parameters()], 1e-2)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**12)
x, y = torch.randn(16, 10, 8), torch.randint(0, 2, (16,))
for _ in range(6):
    with torch.autocast("cpu", dtype=torch.float16):
        logits = head(net(x)[0][:, -1])
        loss = torch.nn.functional.cross_entropy(logits.float(), y)
    opt.zero_grad(); scaler.scale(loss).backward(); scaler.step(opt); scaler.update()
print(loss.item())
