import torch
torch.manual_seed(0)
class Norm(torch.nn.Module):
    def forward(self, x):
        mu = x.mean(-1, keepdim=True)
        var = ((x - mu) ** 2).mean(-1, keepdim=True)  # here: numerics/fp16-overflow
        return (x - mu) / torch.sqrt(var + 1e-5)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.proj, self.norm = torch.nn.Linear(8, 8), Norm()
    def forward(self, x):
        return self.norm(self.proj(x))
net = Net().half()
y = net(torch.randn(2, 8).half() * 2000)
print(y.float().abs().mean().item())
