"""Lints that diagnose: every example is held against all entries, and an innocent corpus against the whole base."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from troubleshoot.basics.errors import KnowledgeProblem
from troubleshoot.basics.versions import parse_version
from troubleshoot.curation.checked import Checked, example_text
from troubleshoot.engine.result import Diagnosis
from troubleshoot.knowledge.base import KnowledgeBase
from troubleshoot.knowledge.schema import Example


def diagnose_example(example: Example, text: str, base: KnowledgeBase) -> Diagnosis:
    """Diagnose an example under the environment that it names."""
    from troubleshoot.engine.diagnosis import diagnose

    have = {name: version if version is not None else "absent" for name, version in example.environment.items()}
    return diagnose(text, environment="report", kb=base, gpu=example.gpu, have=have)


def check_example_files(checked: Checked) -> Iterator[KnowledgeProblem]:
    """Every entry has examples, and each is complete and readable."""
    for entry in checked.entries:
        place = checked.collected.places[entry.id]
        if not entry.examples.positive:
            yield KnowledgeProblem(place, 1, "examples.positive", "needs at least one: no example reaches this entry")
        if checked.shipped and not entry.examples.negative:
            yield KnowledgeProblem(place, 1, "examples.negative", "needs a near miss")
        for example in (*entry.examples.positive, *entry.examples.negative):
            if (example.text is None) == (example.file is None):
                yield KnowledgeProblem(place, 1, "examples", "an example has either `text` or `file`")
            elif example_text(example, place) is None:
                yield KnowledgeProblem(place, 1, "examples", f"{example.file} cannot be read as UTF-8")
            for name, version in example.environment.items():
                if version is not None and parse_version(version) is None:
                    yield KnowledgeProblem(place, 1, "examples", f"environment: {name} {version!r} is not a version (PEP 440)")
        for example in entry.examples.positive:
            if example.cause and example.cause not in {entry.cause, *(one.cause for one in entry.causes)}:
                yield KnowledgeProblem(place, 1, "examples.positive", f"{example.cause} is no cause of this entry")
        for example in entry.examples.negative:
            if not example.because or not example.expect:
                yield KnowledgeProblem(place, 1, "examples.negative", "needs `because` and `expect`")
            elif example.expect != "none" and example.expect not in checked.collected.entries:
                yield KnowledgeProblem(place, 1, "examples.negative", f"expects {example.expect!r}, which does not exist")


def check_examples(checked: Checked) -> Iterator[KnowledgeProblem]:
    """Positive examples give their entry first, negative ones give what they expect: all entries compete for each."""
    for entry, example, positive, text in checked.examples:
        if entry.status == "withdrawn":
            continue
        try:
            diagnosis = diagnose_example(example, text, checked.base)
        except Exception as error:
            yield KnowledgeProblem(checked.place(entry.id), 1, "examples", f"{_shown(text)}: {type(error).__name__}: {error}")
            continue
        answer = answer_of(diagnosis)
        place = checked.place(entry.id)
        if positive and answer != entry.id:
            yield KnowledgeProblem(place, 1, "examples.positive", f"{_shown(text)}: answered {answer}")
        elif positive and example.cause and diagnosis.first and diagnosis.first.cause != example.cause:
            yield KnowledgeProblem(place, 1, "examples.positive", f"{_shown(text)}: cause {diagnosis.first.cause}, not {example.cause}")
        elif not positive and answer == entry.id:
            yield KnowledgeProblem(place, 1, "examples.negative", f"{_shown(text)}: answered by this entry ({example.because})")
        elif not positive and example.expect and answer != example.expect:
            yield KnowledgeProblem(place, 1, "examples.negative", f"{_shown(text)}: answered {answer}, not {example.expect}")


def answer_of(diagnosis: Diagnosis) -> str:
    """Return the id of the entry that answers, or "none"."""
    return "none" if diagnosis.verdict == "unknown" or diagnosis.first is None else diagnosis.first.issue


def _shown(text: str) -> str:
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return repr(lines[-1][:90]) if lines else "(empty)"


def check_innocent(checked: Checked, folder: Path) -> Iterator[KnowledgeProblem]:
    """Nothing in an innocent corpus may be diagnosed: files of text, and files of JSON lines with an ``id`` and a ``text``."""
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".jsonl":
            try:
                lines = path.read_text(encoding="utf-8").split("\n")
            except (OSError, UnicodeDecodeError) as error:
                yield KnowledgeProblem(path, 1, "", f"{type(error).__name__}: {error}")
                continue
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield from _innocent_line(checked, path, number, line)
        elif path.suffix in (".txt", ".log", ".md") and path.name != "README.md":
            for at, wrong in _answered(checked, path):
                yield KnowledgeProblem(path, at, "", wrong)


def _innocent_line(checked: Checked, path: Path, number: int, line: str) -> Iterator[KnowledgeProblem]:
    try:
        record = json.loads(line)
        name, text = str(record["id"]), str(record["text"])
    except (ValueError, KeyError, TypeError) as error:
        yield KnowledgeProblem(path, number, "", f'is no {{"id": ..., "text": ...}} ({error})')
        return
    for at, wrong in _answered(checked, text):
        yield KnowledgeProblem(path, number, name, f"{wrong} (line {at} of the text)")


def _answered(checked: Checked, source: Path | str) -> Iterator[tuple[int, str]]:
    """Yield what is wrong with an innocent text, and on which of its lines."""
    from troubleshoot.engine.diagnosis import diagnose

    try:
        diagnosis = diagnose(source, environment="report", kb=checked.base)
    except Exception as error:
        yield 1, f"{type(error).__name__}: {error}"
        return
    if diagnosis.verdict != "unknown" and diagnosis.first is not None:
        first = diagnosis.first
        yield (first.evidence[0].line or 1) if first.evidence else 1, f"is innocent, but answered {first.issue}"
