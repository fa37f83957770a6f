import torch
torch.manual_seed(0)
class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = torch.nn.Linear(64, 192)
    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        scores = q @ k.transpose(-1, -2)  # here: numerics/fp16-overflow
        return (scores / 8).softmax(-1) @ v
net = Attention().half()
print(net(torch.randn(1, 8, 64).half() * 400).float().abs().mean().item())
