"""The process around a command: streams, errors in one line, interrupts, broken pipes."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

#: For streams whose encoding lacks them.
_PLAIN = str.maketrans(
    {"…": "...", "·": "-", "×": "x", "→": "->", "–": "-", "—": "-", "“": '"', "”": '"', "‘": "'", "’": "'", "✓": "+", "✗": "x", "−": "-"}
)


def guarded(command: Callable[[], int]) -> int:
    """Run a command; turn whatever it raises into one clear line on stderr and an exit code."""
    # A program may be started without them.
    sys.stdout = sys.stdout or cast("TextIO", _Closed())
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    try:
        _prepare(sys.stdout)
        _prepare(sys.stderr)
        code = command()
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _discard_stdout()
        return 0
    except SystemExit as stop:
        # Shell completion ends the process so.
        return stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 2
    except Exception as error:
        try:
            return _report(error)
        except BrokenPipeError:
            return 2
        except KeyboardInterrupt:
            return 130


class _Closed(io.TextIOBase):
    """What stands for a standard output that was closed before the program began."""

    encoding = "utf-8"

    def write(self, text: str) -> int:
        """Refuse."""
        raise OSError(errno.EBADF, "standard output is closed")


#: What the system says where an output takes nothing more: a full disk, a full quota, a closed descriptor.
_TAKES_NOTHING = frozenset(
    number for name in ("ENOSPC", "EDQUOT", "EFBIG", "EIO", "EBADF") if (number := getattr(errno, name, None)) is not None
)


def _report(error: Exception) -> int:
    from troubleshoot.basics.errors import TroubleshootError

    if isinstance(error, OSError) and error.filename is None and error.errno in _TAKES_NOTHING:
        _discard_stdout()
        complain(f"cannot write the output: {error.strerror}")
        return 2

    if isinstance(error, TroubleshootError):
        complain(str(error))
        return 2
    usage = getattr(error, "format_message", None)
    if usage is not None and hasattr(error, "exit_code"):
        # What typer's parser raises. Its classes moved between releases, their shape did not.
        context = getattr(error, "ctx", None)
        hint = f" See: {context.command_path} --help" if context is not None else ""
        complain(usage().rstrip() + hint)
        return 2
    if type(error).__name__ == "Abort":
        return 130
    if os.environ.get("TROUBLESHOOT_DEBUG"):
        raise error
    if isinstance(error, MemoryError):
        complain("out of memory. Cut the report to the part around its first traceback.")
        return 2
    from troubleshoot.commands.about import internal_error

    sys.stderr.write(internal_error(error))
    return 2


def complain(text: str) -> None:
    """Print ``troubleshoot: TEXT`` on stderr, secrets masked and control characters made visible."""
    from troubleshoot.basics.redact import redact_text
    from troubleshoot.telling.layout import visible

    sys.stderr.write("troubleshoot: " + "\n".join(visible(line) for line in redact_text(text).split("\n")) + "\n")


def _prepare(stream: TextIO) -> None:
    """Make a stream write what it can: what its encoding lacks is escaped, never an error."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def _discard_stdout() -> None:
    """Send the rest nowhere, so that the flush at exit does not complain."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError):
        pass


_STDOUT = ("-", "/dev/stdout")


def _save(data: bytes, output: str) -> None:
    from troubleshoot.basics.errors import InputError
    from troubleshoot.basics.saving import save

    try:
        save(output, data)
    except BrokenPipeError:
        # Whoever read from the pipe has seen enough.
        pass
    except (OSError, ValueError) as error:
        raise InputError(f"cannot write {output}: {getattr(error, 'strerror', None) or error}") from error


def write(text: str, output: str | None) -> None:
    """Write all of the file ``output`` or nothing of it, or to stdout in what its encoding holds.

    Raises:
        InputError: the file cannot be written.
    """
    if output is not None and output not in _STDOUT:
        _save(text.encode("utf-8", "backslashreplace"), output)
        return
    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "")
    if not encoding.startswith(("utf", "gb18030")):
        if text.startswith(("{", "[")):
            # JSON: what the encoding lacks keeps its value, and no quote is put into a string.
            from troubleshoot.basics.json_text import ascii_json

            text = ascii_json(text)
        else:
            text = text.translate(_PLAIN)
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read has seen enough (`| head`): the command's own exit code stands.
        _discard_stdout()


def shown(text: str) -> str:
    """Return lines of text with control, reordering and invisible characters written as escapes: entries of others may hold them."""
    from troubleshoot.telling.layout import visible

    return "\n".join(map(visible, text.split("\n")))


def json_text(data: Any) -> str:
    """Return data as JSON that reads well, with what could steer a terminal escaped."""
    from troubleshoot.basics import json_text

    return json_text.json_text(data, 2) + "\n"


def write_bytes(data: bytes, output: str | None) -> None:
    """Write bytes as they are to the file ``output``, or to stdout. Raises InputError where the file cannot be written."""
    binary = getattr(sys.stdout, "buffer", None)
    if output is not None and output not in _STDOUT:
        _save(data, output)
    elif binary is None:
        write(data.decode("utf-8", "surrogateescape"), None)
    else:
        try:
            sys.stdout.flush()
            binary.write(data)
            binary.flush()
        except BrokenPipeError:
            _discard_stdout()


def say(text: str) -> None:
    """Write to stderr, in what its encoding holds."""
    stream = sys.stderr
    if stream is None:
        return
    encoding = getattr(stream, "encoding", None) or "utf-8"
    if not encoding.lower().replace("-", "").startswith(("utf", "gb18030")):
        text = text.translate(_PLAIN)
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding, "replace"))
    stream.flush()


@contextmanager
def progress(what: str) -> Iterator[Callable[[str], None]]:
    """Show what a long command is at, on one line of stderr and only in a terminal."""
    live = sys.stderr.isatty()

    def say(name: str) -> None:
        if live:
            line = f"{what} {name}"
            sys.stderr.write(f"\r\x1b[K{line[: max(1, width(None) - 1)]}")
            sys.stderr.flush()

    try:
        yield say
    finally:
        if live:
            sys.stderr.write("\r\x1b[K")


def use_color(choice: str, output: str | None) -> bool:
    """Tell whether to colour; see https://no-color.org. Raises InputError for another choice than auto, always, never."""
    if choice not in ("auto", "always", "never"):
        from troubleshoot.basics.errors import InputError

        raise InputError(f"--color {choice}: choose auto, always or never")
    if choice != "auto":
        return choice == "always"
    if output is not None or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout.isatty() and (
        os.name != "nt" or bool(os.environ.get("WT_SESSION") or os.environ.get("ANSICON") or os.environ.get("TERM"))
    )


def width(output: str | None) -> int:
    """Return the terminal's width; 80 where the output is no terminal. ``COLUMNS`` wins."""
    given = os.environ.get("COLUMNS", "")
    if given.isdigit() and int(given) > 0:
        return int(given)
    if output is not None or not sys.stdout.isatty():
        return 80
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def language(choice: str | None) -> str:
    """Return "en" or "zh": the choice, ``TROUBLESHOOT_LANG``, or the locale's. Raises InputError for another language."""
    if choice is not None:
        if choice not in ("en", "zh"):
            from troubleshoot.basics.errors import InputError

            raise InputError(f"--lang {choice}: choose en or zh")
        return choice
    for name in ("TROUBLESHOOT_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        value = os.environ.get(name)
        if value:
            return "zh" if value.lower().startswith("zh") else "en"
    return "en"


def check_format(format: str, allowed: tuple[str, ...]) -> str:
    """Return the format; raise InputError where it is not one of ``allowed``."""
    if format == "md" and "markdown" in allowed:
        return "markdown"
    if format not in allowed:
        from troubleshoot.basics.errors import InputError

        raise InputError(f"--format {format}: choose {', '.join(allowed[:-1])} or {allowed[-1]}")
    return format


def seconds_of(text: str | None, *, most: float = 1e6) -> float | None:
    """Return the value of ``--timeout``, which is below ``most``; None where it was not given.

    Raises:
        InputError: it is no number of seconds.
    """
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < most:
        from troubleshoot.basics.errors import InputError

        raise InputError(f"--timeout {text}: give the seconds that one run may take")
    return value


def number_of_jobs(text: str) -> int:
    """Return the number of processes that ``--jobs`` asks for; 0 is one per core.

    Raises:
        InputError: it is no number.
    """
    if not (text.isascii() and text.isdigit()):
        from troubleshoot.basics.errors import InputError

        raise InputError(f"--jobs {text}: give a number of processes, or 0 for one per core")
    return int(text)
