import torch
from torch.optim.swa_utils import AveragedModel
torch.manual_seed(0)
net = torch.nn.Linear(8, 8)
avg = AveragedModel(net, avg_fn=lambda a, p, n: 0.999 * a + 0.001 * p)
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for _ in range(10):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = net(torch.randn(4, 8)).float().pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step(); avg.update_parameters(net)
print(loss.item())
