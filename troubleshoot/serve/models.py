"""What clients send, as pydantic reads and OpenAPI describes it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

_EXAMPLE: dict[str, Any] = {
    "report": "model loaded with torch_dtype=torch.float16\nRuntimeError: expected scalar type Float but found Half",
    "environment": {"packages": {"torch": "2.3.0", "transformers": "4.50.1"}, "accelerators": ["T4"]},
    "answers": {"package.apex": "absent"},
    "language": "en",
    "top": 1,
}


class DiagnoseRequest(BaseModel):
    """A report, and what is known beside it."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

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
    top: Annotated[int, Field(ge=1, le=100)] | None = Field(default=None, description="How many diagnoses to list; by default all.")
