import torch
torch.manual_seed(0)
class N(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(4, 4)
        self.register_buffer("big", torch.full((4,), 1e6))
    def forward(self, x):
        return self.lin(x) * self.big
net = N().half()  # here: numerics/constant-overflow
print(net(torch.randn(2, 4).half()).tolist())
