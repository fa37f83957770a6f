"""Starting the command that was asked for, and building no other: start-up is a contract (docs/architecture.md, budgets)."""

from __future__ import annotations

import os
import stat
import sys

import typer


def invoke(arguments: list[str] | None) -> int:
    """Run the command that the arguments name and return its exit code. Raises what typer's parser and the command raise."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    _refuse_own_input(given)
    command = typer.main.get_command(_program(given))
    result = command.main(args=given, prog_name="troubleshoot", standalone_mode=False)
    return result if isinstance(result, int) else 0


def _refuse_own_input(given: list[str]) -> None:
    """Raise InputError where the file of ``--output`` is there and another argument names it: a log would be replaced by its diagnosis."""
    outputs: list[str] = []
    others: list[str] = []
    waiting = iter(given)
    for one in waiting:
        if one in ("-o", "--output"):
            outputs.append(next(waiting, ""))
        elif one.startswith("--output="):
            outputs.append(one.partition("=")[2])
        elif one.startswith("-o") and not one.startswith("--"):
            outputs.append(one[2:])
        else:
            others.append(one.partition("=")[2] if one.startswith("--") and "=" in one else one)
    for output in filter(None, outputs):
        for other in others:
            if _same_file(output, other, inside=given[0] in _FOLDERS):
                from troubleshoot.basics.errors import InputError

                raise InputError(f"--output {output} is there, and this command reads it ({other}). Name another file, or remove it.")


#: Commands that read all files of a folder.
_FOLDERS = ("scan", "batch", "audit")


def _same_file(output: str, other: str, *, inside: bool) -> bool:
    """Tell whether a file that is there is the other one ("-": standard input); with ``inside``, also whether it lies in that folder."""
    try:
        known, read = os.stat(output), os.stat(0 if other == "-" else other)  # noqa: PTH116  (pathlib would be imported for this)
        if not stat.S_ISREG(known.st_mode):
            return False
        if inside and stat.S_ISDIR(read.st_mode):
            folder, file = os.path.realpath(other), os.path.realpath(output)
            return os.path.commonpath([folder, file]) == folder
        return os.path.samestat(known, read)
    except (OSError, ValueError):
        return False


def _program(given: list[str]) -> typer.Typer:
    """Return the program, reduced to one command where the first argument names it."""
    from troubleshoot.commands.app import add_rest, app

    completing = any(name.startswith("_TROUBLESHOOT_COMPLETE") for name in os.environ)
    one = _named(app, given)
    if not one or completing:
        add_rest()
        one = _named(app, given)
    if not one or completing:
        return app
    small = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    small.info = app.info
    small.registered_callback = app.registered_callback
    small.registered_commands = one
    return small


def _named(app: typer.Typer, given: list[str]) -> list[typer.models.CommandInfo]:
    """Return the command that the first argument names, in a list."""
    return [info for info in app.registered_commands if info.callback is not None and given[:1] == [info.name or info.callback.__name__]]
