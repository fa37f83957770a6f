"""The faces of hand-built diagnoses, kept as files so that every change of wording is seen in review.

After an intended change: ``TROUBLESHOOT_UPDATE_GOLDEN=1 pytest tests/render/test_render_golden.py``, then read the difference.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import render_samples as samples

from troubleshoot.telling import render

FOLDER = Path(__file__).parent.parent / "data" / "render"
ENDINGS = {"text": "txt", "full": "full.txt", "markdown": "md", "html": "html", "json": "json"}
CASES = [(name, form) for name in samples.ALL for form in ("text", "full", "markdown")] + [
    ("known", "html"),
    ("known", "json"),
    ("chinese", "html"),
]


@pytest.mark.parametrize(("name", "form"), CASES)
def test_output_is_as_kept(name: str, form: str) -> None:
    """What is printed is what the file holds."""
    path = FOLDER / f"{name}.{ENDINGS[form]}"
    output = render(samples.ALL[name](), "text" if form == "full" else form, full=form == "full")
    # The style sheet is no wording.
    output = re.sub(r"(?s)<style>.*?</style>", "<style></style>", output)
    if os.environ.get("TROUBLESHOOT_UPDATE_GOLDEN"):
        path.write_text(output, encoding="utf-8", newline="\n")
    assert output == path.read_text(encoding="utf-8")


def test_no_file_is_left_over() -> None:
    """Each kept file belongs to a case."""
    assert {path.name for path in FOLDER.iterdir()} == {f"{name}.{ENDINGS[form]}" for name, form in CASES}
