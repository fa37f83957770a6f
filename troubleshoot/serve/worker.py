"""The processes that read what clients send: what runs in them, and what bounds them. Nothing here knows of HTTP or of an event loop.

A fork server loads the knowledge base once and forks workers on demand: they share its memory and are ready at once. It runs one thread
and does nothing else, so that forking is safe. Where there is no ``fork`` (Windows) each worker loads for itself.

A worker does one task at a time. While it does, a timer of the kernel counts its processor time; its signal is left at its default, which
ends the process, also within native code that never returns to Python.
"""

from __future__ import annotations

import gc
import json
import os
import pickle
import signal
import socket
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from troubleshoot.serve.engine import Engine
    from troubleshoot.serve.settings import Settings

#: A frame: how many bytes follow.
_LENGTH = struct.Struct("!Q")
#: What a task begins with: how many seconds of processor time it may take.
SECONDS = struct.Struct("!d")
#: A command to the fork server: what to do (fork, end), and the process that it is about. Its answer: a number.
COMMAND = struct.Struct("!cq")
ANSWER = struct.Struct("!q")
FORK, END = b"f", b"e"
READY = b"ready"
#: The answer to a command that could not be done: no process could be forked, or it is none that was.
NOT_DONE = -(1 << 40)
#: How a task ended: the value, an error of the request, an error of ours, or no memory left. The first byte of a reply.
DONE, REFUSED, FAILED, NO_MEMORY = b"d", b"r", b"f", b"m"
#: The second byte of a reply: whether the worker ends with it.
STAYS, LEAVES = b"+", b"-"
#: A worker whose memory grew by so much for one task is replaced: Python seldom gives memory back.
_GROWN = 128 * 1024 * 1024
#: What the process that starts another gives it to run. The first argument is its sys.path, the second how its channel is named.
PROGRAM = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from troubleshoot.serve.worker import main; main(sys.argv[2])"
_WARMING = """\
Traceback (most recent call last):
  File "a.py", line 1, in <module>
    model(x)
  File "/usr/lib/python3.11/site-packages/torch/nn/functional.py", line 2900, in layer_norm
    return torch.layer_norm(
RuntimeError: expected scalar type Float but found Half
torch 2.3, a T4
"""


@dataclass(frozen=True)
class Setup:
    """What a worker works with: the class of the engine, the operator's settings, and whether to fork."""

    engine: type[Engine]
    settings: Settings
    forks: bool


def send(channel: socket.socket, data: bytes) -> None:
    """Send a frame. Raises OSError."""
    channel.sendall(_LENGTH.pack(len(data)) + data)


def receive(channel: socket.socket) -> bytes | None:
    """Return the next frame, or None where the other side has gone. Raises OSError, TimeoutError."""
    head = _exactly(channel, _LENGTH.size)
    return _exactly(channel, _LENGTH.unpack(head)[0]) if head is not None else None


def _exactly(channel: socket.socket, size: int) -> bytes | None:
    data = bytearray(size)
    view = memoryview(data)
    at = 0
    while at < size:
        got = channel.recv_into(view[at:])
        if not got:
            return None
        at += got
    return bytes(data)


def main(channel_name: str) -> None:
    """Be the process that :data:`PROGRAM` starts: a fork server, or a single worker. Ends when its channel closes."""
    # The server decides when its workers end, also where the terminal or the service manager signals the whole group.
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    channel = _channel(channel_name)
    data = receive(channel)
    if data is None:
        return
    try:
        setup: Setup = pickle.loads(data)
        engine = _warmed(setup)
    except Exception as error:
        # Told to the server, which knows where to log it.
        send(channel, f"{type(error).__name__}: {error}".encode("utf-8", "replace"))
        return
    send(channel, READY)
    if setup.forks:
        _fork_on_demand(channel, engine, setup.settings)
    else:
        _work(channel, engine, setup.settings)


def _channel(name: str) -> socket.socket:
    if sys.platform == "win32":
        return socket.fromshare(sys.stdin.buffer.read(int(name)))
    return socket.socket(fileno=int(name))


def _warmed(setup: Setup) -> Engine:
    """Return the engine with all that a first request would load."""
    from troubleshoot.serve import tasks

    engine = setup.engine(setup.settings)
    body = json.dumps({"model": "troubleshoot", "messages": [{"role": "user", "content": _WARMING}]}).encode()
    for language in ("en", "zh"):
        tasks.diagnose(engine, "application/json", json.dumps({"report": _WARMING, "language": language}).encode())
        tasks.issues_page(engine, language, "")
    if setup.settings.reader is not None:
        tasks.question(engine, "text/plain", _WARMING.encode())
    tasks.chat(engine, body, "")
    tasks.hardware(engine, "")
    # What is loaded now stays: the collector need not look at it with every collection, nor copy its pages in every worker.
    gc.collect()
    gc.freeze()
    return engine


def _fork_on_demand(control: socket.socket, engine: Engine, settings: Settings) -> None:
    """Fork workers, and end them, as the server says; end them all when it has gone.

    What cannot be done is told, and costs no other worker.
    """
    assert sys.platform != "win32"
    children: set[int] = set()
    try:
        while True:
            command, passed, _, _ = socket.recv_fds(control, COMMAND.size, 1)
            if len(command) < COMMAND.size:
                break
            kind, process = COMMAND.unpack(command)
            if kind == FORK:
                process = _forked()
                if process == 0:
                    _be_worker(control, passed[0], engine, settings)
                os.close(passed[0])
                if process > 0:
                    children.add(process)
                control.sendall(ANSWER.pack(process))
            else:
                # The number of a process that another fork server began may be anybody's by now.
                status = _ended(process) if process in children else NOT_DONE
                children.discard(process)
                control.sendall(ANSWER.pack(status))
    except OSError:
        pass
    for child in children:
        _ended(child)


def _forked() -> int:
    assert sys.platform != "win32"
    try:
        return os.fork()
    except OSError:
        return NOT_DONE


def _ended(process: int) -> int:
    """End a child and return its status: what it already was where it had ended by itself."""
    assert sys.platform != "win32"
    try:
        os.kill(process, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    except OSError:
        return NOT_DONE


def _be_worker(control: socket.socket, number: int, engine: Engine, settings: Settings) -> None:
    """Be a forked worker; never returns."""
    try:
        control.close()
        _work(socket.socket(fileno=number), engine, settings)
    finally:
        os._exit(0)


def _work(channel: socket.socket, engine: Engine, settings: Settings) -> None:
    """Do task after task until the server hangs up."""
    from troubleshoot.serve.tasks import TASKS

    # A warning or a crash may quote a report; the log may not.
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    timed = _bounded(settings)
    before = _peak()
    stays = STAYS
    try:
        while stays == STAYS and (data := receive(channel)) is not None:
            timed(*SECONDS.unpack_from(data))
            reply = _done(TASKS, engine, data[SECONDS.size :])
            timed(0.0)
            if reply[:1] == NO_MEMORY or _peak() - before > _GROWN:
                stays = LEAVES
            send(channel, reply[:1] + stays + reply[1:])
    except OSError:
        pass


def _bounded(settings: Settings) -> Callable[[float], object]:
    """Bound the process's memory, and return the function that starts (or, with 0, stops) the timer of its processor time."""
    if sys.platform == "win32":
        return lambda seconds: None
    import resource

    if sys.platform == "linux":
        # Private memory of every kind. What an address space may be would also count the files that are mapped, and stacks.
        resource.setrlimit(resource.RLIMIT_DATA, (settings.memory_limit, settings.memory_limit))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPROF})
    return lambda seconds: signal.setitimer(signal.ITIMER_PROF, seconds)


def _peak() -> int:
    """Return the most memory that this process ever had, in bytes; 0 where the system does not tell."""
    if sys.platform == "win32":
        return 0
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def _done(tasks: dict[str, Callable[..., Any]], engine: Engine, data: bytes) -> bytes:
    from troubleshoot.basics.redact import redact_text
    from troubleshoot.serve.errors import RequestError
    from troubleshoot.serve.logs import trouble

    try:
        name, *given = msgspec.msgpack.decode(data)
        return DONE + msgspec.msgpack.encode(tasks[name](engine, *given))
    except RequestError as error:
        param = redact_text(error.param) if error.param else None
        return REFUSED + msgspec.msgpack.encode((error.status, redact_text(error.message), param, error.code))
    except MemoryError:
        return NO_MEMORY
    except Exception as error:
        return FAILED + msgspec.msgpack.encode(trouble(error))
