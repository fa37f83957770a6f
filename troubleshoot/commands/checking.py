"""The arguments of ``troubleshoot check``; :mod:`troubleshoot.commands.check` does the work."""

from __future__ import annotations

from typing import Annotated

import typer

from troubleshoot.commands.options import Language, Output, Overlays

EXAMPLES = (
    "troubleshoot check train.py --epochs 1",
    "troubleshoot check --steps 20 train.py",
    "troubleshoot check --fix train.py",
    "troubleshoot check --format json -o findings.json -m package.train",
)
#: What comes after the program's name is the program's.
CONTEXT = {"allow_interspersed_args": False}
AFTER = "Exit status: 0 something was found, 1 nothing, 2 an error in use."


def check(
    program: Annotated[str, typer.Argument(metavar="SCRIPT", help="The script to check, with -m the module.")],
    arguments: Annotated[list[str] | None, typer.Argument(metavar="[ARGUMENT]...", help="The program's own arguments.")] = None,
    module: Annotated[bool, typer.Option("-m", help="Check a module, as python -m runs it.")] = False,
    steps: Annotated[
        str | None, typer.Option("--steps", metavar="N", help="Look at the first N optimizer steps only.", show_default=False)
    ] = None,
    every: Annotated[str | None, typer.Option("--every", metavar="N", help="Look at every Nth step only.", show_default=False)] = None,
    until_first: Annotated[bool, typer.Option("--until-first", help="End the program at the first finding.")] = False,
    no_compare: Annotated[bool, typer.Option("--no-compare", help="Do not run the program again in float32.")] = False,
    fix: Annotated[bool, typer.Option("--fix", help="Run edits that belong to the findings; print one whose results are right.")] = False,
    apply: Annotated[bool, typer.Option("--apply", help="With --fix: write that edit, with a backup SCRIPT.orig beside it.")] = False,
    timeout: Annotated[str | None, typer.Option("--timeout", metavar="SECONDS", help="Limit of one run (600).", show_default=False)] = None,
    format: Annotated[str, typer.Option("--format", "-f", metavar="text|json|html", help="The form of the output.")] = "text",
    lang: Language = None,
    kb: Overlays = None,
    output: Output = None,
) -> int:
    """Run a program and say which of its lines lose precision: NaN and inf, weights that do not move, positions that round.

    Every operation is seen. Unless told not to, the program then runs again in float32 with the same random numbers, and what both print
    is held side by side. What the program prints goes to stderr, the report to stdout.
    """
    from troubleshoot.commands.check import run

    return run(
        program,
        arguments or (),
        module=module,
        steps=steps,
        every=every,
        until_first=until_first,
        comparing=not no_compare,
        fixing=fix,
        apply=apply,
        timeout=timeout,
        format=format,
        language=lang,
        kb=kb or (),
        output=output,
    )
