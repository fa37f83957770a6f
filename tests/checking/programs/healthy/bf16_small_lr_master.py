import torch
torch.manual_seed(0)
net = torch.nn.Linear(16, 1).bfloat16()
master = [p.detach().float().requires_grad_() for p in net.parameters()]
opt = torch.optim.Adam(master, lr=1e-4)
x = torch.randn(32, 16).bfloat16()
for _ in range(10):
    net.zero_grad()
    loss = (net(x) - 1).float().pow(2).mean()
    loss.backward()
    for m, p in zip(master, net.parameters()):
        m.grad = p.grad.float()
    opt.step()
    with torch.no_grad():
        for m, p in zip(master, net.parameters()):
            p.copy_(m)
print(loss.item())
