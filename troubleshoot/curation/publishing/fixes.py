"""Fixes on a page: what to do, why it helps, what it costs, when it applies, and what was seen of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from troubleshoot.curation.publishing.markup import chip, escape, fence, points, prose
from troubleshoot.engine.fixes import actions
from troubleshoot.engine.fixes.library import code_without_name, without_name
from troubleshoot.telling.entry import condition_text

if TYPE_CHECKING:
    from troubleshoot.curation.publishing.catalogue import Catalogue
    from troubleshoot.knowledge.schema import Fix, FixTranslation

_TONES = {"safe": "good", "unsafe": "warn", "manual": ""}


def fix_section(
    fix: Fix,
    catalogue: Catalogue,
    page: str,
    *,
    translation: FixTranslation | None = None,
    runs: Iterable[Mapping[str, Any]] | None = None,
    number: int | None = None,
) -> str:
    """Return a fix as a section of level 3.

    ``runs`` are those in which the issue was reproduced (None for general advice, which belongs to no issue); ``number`` is its place in
    the order.
    """
    say = catalogue.say
    title = without_name(translation.title if translation else fix.title, say.language)
    lead = f"{number}. " if number is not None else ""
    tone, tag = ("bad", say("expected-fails")) if fix.expected == "fails" else (_TONES[fix.applicability], say(fix.applicability))
    parts = [f"### {lead}{prose(title)} {{ #{fix.id} }}", f"{chip(fix.kind)} {chip(tag, tone)}"]
    command, written = actions.command(fix.action), actions.code(fix.action)
    if command is not None:
        parts.append(fence(code_without_name(command), "sh"))
    elif written is not None:
        parts.append(fence(code_without_name(written), "text" if "setting" in fix.action else "python"))
    else:
        advice = (translation.advice if translation else None) or str(fix.action.get("advice", ""))
        parts.append(prose(without_name(advice, say.language)))
    parts.append(prose(without_name((translation.reason if translation else None) or fix.reason, say.language)))
    parts.append(points(_particulars(fix, catalogue, page, None if runs is None else list(runs))))
    return "\n\n".join(part for part in parts if part)


def _particulars(fix: Fix, catalogue: Catalogue, page: str, runs: list[Mapping[str, Any]] | None) -> Iterator[str]:
    say = catalogue.say
    colon = "：" if say.language == "zh" else ": "
    seen = [one for run in runs or () for one in run["fixes"] if one["id"] == fix.id and one["outcome"] != "skipped"]
    if fix.expected == "works":
        yield f"**{say('price')}**{colon}{_price(fix, seen, catalogue)}"
    for key, conditions in (("only-when", fix.when), ("not-when", fix.unless), ("later-when", fix.later)):
        for condition in conditions:
            yield f"**{say(key)}**{colon}{prose(condition_text(condition, say))}"
    if fix.causes:
        yield f"**{say('for-causes')}**{colon}{say.list([catalogue.cause_link(page, cause) for cause in fix.causes])}"
    if runs is not None:
        yield f"**{say('seen.fix')}**{colon}{_seen(fix, runs, catalogue)}"


def _price(fix: Fix, seen: list[Mapping[str, Any]], catalogue: Catalogue) -> str:
    say = catalogue.say
    parts = [say("price.use-fp32") if fix.kind == "use-fp32" else say(f"price.{fix.applicability}")]
    measured = sorted({one["weights_bytes_per_parameter"] for one in seen if one.get("weights_bytes_per_parameter")})
    parts += [say("price.bytes", n=f"{one:g}") for one in measured]
    return escape("；".join(parts) if say.language == "zh" else "; ".join(parts))


def _seen(fix: Fix, runs: list[Mapping[str, Any]], catalogue: Catalogue) -> str:
    """Return how the fix ended, with the devices: ``works (cpu, 4 runs)``."""
    say = catalogue.say
    counts: dict[tuple[str, str], int] = {}
    for run in runs:
        for one in run["fixes"]:
            if one["id"] == fix.id and one["outcome"] != "skipped":
                place = " ".join(filter(None, (run["device"], run.get("capability"))))
                counts[one["outcome"], place] = counts.get((one["outcome"], place), 0) + 1
    if not counts:
        return escape(say("seen.no"))
    return say.list([f"{say(f'seen.{outcome}')} ({escape(place)}{f' × {n}' if n > 1 else ''})" for (outcome, place), n in counts.items()])
