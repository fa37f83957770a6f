"""Answers in Chinese: what the tool itself says in them is Chinese."""

from __future__ import annotations

import re

import pytest

from troubleshoot import diagnose, load_kb
from troubleshoot.telling import render

BASE = load_kb()
#: Four English words in a row, outside of code.
ENGLISH = re.compile(r"(?:\b[a-z][a-z']+\b[ ,;]{1,2}){3,}\b[a-z][a-z']+\b")
CODE = re.compile(r"`[^`]*`|```.*?```|[“「\"].*?[”」\"]", re.DOTALL)


def plain(text: str) -> str:
    return " ".join(text.replace("\\", "").split()).lower()


@pytest.mark.parametrize("issue", BASE.ids()[::9])
def test_no_english_sentence_is_in_a_chinese_answer(issue: str) -> None:
    """Except for what is quoted: from the report, or by the entry in its Chinese texts."""
    entry = BASE.entry(issue)
    text = next((one.text for one in entry.examples.positive if one.text), None)
    if text is None:
        return
    found = diagnose(text, environment="report", language="zh")
    quoted = plain(text) + plain(repr([BASE.entry(one.issue).zh for one in found.diagnoses])) + plain(
        " ".join(str(value) for one in found.diagnoses for fix in one.fixes for value in fix.action.values())
    )
    said = CODE.sub(" ", render(found, "markdown"))
    assert [one[0] for one in ENGLISH.finditer(said) if plain(one[0]) not in quoted] == []


def test_evidence_of_frames_packages_and_releases_is_chinese() -> None:
    """The sentences that the engine makes itself."""
    text = (
        "transformers 4.46.2\nTraceback (most recent call last):\n"
        '  File "/x/site-packages/transformers/models/blip_2/modeling_blip_2.py", line 9, in forward\n    x = self.layernorm(query)\n'
        "RuntimeError: expected scalar type Half but found Float\n"
    )
    said = "\n".join(
        item.text
        for diagnosis in [diagnose(text, environment="report", language="zh")]
        for item in [*(one for found in diagnosis.diagnoses for one in found.evidence), *(item for _, item in diagnosis.refuted)]
        if item.kind in ("frames", "version", "fact", "model")
    )
    assert said
    for english in (" in forward", "is not among", " and later", "no frame in", "from line numbers", "the report has"):
        assert english not in said
