"""Failures raised on the spot: real torch errors of small models, what is to blame, and failures that are no business of the tool."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode


@dataclass(frozen=True)
class Live:
    """One failure: how to raise it, the causes that are right, and the module or parameter to blame (None: none is)."""

    name: str
    fail: Callable[[], Any]
    causes: tuple[str, ...]
    module: str | None = None
    code: str | None = None


LIVE: list[Live] = []
INNOCENT: list[tuple[str, Callable[[], Any]]] = []


def live(*causes: str, module: str | None = None, code: str | None = None) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Register a failure; ``module`` is the path to blame, ``code`` what the first fix must say."""

    def register(fail: Callable[[], Any]) -> Callable[[], Any]:
        LIVE.append(Live(fail.__name__, fail, causes, module, code))
        return fail

    return register


def innocent(fail: Callable[[], Any]) -> Callable[[], Any]:
    """Register a failure that is no precision, dtype or device problem."""
    INNOCENT.append((fail.__name__, fail))
    return fail


class Block(nn.Module):
    """A transformer block in small."""

    def __init__(self, norm: Callable[[int], nn.Module] = nn.LayerNorm) -> None:
        super().__init__()
        self.norm = norm(8)
        self.up = nn.Linear(8, 16)
        self.down = nn.Linear(16, 8, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(F.relu(self.up(self.norm(x))))


class Model(nn.Module):
    """Two blocks and a head."""

    def __init__(self, norm: Callable[[int], nn.Module] = nn.LayerNorm) -> None:
        super().__init__()
        self.embed = nn.Embedding(10, 8)
        self.layers = nn.ModuleList([Block(norm), Block(norm)])
        self.head = nn.Linear(8, 10)

    def forward(self, ids: torch.Tensor | None = None, inputs_embeds: torch.Tensor | None = None) -> torch.Tensor:
        x = self.embed(ids) if inputs_embeds is None else inputs_embeds
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


class Vision(nn.Module):
    """A vision tower, a projection and a language model: the shape of every multimodal model."""

    def __init__(self) -> None:
        super().__init__()
        self.tower = nn.Sequential(nn.Conv2d(3, 8, 2), nn.Flatten(2))
        self.projection = nn.Linear(8, 8)
        self.language = Model()

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        return self.language(inputs_embeds=self.projection(self.tower(pixels).transpose(1, 2)))


IDS = torch.tensor([[1, 2, 3]])
PIXELS = torch.randn(1, 3, 4, 4)


@live("dtype-mismatch/input-vs-weight", code="features = features.to(torch.float16)")
def linear_input_float32() -> Any:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)).half()
    features = torch.randn(2, 4)
    return model(features)


@live("dtype-mismatch/input-vs-weight", "dtype-mismatch/double")
def linear_input_double() -> Any:
    model = nn.Linear(4, 4)
    features = torch.randn(2, 4, dtype=torch.float64)
    return model(features)


@live("dtype-mismatch/input-vs-weight")
def conv_input_float32() -> Any:
    model = Vision().bfloat16()
    return model(PIXELS)


@live("dtype-mismatch/fp32-island", module="layers.1.down")
def linear_island() -> Any:
    model = Model().bfloat16()
    model.layers[1].down.float()
    return model(IDS)


@live("dtype-mismatch/fp32-island", module="projection")
def projection_left_in_float32() -> Any:
    model = Vision().half()
    model.projection.float()
    return model(PIXELS.half())


@live("dtype-mismatch/fp32-island", module="layers.1.up")
def island_output_meets_the_next_module() -> Any:
    """The float32 norm casts nothing: its output is float32 and meets half weights."""

    class Norm(nn.LayerNorm):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x.to(self.weight.dtype))

    model = Model(Norm).bfloat16()
    model.layers[1].norm.float()
    return model(IDS)


@live("dtype-mismatch/fp32-island", module="layers.0.norm")
def embedding_left_in_float32() -> Any:
    model = Model().bfloat16()
    model.embed.float()
    return model(IDS)


@live("dtype-mismatch/broken-fp32-guard", module="layers.0.norm")
def guard_cast_down() -> Any:
    class LayerNormFp32(nn.LayerNorm):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = F.layer_norm(x.to(torch.float32), self.normalized_shape, self.weight, self.bias, self.eps)
            return x.to(x.dtype)

    model = Model(LayerNormFp32).bfloat16()
    return model(IDS)


@live("dtype-mismatch/fp32-island", module="layers.0.norm")
def half_norm_in_a_float32_model() -> Any:
    """The part that stands out may be the narrow one."""
    model = Model()
    model.layers[0].norm.half()
    return model(IDS)


class Rotated(nn.Module):
    """Attention whose query and key a rotary embedding promotes."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(8, 24)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(x).chunk(3, -1)
        angles = torch.arange(x.shape[1], dtype=torch.float32)[:, None]
        q, k = q * angles.cos(), k * angles.cos()
        return F.scaled_dot_product_attention(q, k, v)


@live("dtype-mismatch/cast-in-forward", code="q = q.to(torch.bfloat16)\nk = k.to(torch.bfloat16)")
def rotary_promotes_query_and_key() -> Any:
    """Two of the three differ from the model, and the third is right."""
    return Rotated().bfloat16()(torch.randn(1, 4, 8).bfloat16())


@live("dtype-mismatch/autocast-boundary", "dtype-mismatch/input-vs-weight", code="out = out.to(torch.float32)")
def loss_of_half_predictions() -> Any:
    """A loss is computed in the wider dtype, and the names are those of the caller."""
    out = torch.rand(4, 1, dtype=torch.bfloat16)
    labels = torch.ones(4, 1)
    return F.binary_cross_entropy(out, labels)


@live("dtype-mismatch/buffer-write", code="x = x.to(self.k_cache.dtype)")
def write_into_an_attribute() -> Any:
    """A name keeps its qualifier in code."""

    class Cache(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.k_cache = torch.zeros(4, 8, dtype=torch.bfloat16)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.k_cache[torch.tensor([0, 1])] = x
            return self.k_cache

    return Cache()(torch.randn(2, 8))


@live("dtype-mismatch/input-vs-weight", module="0", code="features = features.float()")
def dynamically_quantized() -> Any:
    """Its weights are packed, and its kernels take float32: no autocast is at work."""
    model = torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(8, 4)), {nn.Linear}, dtype=torch.qint8)
    features = torch.randn(2, 8).half()
    return model(features)


@live("dtype-mismatch/input-vs-weight", module="0", code="features = features.to(torch.bfloat16)")
def compiled_model() -> Any:
    """The graph that the compiler writes is no module of the program's."""
    model = nn.Sequential(nn.Linear(8, 4)).bfloat16()
    fast = torch.compile(model, backend="eager")
    features = torch.randn(2, 8)
    return fast(features)


@live("dtype-mismatch/adapter-vs-base", module="layers.0.up.lora_A")
def lora_by_hand() -> Any:
    class LoraLinear(nn.Module):
        def __init__(self, base: nn.Linear) -> None:
            super().__init__()
            self.base_layer = base
            self.lora_A = nn.Linear(base.in_features, 2, bias=False)
            self.lora_B = nn.Linear(2, base.out_features, bias=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.base_layer(x) + self.lora_B(self.lora_A(x))

    model = Model().bfloat16()
    model.layers[0].up = LoraLinear(model.layers[0].up)
    return model(IDS)


@live("dtype-mismatch/cast-in-forward", module="layers.0.up")
def cast_in_forward() -> Any:
    class CastingNorm(nn.Module):
        def __init__(self, size: int) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(size))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = x.to(torch.float32)
            return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight

    model = Model(CastingNorm).bfloat16()
    return model(IDS)


@live("dtype-mismatch/input-vs-weight", "dtype-mismatch/fp32-island")
def layer_norm_mixed() -> Any:
    norm = nn.LayerNorm(4).bfloat16()
    return norm(torch.randn(2, 4))


@live("dtype-mismatch/attention-mask")
def sdpa_mask() -> Any:
    query = torch.randn(1, 2, 4, 8, dtype=torch.bfloat16)
    mask = torch.zeros(1, 1, 4, 4, dtype=torch.float64)
    return F.scaled_dot_product_attention(query, query, query, attn_mask=mask)


@live("dtype-mismatch/input-vs-weight", "dtype-mismatch/cast-in-forward", "dtype-mismatch/fp32-island")
def sdpa_mixed() -> Any:
    query = torch.randn(1, 2, 4, 8)
    key = torch.randn(1, 2, 4, 8, dtype=torch.bfloat16)
    return F.scaled_dot_product_attention(query, key, key)


@live("dtype-mismatch/input-vs-weight")
def lstm_input() -> Any:
    model = nn.LSTM(4, 8).bfloat16()
    return model(torch.randn(3, 1, 4))


@live("dtype-mismatch/buffer-write")
def index_put_cache() -> Any:
    class Cache(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("cache", torch.zeros(4, 8, dtype=torch.bfloat16))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.cache[torch.tensor([0, 1])] = x
            return self.cache

    return Cache()(torch.randn(2, 8))


@live("dtype-mismatch/buffer-write")
def masked_scatter_embeds() -> Any:
    embeds = torch.zeros(4, 8, dtype=torch.bfloat16)
    mask = torch.zeros(4, 8, dtype=torch.bool)
    mask[0] = True
    return embeds.masked_scatter(mask, torch.randn(1, 8))


@live("dtype-mismatch/autocast-boundary", "dtype-mismatch/input-vs-weight", "dtype-mismatch/cast-in-forward")
def outside_autocast() -> Any:
    model = nn.Linear(8, 8)
    head = nn.Linear(8, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        hidden = model(torch.randn(2, 8))
    return head(hidden)


@live("dtype-mismatch/integer-expected")
def embedding_float_ids() -> Any:
    model = Model()
    return model(IDS.float())


@live("dtype-mismatch/integer-expected", "dtype-mismatch/input-vs-weight")
def cross_entropy_float_target() -> Any:
    return F.cross_entropy(torch.randn(2, 4), torch.tensor([1.0, 2.0]))


@live("dtype-mismatch/double", code="features = features.to(torch.float32)")
def numpy_features() -> Any:
    model = Model()
    features = torch.from_numpy(np.ones((1, 3, 8)))
    return model.layers[0].up(features)


@live("device-mismatch/module-left-behind", module="projection")
def module_left_behind() -> Any:
    model = Vision()
    model.projection = nn.Linear(8, 8, device="meta")
    return model(PIXELS)


@live("device-mismatch/module-left-behind", module="tower")
def tower_left_behind() -> Any:
    model = Vision()
    model.tower = nn.Sequential(nn.LayerNorm(4), nn.Sequential(nn.Conv2d(3, 8, 2), nn.Flatten(2))).to("meta")
    return model(PIXELS)


@live("device-mismatch/module-left-behind", module="layers.1.norm")
def norm_left_behind() -> Any:
    model = Model()
    model.layers[1].norm.to("meta")
    return model(IDS)


@live("dtype-mismatch/input-vs-weight", "dtype-mismatch/cast-in-forward", "dtype-mismatch/fp32-island")
def matmul_by_hand() -> Any:
    class Router(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.randn(8, 4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.float() @ self.weight

    model = Router().bfloat16()
    return model(torch.randn(2, 8, dtype=torch.bfloat16))


@live("dtype-mismatch/input-vs-weight", "dtype-mismatch/cast-in-forward")
def einsum_mixed() -> Any:
    weight = torch.randn(8, 4, dtype=torch.float16)
    return torch.einsum("bd,de->be", torch.randn(2, 8), weight)


@live("numerics/fp16-overflow", "numerics/invalid-probabilities")
def multinomial_of_nan() -> Any:
    logits = torch.tensor([[1e4, -1e4]], dtype=torch.float16) * 10
    probabilities = torch.softmax(logits - logits, dim=-1)
    return torch.multinomial(probabilities, num_samples=1)


@live("unsupported/numpy-bf16")
def numpy_bfloat16() -> Any:
    return torch.zeros(2, dtype=torch.bfloat16).numpy()


@live("amp/unscale-fp16-grads")
def scaler_with_half_model() -> Any:
    model = nn.Linear(4, 1).half()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(model(torch.randn(2, 4).half()).sum()).backward()
    scaler.unscale_(optimizer)


@live("amp/no-inf-checks")
def scaler_without_gradients() -> Any:
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(torch.ones((), requires_grad=True))
    scaler.step(optimizer)


@live("amp/scaler-order")
def scaler_unscaled_twice() -> Any:
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(model(torch.randn(2, 4)).sum()).backward()
    scaler.unscale_(optimizer)
    scaler.unscale_(optimizer)


@live("unsupported/op-lacks-dtype", "unsupported/half-on-cpu")
def cholesky_in_half() -> Any:
    return torch.linalg.cholesky(torch.eye(3, dtype=torch.float16))


@live("dtype-mismatch/input-vs-weight", "dtype-mismatch/fp32-island")
def batch_norm_mixed() -> Any:
    model = nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4))
    model[1].double()
    return model(PIXELS)


@live("dtype-mismatch/input-vs-weight", "dtype-mismatch/fp32-island")
def multihead_attention_mixed() -> Any:
    model = nn.MultiheadAttention(8, 2, batch_first=True).bfloat16()
    hidden = torch.randn(1, 4, 8)
    return model(hidden, hidden, hidden)


@live("dtype-mismatch/fp32-island", module="score")
def head_in_float32() -> Any:
    class Classifier(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = Model()
            self.score = nn.Linear(10, 2)

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return self.score(self.model(ids))

    classifier = Classifier()
    classifier.model.bfloat16()
    return classifier(IDS)


@live("numerics/constant-overflow")
def mask_constant_too_large() -> Any:
    scores = torch.zeros(2, 2, dtype=torch.float16)
    return scores.masked_fill(torch.eye(2, dtype=torch.bool), -1e9)


@live("device-mismatch/module-left-behind", "checkpoint/dtype", "device-mismatch/sharded")
def meta_parameters() -> Any:
    model = nn.Linear(4, 4, device="meta")
    return model.to("cpu")


# Two devices where there is only one: fake tensors have no data, and torch checks their devices as those of real ones. "lazy" is a device
# that every build knows.


@live("device-mismatch/inputs-left-behind", code='pixels = pixels.to("lazy")')
def inputs_left_behind() -> Any:
    with FakeTensorMode():
        with torch.device("lazy"):
            model = Vision()
        pixels = torch.randn(1, 3, 4, 4)
        return model(pixels)


@live("device-mismatch/module-left-behind", module="projection", code='model.projection.to("lazy")')
def projection_made_later() -> Any:
    with FakeTensorMode():
        with torch.device("lazy"):
            model = Vision()
            pixels = torch.randn(1, 3, 4, 4)
        model.projection = nn.Linear(8, 8)
        return model(pixels)


@live("device-mismatch/constant-left-behind", module="0", code='self.register_buffer("scale", self.scale, persistent=False)')
def constant_left_behind() -> Any:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4, device="lazy")
            self.scale = torch.ones(4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.linear(x) * self.scale

    with FakeTensorMode():
        model = nn.Sequential(Scaled())
        return model(torch.randn(2, 4, device="lazy"))


@live("device-mismatch/constant-left-behind", module="positions", code='index = index.to("lazy")')
def positions_made_on_the_cpu() -> Any:
    class Positions(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.positions = nn.Embedding(8, 4, device="lazy")

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            index = torch.arange(x.shape[1])
            return x + self.positions(index)

    with FakeTensorMode():
        model = Positions()
        return model(torch.randn(1, 3, 4, device="lazy"))


@live("device-mismatch/sharded", module="second")
def sharded_without_hooks() -> Any:
    class Sharded(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(4, 4, device="lazy:0")
            self.second = nn.Linear(4, 4, device="lazy:1")

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.second(self.first(x))

    with FakeTensorMode():
        model = Sharded()
        return model(torch.randn(2, 4, device="lazy:0"))


@innocent
def shapes_of_a_linear() -> Any:
    return nn.Linear(4, 4).half()(torch.randn(2, 5).half())


@innocent
def shapes_of_a_sum() -> Any:
    return torch.zeros(2, 3) + torch.zeros(4, 5)


@innocent
def missing_key() -> Any:
    return {"input_ids": IDS}["attention_mask"]


@innocent
def wrong_state_dict() -> Any:
    return Model().load_state_dict({"nothing": torch.zeros(1)})


@innocent
def out_of_memory() -> Any:
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 15.77 GiB")


@innocent
def backward_twice() -> Any:
    loss = nn.Linear(2, 1)(torch.randn(2, 2)).sum()
    loss.backward()
    loss.backward()


@innocent
def missing_attribute() -> Any:
    return nn.Linear(2, 2).wieght


@innocent
def missing_file() -> Any:
    return torch.load("no-such-checkpoint.pt")


@innocent
def index_out_of_range() -> Any:
    return Model()(torch.tensor([[99]]))


@innocent
def no_grad() -> Any:
    return torch.zeros(1).sum().backward()


@innocent
def conv_channels() -> Any:
    return nn.Conv2d(3, 4, 1)(torch.randn(1, 5, 4, 4))


@innocent
def a_plain_assertion() -> Any:
    model = Model().half()
    assert model is None, "the model was not built"
