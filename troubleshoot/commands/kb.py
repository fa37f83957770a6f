"""``troubleshoot kb``: the knowledge base seen from outside, and the tools of those who write entries."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from troubleshoot.basics.errors import InputError
from troubleshoot.basics.json_text import json_text
from troubleshoot.commands import process
from troubleshoot.commands.diagnose import load

if TYPE_CHECKING:
    from troubleshoot.knowledge.experiments import Experiments
    from troubleshoot.knowledge.schema import Entry
    from troubleshoot.reader import Reader


def run_list(words: Sequence[str], *, format: str, language: str | None, kb: Sequence[str], output: str | None, color: str) -> int:
    """Print the entries whose id, title or cause hold all of ``words``. Return 1 where there is none."""
    format = process.check_format(format, ("text", "markdown", "json", "html"))
    colored = process.use_color(color, output) and format == "text"
    spoken = process.language(language)
    base = load(kb)
    lowered = [word.lower() for word in words]
    found = [entry for entry in map(base.entry, base.ids()) if all(word in _searched(entry) for word in lowered)]
    if format == "json":
        process.write(process.json_text([listed(entry) for entry in found]), output)
        return 0 if found else 1
    from troubleshoot.telling import render_documents
    from troubleshoot.telling.document import Document, Point, Section, Table
    from troubleshoot.telling.words import Words

    say = Words(spoken)
    if format == "text":
        from troubleshoot.telling.layout import paint

        lines = []
        for entry in found:
            title = entry.zh.title if spoken == "zh" and entry.zh else entry.title
            status = f"  ({say(f'status.{entry.status}')})" if entry.status != "stable" else ""
            lines += [paint(process.shown(entry.id), "bold", colored) + status, f"    {process.shown(title)}"]
        lines.append(say("kb.count", n=len(found)) if found else say("kb.none"))
        process.write("\n".join(lines) + "\n", output)
        return 0 if found else 1
    rows = tuple(
        (
            f"`{entry.id}`",
            entry.cause or say("family"),
            say(f"status.{entry.status}"),
            entry.zh.title if spoken == "zh" and entry.zh else entry.title,
        )
        for entry in found
    )
    head = (say("kb.column.id"), say("kb.column.cause"), say("kb.column.status"), say("kb.column.title"))
    body = (Table(head, rows),) if rows else (Point(say("kb.none")),)
    page = Document(
        badge="", title=say("Issues"), subtitle=say("kb.count", n=len(found)), sections=(Section(say("Issues"), body),), language=spoken
    )
    process.write(render_documents((page,), format), output)
    return 0 if found else 1


def _searched(entry: Entry) -> str:
    titles = (entry.title, entry.zh.title if entry.zh else "")
    return " ".join((entry.id, *titles, entry.cause or "", *(one.cause for one in entry.causes), *entry.models, entry.status)).lower()


def listed(entry: Entry) -> dict[str, Any]:
    """Return an entry as ``kb list --format json`` lists it; the field names are part of the contract."""
    return {
        "id": entry.id,
        "cause": entry.cause,
        "causes": [one.cause for one in entry.causes],
        "title": entry.title,
        "kind": entry.kind,
        "status": entry.status,
        "refines": list(entry.refines),
        "models": list(entry.models),
        "affected": [
            {
                "package": one.package,
                "ranges": [{"introduced": r.introduced, "fixed": r.fixed, "unknown-before": r.unknown_before} for r in one.ranges],
                "basis": one.basis,
            }
            for one in entry.affected
        ],
        "references": [one.url for one in entry.references],
        "case": entry.verify.case if entry.verify else None,
        "basis": entry.affected[0].basis if entry.affected else None,
    }


def run_show(issue: str, *, format: str, kb: Sequence[str], output: str | None) -> int:
    """Print an entry as YAML or JSON, as it stands after overlays."""
    process.check_format(format, ("yaml", "json"))
    import msgspec

    entry = load(kb).entry(issue.strip())
    if format == "json":
        process.write(process.json_text(msgspec.to_builtins(entry)), output)
        return 0
    import yaml

    text = yaml.safe_dump(msgspec.to_builtins(entry), allow_unicode=True, sort_keys=False, width=120)
    if process.shown(text) != text:
        text = yaml.safe_dump(msgspec.to_builtins(entry), sort_keys=False, width=120)
    process.write(text, output)
    return 0


#: One sign for each cell, so that all causes fit on a screen: always, and (smaller) as a rule.
_SIGNS = {"gone": ("●", "•"), "same": ("=", "-"), "other": ("#", "+")}


def run_experiments(cause: str | None, *, format: str, language: str | None, kb: Sequence[str], output: str | None) -> int:
    """Print the experiments with what each tells, and the predictions of all causes, or of one."""
    format = process.check_format(format, ("text", "markdown", "json", "html"))
    spoken = process.language(language)
    base = load(kb)
    from troubleshoot.knowledge.schema import NO_CAUSE

    told = base.experiments
    causes = [*base.causes.causes, NO_CAUSE]
    if cause is not None and cause not in causes:
        close = difflib.get_close_matches(cause, causes, n=1)
        raise InputError(f"no such cause: {cause}" + (f". Did you mean {close[0]}?" if close else ""))
    chosen = causes if cause is None else [cause]
    if format == "json":
        import msgspec

        data = {
            "experiments": msgspec.to_builtins(told.experiments),
            "predictions": {one: msgspec.to_builtins(told.predicted(one)) for one in chosen},
        }
        process.write(json_text(data, indent=2) + "\n", output)
        return 0
    rows = _experiment_rows(told, chosen, spoken)
    if format == "text":
        process.write("\n".join(_aligned(one) for one in rows), output)
        return 0
    from troubleshoot.telling import render_documents
    from troubleshoot.telling.document import Document, Section, Table

    sections = tuple(Section(head[0], (Table(tuple(head), tuple(map(tuple, body))),)) for head, *body in rows)
    page = Document(badge="", title="Experiments", subtitle=cause or "", sections=sections, language=spoken)
    process.write(render_documents((page,), format), output)
    return 0


def _experiment_rows(told: Experiments, causes: list[str], spoken: str) -> list[list[list[str]]]:
    """Return two tables, their headings first: the experiments, and what causes say of them."""
    about = [["experiment", "what it is", "what it tells", "cost", "how (script)"]]
    about += [
        [name, getattr(one.name, spoken), getattr(one.tells, spoken), one.cost, next(iter(one.how.values()))]
        for name, one in told.experiments.items()
    ]
    if len(causes) == 1:
        row = told.predicted(causes[0])
        says = [[causes[0], "predicted"]]
        says += [[name, ("" if one.always else "mostly ") + one.outcome] for name, one in row.items()]
        return [says, [about[0], *(line for line in about[1:] if line[0] in row)]]
    says = [["cause", *told.experiments]]
    for cause in causes:
        row = told.predicted(cause)
        says.append([cause, *(_SIGNS[row[name].outcome][not row[name].always] if name in row else "" for name in told.experiments)])
    return [about, says]


def _aligned(rows: list[list[str]]) -> str:
    """Return a table as text; columns that hold one sign are headed by their number."""
    if len(rows[0]) < 8:
        from troubleshoot.telling.layout import columns, pad

        widths = [max(map(columns, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(pad(cell, wide) for cell, wide in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join(lines) + "\n"
    first = max(len(row[0]) for row in rows)
    legend = "\n".join(f"  {number:>2} {name}" for number, name in enumerate(rows[0][1:], 1))
    head = f"{rows[0][0]:<{first}} " + "".join(f"{number:>3}" for number in range(1, len(rows[0])))
    body = [f"{row[0]:<{first}} " + "".join(f"{cell:>3}" for cell in row[1:]) for row in rows[1:]]
    signs = "● gone  • mostly gone  = same  - mostly same  # other  + mostly other"
    return "\n".join([signs, legend, "", head, *(line.rstrip() for line in body)]) + "\n"


def run_lint(*, format: str, kb: Sequence[str], innocent: str | None, output: str | None) -> int:
    """Check the shipped entries, or those in ``kb`` on top of them. Return 1 where there are problems."""
    process.check_format(format, ("text", "json"))
    from troubleshoot.curation import lint

    problems = lint([_folder(one) for one in kb], innocent=_folder(innocent) if innocent else None)
    if format == "json":
        process.write(process.json_text([str(one) for one in problems]), output)
    else:
        process.write(process.shown("".join(f"{one}\n" for one in problems)) + f"{_problems(len(problems))}\n", output)
    return 1 if problems else 0


def _problems(count: int) -> str:
    return "no problem" if count == 0 else "1 problem" if count == 1 else f"{count} problems"


def run_score(folder: str, *, format: str, kb: Sequence[str], output: str | None, reader: Reader | None = None) -> int:
    """Diagnose the labelled reports of a folder and print how good the diagnoses are."""
    process.check_format(format, ("text", "json"))
    from troubleshoot.curation import score

    result = score(_reports(folder), kb=load(kb) if kb else None, reader=reader)
    if format == "json":
        process.write(json_text(result, indent=2) + "\n", output)
        return 0
    lines = []
    for name, value in result.items():
        if isinstance(value, float):
            lines.append(f"{name:<16} {value:.3f}")
        elif isinstance(value, (int, str)):
            lines.append(f"{name:<16} {value}")
    process.write("\n".join(lines) + "\n", output)
    return 0


def run_schema(*, output: str | None) -> int:
    """Print the JSON Schema of an entry, and of a file that extends one."""
    process.write(json_text(json_schema(), indent=2) + "\n", output)
    return 0


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a file of the knowledge base: an entry, or with ``extends`` an extension of one."""
    import inspect

    import msgspec

    from troubleshoot.knowledge.schema import Entry, Extension

    (entry, extension), definitions = msgspec.json.schema_components([Entry, Extension], ref_template="#/$defs/{name}")
    for definition in definitions.values():
        # Python 3.13 takes the indentation out of a docstring and the ones before it keep it: the file must not differ.
        if "description" in definition:
            definition["description"] = inspect.cleandoc(definition["description"])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "An entry of troubleshoot's knowledge base",
        "if": {"required": ["extends"]},
        "then": extension,
        "else": entry,
        "$defs": definitions,
    }


def _reports(name: str) -> Path:
    path = Path(name)
    if not path.exists():
        raise InputError(f"{name}: no such file or folder")
    return path


def _folder(name: str) -> Path:
    path = Path(name)
    if not path.is_dir():
        raise InputError(f"{name}: no such folder")
    return path
