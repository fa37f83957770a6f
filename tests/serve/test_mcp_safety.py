"""The Model Context Protocol: wrong requests cost nothing, and no answer to them quotes what they hold."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")
pytest.importorskip("mcp", reason="needs the extra serve")

import anyio
from mcp.server.mcpserver.exceptions import ToolError
from starlette.testclient import TestClient

import troubleshoot
from troubleshoot.serve import Settings, create_app, mcp_http, mcp_server
from troubleshoot.serve.mcp_server import _run

SECRET = "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH"
HEAD = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
MANY = {str(number): 1 for number in range(60_000)}
SOME = {str(number): 1 for number in range(300)}


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    """A client of a server with its defaults."""
    with TestClient(create_app(Settings()), base_url="http://localhost") as one:
        yield one


def call(client: TestClient, method: str, params: Any) -> dict[str, Any]:
    """Send a request; return the answer, which is short and quotes no secret."""
    response = client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, headers=HEAD)
    assert SECRET not in response.text
    answer: dict[str, Any] = response.json()
    return answer


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"report": [SECRET]}, "report must be a text"),
        ({"rport": SECRET}, "report is needed"),
        ({"report": None}, "report is needed"),
        ({"report": "x", "gpu": [SECRET]}, "gpu must be a text"),
        ({"report": "x", "environment": {SECRET: 1}}, "environment must be a text"),
        ({"report": "x", "language": SECRET}, "one of: en, zh"),
        ({"report": "x", "have": SECRET}, "have must be an object"),
        ({"report": "x", "have": [SECRET]}, "have must be an object"),
        ({"report": "x", "have": {SECRET: {SECRET: 1}}}, "must be a text"),
        ({"report": "x", "answers": json.dumps({SECRET: 1})}, "must be a text"),
        ({"report": "x", "have": SOME}, "200 members"),
        ({"report": "x", "have": "[" * 40_000}, "have must be an object"),
        ({"report": "x", "answers": json.dumps(MANY)}, "answers must be an object"),
        ({"report": "x" * 1_000_001}, "1000000 characters"),
    ],
)
def test_wrong_arguments_are_told_in_a_sentence(client: TestClient, arguments: Any, told: str) -> None:
    """The first that is wrong is told, without its value."""
    result = call(client, "tools/call", {"name": "diagnose", "arguments": arguments})["result"]
    assert result["isError"]
    text = result["content"][0]["text"]
    assert told in text
    assert len(text) < 200


def test_null_and_json_in_a_text_are_taken(client: TestClient) -> None:
    """As some clients give arguments. A text that is JSON by itself stays a text."""
    listed = json.dumps([{"name": "torch", "version": "2.3.0"}, {"name": "numpy", "version": "1.26.4"}])
    arguments = {"report": "RuntimeError: x", "gpu": None, "answers": None, "have": '{"diffusers": "0.30.0"}', "environment": listed}
    result = call(client, "tools/call", {"name": "diagnose", "arguments": arguments})["result"]
    assert not result.get("isError")
    packages = json.dumps(result["structuredContent"]["environment"])
    assert "0.30.0" in packages and "2.3.0" in packages


@pytest.mark.parametrize(
    ("method", "params"),
    [
        (SECRET, {}), ("tools/call", {"name": SECRET, "arguments": {}}), ("tools/call", {"name": "diagnose", "arguments": [SECRET]}),
        ("tools/call", {"arguments": {SECRET: SECRET}}), ("tools/call", [SECRET]), ("tools/call", SECRET),
        ("resources/read", {"uri": f"a://{SECRET}"}), ("resources/read", {"uri": f"troubleshoot://issues/a/{SECRET}"}),
        ("resources/read", {"uri": SECRET}), ("prompts/get", {"name": SECRET}), ("completion/complete", {"ref": SECRET}),
    ],
)  # fmt: skip
def test_errors_quote_nothing(client: TestClient, method: str, params: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Unknown methods, tools, resources and prompts, and what is no request: the client's mistakes, and none of the server's."""
    answer = call(client, method, params)
    assert "error" in answer or answer["result"]["isError"]
    assert not [one for one in caplog.records if one.levelname == "ERROR"]


@pytest.mark.parametrize(
    "body",
    [
        '{"x": "%s"}', '["%s"]', "[" + "{}," * 300_000 + '"%s"]', '"%s"', '{"%s', '{"jsonrpc": "2.0", "id": 1, "method": {"%s": 1}}', "",
        "%s",
    ],
    ids=range(8),
)  # fmt: skip
def test_what_is_no_request_is_not_quoted(client: TestClient, body: str) -> None:
    """The status and the code are the SDK's."""
    response = client.post("/mcp", content=body.replace("%s", SECRET), headers=HEAD)
    assert response.status_code == 400
    assert response.json()["error"]["code"] in (-32600, -32602, -32700)
    assert SECRET not in response.text and len(response.text) < 200


def test_what_nobody_reads_is_not_read(client: TestClient) -> None:
    """A megabyte of small values would become objects of Python thirty times as large, in the process that serves everybody."""
    import tracemalloc

    many = [{"": 0}] * 60_000
    params = {"name": "diagnose", "arguments": {"report": "RuntimeError: [" + "1, " * 100_000, "x": many}, "x": many}
    body = json.dumps({"x": many, "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    tracemalloc.start()
    bounded = mcp_http._bounded(body, {"report": None})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * len(body)
    assert list(json.loads(bounded)) == ["jsonrpc", "id", "method", "params"]
    assert json.loads(bounded)["params"] == {"name": "diagnose", "arguments": {"report": params["arguments"]["report"]}}  # type: ignore[index]
    params = {"name": "diagnose", "arguments": {"report": "RuntimeError: x", "x": many[:20_000]}, "x": many[:20_000]}
    small = {"x": many[:20_000], "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    assert "result" in client.post("/mcp", json=small, headers=HEAD).json()


@pytest.mark.parametrize("place", ["_meta", "capabilities", "have"])
def test_too_many_values_are_refused(client: TestClient, place: str) -> None:
    """Where they cannot be left out."""
    params: dict[str, Any] = {"name": "diagnose", "arguments": {"report": "x"}}
    (params["arguments"] if place == "have" else params)[place] = {SECRET: [{"": 0}] * 5000}
    response = client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, headers=HEAD)
    assert response.status_code == 413
    assert response.json()["error"]["code"] == -32600
    assert "too many values" in response.text and SECRET not in response.text


@pytest.mark.parametrize("half", ["\\ud800", "\\udc00", "\\\\\\ud800", "\\ud800\\ud800"])
@pytest.mark.parametrize("version", ["2025-03-26", "2026-07-28"])
def test_half_a_character_hides_no_secret(client: TestClient, half: str, version: str) -> None:
    """It is replaced: the SDK would quote the text that it cannot encode."""
    arguments = {"report": f"RuntimeError: HALF {SECRET}", "gpu": "HALF", "have": {"HALF": "1"}, "answers": '{"gpu": "T4"}'}
    meta = {"io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": {}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "diagnose", "arguments": arguments, "_meta": meta}}
    head = {**HEAD, "mcp-protocol-version": version, "mcp-method": "tools/call", "mcp-name": "diagnose"}
    response = client.post("/mcp", content=json.dumps(body).replace("HALF", half), headers=head)
    assert response.json()["result"]["structuredContent"]
    assert SECRET not in response.text
    # Also where a text comes another way, or holds JSON.
    schema = {"properties": {"gpu": {"type": "string"}, "have": {"type": "object"}}}
    checked = mcp_server._checked(schema, {"gpu": "\ud800", "have": '{"\\udc00": "x"}'})
    assert checked == {"gpu": "?", "have": {"?": "x"}}


def test_no_stream_is_held_open(client: TestClient) -> None:
    """Nothing could come on it, and each would count as a request in work."""
    response = client.get("/mcp", headers=HEAD)
    assert response.status_code == 405
    assert response.headers["allow"] == "POST"
    assert client.delete("/mcp").status_code == 405


@pytest.mark.parametrize("kind", ["issues", "causes"])
def test_a_page_that_is_none_says_nothing_of_its_address(client: TestClient, kind: str) -> None:
    """Anybody may send a link to this server with words of their own, and a link to elsewhere in it."""
    page = client.get(f"/{kind}/Your session has ended. Log in again: https:%2F%2Fevil.example%2Flogin")
    assert page.status_code == 404
    assert "evil.example" not in page.text and "session" not in page.text
    long = client.get(f"/{kind}/" + "a" * 5000)
    assert long.status_code == 404
    assert "aaaaaaaa" not in long.text
    assert "no/such-one" in client.get(f"/{kind}/no/such-one").text


def test_nothing_can_be_subscribed_to(client: TestClient) -> None:
    """The newer protocol asks for a stream with POST: nothing here changes, and it would be held for as long as a request may take."""
    method = "subscriptions/listen"
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"notifications": {}, "_meta": meta}}
    began = time.monotonic()
    response = client.post("/mcp", json=request, headers={**HEAD, "mcp-protocol-version": "2026-07-28", "mcp-method": method})
    assert time.monotonic() - began < 5
    assert "Method not found" in response.text
    assert not response.headers["content-type"].startswith("text/event-stream") or "result" not in response.text


def test_commands_are_not_taken_from_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file there could take the program's place."""
    (tmp_path / "troubleshoot.py").write_text("print('taken')")
    monkeypatch.chdir(tmp_path)
    # As the installed program would be found: wherever the working folder is.
    monkeypatch.setenv("PYTHONPATH", str(Path(troubleshoot.__file__).parents[1]))
    assert "taken" not in anyio.run(_told, "verify", "acme/none")


async def _told(command: str, argument: str) -> str:
    try:
        return await _run(command, argument)
    except ToolError as error:
        return str(error)
