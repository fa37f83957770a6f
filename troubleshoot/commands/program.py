"""The arguments of ``troubleshoot run``, for its help; :mod:`troubleshoot.commands.run` reads them and starts the program."""

from __future__ import annotations

from typing import Annotated

import typer

EXAMPLES = (
    "troubleshoot run train.py --epochs 3",
    "troubleshoot run -m my_package.train --epochs 3",
    "troubleshoot run -o report.txt train.py",
    "troubleshoot run --try-fixes train.py --epochs 3",
)
#: What comes after the program's name is the program's.
CONTEXT = {"allow_interspersed_args": False}
AFTER = "Exit status: the program's own; with --try-fixes 0 if a fix lets it finish."


def run(
    program: Annotated[str, typer.Argument(metavar="SCRIPT", help="The script to run, with -m the module.")],
    arguments: Annotated[list[str] | None, typer.Argument(metavar="[ARGUMENT]...", help="The program's own arguments.")] = None,
    module: Annotated[bool, typer.Option("-m", help="Run a module, as python -m does.")] = False,
    lang: Annotated[str | None, typer.Option("--lang", metavar="en|zh", help="Language of the diagnosis.", show_default=False)] = None,
    kb: Annotated[
        list[str] | None, typer.Option("--kb", metavar="DIR", help="A folder of further entries; may be repeated.", show_default=False)
    ] = None,
    redact: Annotated[bool, typer.Option("--redact", help="Mask home directories, e-mail and IP addresses in the diagnosis.")] = False,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Append the diagnosis to this file.", show_default=False)
    ] = None,
    try_fixes: Annotated[
        bool,
        typer.Option("--try-fixes", help="If it fails, run it again under each live patch that fits, and say which helps."),
    ] = False,
    first: Annotated[bool, typer.Option("--first", help="With --try-fixes: stop at the first that helps.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="With --try-fixes: do not ask before the reruns.")] = False,
    timeout: Annotated[
        str | None, typer.Option("--timeout", metavar="SECONDS", help="With --try-fixes: limit of one rerun (600).", show_default=False)
    ] = None,
    format: Annotated[str, typer.Option("--format", metavar="text|json", help="With --try-fixes: the form of its result.")] = "text",
) -> int:
    """Run a program as python does; if it fails, diagnose the failure after its traceback, with the tensors at hand."""
    from troubleshoot.commands.run import main

    given = [*(["--lang", lang] if lang else []), *(part for one in kb or () for part in ("--kb", one)), *(["--redact"] if redact else [])]
    given += ["-o", output] if output is not None else []
    given += [name for name, on in (("--try-fixes", try_fixes), ("--first", first), ("--yes", yes)) if on]
    given += ["--timeout", timeout] if timeout is not None else []
    given += ["--format", format] if format != "text" else []
    return main([*given, *(["-m"] if module else []), program, *(arguments or ())]) or 0
