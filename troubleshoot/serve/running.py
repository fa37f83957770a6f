"""Running the server: one process or several, sockets, signals, logs."""

from __future__ import annotations

import functools
import gc
import multiprocessing
import os
import signal
import socket
import sys
import threading
from contextlib import suppress
from dataclasses import replace
from multiprocessing.process import BaseProcess

import uvicorn
from fastapi import FastAPI
from uvicorn.supervisors import Multiprocess

from troubleshoot.basics.errors import InputError
from troubleshoot.serve.app import create_app
from troubleshoot.serve.connections import BoundedProtocol
from troubleshoot.serve.engine import Engine
from troubleshoot.serve.logs import log_config
from troubleshoot.serve.settings import Settings

#: Seconds that requests get to end when the server is told to stop. It must have ended after 10, and under load to end takes a while too.
_GRACE = 8
#: Seconds that a connection may be idle between two requests.
_IDLE = 15


def served_app(settings: Settings) -> FastAPI:
    """Return the application for a server process, which ends when the process that started it does."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), name="parent", daemon=True).start()
    app = create_app(settings)
    # Made now, beside no request: it takes a while.
    app.openapi()
    # What is loaded now stays: the collector need not look at it with every collection.
    gc.collect()
    gc.freeze()
    return app


def _end_with(parent: BaseProcess) -> None:
    parent.join()
    signal.raise_signal(signal.SIGTERM)


class Processes(Multiprocess):
    """The server's processes, each begun anew where it ends."""

    def keep_subprocess_alive(self) -> None:
        """Look only whether they are there.

        A thread of theirs would answer to pings as long as they are, and one that still loads cannot: waiting for it would keep the
        signal to stop waiting too, and end a process for being slow to load.
        """
        if not all(one.process.is_alive() for one in self.processes):
            super().keep_subprocess_alive()


def run_server(settings: Settings, *, host: str, port: int, workers: int = 1) -> None:
    """Serve until a signal says to stop; requests in work are answered first.

    Raises:
        InputError: a setting cannot be used, or the address cannot be listened on.
    """
    # Told here, before processes start: what is wrong with the knowledge base or a setting, and a base that must be compiled once.
    create_app(settings)
    _more_files()
    config = uvicorn.Config(
        functools.partial(served_app, settings), factory=True, host=host, port=port, workers=workers, http=BoundedProtocol, ws="none",
        lifespan="on", log_config=log_config(), access_log=False, server_header=False, timeout_keep_alive=_IDLE,
        timeout_graceful_shutdown=_GRACE, proxy_headers=False, backlog=2048,
    )  # fmt: skip
    listening = _listen(host, port)
    address = listening.getsockname()
    shown = f"[{address[0]}]" if ":" in address[0] else address[0]
    with suppress(OSError):
        # Like the log: not through sys.stderr, which would fail once more when the process ends.
        os.write(2, f"troubleshoot: listening on http://{shown}:{address[1]}\n".encode())
    server = uvicorn.Server(config)
    for stop in (signal.SIGINT, signal.SIGTERM):
        # uvicorn raises the signal again once it has stopped: that is the end that was asked for.
        signal.signal(stop, lambda number, frame: None)
    if workers > 1:
        Processes(config, sockets=[listening]).run()
    else:
        server.run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        found = socket.socket(family)
        if sys.platform != "win32":
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(2048)
        found.set_inheritable(True)
    except OSError as error:
        raise InputError(f"cannot listen on {host}:{port}: {error.strerror or error}. Choose another --port or --host.") from None
    return found


def _more_files() -> None:
    """Allow as many open connections as the system lets this user have."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = 16_384 if hard == resource.RLIM_INFINITY else min(hard, 16_384)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def run_mcp(settings: Settings, *, allow_run: bool, engine: type[Engine] = Engine) -> None:
    """Serve the Model Context Protocol on standard input and output until the client hangs up.

    Raises:
        KnowledgeError: there is no knowledge base to read.
        InputError: a setting cannot be used.
    """
    import anyio

    from troubleshoot.serve.mcp_server import mcp_server, serve_stdio
    from troubleshoot.serve.metrics import Metrics
    from troubleshoot.serve.working import Work

    # One client, that asks one thing after the other.
    work = Work(replace(settings, engines=1), Metrics(), engine)
    try:
        anyio.run(serve_stdio, mcp_server(work, allow_run=allow_run))
    finally:
        work.close()
