import torch
torch.manual_seed(0)
emb = torch.nn.Embedding(100, 8, sparse=True)
opt = torch.optim.SparseAdam(emb.parameters(), lr=0.01)
for _ in range(5):
    loss = emb(torch.randint(0, 100, (16,))).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
