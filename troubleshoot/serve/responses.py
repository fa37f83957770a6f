"""Responses that need no validation on their way out."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.responses import Response

_ENCODER = msgspec.json.Encoder()


class Json(Response):
    """A response with JSON that msgspec wrote."""

    media_type = "application/json"

    def __init__(self, data: Any, status_code: int = 200) -> None:
        super().__init__(_ENCODER.encode(data), status_code)
