"""LoRA by peft: the adapter is named, by its path in the wrapped model."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
peft = pytest.importorskip("peft")

from live_failures import IDS, Model  # noqa: E402

from troubleshoot import diagnose  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.slow]


def test_an_adapter_in_another_dtype_is_named() -> None:
    """Base in bfloat16, adapter in float32, and peft's own cast of the input taken away."""
    config = peft.LoraConfig(target_modules=["up"], r=2)
    model = peft.get_peft_model(Model().bfloat16(), config, autocast_adapter_dtype=False)
    for name, module in model.named_modules():
        if "lora_A" in name and isinstance(module, torch.nn.Linear):
            module.float()
        if hasattr(module, "cast_input_dtype_enabled"):
            module.cast_input_dtype_enabled = False
    with pytest.raises(RuntimeError) as caught:
        model(ids=IDS)
    diagnosis = diagnose(caught.value)
    assert diagnosis.first is not None
    assert diagnosis.first.cause == "dtype-mismatch/adapter-vs-base"
    assert diagnosis.culprit is not None
    assert "lora_A" in (diagnosis.culprit.module or "")
