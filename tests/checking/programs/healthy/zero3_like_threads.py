import torch, threading
torch.manual_seed(0)
res = {}
net = torch.nn.Linear(4, 4).half()
x = torch.randn(2, 4).half()
def work(): res["y"] = net(x)
t = threading.Thread(target=work); t.start(); t.join()
print(res["y"].float().norm().item())
