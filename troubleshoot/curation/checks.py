"""``troubleshoot kb lint``: what an entry must show before it is shipped (the list is in docs/writing-entries.md).

Each check is a function from the collected base to problems; a test gives each a faulty entry that it must find. Nothing here looks
anything up outside the base and its examples: lint works offline.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from troubleshoot.curation import condition_checks, example_checks
from troubleshoot.curation.checked import Check, Checked
from troubleshoot.dtypes import parse_device
from troubleshoot.errors import KnowledgeError, KnowledgeProblem
from troubleshoot.fixes import actions
from troubleshoot.knowledge.base import KnowledgeBase
from troubleshoot.knowledge.collect import CAUSES_FILE, collect
from troubleshoot.knowledge.compiled import compile_base
from troubleshoot.knowledge.phrases import parse_phrase
from troubleshoot.knowledge.schema import Affected, Entry, Fix, Verify
from troubleshoot.knowledge.source import line_of, read_yaml
from troubleshoot.knowledge.templates import TemplateError, compile_template, literal_length, parse_template
from troubleshoot.matching.releases import affected_text
from troubleshoot.ranking import NO_CAUSE
from troubleshoot.versions import VersionRange, in_ranges, parse_version

#: Literal characters that a template must have at least.
MIN_LITERAL = 12
_MOST_TEXT_HOLES = 2
_URL = re.compile(r"^https://[^\s/]+/\S+$")


def lint(paths: Sequence[Path | str] = (), *, shipped: bool = True, innocent: Path | None = None) -> list[KnowledgeProblem]:
    """Check a knowledge base and return every problem, sorted by file and line.

    Without ``paths`` the shipped base; with them these overlays on top of it (``shipped=False``: alone). ``innocent`` is a folder of
    texts that must not be diagnosed; a checkout has its own.
    """
    from troubleshoot.knowledge.base import shipped_root

    roots = [*([shipped_root()] if shipped else []), *(Path(path) for path in paths)]
    collected = collect(roots)
    problems = list(collected.problems)
    checked = Checked(collected, KnowledgeBase(compile_base(collected, []), tuple(roots)), shipped and not paths)
    for check in CHECKS:
        problems.extend(_located(problem) for problem in check(checked))
    folder = innocent or _own_corpus(roots[0] if shipped else None)
    if folder is not None:
        problems.extend(example_checks.check_innocent(checked, folder))
    return sorted(set(problems), key=lambda problem: (str(problem.file), problem.line, problem.text))


def _own_corpus(root: Path | None) -> Path | None:
    """Return the innocent corpus of a checkout."""
    folder = root.parent / "tests" / "data" / "innocent" if root else None
    return folder if folder is not None and folder.is_dir() else None


def _located(problem: KnowledgeProblem) -> KnowledgeProblem:
    """Return the problem with the line on which its field stands."""
    try:
        _, node = read_yaml(Path(problem.file))
    except KnowledgeError:
        return problem
    return KnowledgeProblem(problem.file, line_of(node, problem.path) if problem.path else 1, problem.path, problem.text)


def english_hash(entry: Entry) -> str:
    """Return the hash of the English texts that a translation was written from."""
    texts = [entry.title, entry.explanation, *(text for fix in entry.fixes for text in (fix.title, fix.reason))]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:8]


def _check_causes(checked: Checked) -> Iterator[KnowledgeProblem]:
    known = {*checked.base.causes.causes, NO_CAUSE}
    for entry in checked.entries:
        place = checked.place(entry.id)
        named = [entry.cause] if entry.cause else []
        named += [weighted.cause for weighted in entry.causes]
        named += [cause for fix in entry.fixes for cause in fix.causes]
        for cause in named:
            if cause not in known:
                yield KnowledgeProblem(place, 1, "cause", f"{cause!r} is not in {CAUSES_FILE}")
        if entry.kind == "issue" and (not entry.cause or entry.causes):
            yield KnowledgeProblem(place, 1, "cause", "an issue has exactly one cause; a family lists causes")
        if entry.kind == "family" and (entry.cause or len(entry.causes) < 1):
            yield KnowledgeProblem(place, 1, "causes", "a family lists weighted causes and has no cause of its own")
        for weighted in entry.causes:
            if weighted.weight <= 0:
                yield KnowledgeProblem(place, 1, "causes", f"the weight of {weighted.cause} must be positive")
            for condition in weighted.likelier:
                if condition.times is None or condition.times <= 0:
                    yield KnowledgeProblem(place, 1, "causes", f"a likelier condition of {weighted.cause} needs a positive `times`")


def _check_refines(checked: Checked) -> Iterator[KnowledgeProblem]:
    entries = checked.collected.entries
    for entry in entries.values():
        for parent in entry.refines:
            if parent not in entries:
                yield KnowledgeProblem(checked.place(entry.id), 1, "refines", f"{parent!r} does not exist")
        seen: set[str] = set()
        waiting = list(entry.refines)
        while waiting:
            parent = waiting.pop()
            if parent == entry.id:
                yield KnowledgeProblem(checked.place(entry.id), 1, "refines", "leads back to the entry itself")
                break
            if parent not in seen and parent in entries:
                seen.add(parent)
                waiting.extend(entries[parent].refines)


def _check_templates(checked: Checked) -> Iterator[KnowledgeProblem]:
    for entry in checked.entries:
        place = checked.place(entry.id)
        if not entry.signature.message and not entry.signature.symptoms:
            yield KnowledgeProblem(place, 1, "signature", "needs a message or a symptom: nothing can reach this entry")
        for message in entry.signature.message:
            try:
                nodes = parse_template(message.template)
                holes = compile_template(message.template).holes
            except TemplateError as error:
                yield KnowledgeProblem(place, 1, "signature.message", str(error))
                continue
            if literal_length(nodes) < MIN_LITERAL:
                yield KnowledgeProblem(
                    place, 1, "signature.message", f"{message.template!r} has fewer than {MIN_LITERAL} literal characters"
                )
            if sum(isinstance(hole, Hole) and hole.type == "text" for hole in holes) > _MOST_TEXT_HOLES:
                yield KnowledgeProblem(place, 1, "signature.message", f"{message.template!r} has more than {_MOST_TEXT_HOLES} text holes")
            names = {hole.name for hole in holes}
            for role in message.roles:
                if role not in names:
                    yield KnowledgeProblem(place, 1, "signature.message", f"role {role!r}: the template has no such hole")
        for symptom in entry.signature.symptoms:
            if len(parse_phrase(symptom).terms) < 2:
                yield KnowledgeProblem(place, 1, "signature.symptoms", f"{symptom!r} needs at least two terms")


def _check_fixes(checked: Checked) -> Iterator[KnowledgeProblem]:
    for entry in checked.entries:
        yield from _fix_problems(entry.fixes, checked.place(entry.id))
        if entry.kind == "issue" and not entry.fixes and entry.cause and not _general(checked, entry.cause):
            yield KnowledgeProblem(checked.place(entry.id), 1, "fixes", f"none here, and none in general for {entry.cause}")
    for name, cause in checked.base.causes.causes.items():
        yield from _fix_problems(cause.fixes, f"{CAUSES_FILE}: {name}")
        if not cause.fixes:
            yield KnowledgeProblem(CAUSES_FILE, 1, name, "has no general fix")


def _general(checked: Checked, cause: str) -> tuple[Fix, ...]:
    known = checked.base.causes.causes.get(cause)
    return known.fixes if known else ()


def _fix_problems(fixes: tuple[Fix, ...], place: Path | str) -> Iterator[KnowledgeProblem]:
    seen: set[str] = set()
    for fix in fixes:
        if fix.id in seen:
            yield KnowledgeProblem(place, 1, f"fixes.{fix.id}", "is given twice")
        seen.add(fix.id)
        for text in actions.problems(fix.action):
            yield KnowledgeProblem(place, 1, f"fixes.{fix.id}.action", text)
        if not fix.reason.strip():
            yield KnowledgeProblem(place, 1, f"fixes.{fix.id}", "needs a reason")


def _check_versions(checked: Checked) -> Iterator[KnowledgeProblem]:
    for entry in checked.entries:
        place = checked.place(entry.id)
        for affected in entry.affected:
            for part in affected.ranges:
                if part.introduced is None and part.unknown_before is None:
                    yield KnowledgeProblem(place, 1, "affected", f"{affected.package}: a range needs `introduced` (or `unknown-before`)")
                versions = [parse_version(one) for one in (part.introduced, part.unknown_before, part.fixed) if one is not None]
                if None in versions:
                    yield KnowledgeProblem(place, 1, "affected", f"{affected.package}: a border is not a version")
                low, high = parse_version(part.introduced or "0"), parse_version(part.fixed or "")
                if low and high and low >= high:
                    yield KnowledgeProblem(place, 1, "affected", f"{affected.package}: {part.introduced} is not before {part.fixed}")
            if affected.basis == "measured" and not affected.record:
                yield KnowledgeProblem(place, 1, "affected", f"{affected.package}: `basis: measured` needs the record of a run")


def _check_references(checked: Checked) -> Iterator[KnowledgeProblem]:
    for entry in checked.entries:
        place = checked.place(entry.id)
        urls = [one.url for one in entry.references]
        if checked.shipped and not urls:
            yield KnowledgeProblem(place, 1, "references", "needs at least one opened reference")
        for url in urls:
            if not _URL.match(url):
                yield KnowledgeProblem(place, 1, "references", f"{url!r} is not an https address")
        for url in {url for url in urls if urls.count(url) > 1}:
            yield KnowledgeProblem(place, 1, "references", f"{url} is given twice")


def _check_translations(checked: Checked) -> Iterator[KnowledgeProblem]:
    for entry in checked.entries:
        place = checked.place(entry.id)
        if entry.zh is None:
            if checked.shipped and entry.status == "stable":
                yield KnowledgeProblem(place, 1, "zh", "is missing")
            continue
        expected = english_hash(entry)
        if entry.zh.of is not None and entry.zh.of != expected:
            yield KnowledgeProblem(place, 1, "zh.of", f"the English has changed: review the Chinese, then write {expected}")
        ids = {fix.id for fix in entry.fixes}
        for name in entry.zh.fixes.keys() - ids:
            yield KnowledgeProblem(place, 1, f"zh.fixes.{name}", "there is no such fix")
        translated = entry.zh.fixes.keys() | {fix.id for fix in entry.fixes if fix.zh}
        for name in sorted(ids - translated):
            yield KnowledgeProblem(place, 1, f"zh.fixes.{name}", "is missing")


CHECKS: tuple[Check, ...] = (
    _check_causes,
    _check_names,
    _check_refines,
    _check_templates,
    condition_checks.check_shapes,
    condition_checks.check_possible,
    condition_checks.check_phrases,
    _check_fixes,
    _check_versions,
    _check_cases,
    _check_references,
    _check_translations,
    example_checks.check_example_files,
    example_checks.check_examples,
)
