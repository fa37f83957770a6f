"""The program's commands and their arguments. What a command does is in the module of its name, imported when it runs.

Every argument is a text, a list of texts or a flag, see :mod:`troubleshoot.commands.plain`.
"""

from __future__ import annotations

from typing import Annotated

import typer

from troubleshoot.commands import audit, program
from troubleshoot.commands.plain import PlainCommand, PlainGroup

FORMATS = ("text", "markdown", "json", "html")


def _examples(*lines: str, after: str = "") -> str:
    """Return an epilog that typer does not re-wrap."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines) + (f"\n\n{after}" if after else "")


_HELP_NAMES = {"help_option_names": ["-h", "--help"]}

app = typer.Typer(
    cls=PlainGroup,
    name="troubleshoot",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=_HELP_NAMES,
    epilog=_examples(
        "troubleshoot diagnose error.txt",
        "python train.py 2>&1 | troubleshoot diagnose",
        "troubleshoot explain transformers/blip2-query-tokens-fp32",
        "troubleshoot env",
    ),
)
kb_app = typer.Typer(
    cls=PlainGroup,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=_HELP_NAMES,
    help="Look into the knowledge base, check it and add to it.",
    epilog=_examples(
        "troubleshoot kb list torch",
        "troubleshoot kb lint --kb my-kb",
        "troubleshoot kb new torch/my-slug --kb my-kb",
    ),
)
app.add_typer(kb_app, name="kb")


def _complete_issue(incomplete: str) -> list[str]:
    from troubleshoot.commands.completion import issues

    return issues(incomplete)


def _complete_format(incomplete: str) -> list[str]:
    return [one for one in FORMATS if one.startswith(incomplete)]


def _complete_language(incomplete: str) -> list[str]:
    return [one for one in ("en", "zh") if one.startswith(incomplete)]


def _complete_environment(incomplete: str) -> list[str]:
    return [one for one in ("auto", "local", "report") if one.startswith(incomplete)]


Format = Annotated[
    str, typer.Option("--format", "-f", metavar="text|markdown|json|html", help="The form of the output.", autocompletion=_complete_format)
]
Language = Annotated[
    str | None,
    typer.Option(
        "--lang", metavar="en|zh", help="Language; by default that of the locale.", show_default=False, autocompletion=_complete_language
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
    epilog=_examples(
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
            autocompletion=_complete_environment,
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
    redact: Redact = False,
    output: Output = None,
    color: Color = "auto",
) -> int:
    """Say what a failure is, why, and what to change.

    Reads a traceback, a whole log or a description; matches it against the knowledge base; shows the cause with its evidence and the
    fixes that fit your versions and GPU. Nothing is installed, changed or sent anywhere.
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
    )


@app.command(
    cls=PlainCommand,
    epilog=_examples(
        "troubleshoot explain transformers/blip2-query-tokens-fp32",
        "troubleshoot explain dtype-mismatch/fp32-island --lang zh",
    ),
)
def explain(
    issue: Annotated[
        str, typer.Argument(metavar="ISSUE", help="The id of a known issue, or the code of a cause.", autocompletion=_complete_issue)
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
    epilog=_examples(
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


app.command(cls=PlainCommand, context_settings=program.CONTEXT, epilog=_examples(*program.EXAMPLES, after=program.AFTER))(program.run)


@app.command(
    cls=PlainCommand,
    epilog=_examples(
        "troubleshoot verify torch/linear-dtype",
        "troubleshoot verify transformers/blip2-query-tokens-fp32 --device cpu --isolated",
        "troubleshoot verify transformers/qwen2-vl-eager-fp16-nan --with transformers==4.57.6",
        "troubleshoot verify --cause numerics/fp16-overflow --format json",
        after="Exit status: 0 as the knowledge base says, 1 not, 2 it cannot run here (or an error in use).",
    ),
)
def verify(
    issue: Annotated[
        str | None, typer.Argument(metavar="[ISSUE]", help="The id of a known issue that has a case.", autocompletion=_complete_issue)
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
    with_: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="PKG==VERSION", help="Pin a release, isolated; may be repeated.", show_default=False),
    ] = None,
    timeout: Annotated[str | None, typer.Option("--timeout", metavar="SECONDS", help="Limit of one run.", show_default=False)] = None,
    record: Annotated[
        str | None, typer.Option("--record", metavar="DIR", help="Also write it into this folder of records.", show_default=False)
    ] = None,
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
        releases=with_ or (),
        timeout=timeout,
        record=record,
        format=format,
        kb=kb or (),
        output=output,
    )


app.command(cls=PlainCommand, epilog=_examples(*audit.EXAMPLES, after=audit.AFTER))(audit.audit)


@kb_app.command(
    "list",
    cls=PlainCommand,
    epilog=_examples(
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
    epilog=_examples(
        "troubleshoot kb show torch/linear-dtype",
        "troubleshoot kb show torch/linear-dtype --format json",
    ),
)
def kb_show(
    issue: Annotated[str, typer.Argument(metavar="ID", help="The id of an entry.", autocompletion=_complete_issue)],
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
    epilog=_examples(
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
    epilog=_examples(
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
    epilog=_examples(
        "troubleshoot kb bisect transformers/blip2-query-tokens-fp32 --from 4.48 --to 4.51.3",
        "troubleshoot kb bisect transformers/qwen2-vl-eager-fp16-wrong --from 4.50 --format json",
        after="Exit status: 0 a border was found, 1 none, 2 an error in use.",
    ),
)
def kb_bisect(
    issue: Annotated[str, typer.Argument(metavar="ID", help="The id of an entry with a case.", autocompletion=_complete_issue)],
    package: Annotated[
        str | None, typer.Option("--package", metavar="P", help="The package whose releases to run.", show_default=False)
    ] = None,
    from_: Annotated[str | None, typer.Option("--from", metavar="V", help="The first release.", show_default=False)] = None,
    to: Annotated[str | None, typer.Option("--to", metavar="V", help="The last release.", show_default=False)] = None,
    case: Annotated[str | None, typer.Option("--case", metavar="NAME", help="One of the issue's cases.", show_default=False)] = None,
    record: Annotated[
        str | None, typer.Option("--record", metavar="DIR", help="Also write it into this folder of records.", show_default=False)
    ] = None,
    format: Annotated[str, typer.Option("--format", "-f", metavar="text|json", help="The form of the output.")] = "text",
    kb: Overlays = None,
    output: Output = None,
) -> int:
    """Measure which releases show an issue: run its case over them, in environments of their own, and find the borders."""
    from troubleshoot.commands.bisect import run

    return run(issue, case=case, package=package, low=from_, high=to, record=record, format=format, kb=kb or (), output=output)


@kb_app.command(
    "new",
    cls=PlainCommand,
    epilog=_examples(
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
    epilog=_examples(
        "troubleshoot kb schema -o my-kb/schema.json",
    ),
)
def kb_schema(output: Output = None) -> int:
    """Print the JSON Schema of an entry, by which editors check and complete it."""
    from troubleshoot.commands.kb import run_schema

    return run_schema(output=output)
