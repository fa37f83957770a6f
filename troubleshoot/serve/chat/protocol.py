"""OpenAI's chat protocol: what is read of a request, and the objects and events of an answer."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from troubleshoot.basics.redact import redacted_start
from troubleshoot.serve.chat.conversation import Message
from troubleshoot.serve.errors import RequestError
from troubleshoot.serve.models import WHOLE

MODELS = ("troubleshoot", "troubleshoot-quiet")
#: 2026-01-01: models have a date of creation; this one is not told from anything.
_CREATED = 1767225600
_MOST_MESSAGES = 2000

_EXAMPLE: dict[str, Any] = {
    "model": "troubleshoot",
    "messages": [{"role": "user", "content": "RuntimeError: expected scalar type Float but found Half\ntorch 2.3, a T4"}],
    "stream": False,
}


class ChatMessage(BaseModel):
    """One message. ``content`` is a text or a list of parts, of which the text parts are read."""

    model_config = ConfigDict(extra="allow", strict=True)

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[dict[str, Any]] | None = None
    name: str | None = Field(default=None, description="Who of several users speaks: facts are kept for each apart.")


class ChatRequest(BaseModel):
    """The parameters that matter; all others are accepted and ignored."""

    model_config = ConfigDict(extra="allow", strict=True, json_schema_extra={"examples": [_EXAMPLE]})

    model: Literal["troubleshoot", "troubleshoot-quiet"] = Field(
        description="troubleshoot always answers; troubleshoot-quiet only where it knows, else its content is empty."
    )
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=_MOST_MESSAGES)]
    stream: bool | None = False
    stream_options: dict[str, Any] | None = None
    n: Annotated[int, Field(ge=1, le=8), WHOLE] | None = 1
    stop: str | Annotated[list[str], Field(max_length=4)] | None = None


def messages_of(request: ChatRequest) -> list[Message]:
    """Return the messages of users and of the assistant; instructions to a language model mean nothing here."""
    found: list[Message] = []
    for one in request.messages:
        if one.role in ("user", "assistant"):
            text, image = _content(one.content)
            found.append(Message(one.role, text, one.name, image))
    return found


def _content(content: str | list[dict[str, Any]] | None) -> tuple[str, bool]:
    if content is None or isinstance(content, str):
        return content or "", False
    texts: list[str] = []
    image = False
    for part in content:
        text = part.get("text")
        if part.get("type") in ("text", "input_text", "output_text") and isinstance(text, str):
            texts.append(text)
        else:
            image = True
    return "\n\n".join(texts), image


def stopped(text: str, stop: str | Sequence[str] | None) -> str:
    """Return the text up to the first stop sequence."""
    sequences = [stop] if isinstance(stop, str) else list(stop or ())
    ends = [at for one in sequences if one and (at := text.find(one)) >= 0]
    return text[: min(ends)] if ends else text


def tokens(text: str) -> int:
    """Return the number of tokens that usage tells: a quarter of the characters, rounded up. There is no tokenizer behind it."""
    return -(-len(text) // 4)


def usage(request: ChatRequest, answer: str, n: int) -> dict[str, int]:
    """Return the usage object of an answer."""
    prompt = sum(tokens(_content(one.content)[0]) for one in request.messages)
    completion = tokens(answer) * n
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def completion(request: ChatRequest, answer: str, knowledge: str) -> dict[str, Any]:
    """Return a chat.completion."""
    n = request.n or 1
    choice = {"message": {"role": "assistant", "content": answer, "refusal": None}, "finish_reason": "stop", "logprobs": None}
    return {
        **_frame(request, answer, knowledge, "chat.completion"),
        "choices": [{"index": index, **choice} for index in range(n)],
        "usage": usage(request, answer, n),
    }


def events(request: ChatRequest, answer: str, knowledge: str) -> Iterator[bytes]:
    """Yield an answer as server-sent events: its paragraphs, then the end."""
    frame = _frame(request, answer, knowledge, "chat.completion.chunk")
    wants_usage = bool((request.stream_options or {}).get("include_usage"))
    n = request.n or 1

    def chunk(index: int, delta: dict[str, str], reason: str | None = None) -> bytes:
        choice = {"index": index, "delta": delta, "finish_reason": reason, "logprobs": None}
        return _event({**frame, "choices": [choice], **({"usage": None} if wants_usage else {})})

    for index in range(n):
        yield chunk(index, {"role": "assistant", "content": ""})
        for part in _parts(answer):
            yield chunk(index, {"content": part})
        yield chunk(index, {}, "stop")
    if wants_usage:
        yield _event({**frame, "choices": [], "usage": usage(request, answer, n)})
    yield b"data: [DONE]\n\n"


def _parts(answer: str) -> list[str]:
    return answer.splitlines(keepends=True)


def _event(data: dict[str, Any]) -> bytes:
    return b"data: " + msgspec.json.encode(data) + b"\n\n"


def _frame(request: ChatRequest, answer: str, knowledge: str, kind: str) -> dict[str, Any]:
    now = time.time()
    made = hashlib.sha256(f"{now!r}{answer}".encode("utf-8", "replace")).hexdigest()[:24]
    return {
        "id": f"chatcmpl-{made}",
        "object": kind,
        "created": int(now),
        "model": request.model,
        "system_fingerprint": f"kb_{knowledge}",
    }


def models() -> dict[str, Any]:
    """Return the list of models."""
    return {"object": "list", "data": [model(name) for name in MODELS]}


def no_model(name: str) -> RequestError:
    """Return the error about a model that does not exist."""
    known = " or ".join(MODELS)
    return RequestError(404, f"The model {redacted_start(name, 100)!r} does not exist: use {known}.", param="model", code="model_not_found")


def model(name: str) -> dict[str, Any]:
    """Return one model."""
    return {"id": name, "object": "model", "created": _CREATED, "owned_by": "troubleshoot"}
