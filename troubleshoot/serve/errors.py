"""Errors of the interfaces, all in the form that OpenAI's clients read."""

from __future__ import annotations

from typing import Any

import msgspec

_TYPES = {401: "authentication_error", 404: "not_found_error", 503: "overloaded_error", 500: "server_error", 507: "server_error"}


class RequestError(Exception):
    """A request that cannot be served: the HTTP status, what was wrong and what to do, and the parameter that it is about.

    What a worker raises may quote the request: it is masked there, before it leaves the worker. Nothing else may quote one.
    """

    def __init__(self, status: int, message: str, *, param: str | None = None, code: str | None = None) -> None:
        self.status = status
        self.message = message
        self.param = param
        self.code = code
        super().__init__(message)

    def body(self) -> bytes:
        """Return the JSON that tells the client."""
        return error_body(self.status, self.message, param=self.param, code=self.code)


def error_body(status: int, message: str, *, param: str | None = None, code: str | None = None) -> bytes:
    """Return ``{"error": {...}}`` as OpenAI's API does."""
    error: dict[str, Any] = {"message": message, "type": _TYPES.get(status, "invalid_request_error"), "param": param, "code": code}
    return msgspec.json.encode({"error": error})
