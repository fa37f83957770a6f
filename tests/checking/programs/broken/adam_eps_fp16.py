import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1)).half()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(3):
    x = torch.randn(4, 8).half()
    loss = net(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()  # here: numerics/underflow-epsilon
    print("loss", loss.item())
