import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Linear(32, 1)).bfloat16()
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
x = torch.randn(64, 16).bfloat16()
y = x[:, :1] * 0.5
for _ in range(20):
    loss = torch.nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(round(loss.item(), 2))
