"""The list of known issues with its filters, and the pages of causes with their family trees."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from troubleshoot.curation.publishing.catalogue import Catalogue, cause_page, entry_page
from troubleshoot.curation.publishing.fixes import fix_section
from troubleshoot.curation.publishing.markup import chip, code, escape, front_matter, page_link, prose

if TYPE_CHECKING:
    from troubleshoot.knowledge.schema import Entry

ISSUES, CAUSES = "issues/index.md", "causes/index.md"


def issues_index(catalogue: Catalogue) -> str:
    """Return the list of all entries; it is complete without scripts, which only hide rows."""
    say = catalogue.say
    entries = [entry for entry in catalogue.entries.values() if entry.status != "withdrawn"]
    groups = list(dict.fromkeys(cause.partition("/")[0] for cause in catalogue.base.causes.causes))
    packages = sorted({entry.id.partition("/")[0] for entry in entries})
    impacts = [name for name in ("error", "wrong-result", "slow", "harmless") if any(entry.impact == name for entry in entries)]
    words = html.escape(say("list.filter"))
    form = "".join(
        [
            f'<input type="search" name="words" placeholder="{words}" aria-label="{words}">',
            _select("cause", say("list.any-cause"), [(one, catalogue.group_title(one)) for one in groups]),
            _select("package", say("list.any-package"), [(one, one) for one in packages]),
            _select("impact", say("list.any-impact"), [(one, say(f"impact.{one}")) for one in impacts]),
            f'<label><input type="checkbox" name="verified"> {html.escape(say("list.verified"))}</label>',
            f"<output>{say('list.count', n=f'<b>{len(entries)}</b>')}</output>",
        ]
    )
    rows = "\n".join(_row(entry, catalogue) for entry in entries)
    parts = [
        front_matter(title=say("list.title"), hide=["toc"]),
        f"# {escape(say('list.title'))}",
        escape(say("list.lead", n=len(entries))),
        f'<form class="ts-filter" hidden>{form}</form>',
        f'<div class="ts-list" markdown>\n\n{rows}\n\n</div>',
        f'<p class="ts-nothing" hidden>{html.escape(say("list.nothing"))}</p>',
    ]
    return "\n\n".join(parts) + "\n"


def _select(name: str, every: str, options: list[tuple[str, str]]) -> str:
    listed = "".join(f'<option value="{html.escape(value)}">{html.escape(text)}</option>' for value, text in options)
    return f'<select name="{name}" aria-label="{html.escape(every)}"><option value="">{html.escape(every)}</option>{listed}</select>'


def _row(entry: Entry, catalogue: Catalogue) -> str:
    say = catalogue.say
    causes = [entry.cause] if entry.cause else [one.cause for one in entry.causes]
    groups = " ".join(dict.fromkeys(cause.partition("/")[0] for cause in causes))
    verified = bool(catalogue.records.reproduced(entry))
    searched = " ".join((entry.id, catalogue.title(entry), *causes, *entry.models, entry.title)).lower()
    chips = [chip(say(f"impact.{entry.impact}"), "warn" if entry.impact == "wrong-result" else "")]
    chips += [chip(say("general"))] if entry.kind == "family" else []
    chips += [chip(say("chip.verified"), "good")] if verified else []
    data = {
        "cause": groups,
        "package": entry.id.partition("/")[0],
        "impact": entry.impact,
        "verified": "1" if verified else "",
        "words": searched,
    }
    attributes = " ".join(f'data-{name}="{html.escape(value)}"' for name, value in data.items())
    title = page_link(ISSUES, entry_page(entry.id), escape(catalogue.title(entry)))
    below = f"{code(entry.id)} {' '.join(chips)}"
    return f'<div class="ts-row" {attributes} markdown>\n{title}<br>{below}\n</div>'


def causes_index(catalogue: Catalogue) -> str:
    """Return the list of causes by group, with how many entries each has."""
    say = catalogue.say
    parts = [
        front_matter(title=say("causes.title")),
        f"# {escape(say('causes.title'))}",
        escape(say("causes.lead", n=len(catalogue.base.causes.causes))),
    ]
    last = None
    for cause in catalogue.base.causes.causes:
        group = cause.partition("/")[0]
        if group != last:
            parts.append(f"\n## {escape(catalogue.group_title(group))} {{ #{group} }}\n")
            last = group
        count = len(catalogue.by_cause[cause])
        entries = say("entries.one") if count == 1 else say("entries.many", n=count)
        parts.append(f"- {catalogue.cause_link(CAUSES, cause)} {code(cause)} · {entries}")
    return "\n".join(f"{part}\n" if not part.startswith("- ") else part for part in parts) + "\n"


def cause_overview(cause: str, catalogue: Catalogue) -> str:
    """Return the page of a cause: what it is, the tree of its entries, and the general advice."""
    say, page = catalogue.say, cause_page(cause)
    known = catalogue.base.causes.causes[cause]
    chinese = say.language == "zh"
    text = known.explanation.zh if chinese else known.explanation.en
    title = catalogue.cause_title(cause)
    entries = {entry.id: entry for entry in catalogue.by_cause[cause]}
    tree = _tree(entries, catalogue, page) if entries else escape(say("cause.none"))
    lead = page_link(page, CAUSES, escape(say("causes")))
    parts = [
        front_matter(title=title, description=" ".join(text.split()), hide=["navigation"]),
        f'<div class="ts-crumbs" markdown>{lead} / {escape(catalogue.group_title(cause.partition("/")[0]))} / {code(cause)}</div>',
        f"# {escape(title)}",
        prose(say.flow(text)),
        f"## {escape(say('cause.tree'))} {{ #issues }}",
        escape(say("cause.tree.lead")) if entries else "",
        tree,
    ]
    if known.fixes:
        parts += [f"## {escape(say('cause.advice'))} {{ #advice }}", escape(say("cause.advice.lead"))]
        parts += [
            fix_section(fix, catalogue, page, translation=fix.zh if chinese else None, number=number)
            for number, fix in enumerate(known.fixes, 1)
        ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _tree(entries: dict[str, Entry], catalogue: Catalogue, page: str) -> str:
    """Return the entries as a nested list: under each what refines it; an entry with several parents stands under each."""
    lines: list[str] = []

    def put(entry: Entry, depth: int, above: frozenset[str]) -> None:
        kind = f" {chip(catalogue.say('general'))}" if entry.kind == "family" else ""
        lines.append(f"{'    ' * depth}- {catalogue.entry_link(page, entry.id)} {code(entry.id)}{kind}")
        for child in catalogue.special_cases.get(entry.id, ()):
            if child in entries and child not in above:
                put(entries[child], depth + 1, above | {child})

    for entry in entries.values():
        if not any(parent in entries for parent in entry.refines):
            put(entry, 0, frozenset({entry.id}))
    return "\n".join(lines)
