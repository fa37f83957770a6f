"""What is sent to a model and what comes back, in OpenAI's form of ``/chat/completions``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from troubleshoot.basics.json_text import json_text


@dataclass(frozen=True)
class Prompt:
    """What a model is asked. ``system`` is the same for every report, ``user`` is about one; the answer has the form of ``schema``."""

    system: str
    user: str
    schema: dict[str, Any] = field(default_factory=dict)

    def body(self, model: str) -> dict[str, Any]:
        """Return the body of the request."""
        return {
            "model": model,
            "messages": [{"role": "system", "content": self.system}, {"role": "user", "content": self.user}],
            "response_format": {"type": "json_schema", "json_schema": {"name": "reading", "strict": True, "schema": self.schema}},
            "temperature": 0,
            "stream": False,
        }

    def sent(self, model: str) -> bytes:
        """Return the body as it is sent."""
        return json_text(self.body(model)).encode()


@dataclass(frozen=True)
class Reply:
    """A model's answer, or why there is none: ``problem`` is a key of ``telling.strings`` below ``reader.``, ``detail`` what it names."""

    text: str = ""
    problem: str | None = None
    detail: str = ""


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]


_DECODER = msgspec.json.Decoder(_Completion)


def reply_of(data: bytes) -> Reply:
    """Return the answer in the body of a response."""
    try:
        choice = _DECODER.decode(data).choices[0]
    except (msgspec.MsgspecError, ValueError, RecursionError, IndexError):
        return Reply(problem="form")
    if choice.message.refusal or choice.finish_reason == "content_filter":
        return Reply(problem="refused")
    if choice.finish_reason == "length" or not choice.message.content:
        return Reply(problem="form")
    return Reply(choice.message.content)
