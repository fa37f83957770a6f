"""What an audit finds in a model, and what it leaves alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from audit_models import (  # noqa: E402
    Casting,
    Forgetful,
    LayerNormFp32,
    LayerNormThatCastsItself,
    Linear4bit,
    LoraLinear,
    Masked,
    NotCasting,
    RMSNorm,
    TwoModalities,
)
from torch import nn  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

import troubleshoot  # noqa: E402
from troubleshoot.basics.errors import InputError  # noqa: E402
from troubleshoot.lab.auditing import Audit, Finding, audit  # noqa: E402

pytestmark = pytest.mark.torch


def found(result: Audit, check: str) -> list[Finding]:
    """Return the findings of one check."""
    assert result.errors == ()
    return [one for one in result.findings if one.check == check]


def test_a_sound_model_has_no_findings() -> None:
    """Nothing is said of a float32 model, nor of a half one that is half throughout (for a GPU that has it)."""
    model = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), RMSNorm(4), LayerNormThatCastsItself(4))
    assert audit(model, torch.zeros(1, 4)).findings == ()
    assert audit(model.half(), torch.zeros(1, 4, dtype=torch.float16), gpu="A100").findings == ()


def test_an_island_without_a_cast_around_it_is_an_error() -> None:
    """The float32 layer that torch would refuse is named, with a patch that works."""
    model = NotCasting().half()
    model.wo.float()
    (one,) = found(audit(model), "island")
    assert (one.severity, one.module, one.issue) == ("error", "wo", "torch/linear-dtype")
    x = torch.zeros(1, 4, dtype=torch.float16)
    with pytest.raises(RuntimeError, match="dtype"):
        model(x)
    exec(one.fix, {"troubleshoot": troubleshoot, "model": model})
    assert model(x).dtype == torch.float16
    assert found(audit(model), "island") == []


def test_an_island_whose_parent_casts_is_a_note() -> None:
    """T5 keeps wo in float32 on purpose and casts at its border: it runs, and the audit only tells."""
    model = nn.Sequential(Casting(), Casting()).half()
    for one in model:
        one.wo.float()
    model(torch.zeros(1, 4, dtype=torch.float16))
    (note,) = found(audit(model), "island")
    assert note.severity == "note"
    assert (note.module, *note.others) == ("0.wo", "1.wo")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_guard_that_a_cast_broke_is_an_error(dtype: Any) -> None:
    """OpenCLIP's LayerNormFp32 needs float32 parameters: after half() it raises, after the fix it runs, as founding case 5."""
    model = nn.Sequential(nn.Linear(4, 4), LayerNormFp32(4)).to(dtype)
    (one,) = found(audit(model), "guard")
    assert (one.severity, one.module, one.issue) == ("error", "1", "open_clip/layernorm-fp32-cast")
    with pytest.raises(RuntimeError):
        model(torch.zeros(1, 4, dtype=dtype))
    exec(one.fix, {"model": model})
    model(torch.zeros(1, 4, dtype=dtype))
    assert found(audit(model), "guard") == []


def test_a_cast_that_is_only_planned_is_audited_too() -> None:
    """With dtype the audit says what will break, before it is done."""
    model = nn.Sequential(nn.Linear(4, 4), LayerNormFp32(4))
    assert found(audit(model), "guard") == []
    (one,) = found(audit(model, dtype="bfloat16"), "guard")
    assert "will have bfloat16" in one.text


def test_apexs_norm_behind_a_float32_wo_is_an_error() -> None:
    """Founding case 3: T5's forward casts for wo, but apex's norms do not cast what wo returns."""
    norm = type("FusedRMSNorm", (RMSNorm,), {"__module__": "apex.normalization.fused_layer_norm"})
    model = nn.Sequential(Casting(), norm(4)).half()
    model[0].wo.float()
    (one,) = found(audit(model), "island")
    assert (one.severity, one.module, one.issue) == ("error", "0.wo", "transformers/t5-fused-rmsnorm-wo")


def test_a_parameter_of_its_own_is_judged_by_who_reads_it() -> None:
    """BLIP-2's query_tokens, founding case 1: float32 before a half Q-Former is an error, unless the Q-Former casts."""

    class Reader(nn.Linear):
        pass

    class CastingReader(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x.to(self.weight.dtype))

    class Blip2Model(nn.Module):
        def __init__(self, reader: type[nn.Linear]) -> None:
            super().__init__()
            self.query_tokens = nn.Parameter(torch.zeros(1, 2, 4))
            self.qformer = reader(4, 4)

        def forward(self, images: torch.Tensor) -> torch.Tensor:
            return self.encode(images)

        def encode(self, images: torch.Tensor) -> torch.Tensor:
            query_tokens = self.query_tokens.expand(images.shape[0], -1, -1)
            return self.qformer(query_tokens)

    for reader, severity in ((Reader, "error"), (CastingReader, "note")):
        model = Blip2Model(reader).half()
        model.query_tokens.data = model.query_tokens.data.float()
        (one,) = found(audit(model), "island")
        assert (one.severity, one.module) == (severity, "query_tokens")
        if severity == "error":
            assert one.issue == "transformers/blip2-query-tokens-fp32"
            with pytest.raises(RuntimeError):
                model(torch.zeros(1))
            exec(one.fix, {"model": model, "torch": torch})
        model(torch.zeros(1))


def test_inputs_in_a_list_go_by_the_names_of_forwards_arguments() -> None:
    """The second argument of the model is its pixels."""
    model = TwoModalities().half()
    (one,) = found(audit(model, [torch.zeros(1, 2, dtype=torch.long), torch.zeros(1, 3, 4, 4)]), "input")
    assert one.fix == "pixel_values = pixel_values.to(torch.float16)"


def test_inputs_are_held_against_the_parameters_of_their_modality() -> None:
    """float32 pixels into a half tower are an error, integers into the embedding are right, a float input to it is not."""
    model = TwoModalities().half()
    ids = torch.zeros(1, 2, dtype=torch.long)
    pixels = torch.zeros(1, 3, 4, 4)
    (one,) = found(audit(model, {"input_ids": ids, "pixel_values": pixels}), "input")
    assert (one.severity, one.module, one.issue) == ("error", "vpm.0", "torch/conv-input-weight-dtype")
    assert one.fix == "pixel_values = pixel_values.to(torch.float16)"
    (one,) = found(audit(model, {"input_ids": ids.float(), "pixel_values": pixels.half()}), "input")
    assert (one.module, one.issue) == ("embed_tokens", "torch/embedding-indices")
    assert found(audit(model, {"input_ids": ids, "pixel_values": pixels.half()}), "input") == []


def fake(build: Callable[[], nn.Module]) -> nn.Module:
    """Build a model whose parameters claim to be on a GPU, where there is none."""
    with FakeTensorMode():
        model = build()
        for module in model.modules():
            for name, one in module._parameters.items():
                if one is not None:
                    module._parameters[name] = nn.Parameter(torch.empty(one.shape, dtype=one.dtype, device="cuda:0"))
    return model


def test_a_tower_that_stayed_on_the_cpu_is_named() -> None:
    """Founding case 2: the vision tower is on the CPU, the rest of the model on the GPU."""
    model = fake(TwoModalities)
    model.vpm = nn.Sequential(nn.Conv2d(3, 4, 1), nn.LayerNorm(4))
    (one,) = found(audit(model), "device")
    assert (one.severity, one.issue) == ("error", "minicpm/vpm-left-on-cpu")
    assert (one.module, *one.others) == ("vpm.0", "vpm.1")
    assert '"module": "vpm"' in one.fix


def test_inputs_on_another_device_are_named() -> None:
    """The tower is on the GPU, the pixels are not."""
    model = fake(TwoModalities)
    (one,) = found(audit(model, {"pixel_values": torch.zeros(1, 3, 4, 4)}), "input")
    assert (one.issue, one.fix) == ("torch/device-all-tensors-same-device", "pixel_values = pixel_values.to('cuda:0')")


def test_a_model_that_accelerate_spread_is_no_error() -> None:
    """With a device map, other devices are meant."""
    model = fake(TwoModalities)
    model.head = nn.Linear(4, 2)
    model.hf_device_map = {"head": "cpu"}
    assert {one.severity for one in found(audit(model), "device")} == {"note"}


def test_weights_that_were_never_loaded_are_named() -> None:
    """A meta tensor in a model that has data fails when it is reached."""
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[1].to("meta")
    (one,) = found(audit(model), "device")
    assert (one.severity, one.module, one.issue) == ("error", "1", "torch/device-meta-tensor")


def test_a_tensor_that_to_forgets_is_named() -> None:
    """A plain attribute stays float32 after half(), and stays where it was made."""
    (one,) = found(audit(Forgetful().half()), "constant-left-behind")
    assert (one.severity, one.module) == ("warning", "")
    assert "scale" in one.text
    (one,) = found(audit(fake(Forgetful)), "constant-left-behind")
    assert one.severity == "error"


def test_lora_by_hand_in_another_dtype_than_its_base_is_an_error() -> None:
    """float32 adapter weights on a half layer, without a cast: it raises, and the fix helps."""
    model = nn.Sequential(nn.Linear(4, 4), LoraLinear()).half()
    model[1].lora_A.float()
    model[1].lora_B.float()
    (one,) = found(audit(model), "adapter")
    assert (one.severity, one.module, one.issue) == ("error", "1.lora_A", "peft/lora-adapter-dtype")
    x = torch.zeros(1, 4, dtype=torch.float16)
    with pytest.raises(RuntimeError):
        model(x)
    exec(one.fix, {"model": model, "torch": torch})
    assert model(x).dtype == torch.float16


def test_a_4_bit_layer_that_computes_in_float32_among_half_ones_is_a_warning() -> None:
    """Bitsandbytes' default compute dtype is float32."""
    model = nn.Sequential(nn.Linear(8, 8).bfloat16(), Linear4bit(8, torch.float32))
    (one,) = found(audit(model), "quantized")
    assert (one.severity, one.issue) == ("warning", "bitsandbytes/compute-dtype-float32")
    assert "bnb_4bit_compute_dtype=torch.bfloat16" in one.fix
    model = nn.Sequential(nn.Linear(8, 8).bfloat16(), Linear4bit(8, torch.bfloat16))
    assert found(audit(model), "quantized") == []


def test_constants_that_do_not_fit_float16_are_found_in_the_source() -> None:
    """-1e9 in masked_fill and an epsilon that is zero; neither comments nor document strings count, and float32 is no concern."""
    texts = [one.text for one in found(audit(Masked().half(), gpu="A100"), "constant")]
    assert texts == [
        "the forward of Masked writes -1e+09 into a tensor, which raises if that is float16",
        "eps = 1e-12 of Masked is zero in float16",
    ]
    assert found(audit(Masked()), "constant") == []
    assert found(audit(Masked().bfloat16(), gpu="A100"), "constant") == []


def test_a_buffer_that_float16_cannot_hold_is_found_before_the_cast() -> None:
    """A mask of -1e9 becomes -inf."""
    model = nn.Linear(2, 2)
    model.register_buffer("mask", torch.tensor([0.0, -1e9]))
    (one,) = found(audit(model, dtype="float16"), "constant")
    assert one.issue == "numerics/constant-overflow"
    model.mask[0] = float("nan")
    (one,) = found(audit(model, dtype="float16"), "constant")
    assert (one.severity, one.issue) == ("error", "checkpoint/nan-weights")


@pytest.mark.parametrize(
    ("gpu", "dtype", "severity", "issue"),
    [
        ("T4", torch.bfloat16, "warning", "hardware/bf16-below-ampere"),
        ("GTX 1080", torch.float16, "warning", "hardware/fp16-slow"),
        ("cpu", torch.float16, "warning", "torch/half-on-cpu"),
        ("A100", torch.bfloat16, None, None),
        ("T4", torch.float16, None, None),
    ],
)
def test_what_the_device_has_natively(gpu: str, dtype: Any, severity: str | None, issue: str | None) -> None:
    """A dtype that the device emulates or has slowly is a warning."""
    findings = found(audit(nn.Linear(2, 2).to(dtype), gpu=gpu), "hardware")
    assert [(one.severity, one.issue) for one in findings] == ([(severity, issue)] if severity else [])


def test_adams_epsilon_is_zero_in_float16() -> None:
    """One step on a zero gradient makes the weights NaN, which the audit says before."""
    model = nn.Linear(2, 2).half()
    optimizer = torch.optim.Adam(model.parameters(), foreach=False)
    checks = found(audit(model, optimizer=optimizer), "optimizer")
    assert [(one.severity, one.issue) for one in checks] == [("error", "numerics/underflow-epsilon")]
    for one in model.parameters():
        one.grad = torch.zeros_like(one)
    optimizer.step()
    assert all(one.isnan().all() for one in model.parameters())


def test_an_optimizer_of_other_tensors_is_a_warning() -> None:
    """Built before the model was replaced, it trains nothing."""
    optimizer = torch.optim.SGD(nn.Linear(2, 2).parameters(), lr=0.1)
    (one,) = found(audit(nn.Linear(2, 2), optimizer=optimizer), "optimizer")
    assert "2 tensors that are not the model's" in one.text


def test_small_steps_in_bfloat16_weights_are_a_warning() -> None:
    """A learning rate of 1e-5 is rounded away in bfloat16."""
    model = nn.Linear(2, 2).bfloat16()
    (one,) = found(audit(model, optimizer=torch.optim.AdamW(model.parameters(), lr=1e-5)), "optimizer")
    assert one.issue == "numerics/bf16-weight-updates"


def test_a_grad_scaler_wants_float32_weights() -> None:
    """With float16 weights unscale_ raises; with bfloat16 it is not needed; with float32 all is well."""
    scaler = torch.amp.GradScaler("cpu")
    issues = {dtype: [one.issue for one in found(audit(nn.Linear(2, 2).to(dtype), scaler=scaler), "scaler")] for dtype in
              (torch.float16, torch.bfloat16, torch.float32)}  # fmt: skip
    assert issues == {torch.float16: ["amp/unscale-fp16-grads"], torch.bfloat16: ["amp/scaler-with-bf16"], torch.float32: []}


def test_a_meta_model_of_any_size_is_audited_without_memory() -> None:
    """A hundred billion parameters on the meta device: counted, and its island found."""
    with torch.device("meta"):
        model = nn.Sequential(*(nn.Linear(50_000, 50_000, dtype=torch.bfloat16) for _ in range(40)))
        model[7].float()
    result = audit(model)
    assert sum(values for _, _, _, values in result.totals) > 10**11
    assert [one.module for one in found(result, "island")] == ["7"]


def test_the_text_has_findings_first_and_then_the_tree() -> None:
    """Alike blocks are one line; an odd one is shown."""
    model = nn.Sequential(*(NotCasting() for _ in range(6))).half()
    model[3].wo.float()
    text = str(audit(model, gpu="A100"))
    assert text.splitlines()[0] == "Sequential: float16 on cpu; 1 error"
    assert "  0-2 NotCasting (3 alike): float16 cpu 40" in text
    assert "    wo Linear: float32 cpu 20" in text
    assert "see: troubleshoot explain torch/linear-dtype" in text


def test_the_dictionary_is_json() -> None:
    """to_dict() holds the census and the findings as plain values."""
    data = json.loads(json.dumps(audit(Forgetful().half()).to_dict()))
    assert data["dtype"] == "float16"
    assert data["totals"] == [{"dtype": "float16", "device": "cpu", "tensors": 2, "values": 20}]
    assert data["findings"][0].keys() == {"check", "severity", "module", "text", "issue", "fix", "others"}


def test_a_check_that_stumbles_does_not_hide_the_others() -> None:
    """A class whose attributes raise is told, and the other findings are there."""

    class Odd(nn.Linear):
        @property
        def compute_dtype(self) -> Any:
            raise OSError("gone")

    odd = type("QuantLinear", (Odd,), {})(4, 4)
    model = nn.Sequential(odd, LayerNormFp32(4)).half()
    result = audit(model)
    assert any("gone" in one for one in result.errors)
    assert any(one.check == "guard" for one in result.findings)


def test_what_is_no_model_or_dtype_is_refused() -> None:
    """The errors say what is wanted."""
    with pytest.raises(InputError, match=r"torch\.nn\.Module"):
        audit({})
    with pytest.raises(InputError, match="bfloat16"):
        audit(nn.Linear(1, 1), dtype="int8")


def test_nothing_is_run_or_changed() -> None:
    """Audit calls no forward and leaves every tensor as it is."""

    class Untouchable(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(2, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            raise AssertionError("was called")

    model = Untouchable()
    before = {name: (id(one), one._version) for name, one in model.named_parameters()}
    audit(model, torch.zeros(1, 2))
    assert {name: (id(one), one._version) for name, one in model.named_parameters()} == before


def test_a_buffer_that_a_cast_has_made_infinite_is_an_error() -> None:
    """Minus infinity is a mask; plus infinity in half precision was a number once."""
    model = nn.Linear(2, 2)
    model.register_buffer("table", torch.tensor([1.0, 1e6]))
    model.register_buffer("mask", torch.tensor([0.0, float("-inf")]))
    (finding,) = [one for one in found(audit(model.half()), "constant") if "inf" in one.text]
    assert (finding.severity, finding.issue) == ("error", "numerics/constant-overflow")
    assert "table" in finding.text
