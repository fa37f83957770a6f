"""Options and completions that several commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from troubleshoot.basics.errors import InputError

if TYPE_CHECKING:
    from troubleshoot.reader import Reader

FORMATS = ("text", "markdown", "json", "html")


def examples(*lines: str, after: str = "") -> str:
    """Return an epilog that typer does not re-wrap."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines) + (f"\n\n{after}" if after else "")


HELP_NAMES = {"help_option_names": ["-h", "--help"]}


def complete_issue(incomplete: str) -> list[str]:
    """Complete the id of an issue."""
    from troubleshoot.commands.completion import issues

    return issues(incomplete)


def complete_format(incomplete: str) -> list[str]:
    """Complete a form of output."""
    return [one for one in FORMATS if one.startswith(incomplete)]


def complete_language(incomplete: str) -> list[str]:
    """Complete a language."""
    return [one for one in ("en", "zh") if one.startswith(incomplete)]


def complete_environment(incomplete: str) -> list[str]:
    """Complete a choice of ``--env``."""
    return [one for one in ("auto", "local", "report") if one.startswith(incomplete)]


Format = Annotated[
    str, typer.Option("--format", "-f", metavar="text|markdown|json|html", help="The form of the output.", autocompletion=complete_format)
]
Language = Annotated[
    str | None,
    typer.Option(
        "--lang", metavar="en|zh", help="Language; by default that of the locale.", show_default=False, autocompletion=complete_language
    ),
]
Overlays = Annotated[
    list[str] | None,
    typer.Option(
        "--kb",
        metavar="DIR",
        help="A folder of entries that add to or change the shipped ones; may be repeated. Also: TROUBLESHOOT_KB.",
        show_default=False,
    ),
]
Redact = Annotated[bool, typer.Option("--redact", help="Mask home directories, e-mail and IP addresses too; secrets always are.")]
Output = Annotated[str | None, typer.Option("--output", "-o", metavar="FILE", help="Write to this file.", show_default=False)]
Color = Annotated[str, typer.Option("--color", metavar="auto|always|never", help="Colour in a terminal; NO_COLOR is honoured.")]
Interpreter = Annotated[
    str | None, typer.Option("--python", metavar="PATH", help="Ask this interpreter, the one the program ran with.", show_default=False)
]
Deep = Annotated[bool, typer.Option("--deep", help="Also import torch, in a process of its own, and ask it what it sees (seconds).")]
ReaderUrl = Annotated[
    str | None,
    typer.Option(
        "--reader",
        metavar="URL",
        help="Let a language model read too: an OpenAI-compatible endpoint such as http://localhost:11434/v1 (docs/reader.md).",
        show_default=False,
    ),
]
ReaderModel = Annotated[
    str | None, typer.Option("--reader-model", metavar="NAME", help="The model's name at that endpoint.", show_default=False)
]
ReaderDryRun = Annotated[bool, typer.Option("--reader-dry-run", help="Print exactly what would be sent to the model; send nothing.")]


def chosen_reader(url: str | None, model: str | None, dry_run: bool = False) -> Reader | None:
    """Return the reader that the options name; None without them. Raises InputError."""
    if url is None:
        if model is not None or dry_run:
            raise InputError("--reader-model and --reader-dry-run go with --reader URL")
        return None
    if model is None:
        raise InputError("--reader needs the model's name at that endpoint: --reader-model NAME")
    from troubleshoot.reader import Reader

    return Reader(url, model)
