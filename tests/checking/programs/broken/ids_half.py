import torch
torch.manual_seed(0)
batch = {"input_ids": torch.randint(3000, 30000, (2, 16)), "pixel": torch.randn(2, 3)}
batch = {k: v.to(torch.bfloat16) for k, v in batch.items()}  # here: numerics/bf16-rounding
emb = torch.nn.Embedding(30522, 8).bfloat16()
print(emb(batch["input_ids"].long()).float().sum().item())
