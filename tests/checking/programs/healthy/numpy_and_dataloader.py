import numpy as np, torch
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
x = torch.from_numpy(np.random.RandomState(0).randn(32, 4).astype(np.float16))
y = torch.from_numpy((np.arange(32) % 2).astype(np.int64))
net = torch.nn.Linear(4, 2).half()
tot = 0
for a, b in DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True):
    with torch.no_grad():
        tot += torch.nn.functional.cross_entropy(net(a).float(), b, reduction="sum").item()
print(tot / 32, x.numpy().dtype)
