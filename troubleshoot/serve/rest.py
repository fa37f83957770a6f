"""The REST interface: diagnoses, and the knowledge base to look things up in."""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi import APIRouter, Request, Response
from pydantic import ValidationError

from troubleshoot.serve.engine import Engine, as_data
from troubleshoot.serve.errors import RequestError
from troubleshoot.serve.models import DiagnoseRequest


class Json(Response):
    """A response with JSON that msgspec wrote."""

    media_type = "application/json"

    def __init__(self, data: Any, status_code: int = 200) -> None:
        super().__init__(msgspec.json.encode(data), status_code)


def rest_router(engine: Engine) -> APIRouter:
    """Return the routes under /v1, and the probes."""
    router = APIRouter()

    @router.post("/v1/diagnose")
    async def diagnose(request: Request) -> Response:
        wanted = _diagnose_request(request.headers.get("content-type", ""), await request.body())
        diagnosis, errors = engine.diagnose(
            wanted.report,
            environment=wanted.environment,
            answers=wanted.answers,
            gpu=wanted.gpu,
            have=wanted.have,
            language=wanted.language,
        )
        return Json(as_data(diagnosis, errors, wanted.top))

    @router.get("/v1/issues")
    async def issues() -> Response:
        base = engine.public
        return Json([{"id": id_, "title": base.entry(id_).title} for id_ in base.ids()])

    @router.get("/healthz")
    async def healthz() -> Response:
        return Json({"status": "ok"})

    return router


def _diagnose_request(content_type: str, body: bytes) -> DiagnoseRequest:
    kind = content_type.partition(";")[0].strip().lower()
    if kind != "application/json":
        return DiagnoseRequest(report=body.decode("utf-8", "replace"))
    try:
        return DiagnoseRequest.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise RequestError(400, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
