"""``troubleshoot kb``: look into the knowledge base, check it and add to it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from troubleshoot.commands.options import (
    HELP_NAMES,
    Color,
    Format,
    Language,
    Output,
    Overlays,
    ReaderModel,
    ReaderUrl,
    chosen_reader,
    complete_issue,
    examples,
)
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
        "troubleshoot kb why error.txt torch/linear-dtype",
        "troubleshoot kb stats",
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
    "experiments",
    cls=PlainCommand,
    epilog=examples(
        "troubleshoot kb experiments",
        "troubleshoot kb experiments numerics/fp16-overflow",
        "troubleshoot kb experiments --format json",
    ),
)
def kb_experiments(
    cause: Annotated[
        str | None, typer.Argument(metavar="[CAUSE]", help="Only what this cause says of each, and how each is done.", show_default=False)
    ] = None,
    format: Format = "text",
    lang: Language = None,
    kb: Overlays = None,
    output: Output = None,
) -> int:
    """Show the experiments: what can be changed in a run, and what each cause says will come of it."""
    from troubleshoot.commands.kb import run_experiments

    return run_experiments(cause, format=format, language=lang, kb=kb or (), output=output)


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
        "troubleshoot kb score my-cases --reader http://localhost:11434/v1 --reader-model qwen3:8b",
    ),
)
def kb_score(
    folder: Annotated[str, typer.Argument(metavar="PATH", help="FILE.jsonl, a folder of such files, or of ID.txt with labels.yaml.")],
    kb: Overlays = None,
    reader: ReaderUrl = None,
    reader_model: ReaderModel = None,
    format: Annotated[str, typer.Option("--format", "-f", metavar="text|json", help="The form of the output.")] = "text",
    output: Output = None,
) -> int:
    """Measure the diagnoses of labelled reports: how often cause and fix are right, and how honest the confidence is."""
    from troubleshoot.commands.kb import run_score

    return run_score(folder, format=format, kb=kb or (), output=output, reader=chosen_reader(reader, reader_model))


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
    every: Annotated[
        str | None, typer.Option("--every", metavar="N", help="Begin with the last release of every N-th minor series.", show_default=False)
    ] = None,
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
        issues, case=case, package=package, low=from_, high=to, coarse=coarse, every=every, keep=keep, record=record, format=format,
        kb=kb or (), output=output,
    )  # fmt: skip


@kb_app.command(
    "lines",
    cls=PlainCommand,
    epilog=examples(
        "troubleshoot kb lines",
        "troubleshoot kb lines --check 2000",
        "troubleshoot kb lines --package peft --output peft-lines.bin",
        after="Exit status: 0 written, 1 a drawn line rules out its own release, 2 an error in use or reading.",
    ),
)
def kb_lines(
    package: Annotated[
        list[str] | None, typer.Option("--package", metavar="P", help="Only this package; may be repeated.", show_default=False)
    ] = None,
    check: Annotated[
        str | None,
        typer.Option("--check", metavar="N", help="Draw N lines from the releases and look them up in the new table.", show_default=False),
    ] = None,
    cache: Annotated[
        str | None,
        typer.Option("--cache", metavar="DIR", help="Where sources are kept (default: the cache folder).", show_default=False),
    ] = None,
    kb: Overlays = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="The table (default: kb/lines.bin of a checkout).", show_default=False),
    ] = None,
) -> int:
    """Make the table that tells a release from the lines of a traceback, from the releases on the package index.

    Reads some files of each release (nothing is installed or run) and keeps them, so that an interrupted reading goes on where it stopped.
    """
    from troubleshoot.commands.lines import run

    return run(package or (), cache=cache, check=check, kb=kb or (), output=output)


@kb_app.command(
    "why",
    cls=PlainCommand,
    epilog=examples(
        "troubleshoot kb why error.txt torch/linear-dtype",
        "troubleshoot kb why error.txt transformers/blip2-query-tokens-fp32 --have transformers=4.50.3",
        "python train.py 2>&1 | troubleshoot kb why - torch/linear-dtype --format json",
        after="Exit status: 0 the entry comes first, 1 it does not, 2 an error in use.",
    ),
)
def kb_why(
    report: Annotated[str, typer.Argument(metavar="REPORT", help="A file with a report, or - for standard input.")],
    issue: Annotated[str, typer.Argument(metavar="ID", help="The id of an entry.", autocompletion=complete_issue)],
    answer: Annotated[
        list[str] | None, typer.Option("--answer", metavar="FACT=VALUE", help="Answer a question; may be repeated.", show_default=False)
    ] = None,
    gpu: Annotated[str | None, typer.Option("--gpu", metavar="NAME", help="The GPU, such as V100-16GB.", show_default=False)] = None,
    have: Annotated[
        list[str] | None, typer.Option("--have", metavar="PKG=VERSION", help="A package version; may be repeated.", show_default=False)
    ] = None,
    format: Annotated[str, typer.Option("--format", "-f", metavar="text|json", help="The form of the output.")] = "text",
    kb: Overlays = None,
    output: Output = None,
) -> int:
    """Explain why an entry did or did not win for a report: signature, conditions, weights, rank, and what would change it."""
    from troubleshoot.commands.curate import run_why

    return run_why(report, issue, format=format, kb=kb or (), answers=tuple(answer or ()), gpu=gpu, have=tuple(have or ()), output=output)


@kb_app.command(
    "gaps",
    cls=PlainCommand,
    epilog=examples(
        "troubleshoot kb gaps collected-reports",
        "troubleshoot kb gaps collected-reports more.log --format json",
        after="Exit status: 0 every report has a diagnosis or is out of scope, 1 there are gaps, 2 an error in use.",
    ),
)
def kb_gaps(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="Reports, and folders of them (.txt, .log, .md, .out, .err, .ipynb).")
    ],
    format: Annotated[str, typer.Option("--format", "-f", metavar="text|json", help="The form of the output.")] = "text",
    kb: Overlays = None,
    output: Output = None,
) -> int:
    """Cluster the reports that have no diagnosis, and propose the entries to write next."""
    from troubleshoot.commands.curate import run_gaps

    return run_gaps(tuple(paths), format=format, kb=kb or (), output=output)


@kb_app.command(
    "stale",
    cls=PlainCommand,
    epilog=examples(
        "troubleshoot kb stale",
        "troubleshoot kb stale --offline --months 12",
        "troubleshoot kb stale --format json",
        after="Exit status: 0 nothing is stale, 1 something is, 2 an error in use.",
    ),
)
def kb_stale(
    months: Annotated[str, typer.Option("--months", metavar="N", help="How many months a record may be old.")] = "6",
    offline: Annotated[bool, typer.Option("--offline", help="Do not ask the package index for newer releases.")] = False,
    format: Annotated[str, typer.Option("--format", "-f", metavar="text|json", help="The form of the output.")] = "text",
    kb: Overlays = None,
    output: Output = None,
) -> int:
    """List the entries whose ranges, packages, records or references need another look."""
    from troubleshoot.commands.curate import run_stale

    return run_stale(months=months, offline=offline, format=format, kb=kb or (), output=output)


@kb_app.command(
    "weigh",
    cls=PlainCommand,
    epilog=examples(
        "troubleshoot kb weigh tests/data/labelled",
        "troubleshoot kb weigh tests/data/labelled --write",
        "troubleshoot kb weigh my-cases --kb my-kb --pull 3 --format json",
    ),
)
def kb_weigh(
    folder: Annotated[str, typer.Argument(metavar="PATH", help="FILE.jsonl, a folder of such files, or of ID.txt with labels.yaml.")],
    pull: Annotated[str, typer.Option("--pull", metavar="X", help="How strongly weights are held to what the entries say.")] = "2",
    least: Annotated[str, typer.Option("--least", metavar="N", help="Only families that answer this many of the reports.")] = "12",
    write: Annotated[
        bool, typer.Option("--write", help="Write what is borne out into the files of the last --kb folder, or of the checkout's kb.")
    ] = False,
    format: Annotated[str, typer.Option("--format", "-f", metavar="text|json", help="The form of the output.")] = "text",
    kb: Overlays = None,
    output: Output = None,
) -> int:
    """Fit the weights of families' causes to labelled reports: which of several causes a message has, and what makes each likelier."""
    from troubleshoot.commands.curate import run_weigh

    return run_weigh(folder, pull=pull, least=least, write=write, format=format, kb=kb or (), output=output)


@kb_app.command(
    "learn",
    cls=PlainCommand,
    epilog=examples(
        "troubleshoot kb learn tests/data/labelled",
        "troubleshoot kb learn my-cases --kb my-kb",
        after="Leave some folders out and measure on them with kb score: on the reports that it was fitted to, a table is always good.",
    ),
)
def kb_learn(
    folder: Annotated[str, typer.Argument(metavar="PATH", help="FILE.jsonl, a folder of such files, or of ID.txt with labels.yaml.")],
    kb: Overlays = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The table (default: word-odds.json of the last --kb folder, or of the checkout's kb).",
            show_default=False,
        ),
    ] = None,
) -> int:
    """Fit how much each word of a report speaks for each cause, by which a family's causes are weighed. Needs torch."""
    from troubleshoot.commands.curate import run_learn

    return run_learn(folder, kb=kb or (), output=output)


@kb_app.command(
    "stats",
    cls=PlainCommand,
    epilog=examples(
        "troubleshoot kb stats",
        "troubleshoot kb stats --format json",
        "troubleshoot kb stats --feedback feedback.sqlite",
    ),
)
def kb_stats(
    feedback: Annotated[
        str | None,
        typer.Option("--feedback", metavar="FILE", help="Also what users said of the fixes: the server's file.", show_default=False),
    ] = None,
    format: Annotated[str, typer.Option("--format", "-f", metavar="text|json", help="The form of the output.")] = "text",
    kb: Overlays = None,
    output: Output = None,
) -> int:
    """Count what the knowledge base holds and what its records show."""
    from troubleshoot.commands.curate import run_stats

    return run_stats(feedback=feedback, format=format, kb=kb or (), output=output)


def _option(name: str, metavar: str, help: str) -> Any:
    return typer.Option(name, metavar=metavar, help=help, show_default=False)


@kb_app.command(
    "new",
    cls=PlainCommand,
    epilog=examples(
        "troubleshoot kb new --report error.txt",
        "troubleshoot kb new --url https://github.com/huggingface/transformers/issues/37103",
        "troubleshoot kb new mylib/my-slug --kb my-kb --cause dtype-mismatch/fp32-island --yes",
        after="At a terminal, what is not given is asked for; elsewhere, and with --yes, suggestions are taken.",
    ),
)
def kb_new(
    issue: Annotated[str | None, typer.Argument(metavar="[ID]", help="package/slug of the new entry.")] = None,
    kb: Annotated[str | None, _option("--kb", "DIR", "The folder of entries to add to.")] = None,
    report: Annotated[str | None, _option("--report", "FILE", "Start from a pasted report; - is standard input.")] = None,
    url: Annotated[str | None, _option("--url", "URL", "Cite this; a GitHub issue or pull request is read as well.")] = None,
    title: Annotated[str | None, _option("--title", "TEXT", "The cause in one line.")] = None,
    cause: Annotated[str | None, _option("--cause", "CODE", "Its cause.")] = None,
    message: Annotated[str | None, _option("--message", "TEXT", "The error message to recognise it by.")] = None,
    refines: Annotated[str | None, _option("--refines", "ID", "The more general entry.")] = None,
    package: Annotated[str | None, _option("--package", "P", "The package whose releases show it.")] = None,
    introduced: Annotated[str | None, _option("--introduced", "V", "The first release that shows it.")] = None,
    fixed: Annotated[str | None, _option("--fixed", "V", "The first release that does not show it any more.")] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Open no address; --url is only cited.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing: take what is suggested.")] = False,
) -> int:
    """Start a new entry: write a file to fill in, from a report, an upstream address, or nothing but an id."""
    from troubleshoot.commands.new_entry import Given, run_new

    given = Given(issue, report, url, title, cause, message, refines, package, introduced, fixed)
    return run_new(given, kb=kb, offline=offline, yes=yes)


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
