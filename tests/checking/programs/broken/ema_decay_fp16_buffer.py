import torch
class EMA:
    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = {k: v.clone() for k, v in model.state_dict().items()}
    def update(self, model):
        for k, v in model.state_dict().items():
            self.shadow[k] = self.decay * self.shadow[k] + (1 - self.decay) * v  # here: numerics/bf16-rounding
torch.manual_seed(0)
net = torch.nn.Linear(32, 32).to(torch.bfloat16)
ema = EMA(net, 0.9999)
for _ in range(50):
    with torch.no_grad():
        for p in net.parameters():
            p += 0.02
    ema.update(net)
print("distance", (ema.shadow["weight"] - net.weight).float().abs().mean().item())
