"""Embeddings in bfloat16 that are handed to NumPy, which has no such type."""

import numpy as np
import torch
from torch import nn


def embed(model: nn.Module, texts: list[list[int]]) -> np.ndarray:
    vectors = []
    for ids in texts:
        with torch.no_grad():
            pooled = model(torch.tensor(ids)).mean(0)
        vectors.append(pooled.cpu().numpy())
    return np.stack(vectors)


torch.manual_seed(0)
model = nn.Sequential(nn.Embedding(100, 24), nn.Linear(24, 8)).to(torch.bfloat16)
index = embed(model, [[1, 2, 3], [4, 5], [6]])
print("index:", index.shape, index.dtype)
