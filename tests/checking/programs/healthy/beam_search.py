import torch
torch.manual_seed(0)
emb, head = torch.nn.Embedding(30, 8).half(), torch.nn.Linear(8, 30).half()
scores = torch.zeros(3)
scores[1:] = -1e9
seq = torch.ones(3, 1, dtype=torch.long)
with torch.no_grad():
    for _ in range(6):
        lp = head(emb(seq[:, -1])).float().log_softmax(-1) + scores[:, None]
        scores, idx = lp.view(-1).topk(3)
        seq = torch.cat([seq[idx // 30], (idx % 30)[:, None]], 1)
print(scores.max().item(), seq.shape)
