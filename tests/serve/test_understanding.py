"""What people say, in both languages, with and without a question before it."""

from __future__ import annotations

import pytest

from troubleshoot.engine.result import Question
from troubleshoot.serve.chat.understanding import language_of, understand

GPU = Question("Which GPU?", "gpu", ("T4", "V100", "A100", "RTX 4090", "cpu"), ())
APEX = Question("apex?", "package.apex", ("present", "absent"), ())
VERSION = Question("Which version?", "package.transformers", (), ())
DTYPE = Question("Which dtype?", "dtype.requested", ("float16", "bfloat16", "float32"), ())
AUTOCAST = Question("autocast?", "autocast", ("on", "off"), ())
QUANTIZED = Question("quantized?", "quantization", ("none", "bitsandbytes-4bit"), ())
MODEL = Question("Which model?", "model", ("Salesforce/blip2-", "Qwen/Qwen2-VL"), ())


@pytest.mark.parametrize(
    ("question", "text", "value"),
    [
        (GPU, "T4", "T4"), (GPU, "it's a 4090", "RTX 4090"), (GPU, "我用的是V100", "V100"),
        (GPU, "no gpu", "none"), (GPU, "没有显卡", "none"), (GPU, "a100 80gb", "A100 80GB"),
        (APEX, "yes", "present"), (APEX, "是", "present"), (APEX, "装了", "present"),
        (APEX, "no", "absent"), (APEX, "yes, an A100", "present"), (APEX, "没有，用的是A100", "absent"),
        (APEX, "没装", "absent"), (APEX, "apex is not installed", "absent"), (VERSION, "4.50.1", "4.50.1"), (VERSION, "v4.50.2", "4.50.2"),
        (VERSION, "I have 4.50.1", "4.50.1"), (DTYPE, "fp16", "float16"), (DTYPE, "torch.bfloat16", "bfloat16"), (DTYPE, "half", "float16"),
        (AUTOCAST, "yes", "on"), (AUTOCAST, "没有", "off"), (QUANTIZED, "4bit", "bitsandbytes-4bit"), (QUANTIZED, "没有量化", "none"),
        (MODEL, "qwen2-vl 7b", "Qwen/Qwen2-VL"), (MODEL, "Salesforce/blip2-opt-2.7b", "Salesforce/blip2-opt-2.7b"),
    ],
)  # fmt: skip
def test_answers_in_words(question: Question, text: str, value: str) -> None:
    """A short answer gives its value to the fact that was asked for."""
    assert understand(text, question).facts[question.about] == value


@pytest.mark.parametrize(
    ("text", "number"),
    [("2", 2), ("2.", 2), ("2)", 2), ("#2", 2), ("the second", 2), ("second one", 2), ("第二个", 2), ("选2", 2), ("②", 2),
     ("option two please", 2),
     ("the last one", -1), ("最后一个", -1), ("方案三", 3)],
)  # fmt: skip
def test_choices(text: str, number: int) -> None:
    """A number in digits or words is a choice."""
    meaning = understand(text, GPU)
    assert (meaning.kind, meaning.number) == ("choice", number)


@pytest.mark.parametrize(
    ("kind", "texts"),
    {
        "failed": [
            "didn't work",
            "that did not help",
            "still the same error",
            "no luck",
            "doesn't work for me",
            "没用",
            "还是报错",
            "没解决",
            "不行",
        ],
        "worked": ["it works now, thanks", "fixed", "that fixed it", "solved", "解决了", "可以了", "搞定了"],
        "next": ["next", "another one", "what else", "anything else?", "下一个", "还有别的办法吗", "换一个"],
        "dont-know": ["don't know", "no idea", "I'm not sure", "不知道", "不清楚"],
        "reset": ["start over", "/reset", "new problem", "重新开始"],
        "back": ["back", "undo", "返回", "上一步"],
        "rejected": ["that's not my problem", "wrong diagnosis", "不是这个问题"],
        "why": ["why is this happening?", "explain", "what does that mean", "为什么会这样", "什么意思"],
        "fix": ["fix", "how do I fix this", "怎么解决"],
        "thanks": ["thanks", "谢谢", "ok"],
        "greeting": ["hello", "你好", "/help"],
        "yes": ["yes", "是的"],
        "no": ["no", "不"],
        "other": ["who is going to lunch?", "今天天气不错", "the deadline is on Friday"],
    }.items(),
)
def test_sayings(kind: str, texts: list[str]) -> None:
    """A few things that people say, in both languages."""
    assert {text: understand(text).kind for text in texts} == dict.fromkeys(texts, kind)


def test_facts_without_a_question() -> None:
    """Facts are read from any short message."""
    assert understand("torch 2.3, a T4").facts == {"package.torch": "2.3", "gpu": "T4"}
    assert understand("transformers是4.50.1，显卡V100").facts == {"package.transformers": "4.50.1", "gpu": "V100"}


@pytest.mark.parametrize(
    ("text", "language"),
    [("模型加载后报错", "zh"), ("2", None), ("T4", None), ("torch 2.3, T4", None), ("it is a T4", "en"), ("thanks", "en"),
     ('Traceback (most recent call last):\n  File "a.py", line 1, in the_is_it\nRuntimeError: this is not what it is for', None)],
)  # fmt: skip
def test_language(text: str, language: str | None) -> None:
    """Only the person's own words show a language."""
    assert language_of(text) == language
