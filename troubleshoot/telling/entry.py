"""An entry of the knowledge base, or a cause, as a page to read. Its conditions are for curators, in ``kb show``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from troubleshoot.engine.fixes import actions
from troubleshoot.engine.fixes.library import code_without_name, without_name
from troubleshoot.telling.document import Block, Code, Document, Point, Prose, Section, Step, filled
from troubleshoot.telling.words import Words

if TYPE_CHECKING:
    from troubleshoot.knowledge.schema import Affected, Cause, Condition, Entry, Fix, FixTranslation, Range, WeightedCause

_TAG_TONES = {"safe": "good", "unsafe": "warn", "manual": ""}
#: What a template leaves open, and alternatives of which the first is shown.
_HOLE = re.compile(r"\{\w+:\w+\}")
_EITHER = re.compile(r"\(([^()|]*)\|[^()]*\)")
#: Characters that are shown of a message.
_MOST_MESSAGE = 110
_STATUS_TONES = {"stable": "good", "testing": "warn", "draft": "warn", "withdrawn": "bad"}


def entry_document(entry: Entry, language: str, special_cases: tuple[str, ...] = ()) -> Document:
    """Return the page of a known issue. ``special_cases`` are the ids of the entries that refine it."""
    words = Words(language)
    chinese = entry.zh if words.language == "zh" else None
    explanation = words.flow(chinese.explanation if chinese else entry.explanation)
    what: list[Block] = []
    if words.language == "zh" and chinese is None:
        what.append(Prose(words("no-text"), "dim"))
    what.append(Prose(explanation))
    if entry.impact != "error":
        what.append(Prose(words(f"impact.{entry.impact}"), "warn"))
    translations = chinese.fixes if chinese else {}
    works = tuple(
        _fix(str(number), fix, words, translations.get(fix.id))
        for number, fix in enumerate((one for one in entry.fixes if one.expected == "works"), 1)
    )
    fails = tuple(_fix("x", fix, words, translations.get(fix.id)) for fix in entry.fixes if fix.expected == "fails")
    sections = filled(
        Section(words("What"), tuple(what)),
        Section(words("Recognised"), _recognised(entry, words)),
        Section(words("Versions"), tuple(Point(affected_text(one, words)) for one in entry.affected)),
        Section(words("Models"), (Prose(words.list([f"`{model}`" for model in entry.models])),) if entry.models else ()),
        Section(words("Causes"), tuple(_cause(one, entry, words) for one in entry.causes)),
        Section(words("Do"), works),
        Section(words("Dont"), fails),
        Section(
            words("Check"),
            (Prose(words("case", case=entry.verify.case)), Code(f"troubleshoot verify {entry.id}", "sh")) if entry.verify else (),
        ),
        Section(words("Claims"), tuple(Point(f"{claim.text} ({words('claim')}: {claim.url})") for claim in entry.claims)),
        Section(words("Related"), _related(entry, special_cases, words)),
        Section(words("References"), tuple(Point(f"{words(f'ref.{one.kind}')}: {one.url}") for one in entry.references)),
    )
    subtitle = [words(entry.kind), words(f"status.{entry.status}")]
    if entry.cause:
        subtitle.insert(1, f"{words('cause')} {entry.cause}")
    return Document(
        badge="",
        title=chinese.title if chinese else entry.title,
        name=entry.id,
        subtitle=" · ".join(subtitle),
        tone=_STATUS_TONES[entry.status],
        sections=sections,
        language=words.language,
    )


def cause_document(code: str, cause: Cause, language: str, issues: tuple[tuple[str, str], ...] = ()) -> Document:
    """Return the page of a cause: what it is, the general advice, and the known issues (id, title) that have it."""
    words = Words(language)
    fixes = tuple(_fix(str(number), fix, words, fix.zh if words.language == "zh" else None) for number, fix in enumerate(cause.fixes, 1))
    text = cause.explanation.zh if words.language == "zh" else cause.explanation.en
    sections = filled(
        Section(words("What"), (Prose(words.flow(text)),)),
        Section(words("Do"), ((Prose(words("general-advice"), "dim"), *fixes) if fixes else ())),
        Section(words("Issues"), tuple(Point(f"`{id_}`  {title}") for id_, title in issues)),
    )
    title = cause.title.zh if words.language == "zh" else cause.title.en
    return Document(
        badge="",
        title=title,
        name=code,
        subtitle=words("cause"),
        sections=sections,
        language=words.language,
    )


def _recognised(entry: Entry, words: Words) -> tuple[Block, ...]:
    blocks: list[Block] = []
    signature = entry.signature
    if signature.message:
        blocks.append(Prose("", lead=words("explain.message")))
        for one in signature.message:
            origin = words.list([part for part in (one.device or "", f"torch {one.torch}" if one.torch else "") if part])
            blocks.append(Point(f"`{printed(one.template)}`" + (f" ({origin})" if origin else "")))
    return tuple(blocks)


def printed(template: str) -> str:
    """Return the beginning of a message as it is printed, with an ellipsis for what differs from time to time.

    >>> printed("expected scalar type {wanted:dtype} but (found|got) {{{found:dtype}}}[, argument {n:int}]")
    'expected scalar type … but found {…}, argument …'
    """
    text = re.sub(r"\{\{|\}\}|\[\[|\]\]", lambda brace: chr(1 + "{}[]".index(brace[0][0])), template)
    text = re.sub(r"[\[\]]", "", _HOLE.sub("…", _EITHER.sub(r"\1", text)))
    text = " ".join(re.sub("[\1-\4]", lambda brace: "{}[]"[ord(brace[0]) - 1], text).split())
    return text if len(text) <= _MOST_MESSAGE else text[:_MOST_MESSAGE].rstrip() + "…"


def _cause(one: WeightedCause, entry: Entry, words: Words) -> Point:
    share = one.weight / (sum(other.weight for other in entry.causes) or 1)
    note = (one.zh if words.language == "zh" else None) or one.note or ""
    return Point(f"`{one.cause}` ({words('weight', percent=words.percent(share))})" + (f": {note}" if note else ""))


def _related(entry: Entry, special_cases: tuple[str, ...], words: Words) -> tuple[Block, ...]:
    blocks: list[Block] = []
    if entry.refines:
        blocks.append(Point(words("refines", names=words.list([f"`{name}`" for name in entry.refines]))))
    if special_cases:
        blocks.append(Point(words("refined-by", names=words.list([f"`{name}`" for name in special_cases]))))
    return tuple(blocks)


def _fix(mark: str, fix: Fix, words: Words, translation: FixTranslation | None) -> Step:
    body: list[Block] = [*action_blocks(fix.action, (translation.advice if translation else None))]
    reason = (translation.reason if translation else None) or fix.reason
    body.append(Prose(words.flow(without_name(reason, words.language))))
    body += [Prose(words("when", text=condition_text(condition, words)), "dim") for condition in fix.when]
    body += [Prose(words("unless", text=condition_text(condition, words)), "dim") for condition in fix.unless]
    if fix.causes:
        body.append(Prose(words.list([f"`{cause}`" for cause in fix.causes]), "dim", lead=words("cause")))
    tag, tone = (words("expected-fails"), "bad") if fix.expected == "fails" else (words(fix.applicability), _TAG_TONES[fix.applicability])
    title = without_name(translation.title if translation else fix.title, words.language)
    return Step(mark, title, f"{fix.kind}, {tag}", tone, tuple(body))


def action_blocks(action: dict[str, Any], advice: str | None = None) -> tuple[Block, ...]:
    """Return what an action of a fix looks like where no environment is known: the command, the Python line, the setting."""
    command = actions.command(action)
    if command is not None:
        return (Code(code_without_name(command), "sh"),)
    written = actions.code(action)
    if written is not None:
        return (Code(code_without_name(written), "" if "setting" in action else "python"),)
    text = advice or action.get("advice")
    return (Prose(" ".join(str(text).split())),) if text else ()


def affected_text(affected: Affected, words: Words) -> str:
    """Return the affected releases of a package in words, and on what basis that is said."""
    ranges = words.list([_range_text(affected.package, one, words) for one in affected.ranges])
    return f"{ranges} ({words(f'basis.{affected.basis}')})"


def _range_text(package: str, one: Range, words: Words) -> str:
    start = one.introduced if one.introduced not in (None, "0") else None
    if one.unknown_before is not None:
        if one.unknown_before == one.fixed:
            return words("range.unknown-before", text=words("range.before", package=package, fixed=one.fixed))
        start = one.unknown_before
    if start and one.fixed:
        text = words("range.between", package=package, introduced=start, fixed=one.fixed)
    elif start:
        text = words("range.since", package=package, introduced=start)
    elif one.fixed:
        text = words("range.before", package=package, fixed=one.fixed)
    else:
        text = words("range.every", package=package)
    return words("range.unknown-before", text=text) if one.unknown_before is not None else text


def condition_text(condition: Condition, words: Words) -> str:
    """Return a condition in words: ``package.apex is present``, ``one of: a frame in peft/; the text says lora|peft``."""
    for name in ("any", "all", "none"):
        parts = getattr(condition, name)
        if parts:
            separator = "；" if words.language == "zh" else "; "
            return words(f"cond.{name}", items=separator.join(condition_text(part, words) for part in parts))
    if condition.frame is not None or condition.function is not None or condition.code is not None:
        pieces = [words("cond.frame", value=f"`{condition.frame}`")] if condition.frame else []
        pieces += [words("cond.function", value=f"`{condition.function}`")] if condition.function else []
        pieces += [words("cond.code", value=f"`{condition.code}`")] if condition.code else []
        return words.list(pieces)
    if condition.text is not None:
        return words("cond.text", value=_values(condition.text, words))
    fact = f"`{condition.fact}`"
    for key, value in (
        ("is", condition.is_),
        ("not", condition.not_),
        ("contains", condition.contains),
        ("at-least", condition.at_least),
        ("below", condition.below),
        ("in", condition.in_),
    ):
        if value is not None:
            return words(f"cond.{key}", fact=fact, value=_values(value, words))
    return words("cond.known", fact=fact)


def _values(value: Any, words: Words) -> str:
    if isinstance(value, (list, tuple)):
        return words("cond.or").join(f"`{one}`" for one in value)
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"
