"""``troubleshoot kb``: look into the knowledge base, check it and add to it."""

from __future__ import annotations

from typing import Annotated

import typer

from troubleshoot.commands.options import HELP_NAMES, Color, Format, Language, Output, Overlays, complete_issue, examples
from troubleshoot.commands.plain import PlainCommand, PlainGroup

kb_app = typer.Typer(
    cls=PlainGroup,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=HELP_NAMES,
    help="Look into the knowledge base, check it and add to it.",
    epilog=examples(
        "troubleshoot kb list torch",
        "troubleshoot kb lint --kb my-kb",
        "troubleshoot kb new torch/my-slug --kb my-kb",
    ),
)


@kb_app.command(
    "list",
    cls=PlainCommand,
    epilog=examples(
        "troubleshoot kb list",
        "troubleshoot kb list bfloat16",
        "troubleshoot kb list --format json",
    ),
)
def kb_list(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[WORD]...", help="Only entries whose id, title or cause contain all of these.")
    ] = None,
    format: Format = "text",
    lang: Language = None,
    kb: Overlays = None,
    output: Output = None,
    color: Color = "auto",
) -> int:
    """List the known issues."""
    from troubleshoot.commands.kb import run_list

    return run_list(tuple(words or ()), format=format, language=lang, kb=kb or (), output=output, color=color)


@kb_app.command(
    "show",
    cls=PlainCommand,
    epilog=examples(
        "troubleshoot kb show torch/linear-dtype",
        "troubleshoot kb show torch/linear-dtype --format json",
    ),
)
def kb_show(
    issue: Annotated[str, typer.Argument(metavar="ID", help="The id of an entry.", autocompletion=complete_issue)],
    format: Annotated[str, typer.Option("--format", "-f", metavar="yaml|json", help="The form of the output.")] = "yaml",
    kb: Overlays = None,
    output: Output = None,
) -> int:
    """Print an entry as data, overlays included. For a page to read: troubleshoot explain ID."""
    from troubleshoot.commands.kb import run_show

    return run_show(issue, format=format, kb=kb or (), output=output)


@kb_app.command(
    "lint",
    cls=PlainCommand,
    epilog=examples(
        "troubleshoot kb lint",
        "troubleshoot kb lint --kb my-kb",
        after="Exit status: 0 no problem, 1 problems, 2 an error in use.",
    ),
)
def kb_lint(
    kb: Overlays = None,
    innocent: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Texts of which none may be diagnosed (in a checkout: tests/data/innocent).")
    ] = None,
    format: Annotated[str, typer.Option("--format", "-f", metavar="text|json", help="The form of the output.")] = "text",
    output: Output = None,
) -> int:
    """Check every entry: its form, its examples against all entries, its references and translations, and innocent texts against all."""
    from troubleshoot.commands.kb import run_lint

    return run_lint(format=format, kb=kb or (), innocent=innocent, output=output)


@kb_app.command(
    "score",
    cls=PlainCommand,
    epilog=examples(
        "troubleshoot kb score my-cases",
        "troubleshoot kb score my-cases --format json -o score.json",
    ),
)
def kb_score(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="A folder of ID.txt with labels.yaml (ID: cause, also, fix).")],
    kb: Overlays = None,
    format: Annotated[str, typer.Option("--format", "-f", metavar="text|json", help="The form of the output.")] = "text",
    output: Output = None,
) -> int:
    """Measure the diagnoses of labelled reports: how often cause and fix are right, and how honest the confidence is."""
    from troubleshoot.commands.kb import run_score

    return run_score(folder, format=format, kb=kb or (), output=output)


@kb_app.command(
    "bisect",
    cls=PlainCommand,
    epilog=examples(
        "troubleshoot kb bisect transformers/blip2-query-tokens-fp32 --from 4.48 --to 4.51.3",
        "troubleshoot kb bisect transformers/qwen2-vl-eager-fp16-wrong --from 4.50 --format json",
        "troubleshoot kb bisect torch/rnn-dtype torch/half-on-cpu --package torch --coarse",
        after="Exit status: 0 a border was found, 1 none, 2 an error in use.",
    ),
)
def kb_bisect(
    issues: Annotated[
        list[str], typer.Argument(metavar="ID...", help="The ids of entries with a case.", autocompletion=complete_issue)
    ],
    package: Annotated[
        str | None, typer.Option("--package", metavar="P", help="The package whose releases to run.", show_default=False)
    ] = None,
    from_: Annotated[str | None, typer.Option("--from", metavar="V", help="The first release.", show_default=False)] = None,
    to: Annotated[str | None, typer.Option("--to", metavar="V", help="The last release.", show_default=False)] = None,
    case: Annotated[str | None, typer.Option("--case", metavar="NAME", help="One of the issue's cases.", show_default=False)] = None,
    coarse: Annotated[
        bool, typer.Option("--coarse", help="Begin with the last release of every minor series, not with the first and last.")
    ] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the environments, for the next issue.")] = False,
    record: Annotated[
        str | None, typer.Option("--record", metavar="DIR", help="Also write it into this folder of records.", show_default=False)
    ] = None,
    format: Annotated[str, typer.Option("--format", "-f", metavar="text|json", help="The form of the output.")] = "text",
    kb: Overlays = None,
    output: Output = None,
) -> int:
    """Measure which releases show an issue: run its case over them, in environments of their own, and find the borders."""
    from troubleshoot.commands.bisect import run

    return run(
        issues, case=case, package=package, low=from_, high=to, coarse=coarse, keep=keep, record=record, format=format, kb=kb or (),
        output=output,
    )  # fmt: skip


@kb_app.command(
    "new",
    cls=PlainCommand,
    epilog=examples(
        "troubleshoot kb new torch/my-slug",
        "troubleshoot kb new mylib/my-slug --kb my-kb",
    ),
)
def kb_new(
    issue: Annotated[str, typer.Argument(metavar="ID", help="package/slug of the new entry.")],
    kb: Annotated[str | None, typer.Option("--kb", metavar="DIR", help="The folder of entries to add to.", show_default=False)] = None,
    cause: Annotated[str | None, typer.Option("--cause", metavar="CODE", help="Its cause.", show_default=False)] = None,
    message: Annotated[
        str | None, typer.Option("--message", metavar="TEXT", help="The error message to recognise it by.", show_default=False)
    ] = None,
) -> int:
    """Start a new entry: write a file to fill in."""
    from troubleshoot.commands.kb import run_new

    return run_new(issue, kb=kb, cause=cause, message=message)


@kb_app.command(
    "schema",
    cls=PlainCommand,
    epilog=examples(
        "troubleshoot kb schema -o my-kb/schema.json",
    ),
)
def kb_schema(output: Output = None) -> int:
    """Print the JSON Schema of an entry, by which editors check and complete it."""
    from troubleshoot.commands.kb import run_schema

    return run_schema(output=output)
