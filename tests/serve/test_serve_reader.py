"""A server whose operator lets a language model read too: what leaves it, what clients see, and that nobody waits for another's model."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")
pytest.importorskip("httpx", reason="needs the extra reader")

from starlette.testclient import TestClient

from troubleshoot.reader import Reader
from troubleshoot.serve import Settings, create_app
from troubleshoot.serve.consulting import _MOST

UNSURE = "In half precision every picture of my model is black. My token is hf_abcdefghijklmnopqrstuvwxyz012345 and I am jane@example.org."
SURE = "RuntimeError: \"addmm_impl_cpu_\" not implemented for 'Half'"
ANSWER = {"facts": [], "contrasts": [], "causes": ["numerics/fp16-overflow"], "entry": "none"}


class Model(BaseHTTPRequestHandler):
    """A model that answers once it may: at once, or when a test lets it."""

    bodies: ClassVar[list[str]] = []
    may = threading.Event()

    def do_POST(self) -> None:
        self.bodies.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.may.wait(10)
        data = json.dumps({"choices": [{"message": {"content": json.dumps(ANSWER)}, "finish_reason": "stop"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    reader = Reader(f"http://127.0.0.1:{server.server_address[1]}/v1", "some-model")
    with TestClient(create_app(Settings(reader=reader, timeout=5.0, engines=2)), base_url="http://localhost") as one:
        yield one
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    Model.bodies.clear()
    Model.may.set()
    yield
    Model.may.set()


def diagnosed(client: TestClient, report: str) -> dict[str, Any]:
    response = client.post("/v1/diagnose", json={"report": report})
    assert response.status_code == 200
    found: dict[str, Any] = response.json()
    return found


def test_a_report_is_read_by_the_model_and_nothing_secret_leaves(client: TestClient) -> None:
    found = diagnosed(client, UNSURE)
    assert found["reader"]["causes"] == ["numerics/fp16-overflow"]
    assert found["diagnoses"][0]["cause"] == "numerics/fp16-overflow"
    assert len(Model.bodies) == 1
    assert "hf_abc" not in Model.bodies[0]
    assert "jane" not in Model.bodies[0]


def test_the_model_is_not_asked_where_the_rules_are_sure(client: TestClient) -> None:
    assert diagnosed(client, SURE)["reader"]["asked"] is False
    assert Model.bodies == []


def test_the_page_shows_it_and_says_beforehand_that_a_model_reads(client: TestClient) -> None:
    assert '"reader": "some-model"' in client.get("/").text.replace("&quot;", '"').replace("&#34;", '"')
    answer = client.post("/page/diagnose", json={"report": UNSURE})
    assert "some-model" in answer.json()["html"]


def test_the_tool_says_it_too(client: TestClient) -> None:
    head = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "diagnose", "arguments": {"report": UNSURE}}}
    result = client.post("/mcp", json=call, headers=head).text
    assert "Read by some-model" in result


def test_a_request_that_is_wrong_is_refused_as_ever(client: TestClient) -> None:
    assert client.post("/v1/diagnose", content=b"").status_code == 400
    assert client.post("/v1/diagnose", json={"report": 5}).status_code == 400


def test_nobody_waits_for_another_ones_model(client: TestClient) -> None:
    """More requests wait for the model than there are workers, and one that needs none is answered meanwhile."""
    Model.may.clear()
    waiting = [threading.Thread(target=diagnosed, args=(client, f"{UNSURE} {number}")) for number in range(4)]
    for one in waiting:
        one.start()
    while len(Model.bodies) < 4:
        time.sleep(0.02)
    assert diagnosed(client, SURE)["reader"]["asked"] is False
    assert all(one.is_alive() for one in waiting)
    Model.may.set()
    for one in waiting:
        one.join()


def test_a_model_that_is_too_slow_or_asked_too_much_costs_no_answer(client: TestClient) -> None:
    Model.may.clear()
    found: list[dict[str, Any]] = []
    threads = [threading.Thread(target=lambda n=n: found.append(diagnosed(client, f"{UNSURE} {n}"))) for n in range(_MOST + 2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(one["reader"]["problem"] for one in found) == ["busy"] * 2 + ["timeout"] * _MOST
    assert all(one["diagnoses"] for one in found)


def test_a_cause_can_be_told_to_have_been_helped(tmp_path: Path) -> None:
    """The page's buttons are there for the general advice of a cause too."""
    with TestClient(create_app(Settings(engines=1, feedback=tmp_path / "f.db")), base_url="http://localhost") as one:
        for fix, status in (("nothing-of-the-kind", 404), (None, 201)):
            assert one.post("/v1/feedback", json={"issue": "numerics/bf16-rounding", "fix": fix, "worked": True}).status_code == status


def test_without_a_reader_no_worker_is_asked_for_a_question(monkeypatch: pytest.MonkeyPatch) -> None:
    with TestClient(create_app(Settings(engines=1)), base_url="http://localhost") as one:
        assert diagnosed(one, UNSURE)["reader"] is None
    assert Model.bodies == []


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes in /proc")
def test_no_worker_has_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """They read strangers' text; the process that asks the model is another one."""
    from servers import children

    for name in ("TROUBLESHOOT_READER_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "sk-of-the-operator")
    before = set(children(os.getpid()))
    with TestClient(create_app(Settings(engines=1)), base_url="http://localhost") as one:
        diagnosed(one, SURE)
        begun = set(children(os.getpid())) - before
        assert begun
        assert not [process for process in begun if b"sk-of-the-operator" in Path(f"/proc/{process}/environ").read_bytes()]
