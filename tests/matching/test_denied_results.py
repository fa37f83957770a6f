"""A result that a report only denies did not happen."""

from __future__ import annotations

import pytest

from troubleshoot import diagnose


@pytest.mark.parametrize(
    "text",
    [
        "{'loss': 0.5, 'grad_norm': 1.0, 'nan': False}",
        "loss=2.5 has_nan=False has_inf=False",
        "step 5 | loss 0.51 | nan 0 | inf 0 | overflow False",
        "loss is not nan",
        "the loss never became nan in fp16",
        "Training done without nan loss.",
        "losses are fine, no NaN, no inf, no overflow",
        "loss 不是 nan",
        "fp16 下 loss 没有变成 nan，图片也不是黑的，一切正常",
    ],
)
def test_what_is_denied_is_no_symptom(text: str) -> None:
    assert diagnose(text, environment="report").first is None


@pytest.mark.parametrize(
    "text",
    [
        "the loss is nan in fp16",
        "loss becomes nan, no nan in fp32",
        "the inputs have no nan. The loss is nan in fp16.",
        "fp16 训练 loss 变成 nan，没有报错",
    ],
)
def test_one_plain_mention_is_one(text: str) -> None:
    first = diagnose(text, environment="report").first
    assert first is not None
    assert first.issue.startswith("numerics/")


@pytest.mark.parametrize("text", ["This is not Llama-3-8B, I use T5", "unlike Llama-3-8B my model is T5", "我用的不是 Llama-3-8B，是 T5"])
def test_a_model_that_it_is_not_is_no_fact(text: str) -> None:
    assert [one.value for one in diagnose(text, environment="report").report.mentions if one.kind == "model"] == ["T5"]
