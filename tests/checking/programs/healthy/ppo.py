import torch, torch.nn as nn
from torch.distributions import Categorical, Normal
torch.manual_seed(0)
pi, vf = nn.Linear(4, 3), nn.Linear(4, 1)
opt = torch.optim.Adam([*pi.parameters(), *vf.parameters()], 3e-3)
obs = torch.randn(64, 4)
mask = torch.rand(64, 3) > 0.2
mask[:, 0] = True
with torch.no_grad():
    d = Categorical(logits=pi(obs).masked_fill(~mask, -1e8)); act = d.sample(); old = d.log_prob(act)
ret = torch.randn(64)
adv = ret - vf(obs).detach().squeeze(-1)
adv = (adv - adv.mean()) / (adv.std() + 1e-8)
for _ in range(4):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits, v = pi(obs), vf(obs).squeeze(-1)
    d = Categorical(logits=logits.float().masked_fill(~mask, -1e8))
    ratio = (d.log_prob(act) - old).exp()
    loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean() + 0.5 * (v.float() - ret).pow(2).mean() - 0.01 * d.entropy().mean()
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())
