"""A real server in a process of its own, started as its operator would."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass
class Running:
    """A server that listens: its address, its process, and the file with its log."""

    url: str
    port: int
    process: subprocess.Popen[bytes]
    log: Path

    def stop(self) -> int:
        """Ask it to stop, and return its exit status."""
        self.process.terminate()
        return self.process.wait(30)


def start(folder: Path, *options: str) -> Running:
    """Start `troubleshoot serve` on a free port and wait until it listens and is ready."""
    import urllib.error
    import urllib.request

    log = folder / f"serve-{time.monotonic_ns()}.log"
    with log.open("wb") as stream:
        command = [sys.executable, "-m", "troubleshoot", "serve", "--port", "0", *options]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stream)
    for _ in range(600):
        match = re.search(r"listening on (http://\S+:(\d+))", log.read_text(errors="replace"))
        if match:
            url = match[1].replace("0.0.0.0", "127.0.0.1")
            try:
                with urllib.request.urlopen(f"{url}/readyz", timeout=5):
                    return Running(url, int(match[2]), process, log)
            except (OSError, urllib.error.URLError):
                pass
        if process.poll() is not None:
            break
        time.sleep(0.1)
    process.kill()
    raise AssertionError(f"the server did not start:\n{log.read_text(errors='replace')}")


def children(process: int) -> list[int]:
    """Return the children of a process that have not ended."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            if int(parent) == process and state != "Z":
                found.append(int(entry.name))
    return found


def alive(process: int) -> bool:
    """Tell whether a process runs."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone(processes: list[int]) -> bool:
    """Tell whether processes end within some seconds."""
    for _ in range(200):
        if not any(alive(one) for one in processes):
            return True
        time.sleep(0.05)
    return False


def family(process: int) -> list[int]:
    """Return a process and all that descend from it."""
    return [process, *(one for child in children(process) for one in family(child))]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server with its defaults, and feedback."""
    folder = tmp_path_factory.mktemp("server")
    running = start(folder, "--feedback", str(folder / "feedback.db"))
    yield running
    assert running.stop() == 0
    assert "Traceback" not in running.log.read_text()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Start servers with options; they end with the test."""
    begun: list[Running] = []

    def begin(*options: str) -> Running:
        begun.append(start(tmp_path, *options))
        return begun[-1]

    yield begin
    for running in begun:
        if running.process.poll() is None:
            running.stop()
