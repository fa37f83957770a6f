import torch
torch.manual_seed(0)
def train(model, opt, scaler, batches):
    for x, y in batches:
        opt.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.float16):
            loss = torch.nn.functional.mse_loss(model(x), y)
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_value_(model.parameters(), 0.5)  # here: amp/scaler-order
        scaler.unscale_(opt)
        scaler.step(opt)
        scaler.update()
    return loss
m = torch.nn.Linear(8, 1)
o = torch.optim.SGD(m.parameters(), lr=0.1)
l = train(m, o, torch.amp.GradScaler("cpu", init_scale=2048.0), [(torch.randn(16, 8), torch.randn(16, 1)) for _ in range(10)])
print(l.item())
