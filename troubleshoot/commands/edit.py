"""The arguments of ``troubleshoot fix``; :mod:`troubleshoot.commands.fix` does the work."""

from __future__ import annotations

from typing import Annotated

import typer

from troubleshoot.commands.options import Output, Overlays, complete_issue

EXAMPLES = (
    "troubleshoot fix train.py --run",
    "troubleshoot fix train.py --apply -- --epochs 1",
    "troubleshoot fix -m package.train --run -- --epochs 1",
    "troubleshoot fix train.py --report error.txt | git apply",
    "troubleshoot fix load.py --issue transformers/qwen2-vl-eager-fp16-nan --fix sdpa",
    "troubleshoot fix ds_config.json --issue hardware/bf16-setup-refused",
)
AFTER = "Exit status: 0 an edit (with --run: one that works), 1 no edit that is certain or that helps, 2 an error in use."


def fix(
    script: Annotated[str, typer.Argument(metavar="SCRIPT", help="The script (or YAML, JSON or shell file) to edit; with -m a module.")],
    arguments: Annotated[list[str] | None, typer.Argument(metavar="[-- ARGUMENT...]", help="The script's own arguments.")] = None,
    module: Annotated[bool, typer.Option("-m", "--module", help="SCRIPT is the name of a module, as for python -m.")] = False,
    issue: Annotated[
        str | None,
        typer.Option("--issue", metavar="ID", help="The issue; else that of a run.", autocompletion=complete_issue, show_default=False),
    ] = None,
    fix: Annotated[
        str | None, typer.Option("--fix", metavar="F", help="The id of the fix; else the first that is an edit.", show_default=False)
    ] = None,
    report: Annotated[
        str | None, typer.Option("--report", metavar="FILE", help="A saved traceback, in place of running the script.", show_default=False)
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Write the edit, with a backup SCRIPT.orig beside it.")] = False,
    run: Annotated[bool, typer.Option("--run", help="Run the edited copy and show that the error is gone, or what came instead.")] = False,
    timeout: Annotated[str | None, typer.Option("--timeout", metavar="SECONDS", help="Limit of one run (600).", show_default=False)] = None,
    format: Annotated[str, typer.Option("--format", "-f", metavar="text|json", help="The form of the output.")] = "text",
    kb: Overlays = None,
    output: Output = None,
) -> int:
    """Edit a failing script: print a unified diff, and run the edited copy or write it if asked to.

    Without --issue or --report the script is run to see how it fails. The diff goes to stdout, all else to stderr. What is not certain
    is not edited, and it says why; files of installed packages never are.
    """
    from troubleshoot.commands.fix import run as start

    return start(
        script,
        arguments or (),
        issue=issue,
        fix=fix,
        report=report,
        apply=apply,
        proving=run,
        timeout=timeout,
        format=format,
        kb=kb or (),
        output=output,
        module=module,
    )
