import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Conv1d(4, 8, 3), torch.nn.BatchNorm1d(8), torch.nn.Hardswish(), torch.nn.Dropout(0.2)).half()
net.train()
y = net(torch.randn(4, 4, 16).half())
y.float().mean().backward()
print(y.float().std().item() > 0.1)
