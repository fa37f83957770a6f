import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), lr=1e4)
x = torch.randn(64, 32)
for _ in range(3):
    with torch.autocast("cpu", dtype=torch.float16):
        out = net(x)
        loss = (out.float() * 1e-5).pow(2).mean()
    opt.zero_grad()
    loss.backward()  # here: numerics/underflow-epsilon
    opt.step()
    print(loss.item() * 1e10)
