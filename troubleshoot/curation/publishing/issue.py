"""The page of a known issue."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from troubleshoot.curation.publishing.catalogue import Catalogue, entry_page
from troubleshoot.curation.publishing.fixes import fix_section
from troubleshoot.curation.publishing.markup import chip, code, escape, fence, front_matter, indented, link, page_link, points, prose, table
from troubleshoot.telling.entry import affected_text, printed
from troubleshoot.telling.words import Words

if TYPE_CHECKING:
    from troubleshoot.knowledge.schema import Entry, MessageTemplate

_IMPACTS = {"error": "", "wrong-result": "warn", "slow": "", "harmless": "good"}
#: Wordings that are shown at once; the rest is folded.
_MESSAGES = 4
_DESCRIPTION = 300


def issue_page(entry: Entry, catalogue: Catalogue) -> str:
    """Return the page of an entry as Markdown."""
    say, page = catalogue.say, entry_page(entry.id)
    chinese = entry.zh if say.language == "zh" else None
    explanation = chinese.explanation if chinese else entry.explanation
    sections = (
        (say("recognised"), "recognised", _recognised(entry, catalogue)),
        (say("why"), "why", _why(entry, explanation, catalogue, page)),
        (say("affected"), "affected", _affected(entry, catalogue)),
        (say("fixes"), "fixes", _fixes(entry, catalogue, page)),
        (say("dont"), "dont", _dont(entry, catalogue, page)),
        (say("seen"), "seen", _seen(entry, catalogue)),
        (say("verify"), "verify", _verify(entry, catalogue)),
        (say("claims"), "claims", points(f"{prose(one.text)} ({link(one.url, one.url)})" for one in entry.claims)),
        (say("related"), "related", _related(entry, catalogue, page)),
        (
            say("references"),
            "references",
            points(f"{escape(say(f'ref.{one.kind}'))}: {link(one.url, one.url)}" for one in entry.references),
        ),
    )
    title = catalogue.title(entry)
    head = front_matter(title=title, description=" ".join(re.sub("`", "", explanation).split())[:_DESCRIPTION], hide=["navigation"])
    parts = [head, _crumbs(entry, catalogue, page), f"# {escape(title)}", _chips(entry, catalogue, page), *_status(entry, catalogue)]
    parts += [f"## {heading} {{ #{anchor} }}\n\n{body}" for heading, anchor, body in sections if body]
    return "\n\n".join(parts) + "\n"


def _crumbs(entry: Entry, catalogue: Catalogue, page: str) -> str:
    say = catalogue.say
    causes = [entry.cause] if entry.cause else []
    parts = [
        page_link(page, "issues/index.md", escape(say("issues"))),
        *(catalogue.cause_link(page, cause) for cause in causes),
        code(entry.id),
    ]
    return f'<div class="ts-crumbs" markdown>{" / ".join(parts)}</div>'


def _chips(entry: Entry, catalogue: Catalogue, page: str) -> str:
    say = catalogue.say
    chips = [chip(say(f"impact.{entry.impact}"), _IMPACTS[entry.impact])]
    chips += [chip(say("general"))] if entry.kind == "family" else []
    chips += [chip(say(f"status.{entry.status}"), "warn")] if entry.status != "stable" else []
    chips += [chip(say("chip.verified"), "good")] if catalogue.records.reproduced(entry) else []
    measured = any(one.basis == "measured" and catalogue.records.bears_out(entry, one) for one in entry.affected)
    chips += [chip(say("chip.measured"), "good")] if measured else []
    return " ".join(chips)


def _status(entry: Entry, catalogue: Catalogue) -> list[str]:
    if entry.status == "stable":
        return []
    return [f'!!! note ""\n\n{indented(escape(catalogue.say(entry.status)))}']


def _why(entry: Entry, explanation: str, catalogue: Catalogue, page: str) -> str:
    say = catalogue.say
    parts = [prose(say.flow(explanation))]
    if say.language == "zh" and entry.zh is None:
        parts.insert(0, escape(say("no-text")))
    if entry.impact != "error":
        parts.append(f"*{escape(Words(say.language)(f'impact.{entry.impact}'))}*")
    if entry.kind == "family":
        total = sum(one.weight for one in entry.causes) or 1
        rows = [
            (
                catalogue.cause_link(page, one.cause),
                escape(say.percent(one.weight / total)),
                prose((one.zh if say.language == "zh" else None) or one.note or ""),
            )
            for one in sorted(entry.causes, key=lambda one: -one.weight)
        ]
        parts += [escape(say("family.causes")), table((say("col.cause"), say("col.share"), say("col.means")), rows)]
    return "\n\n".join(parts)


def _recognised(entry: Entry, catalogue: Catalogue) -> str:
    say, signature = catalogue.say, entry.signature
    messages = list(dict.fromkeys(_message(one, catalogue) for one in signature.message))
    if not messages:
        return escape(say("recognised.told"))
    parts = [escape(say("recognised.lead")), points(messages[:_MESSAGES])]
    rest = messages[_MESSAGES:]
    if rest:
        parts.append(f'??? quote "{say("messages.more", n=len(rest))}"\n\n{indented(points(rest))}')
    if signature.exception:
        parts.append(say("raised-as", names=say.list([code(one) for one in signature.exception])))
    return "\n\n".join(parts)


def _message(one: MessageTemplate, catalogue: Catalogue) -> str:
    say = catalogue.say
    origin = [say("origin.device", value=one.device)] if one.device else []
    origin += [say("origin.torch", value=one.torch)] if one.torch else []
    return code(printed(one.template)) + (
        escape(say.paren(say.list(origin))) if origin and say.language == "zh" else f" ({escape(', '.join(origin))})" if origin else ""
    )


def _affected(entry: Entry, catalogue: Catalogue) -> str:
    say = catalogue.say
    items = [escape(affected_text(one, say)) for one in entry.affected] or [escape(say("affected.none"))]
    if entry.models:
        colon = "：" if say.language == "zh" else ": "
        items.append(f"{escape(say('Models'))}{colon}{say.list([code(one) for one in entry.models])}")
    return points(items)


def _translations(entry: Entry, catalogue: Catalogue) -> Mapping[str, Any]:
    if catalogue.language != "zh":
        return {}
    return {**{fix.id: fix.zh for fix in entry.fixes if fix.zh}, **(entry.zh.fixes if entry.zh else {})}


def _shown_runs(entry: Entry, catalogue: Catalogue) -> list[Mapping[str, Any]]:
    """Return the runs in which the issue was seen, by any of its cases."""
    return [run for run in catalogue.records.runs.get(entry.id, ()) if run["before"]["outcome"] == "reproduced"]


def _fixes(entry: Entry, catalogue: Catalogue, page: str) -> str:
    say, translations = catalogue.say, _translations(entry, catalogue)
    runs = _shown_runs(entry, catalogue)
    working = [fix for fix in entry.fixes if fix.expected == "works"]
    parts = [
        fix_section(fix, catalogue, page, translation=translations.get(fix.id), runs=runs, number=number)
        for number, fix in enumerate(working, 1)
    ]
    if not working and entry.cause:
        parts.append(f"{escape(say('fixes.general'))} {catalogue.cause_link(page, entry.cause)}")
    elif entry.kind == "family":
        parts.append(escape(say("fixes.family")))
    return "\n\n".join(parts)


def _dont(entry: Entry, catalogue: Catalogue, page: str) -> str:
    translations, runs = _translations(entry, catalogue), _shown_runs(entry, catalogue)
    failing = (fix for fix in entry.fixes if fix.expected == "fails")
    return "\n\n".join(fix_section(fix, catalogue, page, translation=translations.get(fix.id), runs=runs) for fix in failing)


def _seen(entry: Entry, catalogue: Catalogue) -> str:
    say = catalogue.say
    runs = catalogue.records.runs.get(entry.id, ())
    counts = [(name, sum(one.provenance == name for one in entry.examples.positive)) for name in ("reproduced", "constructed", "reported")]
    listed = say.list([say(f"example.{name}", n=count) for name, count in counts if count])
    examples = [escape(say("seen.examples", items=listed))] if listed else []
    if not runs:
        return "\n\n".join([escape(say("seen.none")), *examples])
    head = (say("col.device"), say("col.versions"), say("col.case"), say("col.dtype"), say("col.before"), say("col.fixes"), say("col.date"))
    rows = [_run(run, catalogue) for run in runs]
    return "\n\n".join([escape(say("seen.lead")), table(head, rows), *examples])


def _run(run: Mapping[str, Any], catalogue: Catalogue) -> tuple[str, ...]:
    say = catalogue.say
    device = " ".join(filter(None, (run["device"], run.get("capability"), run.get("device_name"))))
    versions = ", ".join(f"{name} {version}" for name, version in sorted(run["versions"].items()))
    before = run["before"]["outcome"]
    counts = Counter(one["outcome"] for one in run["fixes"] if one["outcome"] != "skipped")
    outcomes = say.list([f"{count} {say(f'seen.{outcome}')}" for outcome, count in sorted(counts.items(), reverse=True)])
    shown = say(f"before.{before}") if say.knows(f"before.{before}") else before
    return escape(device), escape(versions), code(run["case"]), escape(run["dtype"] or ""), escape(shown), outcomes, escape(run["date"])


def _verify(entry: Entry, catalogue: Catalogue) -> str:
    say = catalogue.say
    parts = [escape(say("diagnose.lead")), fence("troubleshoot diagnose error.txt", "sh")]
    if entry.verify is None:
        return "\n\n".join([*parts, escape(say("verify.none"))])
    command = f"troubleshoot verify {entry.id}" + (" --isolated" if entry.verify.install else "")
    return "\n\n".join([*parts, say("verify.lead", case=code(entry.verify.case)), fence(command, "sh")])


def _related(entry: Entry, catalogue: Catalogue, page: str) -> str:
    return points(_relations(entry, catalogue, page))


def _relations(entry: Entry, catalogue: Catalogue, page: str) -> Iterator[str]:
    say = catalogue.say
    for key, ids in (("related.refines", entry.refines), ("related.refined", catalogue.special_cases.get(entry.id, ()))):
        if ids:
            yield say(key, names=say.list([catalogue.entry_link(page, one) for one in ids]))
