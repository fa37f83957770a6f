"""The program's commands and their arguments. What a command does is in the module of its name, imported when it runs.

Every argument is a text, a list of texts or a flag, see :mod:`troubleshoot.commands.plain`.
"""

from __future__ import annotations

from typing import Annotated

import typer

from troubleshoot.commands import audit, checking, edit, program, serve
from troubleshoot.commands.kb_app import kb_app
from troubleshoot.commands.options import (
    HELP_NAMES,
    Color,
    Deep,
    Format,
    Interpreter,
    Language,
    Output,
    Overlays,
    ReaderDryRun,
    ReaderModel,
    ReaderUrl,
    Redact,
    chosen_reader,
    complete_environment,
    complete_issue,
    examples,
)
from troubleshoot.commands.plain import PlainCommand, PlainGroup

app = typer.Typer(
    cls=PlainGroup,
    name="troubleshoot",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=HELP_NAMES,
    epilog=examples(
        "troubleshoot diagnose error.txt",
        "python train.py 2>&1 | troubleshoot diagnose",
        "troubleshoot explain transformers/blip2-query-tokens-fp32",
        "troubleshoot env",
    ),
)
app.add_typer(kb_app, name="kb")


@app.callback(invoke_without_command=True)
def _program(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", "-V", help="Print the version and exit.")] = False,
) -> int:
    """Diagnose precision, dtype and device failures of PyTorch programs from what they printed. Works offline."""
    if version:
        from troubleshoot.commands.about import version_line

        print(version_line())
        raise typer.Exit(0)
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit(2)
    return 0


@app.command(
    cls=PlainCommand,
    epilog=examples(
        "troubleshoot diagnose error.txt",
        "python train.py 2>&1 | troubleshoot diagnose",
        "troubleshoot diagnose error.txt --gpu V100-16GB --have transformers=4.50.1",
        "troubleshoot diagnose error.txt --answer package.apex=absent",
        "troubleshoot diagnose error.txt --verify",
        "troubleshoot diagnose log.txt --env report --format markdown --redact -o report.md",
        after="Exit status: 0 a diagnosis, 1 none, 2 an error in use or input.",
    ),
)
def diagnose(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE|-]", help="The report: a traceback, a log, or a description. - is standard input, also the default in a pipe."
        ),
    ] = None,
    format: Format = "text",
    top: Annotated[
        str | None, typer.Option("--top", metavar="N", help="How many diagnoses to show in full (json: to list).", show_default=False)
    ] = None,
    lang: Language = None,
    env: Annotated[
        str,
        typer.Option(
            "--env",
            metavar="auto|local|report|FILE",
            help="Whose versions and GPU: this machine's if the report is from it (auto), this machine's, only what the "
            "report says, or those in a file (pip list, collect_env, nvidia-smi).",
            autocompletion=complete_environment,
        ),
    ] = "auto",
    python: Interpreter = None,
    deep: Deep = False,
    kb: Overlays = None,
    answer: Annotated[
        list[str] | None, typer.Option("--answer", metavar="FACT=VALUE", help="Answer a question; may be repeated.", show_default=False)
    ] = None,
    gpu: Annotated[
        str | None,
        typer.Option("--gpu", metavar="NAME", help='The GPU it ran on: V100-16GB, "RTX 4090", sm_86, none.', show_default=False),
    ] = None,
    have: Annotated[
        list[str] | None,
        typer.Option("--have", metavar="PKG=VERSION", help="A version it ran with; may be repeated.", show_default=False),
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Then reproduce the first diagnosis here and try its fixes (as `troubleshoot verify` does).")
    ] = False,
    timeout: Annotated[
        str | None,
        typer.Option(
            "--timeout",
            metavar="SECONDS",
            help="Limit of the diagnosis (60), and of waiting for input (none): then the part around the last failure counts.",
            show_default=False,
        ),
    ] = None,
    reader: ReaderUrl = None,
    reader_model: ReaderModel = None,
    reader_dry_run: ReaderDryRun = False,
    redact: Redact = False,
    output: Output = None,
    color: Color = "auto",
) -> int:
    """Say what a failure is, why, and what to change.

    Reads a traceback, a whole log or a description; matches it against the knowledge base; shows the cause with its evidence and the
    fixes that fit your versions and GPU. Nothing is installed or changed, and without --reader nothing is sent anywhere.
    """
    from troubleshoot.commands.diagnose import run

    return run(
        file,
        format=format,
        top=top,
        language=lang,
        environment=env,
        python=python,
        deep=deep,
        kb=kb or (),
        answers=answer or (),
        gpu=gpu,
        have=have or (),
        verify=verify,
        redact=redact,
        output=output,
        color=color,
        timeout=timeout,
        reader=chosen_reader(reader, reader_model, reader_dry_run),
        dry_run=reader_dry_run,
    )


@app.command(
    cls=PlainCommand,
    epilog=examples(
        "troubleshoot explain transformers/blip2-query-tokens-fp32",
        "troubleshoot explain dtype-mismatch/fp32-island --lang zh",
    ),
)
def explain(
    issue: Annotated[
        str, typer.Argument(metavar="ISSUE", help="The id of a known issue, or the code of a cause.", autocompletion=complete_issue)
    ],
    format: Format = "text",
    lang: Language = None,
    kb: Overlays = None,
    output: Output = None,
    color: Color = "auto",
) -> int:
    """Show all that is known of an issue or a cause: what happens, which releases, every fix, the sources."""
    from troubleshoot.commands.explain import run

    return run(issue, format=format, language=lang, kb=kb or (), output=output, color=color)


@app.command(
    cls=PlainCommand,
    epilog=examples(
        "troubleshoot env",
        "troubleshoot env --deep",
        "troubleshoot env --python /path/to/venv/bin/python --format json -o env.json",
        "troubleshoot env --one-liner",
    ),
)
def env(
    deep: Deep = False,
    python: Interpreter = None,
    format: Format = "text",
    lang: Language = None,
    one_liner: Annotated[
        bool, typer.Option("--one-liner", help="Print a command that collects the same where nothing can be installed.")
    ] = False,
    redact: Redact = False,
    output: Output = None,
    color: Color = "auto",
) -> int:
    """Show what is known of this machine, where each fact is known from, and which dtypes its devices support."""
    from troubleshoot.commands.env import run

    return run(deep=deep, python=python, format=format, language=lang, one_liner=one_liner, redact=redact, output=output, color=color)


app.command(cls=PlainCommand, context_settings=program.CONTEXT, epilog=examples(*program.EXAMPLES, after=program.AFTER))(program.run)


@app.command(
    cls=PlainCommand,
    epilog=examples(
        "troubleshoot verify torch/linear-dtype",
        "troubleshoot verify transformers/blip2-query-tokens-fp32 --device cpu --isolated",
        "troubleshoot verify transformers/qwen2-vl-eager-fp16-nan --with transformers==4.57.6",
        "troubleshoot verify transformers/blip2-query-tokens-fp32 --isolated --model Salesforce/blip2-opt-2.7b --gpu T4",
        "troubleshoot verify torch/half-on-cpu --case half_conv_on_cpu --isolated --yes",
        "troubleshoot verify --cause numerics/fp16-overflow --format json",
        after="Exit status: 0 as the knowledge base says, 1 not, 2 it cannot run here (or an error in use).",
    ),
)
def verify(
    issue: Annotated[
        str | None, typer.Argument(metavar="[ISSUE]", help="The id of a known issue that has a case.", autocompletion=complete_issue)
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Verify every issue that has a case.")] = False,
    cause: Annotated[
        str | None, typer.Option("--cause", metavar="CODE", help="Verify the issues of this cause.", show_default=False)
    ] = None,
    case: Annotated[str | None, typer.Option("--case", metavar="NAME", help="One of the issue's cases.", show_default=False)] = None,
    device: Annotated[
        str | None,
        typer.Option("--device", metavar="cpu|cuda", help="Where to run; by default a CUDA GPU if there is one.", show_default=False),
    ] = None,
    fix: Annotated[
        list[str] | None, typer.Option("--fix", metavar="ID", help="Try this fix only; may be repeated.", show_default=False)
    ] = None,
    isolated: Annotated[
        bool, typer.Option("--isolated", help="Install what the case needs into environments of its own (in the cache folder).")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="With --isolated: download another torch without asking.")] = False,
    with_: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="PKG==VERSION", help="Pin a release, isolated; may be repeated.", show_default=False),
    ] = None,
    timeout: Annotated[str | None, typer.Option("--timeout", metavar="SECONDS", help="Limit of one run.", show_default=False)] = None,
    record: Annotated[
        str | None, typer.Option("--record", metavar="DIR", help="Also write it into this folder of records.", show_default=False)
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="ID", help="Tell the memory that this model takes with each fix.", show_default=False),
    ] = None,
    gpu: Annotated[
        str | None,
        typer.Option("--gpu", metavar="NAME", help="Whose memory it must fit into (default: the GPU that it runs on).", show_default=False),
    ] = None,
    timing: Annotated[bool, typer.Option("--timing", help="Also time a layer of a real size per dtype; on a GPU only.")] = False,
    format: Annotated[str, typer.Option("--format", "-f", metavar="text|json|html", help="The form of the output.")] = "text",
    kb: Overlays = None,
    output: Output = None,
) -> int:
    """Reproduce a known issue on this machine, try its fixes, and show which work.

    Every run is a process of its own, with a limit of time and memory. Nothing is downloaded or installed unless --isolated or --with asks
    for it, and never into your environment.
    """
    from troubleshoot.commands.verify import run

    return run(
        issue,
        all_=all_,
        cause=cause,
        case=case,
        device=device,
        fixes=fix or (),
        isolated=isolated,
        yes=yes,
        releases=with_ or (),
        timeout=timeout,
        record=record,
        models=model or (),
        gpu=gpu,
        timing=timing,
        format=format,
        kb=kb or (),
        output=output,
    )


app.command(cls=PlainCommand, context_settings=checking.CONTEXT, epilog=examples(*checking.EXAMPLES, after=checking.AFTER))(checking.check)
app.command(cls=PlainCommand, epilog=examples(*audit.EXAMPLES, after=audit.AFTER))(audit.audit)
app.command(name="fix", cls=PlainCommand, epilog=examples(*edit.EXAMPLES, after=edit.AFTER))(edit.fix)

app.command(cls=PlainCommand, epilog=examples(*serve.SERVE_EXAMPLES, after=serve.AFTER))(serve.serve)
app.command(cls=PlainCommand, epilog=examples(*serve.MCP_EXAMPLES, after=serve.AFTER))(serve.mcp)


def add_rest() -> None:
    """Add the commands whose arguments stand in modules of their own, which the other commands need not import."""
    from troubleshoot.commands import batch, scan

    if not any(info.callback is scan.scan for info in app.registered_commands):
        app.command(cls=PlainCommand, epilog=examples(*scan.EXAMPLES, after=scan.AFTER))(scan.scan)
        app.command(cls=PlainCommand, epilog=examples(*batch.EXAMPLES, after=batch.AFTER))(batch.batch)
