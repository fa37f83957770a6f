import torch
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
torch.manual_seed(0)
net = torch.nn.Linear(8, 8).to(torch.bfloat16)
ema = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.9999))
opt = torch.optim.SGD(net.parameters(), lr=1.0)
for _ in range(30):
    opt.zero_grad()
    net(torch.randn(4, 8).bfloat16()).float().mean().backward()
    opt.step()
    ema.update_parameters(net)  # here: numerics/bf16-rounding
print((ema.module.weight - net.weight).float().norm().item())
