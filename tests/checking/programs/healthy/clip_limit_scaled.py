import torch
torch.manual_seed(0)
net = torch.nn.Linear(8, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for _ in range(5):
    opt.zero_grad()
    scaler.scale(net(torch.randn(16, 8)).pow(2).mean()).backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0 * scaler.get_scale())
    scaler.step(opt)
    scaler.update()
print(net.weight.sum().item())
