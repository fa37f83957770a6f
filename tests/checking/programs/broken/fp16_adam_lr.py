import torch
torch.manual_seed(0)
net = torch.nn.Linear(16, 16)
net = net.to(torch.float16)
opt = torch.optim.AdamW(net.parameters(), lr=1e-5, eps=1e-4)
w0 = net.weight.detach().clone()
for _ in range(10):
    opt.zero_grad()
    (net(torch.randn(8, 16).half()) - 1).pow(2).mean().backward()
    opt.step()  # here: numerics/bf16-rounding
print("moved", (net.weight - w0).abs().float().mean().item())
