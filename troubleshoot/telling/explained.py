"""An issue, a cause or a kind of problem on one screen: what it looks like, why, what to do, what does not help, where it was seen.

Conditions, templates and weights are for curators: ``kb show`` has them. The other formats hold everything (:mod:`.entry`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from troubleshoot.engine.fixes import actions
from troubleshoot.engine.fixes.library import code_without_name, without_name
from troubleshoot.telling.code_lines import folded
from troubleshoot.telling.content import run_values, shorten
from troubleshoot.telling.document import Block, Code, Document, Point, Prose, Section, Step
from troubleshoot.telling.entry import affected_text, printed
from troubleshoot.telling.layout import columns
from troubleshoot.telling.text import to_text
from troubleshoot.telling.words import Words

if TYPE_CHECKING:
    from troubleshoot.engine.result import SeenRun
    from troubleshoot.knowledge.schema import Cause, Entry, Fix, FixTranslation, OutOfScope

#: Lines of a page: a terminal of 24 rows shows it with the prompt below.
MOST_LINES = 23
#: How much there is at most of each part.
_MESSAGES, _FIXES, _DONTS, _SOURCES, _MODELS, _LISTED = 3, 4, 3, 2, 3, 12
#: Characters of an explanation, the least first.
_LENGTHS = (1, 240, 420)
#: Lines of code that are still read at a glance, and the columns that stand before code.
_CODE_LINES, _BEFORE_CODE = 4, 18


class Part(msgspec.Struct, frozen=True):
    """One block of a section: ``rank`` orders parts by what says most, ``forms`` are the same in less and in more words."""

    section: str
    rank: int
    forms: tuple[Block, ...]


def one_screen(head: Document, parts: Sequence[Part], *, color: bool = False, width: int = 80) -> str:
    """Return a page as text that a terminal shows at once: what says most, in few words, then more of it as far as there is room."""
    chosen: dict[int, int] = {}

    def text(color: bool = False) -> str:
        drawn = to_text((msgspec.structs.replace(head, sections=_sections(parts, chosen)),), color=color, width=width)
        first, _, rest = drawn.partition("\n\n")
        # No blank line between sections: their titles stand beside them.
        return first + "\n\n" + "".join(line for line in rest.splitlines(keepends=True) if line.strip())

    # A part in more words matters as much as one that is two ranks below.
    wanted = [(part.rank + 2 * form, at, form) for at, part in enumerate(parts) for form in range(len(part.forms))]
    for _, at, form in sorted(wanted):
        if form == 0 or at in chosen:
            before = dict(chosen)
            chosen[at] = form
            if sum(max(1, -(-columns(line) // width)) for line in text().splitlines()) > MOST_LINES:
                chosen = before
    return text(color)


def whole(head: Document, parts: Sequence[Part]) -> Document:
    """Return the page with all that there is."""
    return msgspec.structs.replace(head, sections=_sections(parts, {at: len(part.forms) - 1 for at, part in enumerate(parts)}))


def _sections(parts: Sequence[Part], chosen: Mapping[int, int]) -> tuple[Section, ...]:
    found: dict[str, list[Block]] = {}
    for at in sorted(chosen):
        found.setdefault(parts[at].section, []).append(parts[at].forms[chosen[at]])
    return tuple(Section(title, tuple(blocks)) for title, blocks in found.items())


def of_issue(
    entry: Entry, language: str, seen: Callable[[str], tuple[SeenRun, ...]], width: int = 80
) -> tuple[Document, tuple[Part, ...]]:
    """Return the page of a known issue; ``seen`` has the recorded runs of a fix."""
    words = Words(language)
    chinese = entry.zh if words.language == "zh" else None
    translations: Mapping[str, FixTranslation] = chinese.fixes if chinese else {}
    works = [one for one in entry.fixes if one.expected == "works"]
    if entry.kind == "family":
        # What fits most reports comes first: without a condition, and for the likeliest causes.
        weights = {one.cause: one.weight for one in entry.causes}
        every = max(weights.values(), default=0)
        works.sort(key=lambda fix: (bool(fix.when), -max((weights.get(one, 0) for one in fix.causes), default=every)))
    fails = [one for one in entry.fixes if one.expected == "fails"]
    looks, where, told = words("explain.looks"), words("explain.where"), words("Seen")
    parts = [Part(looks, 2 * at, (Point(f"`{printed(one.template)}`"),)) for at, one in enumerate(entry.signature.message[:_MESSAGES])]
    if entry.impact != "error":
        parts.append(Part(looks, 1, (Prose(words(f"impact.{entry.impact}"), "warn"),)))
    parts += [Part(where, 2, (Point(affected_text(one, words)),)) for one in entry.affected]
    if entry.models:
        models = words.list([f"`{model}`" for model in entry.models[:_MODELS]])
        parts.append(Part(where, 4, (Point(models + (" …" if len(entry.models) > _MODELS else "")),)))
    parts.append(_why(words.flow(chinese.explanation if chinese else entry.explanation), words))
    parts += _steps(works[:_FIXES], words, translations, width)
    parts += _donts(fails[:_DONTS], words, translations)
    run = next((run for fix in works for run in seen(fix.id) if run.outcome == "works"), None)
    if run is not None:
        parts.append(Part(told, 3, (Point(words("explain.run", **run_values(run, words))),)))
    parts += [Part(told, 4 + at, (Point(f"{words(f'ref.{one.kind}')}: {one.url}"),)) for at, one in enumerate(entry.references[:_SOURCES])]
    parts.append(_more(entry.id, words))
    name = f"{words('cause')} {entry.cause}" if entry.cause else words(entry.kind)
    return Document("", chinese.title if chinese else entry.title, entry.id, name, language=words.language), tuple(parts)


def of_cause(
    code: str, cause: Cause, language: str, issues: Sequence[tuple[str, str]], width: int = 80
) -> tuple[Document, tuple[Part, ...]]:
    """Return the page of a cause, with some of the ``issues`` (id, title) that have it."""
    words = Words(language)
    chinese = words.language == "zh"
    translations = {fix.id: fix.zh for fix in cause.fixes if fix.zh} if chinese else {}
    parts = [_why(words.flow(cause.explanation.zh if chinese else cause.explanation.en), words)]
    parts += _steps(cause.fixes[:_FIXES], words, translations, width)
    parts += _listed(words("Issues"), issues, words)
    parts.append(_more(code, words))
    return Document("", cause.title.zh if chinese else cause.title.en, code, words("cause"), language=words.language), tuple(parts)


def of_group(name: str, language: str, causes: Sequence[tuple[str, str]]) -> tuple[Document, tuple[Part, ...]]:
    """Return the page of a group of causes: each with its title."""
    words = Words(language)
    parts = tuple(_listed(words("explain.causes"), causes, words, most=len(causes)))
    return Document("", name, "", words("explain.group"), language=words.language), parts


def of_outside(name: str, groups: Sequence[OutOfScope], language: str) -> tuple[Document, tuple[Part, ...]]:
    """Return the page of kinds of problems that are none of precision: what each is, how it looks, and the first step."""
    words = Words(language)
    parts: list[Part] = []
    for group in groups:
        title, step = (
            (one.zh if words.language == "zh" else one.en) if one is not None else "" for one in (group.title, group.next)
        )
        shown = [Point(f"`{printed(one)}`") for one in group.message[:_MESSAGES]]
        told = (Prose(step, lead=words("explain.next")),) if step else ()
        forms = tuple(Step("*", title, body=(*shown[:count], *told)) for count in range(len(shown) + 1))
        parts.append(Part(words("explain.looks"), 0, forms))
    return Document("", name, "", words("explain.kind"), language=words.language), tuple(parts)


def _why(text: str, words: Words) -> Part:
    return Part(words("explain.why"), 1, tuple(map(Prose, dict.fromkeys(shorten(text, length) for length in _LENGTHS))))


def _more(name: str, words: Words) -> Part:
    return Part(words("explain.more"), 1, (Prose(f"`troubleshoot explain {name} -f markdown`", "dim"),))


def _steps(fixes: Sequence[Fix], words: Words, translations: Mapping[str, FixTranslation], width: int) -> Iterator[Part]:
    for number, fix in enumerate(fixes, 1):
        translation = translations.get(fix.id)
        title = without_name(translation.title if translation else fix.title, words.language)
        reason = words.flow(without_name((translation.reason if translation else None) or fix.reason, words.language))
        command = actions.command(fix.action)
        written = command or actions.code(fix.action) or ""
        language = "sh" if command else "" if "setting" in fix.action else "python"
        lines = folded(code_without_name(written), language, width - _BEFORE_CODE) if written else []
        code = (Code("\n".join(lines), language),) if 0 < len(lines) <= _CODE_LINES else ()
        bodies: list[tuple[Block, ...]] = [(), code, (*code, Prose(shorten(reason, 1), "dim"))] if reason else [(), code]
        forms = tuple(Step(str(number), title, body=body) for body in dict.fromkeys(bodies))
        yield Part(words("Do"), number - 1 if number < 3 else number + 1, forms)


def _donts(fixes: Sequence[Fix], words: Words, translations: Mapping[str, FixTranslation]) -> Iterator[Part]:
    for at, fix in enumerate(fixes):
        translation = translations.get(fix.id)
        reason = words.flow(without_name((translation.reason if translation else None) or fix.reason, words.language))
        title = without_name(translation.title if translation else fix.title, words.language)
        bodies: list[tuple[Block, ...]] = [(), (Prose(shorten(reason, 1)),)] if reason else [()]
        yield Part(words("Dont"), 2 + 2 * at, tuple(Step("x", title, tone="bad", body=body) for body in bodies))


def _listed(section: str, items: Sequence[tuple[str, str]], words: Words, most: int = _LISTED) -> Iterator[Part]:
    for at, (name, title) in enumerate(items[:most]):
        yield Part(section, 4 + at, (Point(f"`{name}`  {title}"),))
    if len(items) > most:
        yield Part(section, 2, (Point(words("explain.others", n=len(items) - most)),))
