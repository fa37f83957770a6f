import torch
torch.manual_seed(0)
student = torch.nn.Linear(8, 8).half()
teacher = torch.nn.Linear(8, 8).half()
teacher.load_state_dict(student.state_dict())
def update(decay):
    with torch.no_grad():
        for t, s in zip(teacher.parameters(), student.parameters()):
            t.copy_(decay * t + (1 - decay) * s)  # here: numerics/bf16-rounding
for _ in range(40):
    for s in student.parameters():
        s.data += 0.05
    update(0.99999)
print((student.weight - teacher.weight).float().mean().item())
