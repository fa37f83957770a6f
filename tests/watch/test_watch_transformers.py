"""The real T5 of transformers, tiny and random, with a `wo` that overflows float16."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from troubleshoot.lab.watching import keep_float32, watch  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.slow]

WO = "encoder.block.1.layer.1.DenseReluDense.wo"


@pytest.fixture
def model() -> Any:
    """T5 with one projection that exceeds 65504."""
    torch.manual_seed(0)
    config = transformers.T5Config(
        d_model=32, d_ff=64, num_layers=2, num_heads=2, d_kv=16, vocab_size=100, decoder_start_token_id=0, dropout_rate=0.0
    )
    model = transformers.T5ForConditionalGeneration(config)
    feed_forward = model.encoder.block[1].layer[1].DenseReluDense
    feed_forward.wi.weight.data.mul_(300)
    feed_forward.wo.weight.data.mul_(3e4)
    return model.eval()


@pytest.fixture
def inputs() -> dict[str, Any]:
    """Token ids and labels."""
    return {"input_ids": torch.arange(20).view(2, 10), "labels": torch.arange(8).view(2, 4)}


def test_wo_is_named_and_in_float32_the_nan_is_gone(model: Any, inputs: dict[str, Any]) -> None:
    """Under float16 autocast the loss is NaN; watch names wo, and with it in float32 the loss is that of float32."""
    expected = model(**inputs).loss.detach()

    def run() -> Any:
        with torch.autocast("cpu", dtype=torch.float16):
            return model(**inputs).loss

    with watch(model) as watching:
        loss = run()
    assert loss.isnan()
    assert watching.first is not None
    assert (watching.first["module"], watching.first["kind"]) == (WO, "overflow")
    proposal = watching.verify(run)
    assert (proposal.modules, proposal.verified) == ((WO,), True)
    with keep_float32(model, proposal.modules):
        torch.testing.assert_close(run().float(), expected, rtol=0.02, atol=0.02)


def test_after_half_it_is_named_although_transformers_clamps_it(model: Any, inputs: dict[str, Any]) -> None:
    """Transformers clamps the infinities of a half model, so that nothing but the result is wrong; the overflow is seen all the same."""
    model = model.half()
    with watch(model) as watching:
        model(**inputs)
    assert watching.first is not None
    assert watching.first["module"] == WO
    assert watching.verify().modules == (WO,)


def test_the_diagnosis_is_the_one_of_t5(model: Any, inputs: dict[str, Any]) -> None:
    """The model's type is part of the story, so the entry for T5 answers before the general one."""
    model = model.half()
    with watch(model) as watching:
        model(**inputs)
    diagnosis = watching.diagnose(environment="report")
    assert diagnosis.verdict == "known"
    assert diagnosis.first is not None
    assert diagnosis.first.issue == "transformers/numerics-t5-fp16"
