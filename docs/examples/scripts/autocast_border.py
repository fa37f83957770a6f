"""Features leave an autocast block in bfloat16 and meet a head whose weights are float32."""

import torch
from torch import nn

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64))
head = nn.Linear(64, 3)

x = torch.randn(8, 16)
y = torch.randint(0, 3, (8,))

with torch.autocast("cpu", dtype=torch.bfloat16):
    features = encoder(x)

logits = head(features)  # outside, so that the loss is computed in float32
loss = nn.functional.cross_entropy(logits, y)
loss.backward()
print("loss:", round(loss.item(), 3))
