import torch
from torch.func import functional_call, grad, vmap
torch.manual_seed(0)
net = torch.nn.Linear(4, 1).bfloat16()
p = dict(net.named_parameters())
def loss(p, x): return functional_call(net, p, (x,)).float().pow(2).sum()
g = vmap(grad(loss), in_dims=(None, 0))({k: v.detach() for k, v in p.items()}, torch.randn(5, 4).bfloat16())
print(g["weight"].float().norm().item())
