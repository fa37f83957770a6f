import torch
torch.manual_seed(0)
wave = torch.randn(1, 4000)
spec = torch.stft(wave, 256, window=torch.hann_window(256), return_complex=True).abs().pow(2)
mel = torch.log10(spec.clamp(min=1e-10))
mel = torch.maximum(mel, mel.max() - 8).half()
net = torch.nn.Conv1d(129, 16, 3).half()
print(net(mel).float().mean().item())
