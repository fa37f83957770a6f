import torch
torch.manual_seed(0)
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(16, 16), torch.nn.Linear(16, 16)
        torch.nn.init.zeros_(self.b.weight); torch.nn.init.zeros_(self.b.bias)
        self.gamma = torch.nn.Parameter(torch.full((16,), 1e-5))
    def forward(self, x):
        return x + self.gamma * self.b(torch.relu(self.a(x)))
net = torch.nn.Sequential(Block(), Block()).bfloat16()
print(net(torch.randn(4, 16).bfloat16()).float().norm().item())
