"""Characters that steer whatever shows an answer: every interface writes them as escapes, as the terminal does."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from starlette.testclient import TestClient

from troubleshoot.serve import Settings, create_app

#: C0, C1, and what turns the direction of text.
STEERING = [*map(chr, (1, 7, 8, 0x1B, 0x7F, 0x85, 0x9B)), *map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A)), "\u2028"]
REPORT = "RuntimeError: expected scalar type Float but found Half {0}x{0}\ntransformers 4.50.1{0}, a T4\nunknown thing {0} happened"


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with TestClient(create_app(Settings(engines=1)), base_url="http://127.0.0.1") as found:
        yield found


def steering(text: str) -> list[str]:
    return [repr(char) for char in text if char in STEERING]


@pytest.mark.parametrize("report", [REPORT, "RuntimeError: frobnicate{0} the dtype of {0}\n", "'{0}\n{0}", "torch=1{0}.2, gpu {0} T4"])
def test_chat_and_tools(client: TestClient, report: str) -> None:
    """Whatever a chat quotes, and all that a tool returns, as text and as data."""
    text = report.format("".join(STEERING))
    for stream in (False, True):
        asked = {"model": "troubleshoot", "messages": [{"role": "user", "content": text}], "stream": stream}
        response = client.post("/v1/chat/completions", json=asked)
        assert response.status_code == 200
        if stream:
            events = [json.loads(line[6:]) for line in response.text.split("\n") if line.startswith("data: {")]
            content = "".join(event["choices"][0]["delta"].get("content", "") for event in events)
        else:
            content = response.json()["choices"][0]["message"]["content"]
        assert content and not steering(content)
    arguments = {"report": text, "gpu": text[:150], "have": {"torch": text[:50]}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "diagnose", "arguments": arguments}}
    result = client.post("/mcp", json=call, headers={"accept": "application/json, text/event-stream"}).json()["result"]
    assert not steering(result["content"][0]["text"])
    assert not steering(json.dumps(result["structuredContent"], ensure_ascii=False))


def test_escapes_are_shown(client: TestClient) -> None:
    """The reader sees that something was there."""
    asked = {"model": "troubleshoot", "messages": [{"role": "user", "content": REPORT.format("\u202e")}]}
    content = client.post("/v1/chat/completions", json=asked).json()["choices"][0]["message"]["content"]
    assert "\\u202e" in content


@pytest.mark.parametrize("path", ["/issues/{}", "/causes/{}"])
def test_pages(client: TestClient, path: str) -> None:
    """A page for a name that is none does not quote it; a hole of the frame in it is not filled."""
    response = client.get(path.format("%E2%80%AE%C2%9B{{article}}{{root}}"))
    assert response.status_code == 404
    assert not steering(response.text) and "\\u202e" not in response.text
    assert response.text.count("<article>") == 1
