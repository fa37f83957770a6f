"""Diagnosis → Document: what a reader is told, in which order. The form comes later."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from troubleshoot.basics.addresses import entry_address
from troubleshoot.basics.redact import redact_lines
from troubleshoot.telling.consulted import reader_section
from troubleshoot.telling.document import Block, Choice, Code, Document, Folded, Point, Prose, Quote, Section, Step, filled
from troubleshoot.telling.facts import accelerators_line, environment_line, half_precision
from troubleshoot.telling.words import Words

if TYPE_CHECKING:
    from troubleshoot.engine.result import Diagnosis, EvidenceItem, FixAdvice, IssueDiagnosis, Question, SeenRun
    from troubleshoot.reading.report import Failure

_TONES = {"known": "good", "likely": "warn", "unknown": "bad"}
_TAG_TONES = {"safe": "good", "unsafe": "warn", "manual": ""}
#: How much of each list is shown; the rest is in `troubleshoot explain` and in the JSON.
_QUOTED, _EVIDENCE, _FIXES, _DONTS, _RUNS, _OTHERS = 6, 4, 4, 4, 4, 4
_NOTES = 3
_LEAST_SHARE = 0.045
#: Evidence that is a line of the report.
_QUOTED_KINDS = ("message", "frame", "frames", "symptom")
_EXPLANATION = 420
_SENTENCE_END = r"(?<=[.!?])\s+(?=[A-Z`\"'(])|(?<=[。！？])"


def documents(diagnosis: Diagnosis, top: int | None = None, *, brief: bool = True, face: str = "") -> tuple[Document, ...]:
    """Return one document per diagnosis shown in full: ``top`` of them (default 1). ``brief`` shortens explanations.

    For the ``face`` "page" other diagnoses, and what is left of an explanation, can be opened, and questions can be answered.
    """
    words = Words(diagnosis.language, face)
    if diagnosis.verdict == "unknown" or diagnosis.first is None:
        from troubleshoot.telling.unknown import unknown_document

        return (unknown_document(diagnosis, words),)
    full = diagnosis.diagnoses[: max(1, top or 1)]
    first, *others = full
    rest = diagnosis.diagnoses[len(full) :]
    return (
        _document(diagnosis, first, rest, words, brief, lead=True),
        *(_document(diagnosis, one, (), words, brief, lead=False) for one in others),
    )


def _document(
    diagnosis: Diagnosis, one: IssueDiagnosis, rest: tuple[IssueDiagnosis, ...], words: Words, brief: bool, *, lead: bool
) -> Document:
    verdict = diagnosis.verdict if lead else ("known" if one.confidence >= 0.8 else "likely" if one.confidence >= 0.4 else "unknown")
    sections = [Section(words("Why"), _why(diagnosis, one, words, brief))]
    if lead:
        sections.append(Section(words("You"), you(diagnosis, one, words)))
    sections.append(Section(words("Do"), _do(one, words, brief)))
    sections.append(Section(words("Dont"), _dont(one, words)))
    sections.append(Section(words("Seen"), _seen(diagnosis, one, words)))
    if one.verify:
        sections.append(Section(words("Check"), (Code(one.verify, "sh"),)))
    page = entry_address(one.issue, words.language, "causes" if one.kind == "cause" else "issues")
    if page is not None and not words.face:
        sections.append(Section(words("Page"), (Prose(page),)))
    if lead:
        sections.append(Section(words("Ask"), ask(diagnosis.questions, words)))
        same = tuple(other for other in rest if other.failure == one.failure)
        sections.append(Section(words("Or"), _or(diagnosis, one, same, words)))
        sections.append(Section(words("Also"), _also(diagnosis, one, rest, words)))
        if words.face:
            sections.append(Section(words("References"), tuple(Point(url) for url in one.references)))
        sections.append(reader_section(diagnosis.reader, words))
        sections.append(Section(words("Note"), notes(diagnosis, words)))
    certainty = f"{words(verdict)} {words.percent(one.confidence)}"
    cause = "" if one.kind == "family" else f"{words('cause')} {one.cause}"
    if cause and words.percent(one.cause_confidence) != words.percent(one.confidence):
        cause += f" {words.percent(one.cause_confidence)}"
    return Document(
        badge=certainty, title=one.title, name=one.issue, subtitle=cause, tone=_TONES[verdict],
        sections=filled(*sections), language=words.language,
    )  # fmt: skip


def _why(diagnosis: Diagnosis, one: IssueDiagnosis, words: Words, brief: bool) -> tuple[Block, ...]:
    failure = diagnosis.report.failures[one.failure] if one.failure is not None and one.failure < len(diagnosis.report.failures) else None
    blocks: list[Block] = []
    lines = quoted(diagnosis, failure, one.evidence)
    if lines:
        blocks.append(Quote(lines))
    if one.kind == "family":
        # The family is as sure as its message; which cause it has here is what the fixes hang on.
        lead = words("likeliest", percent=words.percent(one.cause_confidence))
        blocks.append(Prose((one.note or one.title) + words.paren(one.cause), lead=lead))
    elif one.note:
        blocks.append(Prose(one.note))
    blocks += _explanation(one, words, brief)
    if one.impact != "error":
        blocks.append(Prose(words(f"impact.{one.impact}"), "warn"))
    if diagnosis.culprit is not None and diagnosis.first is one:
        blocks.append(Prose(_culprit(diagnosis, words), "warn"))
    blocks += _points(one.evidence, {number: text for number, text, _ in lines}, words)
    if failure is not None:
        blocks += _circumstances(failure, words)
    return tuple(blocks)


def _explanation(one: IssueDiagnosis, words: Words, brief: bool) -> list[Block]:
    explanation = words.flow(one.explanation)
    cut = shorten(explanation) if brief else explanation
    if cut == explanation:
        return [Prose(cut)] if cut else []
    if words.face:
        return [Prose(cut), Folded(words("rest"), (Prose(explanation[len(cut) :].strip()),))]
    return [Prose(words.flow(f"{cut} {words('more', command=f'`troubleshoot explain {one.issue}`')}"))]


def _points(evidence: tuple[EvidenceItem, ...], quoted: dict[int | None, str], words: Words) -> list[Block]:
    """Return the evidence that the quoted lines do not already show."""
    points: dict[str, Block] = {}
    marks = {"supports": "+", "refutes": "-", "unknown": "?"}
    for state in ("supports", "refutes", "unknown"):
        left = _EVIDENCE
        for item in evidence:
            shown = quoted.get(item.line)
            repeats = state == "supports" and shown is not None and (item.kind in _QUOTED_KINDS or item.text.strip() in shown)
            if item.state != state or repeats or item.text in points or not left:
                continue
            left -= 1
            where = words.paren(words("on-line", line=item.line)) if item.line is not None else ""
            text = words("not-stated", text=item.text) if state == "unknown" else item.text
            points[item.text] = Point(text + where, marks[state], item.line)
    return list(points.values())


def _circumstances(failure: Failure, words: Words) -> list[Block]:
    parts = []
    if failure.count > 1:
        parts.append(words("repeated", n=failure.count))
    if failure.ranks:
        shown = ", ".join(map(str, failure.ranks[:8])) + (", …" if len(failure.ranks) > 8 else "")
        parts.append(words("ranks" if len(failure.ranks) > 1 else "rank", ranks=shown))
    return [Prose(" ".join(parts), "dim")] if parts else []


def _culprit(diagnosis: Diagnosis, words: Words) -> str:
    culprit = diagnosis.culprit
    assert culprit is not None
    name = ".".join(part for part in (culprit.module, culprit.parameter) if part) or culprit.cls or ""
    what = f"`{name}`" + (f" ({culprit.cls})" if culprit.cls and culprit.cls != name else "")
    if culprit.has and culprit.meets:
        what = words("culprit.meets", what=what, has=culprit.has, meets=culprit.meets)
    elif culprit.has:
        what = words("culprit.has", what=what, has=culprit.has)
    return words("culprit", what=what) + (f" {culprit.why}" if culprit.why else "")


#: Lines above and below one that is shown that tell whether it is part of a secret.
_AROUND = 3


def quoted(
    diagnosis: Diagnosis, failure: Failure | None, evidence: tuple[EvidenceItem, ...] = ()
) -> tuple[tuple[int | None, str, bool], ...]:
    """Return the lines of the report that tell the story, in its order: the frames that matter, the evidence, the message."""
    text = dict(zip(diagnosis.report.numbers, diagnosis.report.lines, strict=True))
    wanted: dict[int, bool] = {}
    if failure is not None:
        root = failure.root
        wanted[root.line] = True
        for place in (failure.place.library, failure.place.user):
            for frame in root.frames if place else ():
                if (
                    place
                    and frame.number is not None
                    and place.endswith(f":{frame.number}")
                    and frame.path.endswith(place.rpartition(":")[0].rpartition("/")[2])
                ):
                    wanted.setdefault(frame.at, False)
                    if frame.code and frame.code.strip() in text.get(frame.at + 1, ""):
                        wanted.setdefault(frame.at + 1, False)
        if root.message.strip() not in text.get(root.line, root.message) and "\n" in root.message:
            for number in range(root.line + 1, min(root.last_line, root.line + 2) + 1):
                wanted.setdefault(number, True)
    for item in evidence:
        if item.line is not None and item.state == "supports" and len(wanted) < _QUOTED and item.line in text:
            wanted.setdefault(item.line, False)
    shown = [number for number in sorted(wanted)[: _QUOTED + 2] if text.get(number, "").strip()]
    masked = _masked(text, shown)
    return tuple((number, masked[number].rstrip(), wanted[number]) for number in shown)


def _masked(text: dict[int, str], shown: list[int]) -> dict[int, str]:
    """Return the lines that are shown without secrets; a key or a password may begin on the line above and end below."""
    around = sorted({near for number in shown for near in range(number - _AROUND, number + _AROUND + 1) if near in text})
    return dict(zip(around, redact_lines([text[number] for number in around]), strict=True))


def shorten(text: str, limit: int = _EXPLANATION) -> str:
    """Return the first sentences of a text, as many as fit into ``limit`` characters, at least one. Chinese needs half the room."""
    if sum(not char.isascii() for char in text) > len(text) // 3:
        limit //= 2
    if len(text) <= limit:
        return text
    kept = ""
    for sentence in re.split(_SENTENCE_END, text):
        joined = f"{kept} {sentence}" if kept and sentence[:1].isascii() and kept[-1:].isascii() else kept + sentence
        if kept and len(joined) > limit:
            break
        kept = joined
    return kept


def you(diagnosis: Diagnosis, one: IssueDiagnosis | None, words: Words) -> tuple[Block, ...]:
    """Return what is known of the user's versions and hardware, with sources, and what is not known and matters."""
    versions = environment_line(words, diagnosis, one)
    accelerators = accelerators_line(words, diagnosis.environment)
    if not versions and not accelerators:
        return (Prose(words("you-nothing"), "dim"),)
    blocks: list[Block] = []
    if versions:
        blocks.append(Prose(versions))
    if accelerators:
        half = half_precision(words, diagnosis.environment)
        blocks.append(Prose(accelerators + (f"; {half}" if half else ""), lead="GPU"))
    elif _gpu_matters(diagnosis, one):
        blocks.append(Prose(words("gpu-unknown"), "dim"))
    blocks += [Prose(warning, "dim") for warning in diagnosis.environment.warnings[:3]]
    return tuple(blocks)


def _gpu_matters(diagnosis: Diagnosis, one: IssueDiagnosis | None) -> bool:
    asked = any(question.about.startswith(("gpu", "support", "device")) for question in diagnosis.questions)
    return asked or one is None or any(fix.fits is None for fix in one.fixes)


def _do(one: IssueDiagnosis, words: Words, brief: bool) -> tuple[Block, ...]:
    fixes = [fix for fix in one.recommended if fix.expected != "fails"]
    if not fixes:
        return (Prose(words("no-fix" if one.fixes else "no-fix-at-all"), "warn"),)
    # The first fix is the answer; of the others the first sentence is enough to choose by.
    shown = fixes if words.face else fixes[:_FIXES]
    blocks: list[Block] = [_step(one.issue, str(number), fix, words, brief and number > 1) for number, fix in enumerate(shown, 1)]
    if len(fixes) > len(shown):
        blocks.append(Prose(words("more-fixes", n=len(fixes) - _FIXES, command=f"`troubleshoot explain {one.issue}`"), "dim"))
    return tuple(blocks)


def _step(issue: str, mark: str, fix: FixAdvice, words: Words, brief: bool) -> Step:
    tag, tone = words(fix.applicability), _TAG_TONES.get(fix.applicability, "")
    return Step(mark, fix.title, tag, tone, fix_body(fix, words, brief=brief), f"{issue}#{fix.id}")


def fix_body(fix: FixAdvice, words: Words, *, brief: bool = False) -> tuple[Block, ...]:
    """Return what belongs to a fix: how it is made, when it fits, why it helps, what it costs."""
    body: list[Block] = []
    if fix.command:
        body.append(Code(fix.command, "sh"))
    if fix.code:
        body.append(Code(fix.code, "python" if _is_python(fix) else ""))
    if fix.fits is None:
        body.append(Prose(_undecided(fix.why, words), "warn"))
    if fix.reason:
        reason = words.flow(fix.reason)
        body.append(Prose(shorten(reason, 1) if brief else reason))
    if fix.fits and fix.why and fix.why not in fix.reason and fix.why not in (fix.warning or ""):
        body.append(Prose(fix.why, "dim"))
    if fix.warning:
        body.append(Prose(fix.warning, "warn", lead=words("warning")))
    return tuple(body)


def _undecided(why: str, words: Words) -> str:
    """Turn "if the GPU has native bfloat16" into "fits if the GPU has ..."; anything else is what cannot be told."""
    if why.startswith("if it fits: "):
        return words("undecided", why=why.removeprefix("if it fits: "))
    return words("fits-if", why=why.removeprefix("if ")) if why.startswith("if ") else words("undecided", why=why)


def _is_python(fix: FixAdvice) -> bool:
    return bool({"patch", "edit"} & fix.action.keys()) or (not fix.action and not fix.command)


def _dont(one: IssueDiagnosis, words: Words) -> tuple[Block, ...]:
    blocks: list[Block] = []
    wrong = [fix for fix in one.fixes if fix.expected == "fails"] + [
        fix for fix in one.fixes if fix.fits is False and fix.expected != "fails"
    ]
    for fix in wrong[:_DONTS]:
        fails = fix.expected == "fails"
        why = fix.reason if fails else fix.why
        blocks.append(Step("x", fix.title, words("fails" if fails else "does-not-fit"), "bad", (Prose(why),) if why else ()))
    return tuple(blocks)


def _seen(diagnosis: Diagnosis, one: IssueDiagnosis, words: Words) -> tuple[Block, ...]:
    # Several cases of one family may have tried the same fix in the same place.
    told = {
        (fix.title, run.outcome, run.device, run.capability, str(run.versions), run.date): (fix, run)
        for fix in one.fixes
        for run in fix.seen
    }
    runs = list(told.values())
    if not runs:
        return (Prose(words("seen.none"), "dim"),) if any(fix.fits is not False for fix in one.fixes) else ()
    blocks: list[Block] = []
    for fix, run in runs[:_RUNS]:
        text = words("seen.run", fix=fix.title, **run_values(run, words))
        blocks.append(Point(text, "+" if run.outcome == "works" else "-"))
    yours = diagnosis.environment.accelerators
    on_gpu = {(run.device, run.capability) for _, run in runs if run.device != "cpu"}
    if yours:
        mine = {(one_.kind, ".".join(map(str, one_.capability)) if one_.capability else None) for one_ in yours}
        if not mine & on_gpu:
            blocks.append(Prose(words("seen.not-your-kind", name=yours[0].name), "warn"))
    elif not on_gpu and not diagnosis.environment.closed_accelerators:
        blocks.append(Prose(words("seen.no-gpu"), "dim"))
    return tuple(blocks)


def run_values(run: SeenRun, words: Words) -> dict[str, str]:
    """Return what a recorded run of a fix says of itself: its outcome, where, with which versions, when."""
    on = {"device": run.device, "capability": run.capability or ""}
    return {
        "outcome": words(f"seen.{run.outcome}") if run.outcome in ("works", "fails") else run.outcome,
        "where": words("seen.cpu") if run.device == "cpu" else words("seen.capability", **on).strip(),
        "versions": words.list([f"{name} {version}" for name, version in run.versions.items()]),
        "date": run.date,
    }


def ask(questions: tuple[Question, ...], words: Words) -> tuple[Block, ...]:
    """Return the questions, each with the exact option that answers it."""
    return tuple(_choice(question, words) for question in questions)


def _choice(question: Question, words: Words) -> Choice:
    options = [f"`{option}`" for option in answer_options(question)]
    how = words("ask.answer", options=f" {words('ask.or')} ".join(options))
    known = {"present": words("present"), "absent": words("absent")}
    return Choice(question.ask, question.about, tuple((answer, known.get(answer, answer)) for answer in question.answers), how)


def answer_options(question: Question) -> tuple[str, ...]:
    """Return the command-line options that answer a question: ``--answer package.apex=absent``, ``--gpu NAME``, ``--have P=VERSION``."""
    about = question.about
    if about.startswith(("gpu.", "support.")) or about == "gpu":
        return (
            tuple(f"--gpu {_quoted(answer)}" for answer in question.answers[:3])
            if about in ("gpu", "gpu.name") and question.answers
            else ("--gpu NAME",)
        )
    if about.startswith("package.") and not set(question.answers) & {"present", "absent"}:
        name = about.removeprefix("package.")
        return tuple(f"--have {name}={_quoted(answer)}" for answer in question.answers[:3]) or (f"--have {name}=VERSION",)
    return tuple(f"--answer {about}={_quoted(answer)}" for answer in question.answers[:4]) or (f"--answer {about}=VALUE",)


def _quoted(value: str) -> str:
    return value if re.fullmatch(r"[A-Za-z0-9_.:/+-]+", value) else "'" + value.replace("'", "'\\''") + "'"


def _or(diagnosis: Diagnosis, shown: IssueDiagnosis, others: tuple[IssueDiagnosis, ...], words: Words) -> tuple[Block, ...]:
    blocks: list[Block] = []
    for other in [one for one in others if _share(one, shown) >= _LEAST_SHARE][:_OTHERS]:
        # Another cause of the same family shares its title: what tells them apart is the note.
        same = other.issue == shown.issue
        text = other.note or other.title if same else other.title
        name = other.cause if same else words.list([other.issue, other.cause])
        blocks.append(_other(f"{words.percent(_share(other, shown))} {text.rstrip('.。')}{words.paren(name)}", other, words, told=same))
    # That a frame is missing is the normal case; a version that rules an entry out is news.
    telling = [(issue, item) for issue, item in diagnosis.refuted if item.kind == "version"]
    for issue, item in telling[:2]:
        blocks.append(Point(words("or.refuted", issue=issue, text=item.text), "-"))
    return tuple(blocks)


def _other(title: str, one: IssueDiagnosis, words: Words, *, told: bool) -> Block:
    """Return another diagnosis: a line, or what opens where that can be. What was ``told`` already is not explained again."""
    if not words.face:
        return Point(title)
    explained = [] if told else _explanation(one, words, brief=False)
    name = () if told else (Prose(f"`{one.issue}`"),)
    return Folded(title, (*explained, *_do(one, words, brief=True), *_dont(one, words), *name))


def _share(other: IssueDiagnosis, shown: IssueDiagnosis) -> float:
    """Return the probability to compare with what is shown: a family's causes share its message, other issues stand for themselves."""
    return other.cause_confidence if other.issue == shown.issue else other.confidence


def _also(diagnosis: Diagnosis, shown: IssueDiagnosis, rest: tuple[IssueDiagnosis, ...], words: Words) -> tuple[Block, ...]:
    blocks: list[Block] = []
    told: set[int | None] = {shown.failure}
    for other in rest:
        if other.failure not in told and other.failure is not None and other.failure < len(diagnosis.report.failures):
            told.add(other.failure)
            failure = diagnosis.report.failures[other.failure]
            where = words("also.failure", exception=failure.root.name or words("issue"), line=failure.line)
            title = f"{where}: {words.percent(other.confidence)} {other.title}{words.paren(other.issue)}"
            blocks.append(_other(title, other, words, told=False))
    return (*blocks, *consequences(diagnosis, words))


def consequences(diagnosis: Diagnosis, words: Words) -> tuple[Block, ...]:
    """Return one line about the failures that only follow from another: victims and launchers' footers."""
    followers = [failure for failure in diagnosis.report.failures if failure.role != "cause"]
    if not followers or len(followers) == len(diagnosis.report.failures):
        return ()
    named = [f"{failure.root.name or failure.role}{words.paren(words('on-line', line=failure.line))}" for failure in followers[:3]]
    if len(followers) > 3:
        named.append(words("victims.more", n=len(followers) - 3))
    return (Prose(words("victims.one" if len(followers) == 1 else "victims.many", n=len(followers), what=words.list(named)), "dim"),)


def notes(diagnosis: Diagnosis, words: Words) -> tuple[Block, ...]:
    """Return what went wrong while diagnosing, the first few in a line each."""
    more = len(diagnosis.errors) - _NOTES
    shown = [Prose(" ".join(error.split()), "warn") for error in diagnosis.errors[:_NOTES]]
    return (*shown, Prose(words("victims.more", n=more), "warn")) if more > 0 else tuple(shown)
