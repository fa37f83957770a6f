"""Asking an endpoint that answers, and endpoints that fail in every way: a reply always comes, in time, and nothing is told of the key."""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

pytest.importorskip("httpx")

from troubleshoot.basics.errors import InputError
from troubleshoot.reader import Prompt, Reader, Reply

PROMPT = Prompt("system", "user", {"type": "object"})
KEY = "sk-of-the-test-4711"


def completion(content: str | None = "{}", **of: Any) -> bytes:
    message = {"role": "assistant", "content": content, **of.pop("message", {})}
    return json.dumps({"id": "x", "choices": [{"index": 0, "message": message, "finish_reason": "stop", **of}]}).encode()


class Handler(BaseHTTPRequestHandler):
    """Answers as the test says; keeps what came."""

    status, body = 200, completion()
    headers_sent: ClassVar[dict[str, str]] = {}
    came: ClassVar[list[tuple[str, dict[str, str], bytes]]] = []
    before = after = 0.0

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        self.came.append((self.path, {name.lower(): value for name, value in self.headers.items()}, data))
        time.sleep(self.before)
        self.send_response(self.status)
        for name, value in {"Content-Length": str(len(self.body)), **self.headers_sent}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.after:
            for byte in self.body:
                time.sleep(self.after)
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
        else:
            self.wfile.write(self.body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def endpoint(**of: Any) -> Iterator[tuple[str, list[tuple[str, dict[str, str], bytes]]]]:
    came: list[tuple[str, dict[str, str], bytes]] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Mine", (Handler,), {"came": came, **of}))
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", came
    finally:
        server.shutdown()
        server.server_close()


def asked(url: str, seconds: float = 5.0) -> Reply:
    return Reader(url, "some-model", seconds).ask(PROMPT)


def test_the_request_is_of_openais_form_and_the_key_is_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TROUBLESHOOT_READER_KEY", KEY)
    with endpoint(body=completion('{"a": 1}')) as (url, came):
        assert asked(url) == Reply('{"a": 1}')
    path, headers, data = came[0]
    sent = json.loads(data)
    assert path == "/v1/chat/completions"
    assert headers["authorization"] == f"Bearer {KEY}"
    assert sent["model"] == "some-model"
    assert [one["role"] for one in sent["messages"]] == ["system", "user"]
    assert sent["response_format"]["json_schema"]["schema"] == {"type": "object"}
    assert KEY not in data.decode()


#: What servers put around an answer: vLLM with and without its parser of reasoning, llama.cpp's server, Ollama.
FORMS = {
    "vllm": {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{
            "index": 0, "logprobs": None, "finish_reason": "stop", "stop_reason": None,
            "message": {
                "role": "assistant", "reasoning_content": "Let me see.", "content": "{}", "refusal": None, "tool_calls": []
            },
        }],
        "usage": {"prompt_tokens": 5, "total_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": None}, "prompt_logprobs": None,
    },
    "llama.cpp": {
        "choices": [{"finish_reason": "stop", "index": 0, "message": {"role": "assistant", "content": "{}"}}], "created": 1, "model": "m",
        "system_fingerprint": "b1-1", "object": "chat.completion", "id": "chatcmpl-1", "timings": {"prompt_n": 1, "predicted_ms": 3.5},
        "usage": {"completion_tokens": 4, "prompt_tokens": 5, "total_tokens": 9},
    },
    "ollama": {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "system_fingerprint": "fp_ollama",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "{}"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 4, "total_tokens": 9},
    },
}  # fmt: skip


@pytest.mark.parametrize("server", FORMS)
def test_the_forms_of_usual_servers_are_read(server: str) -> None:
    with endpoint(body=json.dumps(FORMS[server]).encode()) as (url, _):
        assert asked(url) == Reply("{}")


def test_openais_own_key_goes_to_openai_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from troubleshoot.reader.endpoint import headers

    monkeypatch.delenv("TROUBLESHOOT_READER_KEY", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert headers(Reader("https://api.openai.com/v1", "m"))["Authorization"] == f"Bearer {KEY}"
    for url in ("http://api.openai.com/v1", "https://api.openai.com.example.org/v1", "http://localhost:1/v1"):
        assert "Authorization" not in headers(Reader(url, "m"))


@pytest.mark.parametrize(
    ("of", "problem"),
    [
        ({"status": 500}, "status"),
        ({"status": 401}, "status"),
        ({"body": b"<html>"}, "form"),
        ({"body": b'{"choices": []}'}, "form"),
        ({"body": b"[" * 200_000}, "form"),
        ({"body": b"\xff\xfe"}, "form"),
        ({"body": completion(None)}, "form"),
        ({"body": completion("{", finish_reason="length")}, "form"),
        ({"body": completion(None, message={"refusal": "I cannot"})}, "refused"),
        ({"body": completion("", finish_reason="content_filter")}, "refused"),
        ({"body": completion("a" * 300_000)}, "long"),
        ({"body": gzip.compress(b"0" * 50_000_000), "headers_sent": {"Content-Encoding": "gzip"}}, "form"),
        ({"headers_sent": {"Content-Length": "100000"}, "body": b"{"}, "unreachable"),
        ({"before": 3.0}, "timeout"),
        ({"after": 0.2, "body": completion("a" * 100)}, "timeout"),
    ],
)
def test_what_goes_wrong_is_told_in_time(of: dict[str, Any], problem: str) -> None:
    """Each byte of the last one comes within any limit of reading; all together do not."""
    started = time.monotonic()
    with endpoint(**of) as (url, _):
        assert asked(url, 0.7).problem == problem
        assert time.monotonic() - started < 2.5


def test_a_redirect_is_not_followed() -> None:
    with endpoint() as (other, stolen), endpoint(status=307, headers_sent={"Location": f"{other}/chat/completions"}) as (url, _):
        assert asked(url) == Reply(problem="status", detail="307")
    assert stolen == []


def test_an_endpoint_that_is_down() -> None:
    with endpoint() as (url, _):
        pass
    reply = asked(url)
    assert (reply.problem, reply.text) == ("unreachable", "")
    assert url not in reply.detail


def test_it_can_be_asked_within_an_event_loop() -> None:
    """As in a notebook."""
    import asyncio

    async def cell() -> Reply:
        return asked(url)

    with endpoint() as (url, _):
        assert asyncio.run(cell()) == Reply("{}")


@pytest.mark.parametrize(
    ("url", "model"),
    [
        ("localhost:8000", "m"), ("ftp://host/v1", "m"), ("http://", "m"), ("http://host:99999/v1", "m"), ("http://ho st/v1", "m"),
        ("http://user:secret@host/v1", "m"), ("http://host/v1?key=secret", "m"), ("http://host/v1", " "),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_told_before_anything_is_sent(url: str, model: str) -> None:
    with pytest.raises(InputError) as raised:
        Reader(url, model)
    assert "secret" not in str(raised.value)
