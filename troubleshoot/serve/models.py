"""What clients send, as pydantic reads and OpenAPI describes it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from troubleshoot.basics.redact import redacted_start
from troubleshoot.serve.errors import RequestError

_EXAMPLE: dict[str, Any] = {
    "report": "model loaded with torch_dtype=torch.float16\nRuntimeError: expected scalar type Float but found Half",
    "environment": {"packages": {"torch": "2.3.0", "transformers": "4.50.1"}, "accelerators": ["T4"]},
    "answers": {"package.apex": "absent"},
    "language": "en",
    "top": 1,
}
_ERROR: dict[str, Any] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type", "param", "code"],
            "properties": {
                "message": {"type": "string"},
                "type": {"type": "string"},
                "param": {"type": ["string", "null"]},
                "code": {"type": ["string", "null"]},
            },
        }
    },
}
_MEANINGS = {
    400: "The request cannot be read",
    401: "A token is needed",
    404: "There is no such thing",
    408: "The body came too slowly",
    413: "The body is too long",
    415: "This type of content is not read",
    421: "The server is not called so",
    422: "The report takes more processor time or memory than one may have",
    431: "The headers are too long",
    500: "The server failed; its log says more",
    503: "Too much to do at the moment: see Retry-After",
}
#: The errors that any route may answer with, for OpenAPI.
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"description": text, "content": {"application/json": {"schema": _ERROR}}} for status, text in _MEANINGS.items()
}

#: The error of routes that store something.
STORAGE_ERRORS: dict[int | str, dict[str, Any]] = {
    507: {"description": "It could not be stored", "content": {"application/json": {"schema": _ERROR}}}
}


def _whole_number(value: object) -> object:
    """JSON has one kind of number: 2.0 is a whole one."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


#: For a whole number, however it is written; no text and no truth value.
WHOLE = BeforeValidator(_whole_number)


class DiagnoseRequest(BaseModel):
    """A report, and what is known beside it."""

    model_config = ConfigDict(strict=True, json_schema_extra={"examples": [_EXAMPLE]})

    report: str = Field(description="The pasted report: a traceback, a log, or a description in words.")
    environment: dict[str, Any] | str | None = Field(
        default=None,
        description="The environment it ran in: a pasted dump (pip list, collect_env, nvidia-smi), or an object with packages "
        "(name to version, null for one that is not installed), accelerators (names), python, os.",
    )
    answers: dict[str, str] = Field(
        default_factory=dict, description="Answers to questions: the fact that a question is about, and its value."
    )
    gpu: str | None = Field(default=None, description="The GPU it ran on: V100-16GB, RTX 4090, sm_86, none.", examples=["T4"])
    have: dict[str, str] = Field(
        default_factory=dict, description="Versions it ran with, by package.", examples=[{"transformers": "4.50.1"}]
    )
    language: Literal["en", "zh"] | None = Field(default=None, description="The language of the answer; by default the server's.")
    top: Annotated[int, Field(ge=1, le=100), WHOLE] | None = Field(default=None, description="How many diagnoses to list; by default all.")


class FeedbackRequest(BaseModel):
    """Whether a fix worked."""

    model_config = ConfigDict(
        strict=True, json_schema_extra={"examples": [{"issue": "transformers/blip2-query-tokens-fp32", "fix": "upgrade", "worked": True}]}
    )

    issue: Annotated[str, Field(max_length=200)] = Field(description="The id of the issue.")
    fix: Annotated[str, Field(max_length=100)] | None = Field(
        default=None, description="The id of the fix; null where it is about the diagnosis."
    )
    worked: bool = Field(description="Whether it helped.")
    report: Annotated[str, Field(max_length=200_000)] | None = Field(
        default=None, description="The report; it is dropped unless the operator keeps reports, and then secrets and names are masked."
    )


def described(model: type[BaseModel], text: str | None = None) -> dict[str, Any]:
    """Return what OpenAPI says of a body that a route reads by itself; ``text`` describes plain text, where that is read too."""
    content: dict[str, Any] = {"application/json": {"schema": _whole(model.model_json_schema())}}
    if text is not None:
        content["text/plain"] = {"schema": {"type": "string", "minLength": 1}, "example": text}
    return {"requestBody": {"required": True, "content": content}}


def _whole(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with its definitions put in where they are referred to: it stands inside a larger document."""
    definitions = schema.pop("$defs", {})

    def walk(node: Any) -> Any:
        if isinstance(node, dict):
            name = node.get("$ref")
            return (
                walk(definitions[name.rpartition("/")[2]]) if isinstance(name, str) else {key: walk(value) for key, value in node.items()}
            )
        return [walk(one) for one in node] if isinstance(node, list) else node

    return {key: walk(value) for key, value in schema.items()}


def invalid(error: ValidationError) -> RequestError:
    """Return the error that tells what is wrong with a request's JSON."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    more = error.error_count() - 1
    message = f"{place}: {first['msg']}" if place else first["msg"]
    return RequestError(400, message + (f" (and {more} more)" if more else ""), param=redacted_start(place, 200) or None)
