import io, torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4)).bfloat16()
b = io.BytesIO(); torch.save(net.state_dict(), b); b.seek(0)
other = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4)).bfloat16()
print(other.load_state_dict(torch.load(b)))
with torch.device("meta"):
    third = torch.nn.Linear(4, 4, dtype=torch.bfloat16)
third.to_empty(device="cpu").load_state_dict({k[2:]: v for k, v in net.state_dict().items() if k.startswith("0.")})
print(other.eval()(third(torch.randn(2, 4).bfloat16())).float().norm().item())
