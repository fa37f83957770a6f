import torch
torch.manual_seed(0)
net = torch.nn.Linear(8, 3).bfloat16().eval()
correct = total = 0
loss_sum = 0.0
with torch.no_grad():
    for _ in range(20):
        x, y = torch.randn(32, 8).bfloat16(), torch.randint(0, 3, (32,))
        out = net(x)
        loss_sum += torch.nn.functional.cross_entropy(out, y).item() * 32
        correct += (out.argmax(1) == y).sum().item(); total += 32
print(correct / total, loss_sum / total)
