"""``/v1/chat/completions`` and ``/v1/models``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from starlette.responses import StreamingResponse

from troubleshoot.serve import tasks
from troubleshoot.serve.chat import protocol
from troubleshoot.serve.links import base_of
from troubleshoot.serve.models import ERRORS, described
from troubleshoot.serve.responses import Json
from troubleshoot.serve.working import Work

_COMPLETION = {
    "type": "object",
    "required": ["id", "object", "created", "model", "choices", "usage"],
    "properties": {
        "id": {"type": "string"},
        "object": {"const": "chat.completion"},
        "created": {"type": "integer"},
        "model": {"type": "string"},
        "system_fingerprint": {"type": "string"},
        "choices": {"type": "array", "items": {"type": "object", "required": ["index", "message", "finish_reason"]}},
        "usage": {"type": "object", "additionalProperties": {"type": "integer"}},
    },
}
#: Each event as a reader of server-sent events sees it; data is a chat.completion.chunk, or [DONE].
_EVENT = {"type": "object", "required": ["data"], "properties": {"data": {"type": "string"}}}
_ANSWER = {"application/json": {"schema": _COMPLETION}, "text/event-stream": {"schema": _EVENT}}
_MODEL: dict[str, Any] = {
    "type": "object",
    "required": ["id", "object", "created", "owned_by"],
    "properties": {"id": {"type": "string"}, "object": {"const": "model"}, "created": {"type": "integer"}, "owned_by": {"type": "string"}},
}
_MODELS = {
    "type": "object",
    "required": ["object", "data"],
    "properties": {"object": {"const": "list"}, "data": {"type": "array", "items": _MODEL}},
}


def chat_router(work: Work) -> APIRouter:
    """Return the routes of OpenAI's protocol."""
    router = APIRouter(tags=["chat"])

    @router.post(
        "/v1/chat/completions",
        summary="Answer a conversation",
        description="OpenAI's protocol, streaming and not. Everything follows from `messages`; nothing is kept.",
        responses={200: {"description": "The answer", "content": _ANSWER}, **ERRORS},
        openapi_extra=described(protocol.ChatRequest),
    )
    async def completions(request: Request) -> Response:
        streamed, parts = await work.do(tasks.chat, await request.body(), base_of(request, work.settings))
        if not streamed:
            return Response(parts[0], media_type="application/json")

        async def events() -> AsyncIterator[bytes]:
            for event in parts:
                yield event

        return StreamingResponse(events(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})

    @router.get(
        "/v1/models",
        summary="List the models",
        responses={200: {"content": {"application/json": {"schema": _MODELS}}, "description": "The models"}, **ERRORS},
    )
    async def models() -> Response:
        return Json(protocol.models())

    @router.get(
        "/v1/models/{model}",
        summary="Tell about a model",
        responses={200: {"content": {"application/json": {"schema": _MODEL}}, "description": "The model"}, **ERRORS},
    )
    async def model(model: Annotated[str, Path(examples=list(protocol.MODELS))]) -> Response:
        if model not in protocol.MODELS:
            await work.do(tasks.no_model, model)
        return Json(protocol.model(model))

    return router
