import torch
torch.manual_seed(0)
state = torch.nn.Linear(4, 4).state_dict()
state["weight"][1, 1] = float("nan")
net = torch.nn.Linear(4, 4)
net.load_state_dict(state)  # here: checkpoint/nan-weights
print(net(torch.randn(2, 4)).sum().item())
