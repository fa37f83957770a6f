"""The founding cases live: plain torch modules of the same structure fail as the real ones do, and the right part is named.

The fourth case is about values, not dtypes: the tensors that a failed ``multinomial`` was given tell that the model is in float16. The
second needs two devices; the meta device stands for the one that is not there.
"""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402, N812
from torch import nn  # noqa: E402

from troubleshoot import Diagnosis, diagnose  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("unhurried")]


def failing(call: Any) -> Diagnosis:
    """Diagnose what a call raises."""
    with pytest.raises(RuntimeError) as caught:
        call()
    return diagnose(caught.value)


class QFormer(nn.Module):
    """A half-precision LayerNorm over what the caller hands in."""

    def __init__(self) -> None:
        super().__init__()
        self.layernorm = nn.LayerNorm(8)
        self.dense = nn.Linear(8, 8)

    def forward(self, query_embeds: Any) -> Any:
        return self.dense(self.layernorm(query_embeds))


class Blip2(nn.Module):
    """Query tokens that stay in float32, as ``_keep_in_fp32_modules`` has it in 4.50.0 to 4.50.2."""

    def __init__(self) -> None:
        super().__init__()
        self.query_tokens = nn.Parameter(torch.zeros(1, 4, 8))
        self.vision_model = nn.Linear(8, 8)
        self.qformer = QFormer()

    def forward(self, pixel_values: Any) -> Any:
        image_embeds = self.vision_model(pixel_values)
        query_tokens = self.query_tokens.expand(image_embeds.shape[0], -1, -1)
        return self.qformer(query_embeds=query_tokens)


def test_blip2_names_the_layernorm_and_the_query_tokens() -> None:
    """The issue's own example."""
    model = Blip2().half()
    model.query_tokens.data = model.query_tokens.data.float()
    pixel_values = torch.randn(1, 8).half()
    diagnosis = failing(lambda: model(pixel_values))
    assert diagnosis.first is not None
    assert diagnosis.first.cause == "dtype-mismatch/fp32-island"
    culprit = diagnosis.culprit
    assert culprit is not None
    assert (culprit.module, culprit.cls, culprit.has, culprit.meets) == ("qformer.layernorm", "LayerNorm", "float16", "float32")
    assert "query_tokens" in culprit.why
    exec(diagnosis.first.recommended[0].code or "", {"model": model, "torch": torch})
    assert model(pixel_values) is not None


def test_query_tokens_that_are_handed_on_as_they_are() -> None:
    """A parameter of the outer module is an input of the inner one, not one of its weights."""

    class Direct(Blip2):
        def forward(self, pixel_values: Any) -> Any:
            return self.qformer(query_embeds=self.query_tokens)

    model = Direct().half()
    model.query_tokens.data = model.query_tokens.data.float()
    diagnosis = failing(lambda: model(None))
    assert diagnosis.culprit is not None
    assert (diagnosis.culprit.module, diagnosis.culprit.has, diagnosis.culprit.meets) == ("qformer.layernorm", "float16", "float32")
    assert "query_tokens" in diagnosis.culprit.why


class VisionTower(nn.Module):
    """The vision tower ``vpm`` of MiniCPM-V."""

    def __init__(self) -> None:
        super().__init__()
        self.patch_embed = nn.Conv2d(3, 8, 2)
        self.norm = nn.LayerNorm(8)

    def forward(self, x: Any) -> Any:
        return self.norm(self.patch_embed(x).flatten(2).transpose(1, 2))


class MiniCPMV(nn.Module):
    """A language model that is on the device, and a tower that is not."""

    def __init__(self) -> None:
        super().__init__()
        self.llm = nn.Linear(8, 8)
        self.lm_head = nn.Linear(8, 1000)
        self.vpm = VisionTower()

    def forward(self, pixel_values: Any) -> Any:
        return self.lm_head(self.llm(self.vpm(pixel_values)))


def test_minicpm_names_the_part_that_was_left_behind() -> None:
    """A real mismatch of devices, with the meta device."""
    model = MiniCPMV().half()
    model.vpm.norm.to("meta")
    pixel_values = torch.randn(1, 3, 4, 4).half()
    diagnosis = failing(lambda: model(pixel_values))
    assert diagnosis.first is not None
    assert diagnosis.first.cause == "device-mismatch/module-left-behind"
    assert diagnosis.culprit is not None
    assert (diagnosis.culprit.module, diagnosis.culprit.has, diagnosis.culprit.meets) == ("vpm.norm", "meta", "cpu")


class OnGpu(torch.Tensor):  # type: ignore[misc,name-defined]
    """A float16 tensor that says it is on a GPU, as fake tensors do, and that nobody may compute with."""

    _fake_device: Any

    @staticmethod
    def __new__(cls, *shape: int) -> Any:
        made = torch.Tensor._make_wrapper_subclass(cls, shape, dtype=torch.float16, device="cpu")
        made._fake_device = torch.device("cuda:0")
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise SystemError(f"computed {func}")


def test_minicpm_names_the_whole_tower_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The convolution says what CUDA's says: the dtype is the same, the device is not."""

    def refuse(*_: Any) -> Any:
        raise RuntimeError("Input type (torch.cuda.HalfTensor) and weight type (torch.HalfTensor) should be the same")

    model = MiniCPMV().half()
    model.llm = nn.Sequential(*(nn.Module() for _ in range(400)))
    for layer in model.llm:
        layer.register_parameter("weight", None)
        layer._parameters["weight"] = OnGpu(8, 8)
    for name in ("weight", "bias"):
        model.lm_head._parameters[name] = OnGpu(8, 8)
    pixel_values = OnGpu(1, 3, 4, 4)
    monkeypatch.setattr(F, "conv2d", refuse)
    diagnosis = failing(lambda: model(pixel_values))
    assert diagnosis.first is not None
    assert diagnosis.first.cause == "device-mismatch/module-left-behind"
    assert diagnosis.culprit is not None
    assert (diagnosis.culprit.module, diagnosis.culprit.has, diagnosis.culprit.meets) == ("vpm", "cpu", "cuda:0")
    assert 'model.vpm.to("cuda:0")' in {fix.code for fix in diagnosis.first.recommended}


class FusedRMSNorm(nn.Module):
    """Like apex's: it does not cast, its weights must be what comes in."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x: Any) -> Any:
        return F.layer_norm(x, (x.shape[-1],), self.weight)


class T5Block(nn.Module):
    """A feed-forward block whose ``wo`` is kept in float32."""

    def __init__(self) -> None:
        super().__init__()
        self.layer_norm = FusedRMSNorm(8)
        self.wi = nn.Linear(8, 16, bias=False)
        self.wo = nn.Linear(16, 8, bias=False)

    def forward(self, hidden_states: Any) -> Any:
        hidden = self.wi(self.layer_norm(hidden_states))
        return hidden_states + self.wo(hidden.to(self.wo.weight.dtype))


class T5Encoder(nn.Module):
    """Two blocks: the second norm meets what ``wo`` made float32."""

    def __init__(self) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(10, 8)
        self.block = nn.ModuleList([T5Block(), T5Block()])

    def forward(self, input_ids: Any) -> Any:
        hidden_states = self.embed_tokens(input_ids)
        for layer in self.block:
            hidden_states = layer(hidden_states)
        return hidden_states


def test_t5_names_the_norm_of_the_second_block_and_wo() -> None:
    """``wo`` is where the float32 comes from."""
    text_encoder = T5Encoder().half()
    for layer in text_encoder.block:
        layer.wo.float()
    diagnosis = failing(lambda: text_encoder(torch.tensor([[1, 2]])))
    culprit = diagnosis.culprit
    assert culprit is not None
    assert (culprit.module, culprit.has, culprit.meets) == ("block.1.layer_norm", "float16", "float32")
    assert "block.0.wo.weight" in culprit.why
    assert diagnosis.first is not None
    assert diagnosis.first.cause == "dtype-mismatch/fp32-island"


def test_qwen2_vl_tells_that_the_model_is_in_half_precision() -> None:
    """NaN probabilities of a float16 model: an overflow, not a bad temperature."""

    class Head(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.q_proj = nn.Linear(8, 8)

        def sample(self, hidden: Any) -> Any:
            scores = self.q_proj(hidden) * 60000
            return torch.multinomial(torch.softmax(scores - scores.abs().amax(), -1), 1)

    model = Head().half()
    with torch.no_grad():
        model.q_proj.weight.fill_(100)
    diagnosis = failing(lambda: model.sample(torch.ones(1, 8).half()))
    assert diagnosis.first is not None
    assert diagnosis.first.cause == "numerics/fp16-overflow"
    assert any(one.kind == "dtype" and one.value == "float16" for one in diagnosis.report.mentions)


class LayerNormFp32(nn.LayerNorm):
    """open_clip's guard: the input is cast to float32, the parameters must be float32."""

    def forward(self, x: Any) -> Any:
        kept = x.dtype
        x = F.layer_norm(x.to(torch.float32), self.normalized_shape, self.weight, self.bias, self.eps)
        return x.to(kept)


class VisualTransformer(nn.Module):
    """open_clip's vision tower in small."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 2)
        self.ln_pre = LayerNormFp32(8)

    def forward(self, image: Any) -> Any:
        return self.ln_pre(self.conv1(image).flatten(2).transpose(1, 2))


def test_open_clip_names_the_broken_guard() -> None:
    """A bare ``model.bfloat16()`` casts the guard's parameters: they go back to float32."""

    class Clip(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.visual = VisualTransformer()

        def encode_image(self, image: Any) -> Any:
            return self.visual(image)

    model = Clip().bfloat16()
    image = torch.randn(1, 3, 4, 4).bfloat16()
    diagnosis = failing(lambda: model.encode_image(image))
    assert diagnosis.first is not None
    assert diagnosis.first.cause == "dtype-mismatch/broken-fp32-guard"
    assert diagnosis.culprit is not None
    assert diagnosis.culprit.module == "visual.ln_pre"
    code = next(fix.code for fix in diagnosis.first.recommended if fix.code and "ln_pre" in fix.code)
    assert code == "model.visual.ln_pre.float()"
    exec(code, {"model": model})
    assert model.encode_image(image).dtype == torch.bfloat16
