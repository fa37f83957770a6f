"""Health, readiness and metrics: what an operator's machines ask."""

from __future__ import annotations

from fastapi import APIRouter, Response

from troubleshoot.serve.metrics import CONTENT_TYPE, Metrics
from troubleshoot.serve.models import ERRORS
from troubleshoot.serve.responses import Json
from troubleshoot.serve.working import Work
from troubleshoot.version import __version__

_STATUS = {"type": "object", "required": ["status"], "properties": {"status": {"type": "string"}}}


def probes_router(work: Work, metrics: Metrics) -> APIRouter:
    """Return the routes of the probes."""
    router = APIRouter(tags=["probes"])
    ok = {"description": "It is", "content": {"application/json": {"schema": _STATUS}}}

    @router.get("/healthz", summary="Is the process alive?", responses={200: ok, **ERRORS})
    async def healthz() -> Response:
        return Json({"status": "ok"})

    @router.get("/readyz", summary="Can it diagnose?", responses={200: ok, **ERRORS})
    async def readyz() -> Response:
        if not work.ready:
            return Json({"status": "stopping"}, 503)
        return Json({"status": "ready", "version": __version__, "knowledge": work.knowledge, "issues": work.issues})

    @router.get(
        "/metrics",
        summary="Counts and durations of this process, in Prometheus' format",
        responses={200: {"description": "The metrics", "content": {"text/plain": {"schema": {"type": "string"}}}}, **ERRORS},
    )
    async def numbers() -> Response:
        return Response(metrics.text(), media_type=CONTENT_TYPE)

    return router
