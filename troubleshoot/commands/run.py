"""``troubleshoot run``.

It is started before the command line's own machinery, which would change the streams and the exit status of the program that it runs.
"""

from __future__ import annotations

import sys

from troubleshoot.basics.errors import InputError

#: Options with a value, by every spelling.
_VALUES = {"--lang": "language", "--kb": "kb", "--output": "output", "-o": "output", "--timeout": "timeout", "--format": "format"}
_FLAGS = {"--try-fixes": "try", "--first": "first", "--yes": "yes", "-y": "yes"}


def main(arguments: list[str]) -> int | None:
    """Run the program that the arguments of ``troubleshoot run`` name and return its exit status; None where the usage is to be shown.

    Raises:
        SystemExit: the program's own.
    """
    if arguments[:1] in (["-h"], ["--help"]):
        return None
    try:
        return _run(list(arguments))
    except InputError as error:
        sys.stderr.write(f"troubleshoot: {error}\n")
        return 2


def _run(waiting: list[str]) -> int:
    from troubleshoot.handlers.options import options
    from troubleshoot.handlers.running import run_program

    given: dict[str, list[str]] = {}
    redact = module = False
    flags: set[str] = set()
    while waiting and waiting[0].startswith("-") and waiting[0] != "-":
        name, equals, value = waiting.pop(0).partition("=")
        if name == "--redact" and not equals:
            redact = True
        elif name == "-m" and not equals:
            module = True
            break
        elif name in _FLAGS and not equals:
            flags.add(_FLAGS[name])
        elif name in _VALUES:
            if not equals:
                if not waiting:
                    raise InputError(f"{name} needs a value. See: troubleshoot run --help")
                value = waiting.pop(0)
            given.setdefault(_VALUES[name], []).append(value)
        elif name == "--" and not equals:
            break
        else:
            raise InputError(f"no such option: {name}. Options of the program come after it. See: troubleshoot run --help")
    if not waiting:
        raise InputError("no program given. See: troubleshoot run --help")
    if "try" in flags:
        return _try_fixes(waiting, given, flags, module=module, redact=redact)
    if flags or "timeout" in given or "format" in given:
        raise InputError("--first, --yes, --timeout and --format go with --try-fixes. See: troubleshoot run --help")
    output: object = "stderr"
    if "output" in given:
        from pathlib import Path

        output = Path(given["output"][-1])
    checked = options(output, language=given.get("language", [None])[-1], kb=given.get("kb", ()), redact=redact)
    return run_program(waiting[0], waiting[1:], checked, module=module)


def _try_fixes(waiting: list[str], given: dict[str, list[str]], flags: set[str], *, module: bool, redact: bool) -> int:
    from troubleshoot.commands.process import guarded, seconds_of
    from troubleshoot.commands.try_fixes import run
    from troubleshoot.lab.trying.fresh import TIMEOUT

    last = {name: values[-1] for name, values in given.items()}
    told = {"output": last.get("output"), "language": last.get("language"), "kb": given.get("kb", []), "redact": redact}
    return guarded(
        lambda: run(
            waiting[0],
            waiting[1:],
            module=module,
            options=told,
            timeout=seconds_of(last.get("timeout"), most=1e7) or TIMEOUT,
            first="first" in flags,
            yes="yes" in flags,
            format=last.get("format", "text"),
        )
    )
