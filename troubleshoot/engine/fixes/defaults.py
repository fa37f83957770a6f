"""What each kind of fix wants of the user's device unless the entry says otherwise."""

from __future__ import annotations

import msgspec

from troubleshoot.basics.redact import redacted_start
from troubleshoot.engine.matching.conditions import Context, evaluate
from troubleshoot.knowledge.schema import Condition


class Fit(msgspec.Struct, frozen=True):
    """Whether a fix fits: True, False, or None with ``about`` naming the fact that would decide; ``late`` puts it behind the others.

    ``why_zh`` and ``warning_zh`` say the same in Chinese; empty where the text is of names and numbers only.
    """

    fits: bool | None
    why: str = ""
    about: str | None = None
    late: bool = False
    warning: str | None = None
    why_zh: str = ""
    warning_zh: str = ""


FITS = Fit(True)
#: A fix for what a report says, which this one does not.
UNSAID = Fit(False, "the report does not speak of it", why_zh="报告里没有提到")

_STATES_ZH = {"native": "原生支持", "slow": "支持但很慢", "emulated": "由软件模拟", "none": "不支持"}

#: Who has run it has a GPU that can.
_RUNS_BFLOAT16 = "bf16|bfloat16 works|fine|ok|okay|normal|normally|correctly|solves|solved|正常|没问题|没有问题|没有这个问题"

#: FlashAttention 2 supports Ampere and newer, all of which have bfloat16; only 1.x, of before July 2023, ran on Turing
#: (https://github.com/Dao-AILab/flash-attention, README, "NVIDIA CUDA Support").
_ON_AMPERE = Condition(
    any=(Condition(frame="flash_attn/"), Condition(text="flashattention|flash_attention only support|supports fp16|float16|torch.float16"))
)
_ON_AMPERE_ZH = "FlashAttention 2 只在 Ampere 及更新的 GPU 上运行，它们都支持 bfloat16"

#: kind of fix -> the support fact that it needs
_NEEDS = {"use-bf16": "bfloat16", "use-fp16": "float16"}


def default_fit(kind: str, context: Context) -> Fit:
    """Hold the kind's own demand against the device. Support is from the table with sources in docs/hardware.md."""
    dtype = _NEEDS.get(kind)
    if dtype is None:
        return FITS
    support = context.values(f"support.{dtype}")
    if not support:
        if dtype == "float16":
            # Every CUDA GPU since Maxwell computes in float16 somehow; only a known bad device speaks against it.
            return FITS
        runs = context.speech.said(_RUNS_BFLOAT16)
        if runs is not None:
            told = redacted_start(runs.text, 120)
            return Fit(True, f"the report says so: {told}", why_zh=f"报告里说：{told}")
        failure = context.failure
        if context.facts.on_cpu or (failure is not None and "_cpu" in failure.failure.root.message):
            # Nothing was asked of a GPU ("addmm_impl_cpu_" not implemented for 'Half'), and every CPU computes in bfloat16.
            return FITS
        if evaluate(_ON_AMPERE, context).state:
            return Fit(True, "FlashAttention 2 runs on Ampere and newer, which have bfloat16", why_zh=_ON_AMPERE_ZH)
        why_zh = "要看 GPU 是否原生支持 bfloat16（NVIDIA Ampere 或更新）"
        return Fit(None, "if the GPU has native bfloat16 (NVIDIA Ampere or newer)", "gpu", why_zh=why_zh)
    state, text = support[0].value, support[0].text
    zh = f"{text.partition(':')[0]}：{dtype} {_STATES_ZH.get(state, state)}"
    # Every dtype below float32 is emulated on most CPUs, so that it is no argument for another one.
    if state == "native" or (state in ("emulated", "slow") and context.facts.on_cpu):
        return Fit(True, text, why_zh=zh)
    if state == "none":
        return Fit(False, text, why_zh=zh)
    if state == "emulated":
        warning, warning_zh = "emulated: slow, and cuDNN convolutions may not support it", "由软件模拟：速度慢，cuDNN 的卷积可能不支持"
        return Fit(True, text, late=True, warning=warning, why_zh=zh, warning_zh=warning_zh)
    return Fit(True, text, late=True, warning=f"{text}: expect it to be slow", why_zh=zh, warning_zh=f"{zh}，速度会很慢")


#: What users measure, and that it got worse.
_WORSE = (
    "accuracy|acc|map|f1|wer|perplexity|ppl|success_rate|bleu|rouge|score|scores|metric|metrics|quality "
    "drop|drops|dropped|dropping|falls|fell|worse|degrades|degraded|degradation|decreases|decreased|collapses|collapsed",
    "准确率|精度|得分|指标|成功率 下降|掉|变差|降低",
)


def harm_of(cause: str, context: Context) -> Fit | None:
    """Return why nothing of this may be ignored, or None: an error far beyond rounding, a measure that falls, or a repair by something
    that the cause does not expect to repair it.
    """
    beyond = context.values("numbers.beyond_rounding_of")
    if beyond:
        return Fit(False, f"an error beyond the rounding of {beyond[0].value}", why_zh=f"误差超出了 {beyond[0].value} 的舍入范围")
    worse = next((said for phrase in _WORSE if (said := context.speech.said(phrase)) is not None), None)
    if worse is not None:
        told = redacted_start(worse.text, 120)
        return Fit(False, f"something got worse: {told}", why_zh=f"有指标变差了：{told}")
    name = context.tried.unexpected(cause)
    return Fit(False, f"something else repairs it: {name}", why_zh=f"换别的做法就好了：{name}") if name else None
