"""The result of a scan as text: a table for the terminal, one JSON object per line."""

from __future__ import annotations

from troubleshoot.basics.json_text import json_text
from troubleshoot.basics.redact import redact_data, redact_text
from troubleshoot.scale.scanning.problems import Place, Problem, ScanResult
from troubleshoot.telling.layout import clip, pad, paint, visible

_TONES = {"known": "good", "likely": "warn", "unknown": "dim"}
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def to_jsonl(result: ScanResult, *, personal: bool = False) -> str:
    """Return one line per problem and a last one that sums up. ``personal``: mask home directories and addresses too."""
    return "".join(jsonl_row(one, personal=personal) for one in result.problems) + json_text(result.to_dict()) + "\n"


def jsonl_row(problem: Problem, *, personal: bool = False) -> str:
    """Return the line of one problem."""
    return json_text(redact_data(problem.to_dict(), personal=personal)) + "\n"


def to_table(result: ScanResult, width: int, *, color: bool = False, personal: bool = False) -> str:
    """Return the problems, each with its diagnosis and its places, and a last line that sums up."""
    lines: list[str] = []
    for number, one in enumerate(result.problems, 1):
        lines += problem_lines(one, width, number=number, color=color, personal=personal)
        lines.append("")
    lines.append(summary_line(result))
    lines += [f"note: {visible(note)}" for note in result.notes]
    lines += [f"left out: {masked(str(one), personal)}" for one in result.left_out]
    lines += [f"skipped: {visible(note)}" for note in result.skipped]
    return "\n".join(lines) + "\n"


def problem_lines(one: Problem, width: int, *, number: int = 0, color: bool = False, personal: bool = False) -> list[str]:
    """Return the lines of one problem."""
    head = f"{number}. " if number else ""
    times = "once" if one.count == 1 else f"{one.count:,} times"
    message = " ".join(masked(one.message, personal).split())
    what = f"{one.exception}: {message}" if one.exception else message
    ranks = f" on rank{'s' if len(one.ranks) > 1 else ''} {ranges(one.ranks)}" if one.ranks else ""
    out = [paint(clip(head + what, width), "bold", color)]
    indent = " " * len(head)
    if one.verdict == "unknown":
        told = {"victim": "a consequence of another failure", "launcher": "what the launcher says of it"}.get(one.role, "no diagnosis")
        out.append(indent + paint(told, "dim", color) + (f" ({visible(one.title)})" if one.title and one.role == "cause" else ""))
    else:
        verdict = paint(f"{one.verdict} {one.confidence:.0%}", _TONES[one.verdict], color)
        out.append(f"{indent}{verdict}  {one.issue}: {visible(one.title)}")
        if one.advice:
            out.append(f"{indent}do: {visible(one.advice)}" + (f"  ({visible(one.command)})" if one.command else ""))
    if one.reader:
        out.append(indent + paint(f"read by {visible(one.reader)}", "dim", color))
    first, last = place(one.first, personal), place(one.last, personal)
    rest = "" if one.count == 1 else f", last {last}"
    out.append(f"{indent}{times}{ranks}: first {first}{rest}")
    if one.user or one.library:
        out.append(indent + paint("in " + ", ".join(masked(spot, personal) for spot in (one.user, one.library) if spot), "dim", color))
    return out


def place(one: Place, personal: bool = False) -> str:
    """Return ``file:line``, with step and rank where they are known."""
    more = [f"{name} {value}" for name, value in (("step", one.step), ("rank", one.rank)) if value is not None]
    return f"{masked(one.file, personal)}:{one.line}" + (f" ({', '.join(more)})" if more else "")


def masked(text: str, personal: bool) -> str:
    """Return text that is fit to be shown: secrets masked, control characters made visible."""
    return visible(redact_text(text.replace("\n", " "), personal=personal))


def ranges(numbers: tuple[int, ...]) -> str:
    """Return ``0-3, 7`` for 0, 1, 2, 3, 7."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def summary_line(result: ScanResult) -> str:
    """Return how much was read, and how fast."""
    speed = f", {size(result.bytes / result.seconds)}/s" if result.seconds > 0 and result.bytes > 1 << 20 else ""
    count = len(result.problems)
    return (
        f"{count} distinct problem{'s' * (count != 1)} in {result.files} file{'s' * (result.files != 1)}, "
        f"{result.lines:,} lines, {size(result.bytes)} in {result.seconds:.1f} s{speed} ({result.engine})"
    )


def size(count: float) -> str:
    """Return a number of bytes with a unit."""
    unit = 0
    while count >= 1024 and unit < len(_UNITS) - 1:
        count /= 1024
        unit += 1
    return f"{count:.1f} {_UNITS[unit]}" if unit else f"{count:.0f} B"


def progress_line(done: int, total: int, problems: int, seconds: float, width: int) -> str:
    """Return the line that a terminal shows while a scan runs."""
    share = f"{done / total:4.0%} of {size(total)}" if total else size(done)
    speed = size(done / seconds) if seconds > 0 else "-"
    left = f", {max(0.0, (total - done) / (done / seconds)):.0f} s left" if total and done and seconds > 1 else ""
    found = f", {problems} distinct problem{'s' * (problems != 1)}" if problems else ""
    return pad(clip(f"{share}, {speed}/s{left}{found}", width - 1), width - 1)
