import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.Linear(8, 2)).bfloat16()
fast = torch.compile(net, backend="eager")
with torch.inference_mode():
    print(fast(torch.randn(3, 8).bfloat16()).float().abs().sum().item())
