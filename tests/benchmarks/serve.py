"""Load the server, and beside it a FastAPI application that only parses the same JSON: ``python tests/benchmarks/serve.py [--seconds 60]``.

Keep-alive clients send reports of 4 KB, each with a number of its own so that none is the same twice. Both servers run by turns. Per-core
figures divide by the processor time that a server's own processes used, since the clients share the machine. Nothing is asserted: a slow
neighbour must not fail a build.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import subprocess
import sys
import time
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
sys.path.insert(0, str(ROOT / "tests" / "serve"))

import founding  # noqa: E402
from servers import family  # noqa: E402

BARE = """
import sys
from typing import Any
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

class Wanted(BaseModel):
    report: str
    environment: dict[str, Any] | str | None = None
    answers: dict[str, str] = {}
    language: str | None = None
    top: int | None = None

app = FastAPI()

@app.post("/v1/diagnose")
async def parse(wanted: Wanted) -> dict[str, int]:
    return {"length": len(wanted.report)}

uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), http="httptools", ws="none", access_log=False, log_level="warning")
"""
_SIZE = 4096


def reports() -> list[str]:
    """Return the founding reports in both languages, with torch's call frames repeated up to 4 KB, as deep models print them."""
    found = []
    for case in founding.ALL:
        for language in ("en", "zh"):
            text = case.report(language=language)
            head, call, tail = text.partition(founding.CALL)
            call = call or founding.CALL
            if not tail:
                head, line, rest = text.partition('  File "/usr/lib')
                tail = line + rest
            while len((head + call + tail).encode()) < _SIZE:
                head += founding.CALL
            found.append(head + call + tail)
    return found


@dataclass
class Result:
    """What one run showed."""

    seconds: float = 0.0
    answers: int = 0
    errors: int = 0
    times: list[float] = field(default_factory=list)
    processor: float = 0.0
    memory: list[int] = field(default_factory=list)

    def figures(self) -> dict[str, float | int | list[int]]:
        """Return the figures to compare."""
        ordered = sorted(self.times)

        def at(share: float) -> float:
            return round(ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000, 1) if ordered else 0.0

        return {
            "requests": self.answers,
            "errors": self.errors,
            "per_second": round(self.answers / self.seconds, 1),
            "per_second_per_core": round(self.answers / self.processor, 1) if self.processor else 0.0,
            "p50_ms": at(0.5),
            "p99_ms": at(0.99),
            "memory_kib": self.memory,
        }


class Server:
    """A server process, and what the system says of it."""

    def __init__(self, command: list[str], port: int) -> None:
        self.port = port
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)

    async def ready(self) -> None:
        """Wait until it answers."""
        for _ in range(200):
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
            except OSError:
                await asyncio.sleep(0.1)
            else:
                writer.close()
                return
        raise SystemExit("the server did not start")

    def processor_seconds(self) -> float:
        """Return the processor time that it and the processes that it started have used."""
        used = 0
        for process in family(self.process.pid):
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            used += int(fields[11]) + int(fields[12])
        return used / os.sysconf("SC_CLK_TCK")

    def memory(self) -> int:
        """Return the memory of all of them in KiB; what they share is counted once."""
        found = 0
        for process in family(self.process.pid):
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
            found += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        return found

    def stop(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait(30)


async def client(number: int, port: int, texts: list[str], until: float, result: Result) -> None:
    """Send one report after the other over one connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    sent = 0
    while time.monotonic() < until:
        text = f"run {number}-{sent}\n" + texts[(number + sent) % len(texts)]
        sent += 1
        body = json.dumps({"report": text, "language": "en"}).encode()
        head = f"POST /v1/diagnose HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        began = time.perf_counter()
        writer.write(head.encode() + body)
        try:
            answer = await reader.readuntil(b"\r\n\r\n")
            length = next(int(line.split(b":")[1]) for line in answer.lower().split(b"\r\n") if line.startswith(b"content-length"))
            await reader.readexactly(length)
        except (asyncio.IncompleteReadError, ConnectionError, StopIteration):
            result.errors += 1
            return
        result.times.append(time.perf_counter() - began)
        if answer.startswith(b"HTTP/1.1 200"):
            result.answers += 1
        else:
            result.errors += 1
    writer.close()


async def load(server: Server, clients: int, seconds: float, texts: list[str], samples: int = 6) -> Result:
    """Load one server."""
    result = Result()
    until = time.monotonic() + seconds
    began, used = time.monotonic(), server.processor_seconds()
    result.memory.append(server.memory())
    tasks = [asyncio.create_task(client(number, server.port, texts, until, result)) for number in range(clients)]
    for _ in range(samples - 1):
        await asyncio.sleep(seconds / samples)
        result.memory.append(server.memory())
    await asyncio.gather(*tasks)
    result.seconds = time.monotonic() - began
    result.processor = server.processor_seconds() - used
    result.memory.append(server.memory())
    return result


async def main() -> None:
    """Run both and print the figures as JSON."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seconds", type=float, default=600.0, help="how long the server is loaded; the bare one for a tenth of it")
    arguments.add_argument("--clients", type=int, default=64)
    arguments.add_argument("--port", type=int, default=18200)
    given = arguments.parse_args()
    texts = reports()
    program = [sys.executable, "-m", "troubleshoot", "serve", "--port", str(given.port), "--no-request-log"]
    ours = Server(program, given.port)
    bare = Server([sys.executable, "-c", BARE, str(given.port + 1)], given.port + 1)
    try:
        await ours.ready()
        await bare.ready()
        for server in (ours, bare):
            await load(server, given.clients, min(5.0, given.seconds / 10), texts, samples=1)
        parsing = await load(bare, given.clients, max(given.seconds / 10, 5.0), texts, samples=1)
        diagnosing = await load(ours, given.clients, given.seconds, texts)
    finally:
        ours.stop()
        bare.stop()
    ratio = (diagnosing.answers / diagnosing.processor) / (parsing.answers / parsing.processor)
    print(
        json.dumps(
            {
                "clients": given.clients,
                "seconds": given.seconds,
                "report_bytes": [len(text.encode()) for text in texts],
                "server": diagnosing.figures(),
                "bare_fastapi": parsing.figures(),
                "share_of_bare_per_core": round(ratio, 3),
                "machine": {"cpus": os.cpu_count(), "python": platform.python_version(), "system": platform.platform()},
                "versions": {name: version(name) for name in ("fastapi", "uvicorn", "httptools", "uvloop", "pydantic")},
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    asyncio.run(main())
