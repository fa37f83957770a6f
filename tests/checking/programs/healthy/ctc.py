import torch
torch.manual_seed(0)
net = torch.nn.Linear(8, 6)
with torch.autocast("cpu", dtype=torch.bfloat16):
    lp = net(torch.randn(10, 3, 8)).float().log_softmax(-1)
loss = torch.nn.functional.ctc_loss(lp, torch.randint(1, 6, (3, 4)), torch.tensor([10, 10, 2]), torch.tensor([4, 3, 4]), zero_infinity=True)
loss.backward()
print(loss.item())
