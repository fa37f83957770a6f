"""The arguments of ``troubleshoot run``, for its help; :mod:`troubleshoot.commands.run` reads them and starts the program."""

from __future__ import annotations

from typing import Annotated

import typer

EXAMPLES = (
    "troubleshoot run train.py --epochs 3",
    "troubleshoot run -m my_package.train --epochs 3",
    "troubleshoot run -o report.txt train.py",
)
#: What comes after the program's name is the program's.
CONTEXT = {"allow_interspersed_args": False}
AFTER = "Exit status: the program's own."


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
) -> int:
    """Run a program as python does; if it fails, diagnose the failure after its traceback, with the tensors at hand."""
    from troubleshoot.commands.run import main

    given = [*(["--lang", lang] if lang else []), *(part for one in kb or () for part in ("--kb", one)), *(["--redact"] if redact else [])]
    given += ["-o", output] if output is not None else []
    return main([*given, *(["-m"] if module else []), program, *(arguments or ())]) or 0
