"""Asking a model behind an OpenAI-compatible endpoint: one request, a limit of time and of size, and never an exception."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from importlib.util import find_spec
from threading import Thread
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from troubleshoot.basics.errors import InputError
from troubleshoot.reader.messages import Prompt, Reply, reply_of

if TYPE_CHECKING:
    import httpx

#: Seconds that asking may take in all: connecting, sending, waiting and reading.
LIMIT = 20.0
#: Where the key is kept. The second one is OpenAI's, and goes nowhere else.
KEY, OPENAI_KEY, OPENAI_HOST = "TROUBLESHOOT_READER_KEY", "OPENAI_API_KEY", "api.openai.com"
#: Bytes of a response that are read; what is asked for has a few thousand.
_MOST = 256 * 1024
_EXTRA = "a reader needs a package that is not installed here. Run: pip install 'troubleshoot[reader]'"


@dataclass(frozen=True)
class Reader:
    """A model that may read reports: where it is asked (``http://localhost:11434/v1``), its name there, and how long that may take.

    The key is taken from the environment when it is sent: ``TROUBLESHOOT_READER_KEY``, for OpenAI itself also ``OPENAI_API_KEY``.

    Raises:
        InputError: the address or the name cannot be used, or the package that asks is not installed.
    """

    url: str
    model: str
    seconds: float = LIMIT

    def __post_init__(self) -> None:
        """Tell what is wrong before anything is diagnosed."""
        try:
            parts = urlsplit(self.url)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            usable = False
        if not usable or not self.url.isascii() or not self.url.isprintable() or " " in self.url:
            raise InputError("the reader's address cannot be used: give one such as http://localhost:11434/v1")
        if parts.username is not None or parts.query or parts.fragment:
            raise InputError(f"the reader's address may hold no user, password, ? or #: a key belongs into the variable {KEY}")
        if not self.model.strip() or not self.model.isprintable():
            raise InputError("the reader's model has no name: give the one that the endpoint knows, for example qwen3:8b")
        if find_spec("httpx") is None:
            raise InputError(_EXTRA)

    @property
    def address(self) -> str:
        """Where requests go."""
        base = self.url.rstrip("/")
        return base if base.endswith("/chat/completions") else f"{base}/chat/completions"

    def ask(self, prompt: Prompt) -> Reply:
        """Ask, and wait. The work is done in a thread of its own: the caller's may have an event loop that runs."""
        replies: list[Reply] = []
        thread = Thread(target=lambda: replies.append(asyncio.run(ask(self, prompt))), name="reader", daemon=True)
        thread.start()
        # Looking a name up cannot be interrupted: then the thread is left behind.
        thread.join(self.seconds + 1)
        return replies[0] if replies else Reply(problem="timeout", detail=f"{self.seconds:g}")


def headers(reader: Reader) -> dict[str, str]:
    """Return the headers of a request, with the key where there is one."""
    found = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "troubleshoot"}
    key = os.environ.get(KEY, "").strip()
    parts = urlsplit(reader.url)
    if not key and parts.scheme == "https" and parts.hostname == OPENAI_HOST:
        key = os.environ.get(OPENAI_KEY, "").strip()
    return {**found, "Authorization": f"Bearer {key}"} if key else found


async def ask(reader: Reader, prompt: Prompt, client: httpx.AsyncClient | None = None) -> Reply:
    """Ask, through ``client`` where a server keeps one. What goes wrong is in the reply: no address and no key is ever told."""
    import httpx

    try:
        async with asyncio.timeout(reader.seconds):
            if client is not None:
                return await _asked(reader, prompt, client)
            async with new_client() as own:
                return await _asked(reader, prompt, own)
    except (TimeoutError, httpx.TimeoutException):
        return Reply(problem="timeout", detail=f"{reader.seconds:g}")
    except Exception as error:
        # An encoding, a certificate, a name that is none: the answer without it stands.
        return Reply(problem="unreachable", detail=type(error).__name__)


def new_client() -> httpx.AsyncClient:
    """Return a client that follows no redirects: nobody but the endpoint that was named gets the report."""
    import httpx

    return httpx.AsyncClient(follow_redirects=False, timeout=None)


async def _asked(reader: Reader, prompt: Prompt, client: httpx.AsyncClient) -> Reply:
    async with client.stream("POST", reader.address, content=prompt.sent(reader.model), headers=headers(reader)) as response:
        if response.status_code != 200:
            return Reply(problem="status", detail=str(response.status_code))
        if response.headers.get("content-encoding", "identity") != "identity":
            # It was asked for plain text; a few compressed bytes may become gigabytes.
            return Reply(problem="form")
        data = bytearray()
        async for part in response.aiter_raw():
            data += part
            if len(data) > _MOST:
                return Reply(problem="long")
    return reply_of(bytes(data))
