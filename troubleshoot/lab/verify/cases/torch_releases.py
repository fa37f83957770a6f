"""What PyTorch itself refused, or computed wrongly, up to some release or from one on; all of it can be seen on the CPU."""

from __future__ import annotations

from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case


@case(
    issues=("torch/mse-double-target",), dtypes=("float32",), plays=("cast-target", "cast-loss"), shows={"torch": "<2.12"},
    installs={"torch": "2.1.2"},
)  # fmt: skip
def mse_double_target(setting: Setting) -> Program:
    """A float32 prediction is trained on a float64 target, as NumPy makes it."""
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        target = inputs["x"][:, :1].double() * 0.5
        if not setting.shows("cast-target"):
            target = target.to(inputs["x"].dtype)
        mse_loss = torch.nn.functional.mse_loss(model(inputs["x"]), target)
        if setting.variant == "cast-loss":
            mse_loss = mse_loss.float()
        mse_loss.backward()  # type: ignore[no-untyped-call, unused-ignore]
        return model.weight.grad

    model = torch.nn.Linear(8, 1).to(setting.device, setting.dtype)
    return Program(model, {"x": torch.randn(4, 8).to(setting.device, setting.dtype)}, call)


@case(
    issues=("amp/autocast-cache-no-grad",), dtypes=("bfloat16",), plays=("own-block", "clear-cache", "no-cache"),
    shows={"torch": "<2.11"}, installs={"torch": "2.1.2"},
    symptom="With autocast, running the model once under torch.no_grad() makes the gradients of the next pass None.",
)  # fmt: skip
def autocast_cache_no_grad(setting: Setting) -> Program:
    """A pass without gradients and a pass with them share one autocast block."""
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        low = setting.dtype in (torch.float16, torch.bfloat16)

        def autocast() -> Any:
            cached = setting.variant != "no-cache"
            return torch.autocast(setting.device.type, setting.dtype if low else None, enabled=low, cache_enabled=cached)

        if setting.variant == "own-block":
            with autocast(), torch.no_grad():
                model(inputs["x"])
        with autocast():
            if setting.faulty and setting.variant != "own-block":
                with torch.no_grad():
                    model(inputs["x"])
            if setting.variant == "clear-cache":
                torch.clear_autocast_cache()
            loss = model(inputs["x"]).float().square().mean()
        loss.backward()
        gradient = model[0].weight.grad
        return torch.zeros_like(model[0].weight) if gradient is None else gradient

    model = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.LayerNorm(4), torch.nn.Linear(4, 2)).to(setting.device)
    # The norm keeps its weights, so that backward() has something to reach and nothing raises.
    return Program(model, {"x": torch.randn(4, 8).to(setting.device)}, call)


@case(
    issues=("amp/cpu-autocast-float16",), devices=("cpu",), plays=("bfloat16", "off"), shows={"torch": "<2.2"},
    installs={"torch": "2.1.2"},
)  # fmt: skip
def cpu_autocast_float16(setting: Setting) -> Program:
    """Autocast to float16 is asked for on the CPU."""
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        dtype = torch.float16 if setting.shows("bfloat16", "off") else torch.bfloat16
        with torch.autocast("cpu", dtype=dtype, enabled=setting.faulty and setting.variant != "off"):
            return model(inputs["x"])

    return Program(torch.nn.Linear(8, 4), {"x": torch.randn(4, 8)}, call)


@case(
    issues=("amp/mps-autocast-before-2-5",), devices=("cpu",), plays=("only-where-supported",), shows={"torch": "<2.5"},
    installs={"torch": "2.1.2"}, stand_in="a CPU, on which autocast for Apple's GPUs can be entered but changes nothing",
)  # fmt: skip
def autocast_for_mps(setting: Setting) -> Program:
    """Autocast is entered with the device type of Apple's GPUs."""
    from contextlib import nullcontext

    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        with torch.autocast("mps", dtype=torch.float16) if setting.shows("only-where-supported") else nullcontext():
            return model(inputs["x"])

    return Program(torch.nn.Linear(8, 4), {"x": torch.randn(4, 8)}, call)


@case(
    issues=("torch/encoder-fast-path-autocast",), dtypes=("bfloat16",), plays=("slow-path", "cast-model", "autocast-off"),
)  # fmt: skip
def encoder_fast_path_autocast(setting: Setting) -> Program:
    """A TransformerEncoder is evaluated under autocast and without gradients, so that its fused path is taken; one sequence is padded."""
    import torch

    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 2).eval().to(setting.device)
    if setting.variant == "cast-model":
        model = model.to(setting.dtype)

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        x = inputs["x"].to(next(model.parameters()).dtype)
        autocast = torch.autocast(setting.device.type, torch.bfloat16, enabled=setting.shows("cast-model", "autocast-off"))
        with autocast, torch.set_grad_enabled(setting.variant == "slow-path"):
            # The fused path returns zeros for padding, the other one values that nobody reads.
            return model(x, src_key_padding_mask=inputs["padding"]).detach() * ~inputs["padding"].unsqueeze(-1)

    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    return Program(model, {"x": torch.randn(2, 5, 16).to(setting.device), "padding": padding.to(setting.device)}, call)


@case(
    issues=("torch/sdpa-float32-mask-refused",), dtypes=("bfloat16",), plays=("cast-mask", "bool-mask"), shows={"torch": "<2.4"},
    installs={"torch": "2.1.2"}, devices=("cpu",),
)  # fmt: skip
def sdpa_float32_mask(setting: Setting) -> Program:
    """An additive mask that was made in float32 meets queries in bfloat16."""
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        query, key, value = (inputs[name] for name in ("query", "key", "value"))
        allowed = torch.ones(6, 6, device=query.device).tril().bool()
        mask = torch.zeros(6, 6, device=query.device).masked_fill(~allowed, float("-inf"))
        if not setting.shows("cast-mask", "bool-mask"):
            mask = mask.to(query.dtype)
        if setting.variant == "bool-mask":
            mask = allowed
        return torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)

    return Program(None, {name: torch.randn(2, 2, 6, 8).to(setting.device, setting.dtype) for name in ("query", "key", "value")}, call)


@case(
    issues=("numerics/sdpa-empty-row-nan",), dtypes=("bfloat16",), plays=("open-rows", "finite-minimum"), shows={"torch": "<2.5"},
    installs={"torch": "2.1.2"}, devices=("cpu",),
    symptom="The output of scaled_dot_product_attention is nan for rows in which the boolean attn_mask masks everything.",
)  # fmt: skip
def sdpa_empty_row(setting: Setting) -> Program:
    """The mask of a left-padded prompt hides every key from its first query."""
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        query, key, value = (inputs[name] for name in ("query", "key", "value"))
        allowed = torch.ones(6, 6, device=query.device).tril().bool()
        allowed[:, 0] = False
        mask: Any = allowed
        if not setting.faulty or setting.variant == "open-rows":
            mask = allowed | ~allowed.any(-1, keepdim=True)
        if setting.variant == "finite-minimum":
            mask = torch.zeros(6, 6, dtype=query.dtype).masked_fill(~allowed, torch.finfo(query.dtype).min)
        out = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        # What a row without any key should give is a matter of taste (0, or the average): it counts only where it is no number.
        return out[..., 1:, :] + 0 * out[..., :1, :]

    return Program(None, {name: torch.randn(2, 2, 6, 8).to(setting.device, setting.dtype) for name in ("query", "key", "value")}, call)


@case(
    issues=("numerics/rms-norm-fp16-overflow",), plays=("float32-inside",), torch=">=2.4", shows={"torch": "<2.6"},
    installs={"torch": "2.4.1"},
    symptom="nn.RMSNorm returns zeros in float16 where the activations are large; torch.nn.RMSNorm in float32 is right.",
)  # fmt: skip
def rms_norm_large_activations(setting: Setting) -> Program:
    """torch.nn.RMSNorm meets activations whose squares leave the range of float16."""
    import torch

    model = torch.nn.RMSNorm(16).to(setting.device, setting.dtype)

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        x = inputs["x"]
        if setting.variant == "float32-inside":
            return torch.nn.functional.rms_norm(x.float(), (16,), model.weight.float()).to(x.dtype)
        return model(x)

    x = torch.randn(4, 16) * (1000.0 if setting.faulty or setting.dtype is torch.float32 else 1.0)
    return Program(model, {"x": x.to(setting.device, setting.dtype)}, call)


@case(
    issues=("torch/scatter-gather-int32-index",), dtypes=("float32",), plays=("long-index",), shows={"torch": "<2.8"},
    installs={"torch": "2.1.2"},
)  # fmt: skip
def gather_int32_index(setting: Setting) -> Program:
    """Values are gathered with indices of 32 bits, as NumPy and other libraries deliver them."""
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        index = torch.tensor([[0, 2], [1, 0]], dtype=torch.int32, device=inputs["x"].device)
        return inputs["x"].gather(1, index if setting.shows("long-index") else index.long())

    return Program(None, {"x": torch.randn(2, 4).to(setting.device)}, call)


@case(
    issues=("torch/lerp-weight-dtype",), dtypes=("bfloat16",), plays=("number", "cast-weight"), shows={"torch": "<2.7"},
    installs={"torch": "2.6.0"},
)  # fmt: skip
def lerp_tensor_weight(setting: Setting) -> Program:
    """A running average in bfloat16 is moved by a decay that is a float32 tensor."""
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        decay: Any = torch.tensor(0.25)
        if not setting.faulty or setting.variant == "number":
            decay = 0.25
        if setting.variant == "cast-weight":
            decay = decay.to(inputs["average"].dtype)
        return torch.lerp(inputs["average"], inputs["value"], decay)

    return Program(None, {name: torch.randn(4, 4).to(setting.device, setting.dtype) for name in ("average", "value")}, call)


@case(
    issues=("torch/bf16-cpu-before-2-6",), dtypes=("bfloat16",), devices=("cpu",), plays=("float32-inside",), shows={"torch": "<2.6"},
    installs={"torch": "2.1.2"},
)  # fmt: skip
def grid_sample_bfloat16(setting: Setting) -> Program:
    """Features in bfloat16 are sampled on the CPU."""
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        image, grid = inputs["image"], inputs["grid"]
        if not setting.shows("float32-inside"):
            return torch.nn.functional.grid_sample(image.float(), grid.float(), align_corners=False).to(image.dtype)
        return torch.nn.functional.grid_sample(image, grid, align_corners=False)

    # Positions that bfloat16 holds exactly: the sampling is compared, not the rounding of the grid.
    grid = torch.tensor([[-0.5, 0.25], [0.75, -0.25], [0.0, 0.5], [0.25, 0.125]]).view(1, 2, 2, 2)
    return Program(None, {"image": torch.randn(1, 2, 8, 8).to(setting.dtype), "grid": grid.to(setting.dtype)}, call)


@case(
    issues=("torch/bf16-cpu-before-2-6",), dtypes=("bfloat16",), devices=("cpu",), plays=("float32-inside",), shows={"torch": "<2.6"},
    installs={"torch": "2.1.2"},
)  # fmt: skip
def mse_bfloat16(setting: Setting) -> Program:
    """The mean squared error of a model in bfloat16 on the CPU."""
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        out, target = model(inputs["x"]), inputs["target"]
        if not setting.shows("float32-inside"):
            out, target = out.float(), target.float()
        return torch.nn.functional.mse_loss(out, target).float()

    model = torch.nn.Linear(8, 4).to(setting.dtype)
    return Program(model, {"x": torch.randn(4, 8).to(setting.dtype), "target": torch.randn(4, 4).to(setting.dtype)}, call)


@case(
    issues=("numerics/tf32-switches-mixed",), dtypes=("float32",), plays=("new-only", "old-only"), devices=("cpu",),
    shows={"torch": ">=2.9"}, installs={"torch": "2.9.1"},
)  # fmt: skip
def tf32_switches_mixed(setting: Setting) -> Program:
    """TF32 is switched on by the new name, and a library reads the old one."""
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        matmul = torch.backends.cuda.matmul
        if setting.variant == "old-only":
            matmul.allow_tf32 = True
        elif setting.faulty:
            matmul.fp32_precision = "tf32"
        if setting.shows("new-only"):
            # What libraries do around a product that needs full precision.
            allowed = matmul.allow_tf32
            matmul.allow_tf32 = allowed
        return inputs["x"] @ inputs["x"].t()

    return Program(None, {"x": torch.randn(4, 8)}, call)
