"""Overflow, underflow and rounding: results that are wrong, or errors that come from them."""

from __future__ import annotations

from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case


@case(issues=("numerics/constant-overflow",), plays=("finfo", "mask-in-fp32"))
def mask_constant_overflow(setting: Setting) -> Program:
    """A mask value of -1e9 is filled into half-precision scores."""
    import torch

    mask = torch.ones(6, 6).triu(1).bool()

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        scores, mask = inputs["scores"], inputs["mask"]
        if setting.variant == "mask-in-fp32":
            return scores.float().masked_fill(mask, -1e9).softmax(-1).to(scores.dtype)
        value = -1e9 if setting.shows("finfo") else torch.finfo(scores.dtype).min
        return scores.masked_fill(mask, value).softmax(-1)

    return Program(None, {"scores": torch.randn(2, 6, 6).to(setting.device, setting.dtype), "mask": mask.to(setting.device)}, call)


def _gated_mlp(setting: Setting) -> Any:
    """Two residual blocks of which the second one's products pass 65504, as those of models trained in bfloat16 do."""
    import torch

    class Mlp(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gate = torch.nn.Linear(32, 64, bias=False)
            self.up = torch.nn.Linear(32, 64, bias=False)
            self.down = torch.nn.Linear(64, 32, bias=False)

        def forward(self, x: torch.Tensor) -> Any:
            return self.down(torch.nn.functional.silu(self.gate(x)) * self.up(x))

    class Block(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = torch.nn.LayerNorm(32)
            self.mlp = Mlp()

        def forward(self, x: torch.Tensor) -> Any:
            return x + self.mlp(self.norm(x))

    model: Any = torch.nn.Sequential(Block(), Block(), torch.nn.LayerNorm(32), torch.nn.Linear(32, 16))
    with torch.no_grad():
        model[1].mlp.gate.weight.mul_(800.0)
        model[1].mlp.up.weight.mul_(800.0)
        model[1].mlp.down.weight.mul_(0.002)
    return model.to(setting.device, setting.dtype)


@case(
    issues=("numerics/fp16-overflow",),
    symptom="In fp16 the output of the model is garbage: activations overflow to inf and the output logits are nan.",
)
def fp16_mlp_overflow(setting: Setting) -> Program:
    """The products inside a gated MLP pass 65504 in float16."""
    import torch

    return Program(_gated_mlp(setting), {"input": torch.randn(4, 32).to(setting.device, setting.dtype)})


@case(issues=("numerics/invalid-probabilities",), cause="numerics/fp16-overflow")
def sampling_from_nan(setting: Setting) -> Program:
    """A token is drawn from logits that overflowed to NaN in float16."""
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        logits = model(inputs["input"])
        probs = torch.softmax(logits.float(), dim=-1)
        torch.multinomial(probs, num_samples=1)
        return logits

    return Program(_gated_mlp(setting), {"input": torch.randn(4, 32).to(setting.device, setting.dtype)}, call)


@case(
    issues=("checkpoint/nan-weights",),
    dtypes=("float32",),
    plays=("good-checkpoint", "nan-to-num"),
    unplayable={"train-stable": "prevents it in training", "merge-fp32": "is about merging an adapter"},
    symptom="The weights of the checkpoint contain nan values: the state_dict is full of nan.",
)
def nan_in_weights(setting: Setting) -> Program:
    """A stored weight is NaN."""
    import torch

    model = torch.nn.Linear(8, 4).to(setting.device, setting.dtype)
    if setting.shows("good-checkpoint"):
        model.weight.data[:, 3] = float("nan")
    if setting.variant == "nan-to-num":
        torch.nan_to_num_(model.weight.data)
    return Program(model, {"input": torch.randn(2, 8).to(setting.device, setting.dtype)})


@case(
    issues=("numerics/bf16-positions",),
    dtypes=("bfloat16",),
    plays=("rope-fp32", "buffer-fp32", "int-positions"),
    symptom="With bf16 the rotary position_ids are inexact: an arange in bfloat16 has duplicated values past 256.",
)
def bf16_rotary_positions(setting: Setting) -> Program:
    """Rotary angles of 400 positions are computed in bfloat16."""
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        x = inputs["x"]
        # Computing the angles in float32 is what all three fixes come to.
        wide = (
            torch.bfloat16 if setting.shows("rope-fp32", "buffer-fp32", "int-positions") and setting.name == "bfloat16" else torch.float32
        )
        positions = torch.arange(400, device=x.device, dtype=wide)
        frequencies = (1.0 / 10000.0 ** (torch.arange(0, 16, 2, device=x.device, dtype=torch.float32) / 16)).to(wide)
        angles = torch.outer(positions, frequencies)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        one, two = x[..., :8], x[..., 8:]
        return torch.cat([one * cos - two * sin, one * sin + two * cos], dim=-1)

    return Program(None, {"x": torch.randn(1, 400, 16).to(setting.device, setting.dtype)}, call)


@case(
    issues=("numerics/underflow-epsilon",),
    plays=("bigger-eps", "fp32-weights", "scaler"),
    symptom="Training in pure fp16, AdamW makes the weights nan at the first optimizer.step; eps is 1e-8.",
)
def adam_epsilon_in_float16(setting: Setting) -> Program:
    """Adam's epsilon of 1e-8 is zero in float16, and a parameter without gradient becomes 0/0."""
    import torch

    # A GradScaler goes with float32 weights under autocast.
    dtype = torch.float32 if setting.variant in ("fp32-weights", "scaler") else setting.dtype
    model = torch.nn.Linear(8, 4, bias=False).to(setting.device, dtype)
    eps = 1e-4 if setting.variant == "bigger-eps" else 1e-8

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        weight = inputs["weight"].to(dtype)
        model.weight.data.copy_(weight)
        # One column has no gradient at all: nothing of it is used.
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, eps=eps, foreach=False, weight_decay=0.0)
        x = inputs["x"].to(dtype)
        with torch.autocast(x.device.type, dtype=torch.float16, enabled=setting.variant == "scaler"):
            loss: Any = model(x).sum()
        loss.backward()
        optimizer.step()
        return model.weight.detach().clone()

    x = torch.randn(4, 8)
    x[:, 2] = 0.0
    return Program(model, {"weight": torch.randn(4, 8).to(setting.device), "x": x.to(setting.device)}, call)


@case(
    issues=("numerics/bf16-weight-updates",),
    dtypes=("bfloat16",),
    plays=("master", "lr"),
    symptom="In pure bf16 training the model's weights do not change: bf16 parameters never update at this learning rate.",
)
def bf16_updates_rounded_away(setting: Setting) -> Program:
    """Updates of a ten-thousandth are rounded away in bfloat16 weights."""
    import torch

    dtype = torch.float32 if setting.variant == "master" else setting.dtype
    model = torch.nn.Linear(8, 4, bias=False).to(setting.device, dtype)
    before = model.weight.detach().clone()

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        model.weight.data.copy_(inputs["weight"])
        # A higher rate would move them, by another amount than was asked for.
        rate = 1e-3 if setting.variant == "lr" else 1e-4
        optimizer = torch.optim.SGD(model.parameters(), lr=rate)
        for _ in range(20):
            optimizer.zero_grad()
            model(inputs["x"].to(dtype)).sum().backward()
            optimizer.step()
        return model.weight.detach().float() - inputs["weight"].float()

    inputs = {"weight": before, "x": torch.rand(4, 8).to(setting.device)}
    return Program(model, inputs, call)


@case(
    issues=("numerics/tf32",),
    devices=("cuda",),
    dtypes=("float32",),
    reference="float64",
    capability_at_least=8.0,
    why_not_cpu="TF32 exists on NVIDIA GPUs since Ampere only",
    symptom="Results differ on the A100: float32 matmul gives errors of 1e-3 because TF32 is on; allow_tf32 lowers the precision.",
)
def tf32_matmul(setting: Setting) -> Program:
    """A float32 product runs in TF32."""
    import torch

    model = torch.nn.Linear(256, 64).to(setting.device, setting.dtype)

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        torch.backends.cuda.matmul.allow_tf32 = setting.faulty and setting.variant is None
        return model(inputs["input"])

    return Program(model, {"input": torch.randn(64, 256).to(setting.device, setting.dtype)}, call)
