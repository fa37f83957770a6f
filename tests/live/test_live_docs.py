"""The examples of docs/live.md are executed as they stand there."""

from __future__ import annotations

import contextlib
import io
import logging
import re
from pathlib import Path

import pytest

pytest.importorskip("torch")

import troubleshoot

pytestmark = pytest.mark.torch

PAGE = Path(__file__).parents[2] / "docs" / "live.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
PYTHON = [text for kind, text in BLOCKS if kind == "python"]


def test_the_page_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block runs in the namespace of those before it; the first prints what the page says, those with a failing call raise."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    try:
        for number, text in enumerate(PYTHON):
            printed = io.StringIO()
            raises = number > 0 and "guard(" in text
            with contextlib.redirect_stdout(printed), pytest.raises(RuntimeError) if raises else contextlib.nullcontext():
                exec(compile(text, f"live.md-{number}", "exec"), namespace)
            if number == 0:
                assert printed.getvalue() == next(text for kind, text in BLOCKS if kind == "text")
            if "collect" in text:
                assert re.fullmatch(r"[0-9a-f]{8,}\n", printed.getvalue())
    finally:
        troubleshoot.uninstall()
        logging.getLogger("service").handlers.clear()
    assert namespace["guarded"].diagnosis.culprit.module == "1"  # type: ignore[attr-defined]


def test_every_public_handler_is_on_the_page() -> None:
    """What is exported is explained."""
    page = PAGE.read_text(encoding="utf-8")
    for name in ("install", "uninstall", "guard", "explain", "DiagnosisHandler", "reload"):
        assert name in troubleshoot.__all__
        assert name in page
