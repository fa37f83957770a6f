"""The worker processes as the server sees them: tasks go in, replies come out, and whatever a task does to its process costs nobody else.

Each worker has a thread here that hands it tasks and waits; all that these threads do is to wait. No library fits: those at hand break the
whole pool when a worker dies (``concurrent.futures``, loky), count only the time on the wall (pebble, ``anyio.to_process``), or run the
program's main module again (everything on ``multiprocessing``), which a server that was started by another program cannot bear.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

from troubleshoot.reader.endpoint import KEY, OPENAI_KEY
from troubleshoot.serve import worker
from troubleshoot.serve.errors import RequestError
from troubleshoot.serve.worker import Setup

_log = logging.getLogger("troubleshoot.serve")

#: A task that costs more is long: one worker is always left to the short ones. The unit is what a byte of a report costs.
SHORT = 65_536
#: Seconds of processor time after which a short task is ended, and done among the long ones: what it costs cannot be told before.
_BRIEF = 0.5
#: Long tasks that may wait for each worker.
_WAITING = 8
#: Seconds that a fork server may take to load, and to end.
_LOADING, _ENDING = 60.0, 3.0


@dataclass(eq=False)
class _Task:
    data: bytes
    long: bool
    #: When its request is given up, by time.monotonic().
    deadline: float
    future: Future[bytes] = field(default_factory=Future)

    def begins(self) -> bool:
        """Tell whether it is still wanted; from then on it is."""
        return self.future.running() or self.future.set_running_or_notify_cancel()


@dataclass(frozen=True)
class _Worker:
    channel: socket.socket
    process: int
    #: What began it, and alone can end it.
    source: _ForkServer | _Starter


class _NoProcessError(OSError):
    """The system has no room for another process at the moment. Those that there are go on."""


class _ForkServer:
    """The process that forks workers. Its methods may be called from several threads."""

    def __init__(self, setup: Setup) -> None:
        self._control, self._process = _start(setup)
        self._lock = threading.Lock()

    def worker(self) -> _Worker:
        ours, theirs = socket.socketpair()
        with theirs:
            process = self._asked(worker.FORK, 0, theirs.fileno())
        if process == worker.NOT_DONE:
            ours.close()
            raise _NoProcessError("no process could be forked")
        return _Worker(ours, process, self)

    def end(self, one: _Worker) -> int | None:
        """End a worker and return how it ended, None where nobody knows. Raises OSError."""
        one.channel.close()
        status = self._asked(worker.END, one.process)
        return None if status == worker.NOT_DONE else status

    def _asked(self, kind: bytes, process: int, *passed: int) -> int:
        with self._lock:
            socket.send_fds(self._control, [worker.COMMAND.pack(kind, process)], passed)
            answer = self._control.recv(worker.ANSWER.size)
        if len(answer) < worker.ANSWER.size:
            raise OSError("the fork server has ended")
        return int(worker.ANSWER.unpack(answer)[0])

    def close(self) -> None:
        """End it, and with it all its workers."""
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)
        self._control.close()
        try:
            self._process.wait(_ENDING)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class _Starter:
    """Starts each worker from nothing, where there is no fork."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    def worker(self) -> _Worker:
        channel, process = _start(self._setup)
        self._processes[process.pid] = process
        return _Worker(channel, process.pid, self)

    def end(self, one: _Worker) -> int | None:
        one.channel.close()
        process = self._processes.pop(one.process)
        process.kill()
        return process.wait()

    def close(self) -> None:
        for process in list(self._processes.values()):
            process.kill()
            process.wait()


def _keyless() -> dict[str, str]:
    """Return the environment without the keys of language models: who reads strangers' text needs none."""
    return {name: value for name, value in os.environ.items() if name not in (KEY, OPENAI_KEY)}


def _start(setup: Setup) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Start a process that works with a setup, and wait until it has loaded.

    Raises:
        OSError: it could not be started, or could not load.
    """
    ours, theirs = socket.socketpair()
    path = json.dumps([os.path.abspath(one) for one in sys.path])  # noqa: PTH100 - "" is the current folder too
    with theirs:
        if sys.platform == "win32":
            # A shared socket is described for one process, whose number must be known first. Every description is of the same length.
            size = str(len(theirs.share(os.getpid())))
            command = [sys.executable, "-P", "-c", worker.PROGRAM, path, size]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=_keyless())
            assert process.stdin is not None
            with process.stdin as stream:
                stream.write(theirs.share(process.pid))
        else:
            command = [sys.executable, "-P", "-c", worker.PROGRAM, path, str(theirs.fileno())]
            quiet = subprocess.DEVNULL
            process = subprocess.Popen(command, stdin=quiet, stdout=quiet, pass_fds=[theirs.fileno()], env=_keyless())
    try:
        ours.settimeout(_LOADING)
        worker.send(ours, pickle.dumps(setup))
        answer = worker.receive(ours)
        if answer != worker.READY:
            raise OSError(f"a worker could not start: {(answer or b'it ended').decode('utf-8', 'replace')}")
    except BaseException:
        process.kill()
        process.wait()
        ours.close()
        raise
    ours.settimeout(None)
    return ours, process


class Pool:
    """Worker processes, begun with the first task. Safe to use from any thread and any event loop."""

    def __init__(self, setup: Setup, stopped: Callable[[str], None], *, forks: bool = hasattr(os, "fork")) -> None:
        """Prepare it; ``stopped`` is called with the reason whenever a worker had to be ended: cpu, time, memory or crash."""
        settings = setup.settings
        # Workers authorise nobody.
        plain = replace(settings, tokens=(), assume=dict(settings.assume))
        self._setup = replace(setup, settings=plain, forks=forks)
        self._settings = settings
        self._size = settings.engines or default_engines()
        self._stopped = stopped
        self._changed = threading.Condition()
        self._short: deque[_Task] = deque()
        self._long: deque[_Task] = deque()
        self._long_running = 0
        self._source: _ForkServer | _Starter | None = None
        self._source_lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._ready: Future[None] = Future()
        self._closed = False

    def start(self) -> Future[None]:
        """Start the workers; the result comes when the first can take a task, or an OSError when none can."""
        with self._changed:
            if not self._threads and not self._closed:
                self._threads = [threading.Thread(target=self._live, name=f"worker-{at}", daemon=True) for at in range(self._size)]
                for thread in self._threads:
                    thread.start()
        return self._ready

    def submit(self, data: bytes, cost: int = 0) -> Future[bytes]:
        """Return what a task's reply will be. ``cost`` is what it takes where that is more than its length says.

        Raises:
            RequestError: 503 where too many tasks wait. The future raises it too, where a task ended its worker or could not be done.
        """
        self.start()
        task = _Task(data, max(cost, len(data)) > SHORT, time.monotonic() + self._settings.timeout)
        self._queue(task)
        return task.future

    def _queue(self, task: _Task) -> None:
        waiting, most = (self._long, _WAITING * self._size) if task.long else (self._short, self._settings.max_requests)
        with self._changed:
            if self._closed:
                raise _no_worker()
            if len(waiting) >= most:
                kind = "long reports" if task.long else "requests"
                raise RequestError(503, f"Too many {kind} are waiting. Try again in a moment.", code="overloaded")
            waiting.append(task)
            self._changed.notify()

    def close(self) -> None:
        """End all workers; what waits is not done."""
        with self._changed:
            self._closed = True
            dropped = [*self._short, *self._long]
            self._short.clear()
            self._long.clear()
            self._changed.notify_all()
        for task in dropped:
            if task.begins():
                task.future.set_exception(_no_worker())
        with self._source_lock:
            source, self._source = self._source, None
        if source is not None:
            source.close()

    def _live(self) -> None:
        """Hand tasks to one worker after the other, in a thread of its own."""
        one = self._worker()
        while (task := self._next()) is not None:
            long = task.long
            if task.begins():
                one = one or self._worker()
                one = self._exchanged(one, task) if one is not None else self._undone(task)
            if long:
                with self._changed:
                    self._long_running -= 1
                    self._changed.notify()
        if one is not None:
            one.channel.close()

    def _next(self) -> _Task | None:
        """Wait for a task; None when the pool is closed. Short ones come first, and one worker is always left to them."""
        with self._changed:
            while not self._closed:
                if self._short:
                    return self._short.popleft()
                if self._long and self._long_running < max(1, self._size - 1):
                    self._long_running += 1
                    return self._long.popleft()
                self._changed.wait()
        return None

    def _worker(self) -> _Worker | None:
        """Return a new worker, or None where there can be none at the moment."""
        for _ in range(2):
            source = None
            try:
                with self._source_lock:
                    if self._closed:
                        return None
                    if self._source is None:
                        self._source = _ForkServer(self._setup) if self._setup.forks else _Starter(self._setup)
                    source = self._source
                found = source.worker()
            except OSError as error:
                self._lost(source, error)
                continue
            self._tell_ready(None)
            return found
        return None

    def _lost(self, source: _ForkServer | _Starter | None, error: OSError) -> None:
        """Give a fork server up that does not answer; the next worker comes from another."""
        if self._closed:
            return
        _log.error("no worker", extra={"fields": {"reason": str(error)}})
        if isinstance(error, _NoProcessError):
            self._tell_ready(error)
            return
        with self._source_lock:
            if source is not None and self._source is source:
                self._source = None
                source.close()
        if source is None:
            self._tell_ready(error)

    def _tell_ready(self, error: OSError | None) -> None:
        with self._changed:
            if not self._ready.done():
                self._ready.set_result(None) if error is None else self._ready.set_exception(error)

    def _undone(self, task: _Task) -> _Worker | None:
        task.future.set_exception(_no_worker())
        return None

    def _exchanged(self, one: _Worker, task: _Task) -> _Worker | None:
        """Let a worker do a task, and return it, or None where it has ended."""
        if _gone(one):
            # It was ended from outside while it had nothing to do.
            self._end(one)
            other = self._worker()
            return self._exchanged(other, task) if other is not None else self._undone(task)
        left = task.deadline - time.monotonic()
        if left <= 0:
            task.future.set_exception(self._told("time"))
            return one
        reply, late = None, False
        try:
            one.channel.settimeout(left)
            worker.send(one.channel, worker.SECONDS.pack(self._seconds(task)) + task.data)
            reply = worker.receive(one.channel)
        except TimeoutError:
            late = True
        except OSError:
            pass
        if reply is not None and reply[:1] != worker.NO_MEMORY:
            task.future.set_result(reply)
            if reply[1:2] == worker.STAYS:
                return one
            self._end(one)
            return self._worker()
        status = self._end(one)
        if self._closed:
            task.future.set_exception(_no_worker())
            return None
        if reply is None and not late and _out_of_time(status) and self._seconds(task) < self._settings.cpu_limit:
            task.long = True
            try:
                self._queue(task)
            except RequestError as error:
                task.future.set_exception(error)
            return self._worker()
        task.future.set_exception(self._reason(task, "memory" if reply is not None else "time" if late else "", status))
        return self._worker()

    def _seconds(self, task: _Task) -> float:
        """Return the processor time that a task may take now. Where there is one worker, nothing would be won by ending a short one."""
        whole = self._settings.cpu_limit
        return whole if task.long or self._size == 1 or not self._setup.forks else min(_BRIEF, whole)

    def _end(self, one: _Worker) -> int | None:
        try:
            return one.source.end(one)
        except (OSError, KeyError, ChildProcessError):
            return None

    def _reason(self, task: _Task, reason: str, status: int | None) -> RequestError:
        """Count and log why a worker ended, and return what its client is told."""
        if not reason:
            reason = "cpu" if _out_of_time(status) else {-9: "memory"}.get(status or 0, "crash")
        self._stopped(reason)
        fields = {"reason": reason, "status": status, "bytes": len(task.data)}
        _log.warning("worker ended", extra={"fields": fields})
        return self._told(reason)

    def _told(self, reason: str) -> RequestError:
        settings = self._settings
        status, text, code = {
            "cpu": (422, f"This report took more than {settings.cpu_limit:g} s of processor time", "cpu_limit"),
            "memory": (422, "This report took more memory than one report may have", "memory_limit"),
            "time": (503, f"This report took longer than {settings.timeout:g} s", "timeout"),
            "crash": (500, "The process that read this report ended unexpectedly", "internal"),
        }[reason]
        advice = "Send only the part around its first traceback, or run `troubleshoot diagnose` on your own machine."
        return RequestError(status, f"{text}, so the server gave it up. {advice}", code=code)


def _out_of_time(status: int | None) -> bool:
    """Tell whether the kernel ended a worker because its task took too much processor time."""
    return status is not None and hasattr(signal, "SIGPROF") and status == -signal.SIGPROF


def _gone(one: _Worker) -> bool:
    """Tell whether a worker that has nothing to do has ended."""
    try:
        one.channel.settimeout(0)
        return not one.channel.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True


def default_engines() -> int:
    """Return how many workers there are unless the operator says: one for each processor, between 2 and 4.

    One is always left to short reports, so it takes two; and one server process cannot keep more than four busy.
    """
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(4, max(2, count))


def _no_worker() -> RequestError:
    return RequestError(503, "The server cannot read reports at the moment. Try again in a moment.", code="overloaded")
