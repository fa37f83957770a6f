import torch
torch.manual_seed(0)
ids = torch.arange(200)
pos = ids.to(torch.bfloat16) / 200
correct = (torch.randn(64, 4).argmax(-1) == torch.randint(0, 4, (64,))).half().mean()
lengths = torch.tensor([512, 300, 77]).to(torch.float16)
print(pos.float().mean().item(), correct.item(), (torch.ones(3).half() * 10 / lengths).float().sum().item())
