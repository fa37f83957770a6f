"""Asking the operator's language model: in the server's own process, beside the workers, whose processor time is for reading alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from troubleshoot.reader import Prompt, Reader, Reply, ask
from troubleshoot.reader.endpoint import new_client

if TYPE_CHECKING:
    import httpx

#: Requests to the model at a time; of further ones the answer without it is given at once.
_MOST = 8
#: The part of a request's time that the model may take: the rest is for diagnosing twice.
_PART = 0.6

#: A model's reply as it goes to a worker: text, problem, detail.
Said = tuple[str, str | None, str]
#: What goes there where nothing was to be asked.
UNASKED: Said = ("", "form", "")


class Consultant:
    """Asks a model for the requests of one process, with one client and a limit of its own. Nobody else waits for it."""

    def __init__(self, reader: Reader, timeout: float) -> None:
        """Take the operator's reader; ``timeout`` is what a request may take in all."""
        self._reader = replace(reader, seconds=min(reader.seconds, _PART * timeout))
        self._client: httpx.AsyncClient | None = None
        self._asking = 0

    async def ask(self, question: bytes) -> Said:
        """Return what the model says to a worker's question, or why it says nothing; never raise."""
        if self._asking >= _MOST:
            return "", "busy", ""
        self._asking += 1
        try:
            self._client = self._client or new_client()
            reply = await ask(self._reader, msgspec.msgpack.decode(question, type=Prompt), self._client)
        finally:
            self._asking -= 1
        return reply.text, reply.problem, reply.detail

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()


class Told:
    """A reader that has its answer already: what a worker diagnoses with."""

    def __init__(self, model: str, said: Said) -> None:
        """Keep what the model said."""
        self.model = model
        self._reply = Reply(*said)

    def ask(self, prompt: Prompt) -> Reply:
        """Return it."""
        return self._reply
