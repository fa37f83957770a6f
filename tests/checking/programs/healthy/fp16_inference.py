import torch
torch.manual_seed(0)
net = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), 2).half().eval()
with torch.no_grad():
    out = net(torch.randn(2, 16, 32).half())
print(out.float().mean().item(), out.float().std().item())
