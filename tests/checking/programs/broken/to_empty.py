import torch
torch.manual_seed(0)
with torch.device("meta"):
    net = torch.nn.Linear(8, 8)
net = net.to_empty(device="cpu")  # here: checkpoint/uninitialized
print(net(torch.randn(2, 8)).shape)
