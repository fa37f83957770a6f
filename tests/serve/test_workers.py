"""The processes that read requests: whatever a request does to its own, the server and all other requests go on."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")
pytest.importorskip("uvicorn", reason="needs the extra serve")

import uvicorn
from burning import Burning
from servers import children, family, gone
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from troubleshoot.basics.errors import InputError
from troubleshoot.serve import Settings, create_app
from troubleshoot.serve.errors import RequestError
from troubleshoot.serve.processes import SHORT, Pool, _ForkServer, _Worker
from troubleshoot.serve.running import Processes
from troubleshoot.serve.worker import DONE, FORK, NOT_DONE, Setup
from troubleshoot.serve.working import _cost

if sys.platform == "win32":
    pytest.skip("signals and limits are another system's", allow_module_level=True)

HERE = Path(__file__).parent
REPORT = "RuntimeError: expected scalar type Float but found Half"
PLAIN = {"content-type": "text/plain"}
needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
TOOL = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    """An application whose engine obeys its reports."""
    with TestClient(create_app(Settings(cpu_limit=0.2, timeout=30.0), engine=Burning), base_url="http://127.0.0.1") as found:
        yield found


def diagnosis(client: TestClient, text: str) -> Any:
    return client.post("/v1/diagnose", content=text, headers=PLAIN)


def chat(client: TestClient, text: str, *, stream: bool = False) -> Any:
    asked = {"model": "troubleshoot", "messages": [{"role": "user", "content": text}], "stream": stream}
    return client.post("/v1/chat/completions", json=asked)


def tool(client: TestClient, text: str) -> Any:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "diagnose", "arguments": {"report": text}}}
    return client.post("/mcp", json=call, headers=TOOL)


def ended(client: TestClient, reason: str) -> float:
    """Return how many workers ended for a reason."""
    match = re.search(rf'troubleshoot_workers_ended_total{{reason="{reason}"}} (\S+)', client.get("/metrics").text)
    assert match is not None
    return float(match[1])


@pytest.mark.slow
def test_native_code_that_never_returns(client: TestClient) -> None:
    """The request is told what happened and what to do; it is counted; the next one is served."""
    before = ended(client, "cpu")
    for ask in (diagnosis, chat, partial(chat, stream=True)):
        response = ask(client, "BURN")
        assert response.status_code == 422
        error = response.json()["error"]
        assert error["code"] == "cpu_limit"
        assert "more than 0.2 s of processor time" in error["message"] and "troubleshoot diagnose" in error["message"]
    assert ended(client, "cpu") == before + 3
    assert diagnosis(client, REPORT).json()["verdict"] == "likely"


def test_the_protocol_tells_it_too(client: TestClient) -> None:
    """A tool's call gets an error of the tool, in words that a language model can pass on."""
    before = ended(client, "cpu")
    result = tool(client, "BURN").json()["result"]
    assert result["isError"] and "processor time" in result["content"][0]["text"]
    assert ended(client, "cpu") == before + 1
    assert not tool(client, REPORT).json()["result"].get("isError")


@pytest.mark.parametrize(
    ("report", "status", "code", "reason"),
    [
        ("CRASH", 500, "internal", "crash"),
        pytest.param("MEMORY", 422, "memory_limit", "memory", marks=pytest.mark.skipif(sys.platform != "linux", reason="Linux's limit")),
    ],
)
def test_a_worker_that_dies(client: TestClient, report: str, status: int, code: str, reason: str) -> None:
    """It costs its own request only."""
    before = ended(client, reason)
    response = diagnosis(client, report)
    assert (response.status_code, response.json()["error"]["code"]) == (status, code)
    assert ended(client, reason) == before + 1
    assert diagnosis(client, REPORT).status_code == 200


def test_a_failure_is_logged_without_the_report(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    """500 for the client; the log has the place, and nothing of what was sent."""
    response = client.post("/v1/diagnose", content="FAIL secret-words", headers=PLAIN)
    assert response.status_code == 500 and "secret-words" not in response.text
    fields = next(record.fields for record in caplog.records if hasattr(record, "fields") and "task" in record.fields)
    assert fields["exception"] == "ValueError" and any("burning.py" in frame for frame in fields["frames"])
    assert "secret-words" not in str(fields)


def test_time_on_the_wall_is_bounded_too() -> None:
    """A task that waits takes no processor time: it is ended when the request's time is over."""
    with TestClient(create_app(Settings(timeout=0.3), engine=Burning), base_url="http://127.0.0.1") as client:
        response = client.post("/v1/diagnose", content="WAIT", headers=PLAIN)
        assert (response.status_code, response.json()["error"]["code"]) == (503, "timeout")
        assert diagnosis(client, REPORT).status_code == 200


def test_without_a_lifespan() -> None:
    """Mounted into another application, which tells nobody that it starts, the workers begin with the first request."""
    app = create_app(Settings(engines=1))
    client = TestClient(Starlette(routes=[Mount("/help", app)]), base_url="http://127.0.0.1")
    assert client.post("/help/v1/diagnose", content=REPORT, headers=PLAIN).status_code == 200
    assert client.get("/help/v1/causes").status_code == 200


@pytest.mark.parametrize("settings", [Settings(cpu_limit=0), Settings(engines=-1), Settings(memory_limit=1000), Settings(timeout=0)])
def test_limits_that_are_none(settings: Settings) -> None:
    """An operator's mistake is told when the application is built."""
    with pytest.raises(InputError, match="must be at least"):
        create_app(settings)


def asked(pool: Pool, report: str) -> Future[bytes]:
    return pool.submit(msgspec.msgpack.encode(("diagnose", "text/plain", report.encode())))


@pytest.fixture
def pool() -> Iterator[Callable[..., Pool]]:
    """Pools, which end with the test."""
    begun: list[Pool] = []

    def begin(settings: Settings, *, forks: bool = True) -> Pool:
        begun.append(Pool(Setup(Burning, settings, forks), lambda reason: None, forks=forks))
        return begun[-1]

    yield begin
    for one in begun:
        one.close()


@pytest.mark.slow
@pytest.mark.parametrize("forks", [True, False])
def test_with_and_without_fork(pool: Callable[..., Pool], forks: bool) -> None:
    """Where there is no fork each worker starts from nothing; it does the same."""
    one = pool(Settings(engines=1, cpu_limit=0.2, timeout=60.0), forks=forks)
    assert asked(one, REPORT).result(60)[:1] == DONE
    with pytest.raises(RequestError, match="processor time"):
        asked(one, "BURN").result(60)
    assert asked(one, REPORT).result(60)[:1] == DONE


@needs_proc
def test_short_requests_that_take_long_leave_one_worker(pool: Callable[..., Pool]) -> None:
    """What a request takes cannot be told from its length: after a while it goes on among the long ones, and then takes all that it may."""
    one = pool(Settings(engines=2, cpu_limit=1.5, timeout=60.0))
    one.start().result(60)
    burning = [asked(one, "BURN") for _ in range(4)]
    while not one._long_running:
        time.sleep(0.02)
    assert asked(one, REPORT).result(60)[:1] == DONE
    assert not any(future.done() for future in burning)
    with pytest.raises(RequestError, match="processor time"):
        burning[0].result(60)
    assert one._long_running <= 1


def test_many_messages_about_a_long_report_are_long() -> None:
    """The report may be read once more with each of them."""
    report = {"role": "user", "content": "x" * 60_000}
    more = {"role": "user", "content": "y"}
    short, long = (json.dumps({"messages": [report, *[more] * count]}).encode() for count in (3, 39))
    assert _cost("chat", short) < SHORT < _cost("chat", long)
    assert _cost("diagnose", short) == 0


@pytest.mark.slow
def test_no_worker_can_start(pool: Callable[..., Pool], monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told at the start, and to every request; the next one tries again."""
    one = pool(Settings(engines=2, timeout=60.0))
    with monkeypatch.context() as broken:
        broken.setattr(sys, "executable", "/no/such/python")
        with pytest.raises(OSError, match="no/such"):
            one.start().result(60)
        with pytest.raises(RequestError) as refused:
            asked(one, REPORT).result(60)
        assert refused.value.status == 503
    assert asked(one, REPORT).result(60)[:1] == DONE


@needs_proc
def test_a_fork_server_ends_only_what_it_began(pool: Callable[..., Pool]) -> None:
    """The number of a process that another one began may be anybody's by now; what cannot be ended costs no other worker."""
    source = _ForkServer(Setup(Burning, Settings(), True))
    stranger = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        one = source.worker()
        assert source.end(_Worker(socket.socket(), stranger.pid, source)) is None
        assert stranger.poll() is None
        other = source.worker()
        # It ends when its channel closes, or is ended, whichever comes first.
        assert source.end(one) in (0, -signal.SIGKILL)
        assert source.end(one) is None
        assert source.end(other) in (0, -signal.SIGKILL)
    finally:
        stranger.kill()
        stranger.communicate()
        source.close()


def test_no_room_for_another_process_costs_no_worker(pool: Callable[..., Pool], monkeypatch: pytest.MonkeyPatch) -> None:
    """One request is refused; the fork server, and the workers that it has, go on."""
    one = pool(Settings(engines=1, cpu_limit=0.2, timeout=60.0))
    one.start().result(60)
    source = one._source
    assert isinstance(source, _ForkServer)
    with monkeypatch.context() as full:
        full.setattr(source, "_asked", partial(_no_room, source._asked))
        with pytest.raises(RequestError, match="processor time"):
            asked(one, "BURN").result(60)
        with pytest.raises(RequestError, match="cannot read reports"):
            asked(one, REPORT).result(60)
    assert asked(one, REPORT).result(60)[:1] == DONE
    assert one._source is source


def _no_room(asked: Callable[..., int], kind: bytes, process: int, *passed: int) -> int:
    return NOT_DONE if kind == FORK else asked(kind, process, *passed)


def test_a_server_process_that_loads_is_not_waited_for() -> None:
    """While one is waited for no signal is heard, and slow loading is no reason to end it."""

    class Loading:
        def __init__(self, lives: bool) -> None:
            self.process = self
            self.lives = lives
            self.asked = 0

        def is_alive(self, timeout: float = 0) -> bool:
            self.asked += bool(timeout)
            return self.lives

    found = Processes.__new__(Processes)
    found.should_exit = threading.Event()
    found.config = uvicorn.Config("none:none")
    found.processes = [Loading(True), Loading(True)]  # type: ignore[list-item]
    found.keep_subprocess_alive()
    assert [one.asked for one in found.processes] == [0, 0]  # type: ignore[attr-defined]


def test_closing_answers_what_waits(pool: Callable[..., Pool]) -> None:
    """Nobody waits for a pool that has ended."""
    one = pool(Settings(engines=1))
    one.start().result(60)
    tasks = [asked(one, "WAIT"), asked(one, REPORT)]
    one.close()
    for task in tasks:
        with pytest.raises(RequestError):
            task.result(10)
    with pytest.raises(RequestError):
        asked(one, REPORT)


@pytest.mark.slow
def test_too_many_wait(pool: Callable[..., Pool]) -> None:
    """Beyond what may wait the answer is 503 at once; what waits is answered."""
    one = pool(Settings(engines=1, max_requests=2))
    one.start().result(60)
    running = asked(one, "SLEEP")
    while not running.running():
        time.sleep(0.005)
    waiting = [asked(one, REPORT), asked(one, REPORT)]
    with pytest.raises(RequestError) as refused:
        asked(one, REPORT)
    assert (refused.value.status, refused.value.code) == (503, "overloaded")
    assert all(task.result(60)[:1] == DONE for task in waiting)


@pytest.mark.slow
def test_one_worker_is_left_to_short_reports(pool: Callable[..., Pool]) -> None:
    """However many long reports wait, a short one finds a worker."""
    one = pool(Settings(engines=2))
    one.start().result(60)
    long = [asked(one, "SLEEP" + "\n" * 70_000) for _ in range(3)]
    assert asked(one, REPORT).result(60)[:1] == DONE
    assert not any(task.done() for task in long)
    assert all(task.result(60)[:1] == DONE for task in long)


@pytest.mark.slow
def test_a_request_given_up_is_not_read(pool: Callable[..., Pool]) -> None:
    """What nobody waits for any more takes no worker."""
    one = pool(Settings(engines=1))
    one.start().result(60)
    running = asked(one, "SLEEP")
    while not running.running():
        time.sleep(0.005)
    given_up = asked(one, "WAIT")
    assert given_up.cancel()
    assert asked(one, REPORT).result(10)[:1] == DONE


@pytest.mark.slow
def test_late_is_late(pool: Callable[..., Pool]) -> None:
    """What waited until its time was over is not begun, and what runs ends when its request is given up: no worker is busy for nobody."""
    one = pool(Settings(engines=1, timeout=0.5))
    one.start().result(60)
    began = time.monotonic()
    tasks = [asked(one, "WAIT"), asked(one, REPORT)]
    for task in tasks:
        with pytest.raises(RequestError, match=r"longer than 0\.5 s"):
            task.result(60)
    assert time.monotonic() - began < 5
    while asked(one, REPORT).exception(60) is not None:
        pass


@pytest.mark.slow
@needs_proc
def test_memory_is_given_back(pool: Callable[..., Pool]) -> None:
    """A worker that grew for one report is replaced; it answers first."""
    one = pool(Settings(engines=1, memory_limit=2**30, max_body=2**27))
    one.start().result(60)
    before = set(grandchildren(os.getpid()))
    assert asked(one, "x" * 100_000_000).result(60)[:1] == DONE
    assert asked(one, REPORT).result(60)[:1] == DONE
    assert len(before - set(grandchildren(os.getpid()))) == 1


def grandchildren(process: int) -> list[int]:
    """Return the workers of a process: the children of its fork servers."""
    servers = [child for child in children(process) if b"serve.worker" in Path(f"/proc/{child}/cmdline").read_bytes()]
    return [worker for child in servers for worker in children(child)]


class Server:
    """``uvicorn burning:app`` in a process of its own."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        command = [sys.executable, "-m", "uvicorn", "--factory", "burning:app", "--port", str(self.port), "--log-level", "warning"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        self.process = subprocess.Popen([*command, "--timeout-graceful-shutdown", "3"], cwd=HERE, env=environment)
        for _ in range(600):
            try:
                if self.get("/readyz") == 200:
                    return
            except OSError:
                time.sleep(0.05)
        raise AssertionError("the server did not start")

    def get(self, path: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        finally:
            connection.close()

    def diagnose(self, report: str) -> int:
        """Return the status of a diagnosis; 0 where the server hung up."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("POST", "/v1/diagnose", report, PLAIN)
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return 0
        finally:
            connection.close()

    def family(self) -> list[int]:
        """Return the processes that the server began."""
        return family(self.process.pid)[1:]


@pytest.fixture
def burning() -> Iterator[Server]:
    server = Server()
    yield server
    server.process.kill()
    server.process.wait()


@needs_proc
def test_nobody_else_pays(burning: Server) -> None:
    """While reports burn and crash, the probes answer and every innocent report is diagnosed."""
    with ThreadPoolExecutor(12) as clients:
        hostile = [clients.submit(burning.diagnose, word) for word in ("BURN", "CRASH", "BURN", "CRASH")]
        innocent = [clients.submit(burning.diagnose, REPORT) for _ in range(8)]
        slowest = 0.0
        while not all(one.done() for one in hostile):
            began = time.monotonic()
            assert burning.get("/healthz") == 200
            slowest = max(slowest, time.monotonic() - began)
        assert [one.result() for one in hostile] == [422, 500, 422, 500]
        assert {one.result() for one in innocent} == {200}
    assert slowest < 1.0


@pytest.mark.slow
@needs_proc
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_whatever_runs(burning: Server, sent: signal.Signals) -> None:
    """Workers that do not end by themselves, a slow client, a long queue: within the grace period all is over, and no process is left."""
    slow = socket.create_connection(("127.0.0.1", burning.port))
    slow.sendall(b"POST /v1/diagnose HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 100\r\n\r\na")
    stream = socket.create_connection(("127.0.0.1", burning.port))
    stream.sendall(b"GET /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: text/event-stream\r\n\r\n")
    family = burning.family()
    assert len(family) >= 3
    waiting = [threading.Thread(target=burning.diagnose, args=("WAIT",), daemon=True) for _ in range(10)]
    for one in waiting:
        one.start()
    time.sleep(0.3)
    began = time.monotonic()
    burning.process.send_signal(sent)
    burning.process.wait(20)
    assert time.monotonic() - began < 10
    assert gone(family)
    slow.close()
    stream.close()


@pytest.mark.slow
@needs_proc
def test_nothing_is_left_of_a_killed_server(burning: Server) -> None:
    """Its workers end with it, also one that is busy."""
    busy = threading.Thread(target=burning.diagnose, args=("WAIT",), daemon=True)
    busy.start()
    time.sleep(0.2)
    family = burning.family()
    burning.process.kill()
    assert gone(family)


@pytest.mark.slow
@needs_proc
def test_processes_killed_from_outside(burning: Server) -> None:
    """Whoever kills a worker that waits, or the fork server, costs no request."""
    (forks,) = children(burning.process.pid)
    waiting = children(forks)
    for one in waiting:
        os.kill(one, signal.SIGKILL)
    assert gone(waiting)
    assert burning.diagnose(REPORT) == 200
    os.kill(forks, signal.SIGKILL)
    assert gone([forks])
    assert [burning.diagnose(REPORT) for _ in range(4)] == [200] * 4
    # Why a worker of the fork server that was killed ended, nobody can read any more.
    assert burning.diagnose("BURN") in (422, 500)
    assert burning.diagnose(REPORT) == 200
    assert burning.diagnose(REPORT) == 200


@pytest.mark.slow
@needs_proc
def test_the_protocol_on_standard_streams(tmp_path: Path) -> None:
    """A report that never ends is told there too, the client's next question is answered, and its end ends the worker."""
    program = tmp_path / "served.py"
    program.write_text(
        "from burning import Burning\nfrom troubleshoot.serve import Settings\nfrom troubleshoot.serve.running import run_mcp\n"
        "run_mcp(Settings(cpu_limit=0.3), allow_run=False, engine=Burning)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path])}
    with subprocess.Popen([sys.executable, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True) as process:
        assert process.stdin is not None and process.stdout is not None

        def said(message: dict[str, Any]) -> dict[str, Any]:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline()) if "id" in message else {}

        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        said({"id": 1, "method": "initialize", "params": client})
        said({"method": "notifications/initialized"})
        for number, (report, text) in enumerate((("BURN", "processor time"), (REPORT, "scalar type")), 2):
            answer = said({"id": number, "method": "tools/call", "params": {"name": "diagnose", "arguments": {"report": report}}})
            assert text in answer["result"]["content"][0]["text"]
        family = [*children(process.pid), *grandchildren(process.pid)]
        process.stdin.close()
        assert process.wait(20) == 0
    assert len(family) == 2 and gone(family)
