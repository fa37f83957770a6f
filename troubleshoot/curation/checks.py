"""``troubleshoot kb lint``: what an entry must show before it is shipped (the list is in docs/writing-entries.md).

Each check is a function from the collected base to problems; a test gives each a faulty entry that it must find.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from troubleshoot.errors import KnowledgeProblem
from troubleshoot.evidence import VOCABULARY
from troubleshoot.fixes import actions
from troubleshoot.knowledge.base import KnowledgeBase
from troubleshoot.knowledge.collect import CAUSES_FILE, Collected, collect
from troubleshoot.knowledge.compiled import compile_base
from troubleshoot.knowledge.phrases import parse_phrase
from troubleshoot.knowledge.schema import Condition, Entry, Example, Fix
from troubleshoot.knowledge.templates import Hole, TemplateError, compile_template, literal_length, parse_template
from troubleshoot.ranking import NO_CAUSE
from troubleshoot.result import Diagnosis
from troubleshoot.versions import parse_version, satisfies

#: Literal characters that a template must have at least.
MIN_LITERAL = 12
_MOST_TEXT_HOLES = 2
_URL = re.compile(r"^https://[^\s/]+/\S+$")


@dataclass(frozen=True)
class Checked:
    """A base under lint: what was collected, and the same compiled."""

    collected: Collected
    base: KnowledgeBase
    shipped: bool

    def place(self, id_: str) -> Path | str:
        """Return the file of an entry."""
        return self.collected.places.get(id_, id_)

    @cached_property
    def examples(self) -> list[tuple[Entry, Example, bool, str]]:
        """Every example as (entry, example, positive, text); unreadable ones are reported by their own check."""
        found: list[tuple[Entry, Example, bool, str]] = []
        for entry in self.collected.entries.values():
            for positive, examples in ((True, entry.examples.positive), (False, entry.examples.negative)):
                for example in examples:
                    text = example_text(example, self.collected.places[entry.id])
                    if text is not None:
                        found.append((entry, example, positive, text))
        return found


Check = Callable[[Checked], Iterator[KnowledgeProblem]]


def lint(paths: Sequence[Path | str] = (), *, shipped: bool = True, innocent: Path | None = None) -> list[KnowledgeProblem]:
    """Check a knowledge base and return every problem, sorted by file.

    Without ``paths`` the shipped base; with them these overlays on top of it (``shipped=False``: alone). ``innocent`` is a folder of
    texts that must not be diagnosed; a checkout has its own.
    """
    from troubleshoot.knowledge.base import shipped_root

    roots = [*([shipped_root()] if shipped else []), *(Path(path) for path in paths)]
    collected = collect(roots)
    problems = list(collected.problems)
    checked = Checked(collected, KnowledgeBase(compile_base(collected, []), tuple(roots)), shipped and not paths)
    problems += [KnowledgeProblem("index", 1, "", text) for text in checked.base.warnings[len(collected.problems) :]]
    for check in CHECKS:
        problems.extend(check(checked))
    folder = innocent or _own_corpus(roots[0] if shipped else None)
    if folder is not None:
        problems.extend(check_innocent(checked, folder))
    return sorted(set(problems), key=lambda problem: (str(problem.file), problem.line, problem.text))


def _own_corpus(root: Path | None) -> Path | None:
    """Return the innocent corpus of a checkout."""
    folder = root.parent / "tests" / "data" / "innocent" if root else None
    return folder if folder is not None and folder.is_dir() else None


def example_text(example: Example, entry_file: Path) -> str | None:
    """Return an example's text, from the entry or from its file; None where it cannot be read."""
    if example.text is not None:
        return example.text
    if example.file is None:
        return None
    try:
        return (entry_file.parent / example.file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def diagnose_example(example: Example, text: str, base: KnowledgeBase) -> Diagnosis:
    """Diagnose an example under the environment that it names."""
    from troubleshoot.diagnosis import diagnose

    have = {name: version if version is not None else "absent" for name, version in example.environment.items()}
    return diagnose(text, environment="report", kb=base, gpu=example.gpu, have=have)


def english_hash(entry: Entry) -> str:
    """Return the hash of the English texts that a translation was written from."""
    texts = [entry.title, entry.explanation, *(text for fix in entry.fixes for text in (fix.title, fix.reason))]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:8]


def _check_causes(checked: Checked) -> Iterator[KnowledgeProblem]:
    known = {*checked.base.causes.causes, NO_CAUSE}
    for entry in checked.collected.entries.values():
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
    for entry in checked.collected.entries.values():
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


def _conditions(entry: Entry) -> Iterator[Condition]:
    waiting: list[Condition] = [*entry.evidence.required, *entry.evidence.supporting, *entry.evidence.refuting]
    for weighted in entry.causes:
        waiting += [*weighted.likelier, *weighted.needs]
    for fix in entry.fixes:
        waiting += [*fix.when, *fix.unless, *fix.later]
    while waiting:
        condition = waiting.pop()
        yield condition
        waiting += [*condition.any, *condition.all, *condition.none]


def _check_conditions(checked: Checked) -> Iterator[KnowledgeProblem]:
    for entry in checked.collected.entries.values():
        place = checked.place(entry.id)
        for condition in _conditions(entry):
            kinds = [bool(condition.fact), bool(condition.any), bool(condition.all), bool(condition.none), condition.text is not None]
            kinds.append(condition.fact is None and any((condition.frame, condition.function, condition.code)))
            if sum(kinds) != 1:
                yield KnowledgeProblem(place, 1, "conditions", "a condition has exactly one of fact, frame, text, any, all, none")
            if condition.in_ is not None and satisfies("1", condition.in_) is None:
                yield KnowledgeProblem(place, 1, "conditions", f"in: {condition.in_!r} is not a list of comparisons such as '>=4.50,<4.51'")
            fact = condition.fact
            if fact and fact not in VOCABULARY and fact.partition(".")[0] + "." not in VOCABULARY:
                yield KnowledgeProblem(place, 1, "conditions", f"{fact!r} is not a fact: see the table in docs/writing-entries.md")


def _check_fixes(checked: Checked) -> Iterator[KnowledgeProblem]:
    for entry in checked.collected.entries.values():
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
    for entry in checked.collected.entries.values():
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
    for entry in checked.collected.entries.values():
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
    for entry in checked.collected.entries.values():
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


def _check_example_files(checked: Checked) -> Iterator[KnowledgeProblem]:
    for entry in checked.collected.entries.values():
        place = checked.collected.places[entry.id]
        if not entry.examples.positive:
            yield KnowledgeProblem(place, 1, "examples.positive", "needs at least one")
        if checked.shipped and not entry.examples.negative:
            yield KnowledgeProblem(place, 1, "examples.negative", "needs a near miss")
        for example in (*entry.examples.positive, *entry.examples.negative):
            if (example.text is None) == (example.file is None):
                yield KnowledgeProblem(place, 1, "examples", "an example has either `text` or `file`")
            elif example_text(example, place) is None:
                yield KnowledgeProblem(place, 1, "examples", f"{example.file} cannot be read as UTF-8")
        for example in entry.examples.negative:
            if not example.because or not example.expect:
                yield KnowledgeProblem(place, 1, "examples.negative", "needs `because` and `expect`")
            elif example.expect != "none" and example.expect not in checked.collected.entries:
                yield KnowledgeProblem(place, 1, "examples.negative", f"expects {example.expect!r}, which does not exist")


def _check_examples(checked: Checked) -> Iterator[KnowledgeProblem]:
    """Positive examples give their entry first, negative ones give what they expect: all entries compete for each."""
    for entry, example, positive, text in checked.examples:
        if entry.status == "withdrawn":
            continue
        try:
            diagnosis = diagnose_example(example, text, checked.base)
        except Exception as error:
            yield KnowledgeProblem(checked.place(entry.id), 1, "examples", f"{_shown(text)}: {type(error).__name__}: {error}")
            continue
        answer = "none" if diagnosis.verdict == "unknown" or diagnosis.first is None else diagnosis.first.issue
        place = checked.place(entry.id)
        if positive and answer != entry.id:
            yield KnowledgeProblem(place, 1, "examples.positive", f"{_shown(text)}: answered {answer}")
        elif positive and example.cause and diagnosis.first and diagnosis.first.cause != example.cause:
            yield KnowledgeProblem(place, 1, "examples.positive", f"{_shown(text)}: cause {diagnosis.first.cause}, not {example.cause}")
        elif not positive and answer == entry.id:
            yield KnowledgeProblem(place, 1, "examples.negative", f"{_shown(text)}: answered by this entry ({example.because})")
        elif not positive and example.expect and answer != example.expect:
            yield KnowledgeProblem(place, 1, "examples.negative", f"{_shown(text)}: answered {answer}, not {example.expect}")


def _shown(text: str) -> str:
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return repr(lines[-1][:90]) if lines else "(empty)"


def check_innocent(checked: Checked, folder: Path) -> Iterator[KnowledgeProblem]:
    """Nothing in an innocent corpus may be diagnosed."""
    from troubleshoot.diagnosis import diagnose

    for path in sorted(folder.rglob("*")):
        if path.suffix not in (".txt", ".log", ".md") or path.name == "README.md":
            continue
        diagnosis = diagnose(path, environment="report", kb=checked.base)
        if diagnosis.verdict != "unknown" and diagnosis.first is not None:
            first = diagnosis.first
            yield KnowledgeProblem(
                path, (first.evidence[0].line or 1) if first.evidence else 1, "", f"is innocent, but answered {first.issue}"
            )


CHECKS: tuple[Check, ...] = (
    _check_causes,
    _check_refines,
    _check_templates,
    _check_conditions,
    _check_fixes,
    _check_versions,
    _check_references,
    _check_translations,
    _check_example_files,
    _check_examples,
)
