import torch, io
torch.manual_seed(0)
net = torch.nn.Linear(4, 4)
net.bias.data += 2e5
buf = io.BytesIO()
torch.save({k: v.half() for k, v in net.state_dict().items()}, buf)  # here: numerics/fp16-overflow
buf.seek(0)
net.load_state_dict(torch.load(buf))
print(net(torch.ones(1, 4)).tolist())
