"""Conversations of several replies, in both languages: what each reply must hold, and must not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import founding
import pytest
import yaml

from troubleshoot.serve.chat.answering import answer
from troubleshoot.serve.chat.conversation import Message
from troubleshoot.serve.engine import Engine
from troubleshoot.serve.settings import Settings

TALKS: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parents[1] / "data" / "conversations.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine(Settings())


@pytest.mark.parametrize("talk", [pytest.param(talk["turns"], id=f"{number}-{talk['name']}") for number, talk in enumerate(TALKS, 1)])
def test_conversation(engine: Engine, talk: list[dict[str, Any]]) -> None:
    """Each reply holds what it must, and nothing that it must not; no reply asks more than one question."""
    messages: list[Message] = []
    for turn in talk:
        said = getattr(founding, turn["report"]).report(language=turn.get("language", "en")) if "report" in turn else turn["say"]
        messages.append(Message("user", said))
        reply = answer(messages, engine, lambda issue: None)
        messages.append(Message("assistant", reply))
        for text in turn.get("holds", ()):
            assert text in reply, f"{turn.get('say', 'the report')!r} is answered without {text!r}:\n{reply}"
        for text in turn.get("lacks", ()):
            assert text not in reply, f"{turn.get('say', 'the report')!r} is answered with {text!r}:\n{reply}"
        assert sum(line.startswith("**") and line.endswith(("?**", "？**")) for line in reply.splitlines()) <= 1


def test_there_are_enough() -> None:
    """Both languages are spoken."""
    assert len(TALKS) >= 25
    assert sum(any("\u4e00" <= char <= "\u9fff" for char in str(talk["turns"])) for talk in TALKS) >= 10


class Counting(Engine):
    """Counts diagnoses."""

    def __init__(self) -> None:
        super().__init__(Settings())
        self.count = 0

    def diagnose(self, *args: Any, **options: Any) -> Any:
        self.count += 1
        return super().diagnose(*args, **options)


def test_only_facts_lead_to_a_diagnosis() -> None:
    """Whatever else is said, the failure is diagnosed once for each set of facts."""
    counting = Counting()
    report = founding.QWEN2_VL.report()
    said = [report, "T4", "didn't work", "would bf16 help?", "which GPUs have bfloat16?", "2", "why", "thanks", "next", "it works"]
    messages: list[Message] = []
    for text in said:
        counting.count = 0
        messages.append(Message("user", text))
        messages.append(Message("assistant", answer(messages, counting, lambda issue: None)))
        assert counting.count <= (1 if len(messages) <= 2 else 2), text
