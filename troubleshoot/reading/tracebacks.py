"""CPython's tracebacks: frames, message, chains. Indentation helps where it is there and is not needed where it was lost."""

from __future__ import annotations

import re

from troubleshoot.reading import grammar
from troubleshoot.reading.report import Frame, RaisedException
from troubleshoot.reading.stream import MESSAGE_LIMIT, Source, raised

#: How far a reader looks ahead for the next frame before it decides that the traceback ended.
_LOOKAHEAD = 10
#: A traceback of a runaway recursion has thousands of equal frames; these are enough at either end.
_FRAMES_KEPT = 1000

_MESSAGE_GOES_ON = (
    "from user code:", "Set TORCH", "You can suppress", "For debugging", "CUDA kernel errors", "Compile with `TORCH",
    "The above operation failed",
    "For more details about", "Search for `", "Explanation:", "Hint:", "Developer debug context:", "Note:", "note:",
)  # fmt: skip


#: How lines begin that are no part of a message: the next frame, links of chains, rules, prompts, log lines.
_ENDS = (
    'File "', grammar.CAUSE_LINE, grammar.CONTEXT_LINE, "--------", "========", "____", "+-", "## ", "# ", "frame #",
    "Exception raised from", "E   ", "FAILED ", "[rank", "[INFO", "[WARN", "[ERROR", "[20", "In [", ">>> ",
    "*** ", "PS C:", "(base)", "root@", "~ ",
    '"""', "Exception in thread", "Exception ignored in", "Fatal Python error",
)  # fmt: skip
#: What people put in place of the frames that they leave out.
ELIDED = (
    "...", "[...", "(...", "<...", "…", "[…", "(…", "⋮", "<snip", "[snip", "(snip", "-- snip", "<omitted", "[omitted", "(omitted",
    "# ...", "// ...",
)  # fmt: skip
_LEVELS = frozenset(("INFO", "WARNING", "WARN", "DEBUG", "ERROR", "CRITICAL"))


def read_traceback(source: Source, at: int) -> tuple[RaisedException | None, int]:
    """Read one traceback that begins at ``at``, with its header or, cut, with a frame.

    Returns the exception (None where there is nothing) and the index of the line after it. A traceback whose end is cut
    yields an exception without type and message.
    """
    lines, numbers, end = source.lines, source.numbers, len(source)
    header_indent: int | None = None
    complete = False
    start = at
    i = at
    if grammar.HEADER in lines[at]:
        header_indent = grammar.indent(lines[at])
        complete = True
        i += 1
    frames: list[Frame] = []
    elided = False
    while i < end:
        raw = lines[i]
        stripped = raw.strip()
        if not stripped:
            following = _skip_blank(lines, i, end)
            if following < end and following - i <= 2 and lines[following].lstrip().startswith('File "'):
                i = following
                continue
            break
        if not stripped.startswith('File "'):
            if stripped.startswith("[Previous line repeated"):
                i += 1
                continue
            if stripped.startswith(ELIDED) and len(stripped) < 60 and _goes_on_below(lines, i + 1, end, 2):
                elided = True
                i += 1
                continue
            break
        match = grammar.FILE.match(stripped)
        past = i + 1
        if match is None or (match[3] is None and stripped[-1:].isdigit()):
            joined, past_joined = _join_wrapped(lines, i, end)
            if joined:
                match, past = joined, past_joined
        if match is None:
            break
        flat = (grammar.indent(raw) <= header_indent) if header_indent is not None else raw[:1] == "F"
        function = match[3]
        if function and past < end and _name_goes_on(lines, past, end, grammar.indent(raw), flat):
            function += lines[past].strip()
            past += 1
        code, i_next = _read_code(lines, past, end, grammar.indent(raw), flat)
        if len(frames) < _FRAMES_KEPT * 2:
            frames.append(Frame(match[1], function, int(match[2][:9]), code, numbers[i]))
        i = i_next
    if not frames and header_indent is None:
        return None, at + 1
    message_at = _skip_blank(lines, i, end, 2)
    if frames and message_at > i and not (message_at < end and grammar.match_exception(lines[message_at].strip(), False)):
        message_at = i
    found = read_exception_line(source, message_at, bool(frames)) if message_at < end else None
    complete = complete and bool(frames) and not elided
    if found:
        kind, message, past = found
        if "from user code:" in message:
            frames.extend(_user_code(source, message_at, past))
        return raised(kind, message, frames, numbers[message_at], numbers[past - 1], complete=complete), past
    if not frames:
        return None, max(i, at + 1)
    last = numbers[i - 1] if i > start else numbers[start]
    return raised("", "", frames, frames[-1].at, last), i


def _user_code(source: Source, start: int, stop: int) -> list[Frame]:
    """The frames that the compiler was tracing: a part of its message, and the innermost of all."""
    frames: list[Frame] = []
    for i in range(start, stop):
        match = grammar.FILE.match(source.lines[i].strip())
        if match:
            code = source.lines[i + 1].strip() if i + 1 < stop else None
            frames.append(Frame(match[1], match[3], int(match[2][:9]), code, source.numbers[i]))
    return frames


def read_exception_line(source: Source, at: int, after_frames: bool) -> tuple[str, str, int] | None:
    """Return (type, message, index past it) of the exception that line ``at`` names, with the lines that its message goes on for."""
    stripped = source.lines[at].strip()
    if not stripped or grammar.HEADER in stripped or stripped.startswith(("```", "<")):
        return None
    named = grammar.match_exception(stripped, after_frames)
    if named:
        kind, first = named
    elif after_frames and not stripped.startswith(("[", "(", "$", ">", "#", "-", "=", "+", "|")) and ":" not in stripped[:1]:
        kind, first = "", stripped
    else:
        return None
    message, past = read_message(source, at + 1, first, grammar.indent(source.lines[at]))
    return kind, message, past


def read_message(source: Source, at: int, first: str, base: int, sure: bool = True) -> tuple[str, int]:
    """Return the whole of a message whose first line is ``first``, and the index of the line after it.

    Without a traceback above (``sure`` is False) prose may follow at once: only what must belong to the message is taken.
    """
    lines, end = source.lines, len(source)
    stamped = source.stamped
    i = at
    parts = [first]
    size = len(first)
    in_user_code = False
    while i < end and size < MESSAGE_LIMIT:
        line = lines[i]
        stripped = line.strip()
        if not stripped:
            following = _skip_blank(lines, i, end, 2)
            if following >= end or not lines[following].strip():
                break
            if not _goes_on(lines[following], base):
                break
            parts.append("")
            i = following
            continue
        if not sure and not _goes_on(line, base):
            break
        if stripped.startswith("from user code:"):
            in_user_code = True
        elif (
            (stamped and stamped[i] and not stamped[at - 1])
            or (ends_message(stripped)
            and not (in_user_code and stripped.startswith('File "')))
        ):
            break
        parts.append(line[base:].rstrip() if line[:base].isspace() or not base else line.rstrip())
        size += len(line) + 1
        i += 1
    return "\n".join(parts), i


def _goes_on(line: str, base: int) -> bool:
    """Tell whether a line after a blank one still belongs to the message: indented text, or the usual advice of torch."""
    stripped = line.strip()
    if stripped.startswith(_MESSAGE_GOES_ON):
        return True
    return grammar.indent(line) > base and not stripped.startswith(('File "', "+", "|")) and grammar.HEADER not in stripped


def ends_message(stripped: str) -> bool:
    """Tell whether a line cannot belong to the message above it."""
    first = stripped[0]
    if "%|" in stripped or "it/s" in stripped:
        return True
    if first in "`$╭─│❱╰<" or grammar.HEADER in stripped or stripped.startswith(_ENDS):
        return True
    if first in "IWEDC" and stripped.split(" ", 1)[0].rstrip(":") in _LEVELS:
        return True
    if "Error" in stripped or "Exception" in stripped or "Interrupt" in stripped:
        match = grammar.EXCEPTION.match(stripped)
        return match is not None and grammar.class_like(match[1])
    return False


def connector(lines: list[str], at: int, end: int) -> tuple[str, int] | None:
    """Return (link, index of the next traceback's header) where a chain goes on after line ``at``."""
    i = _skip_blank(lines, at, end, 3)
    if i >= end:
        return None
    stripped = lines[i].strip()
    if stripped.startswith(grammar.CAUSE_LINE):
        link = "cause"
    elif stripped.startswith(grammar.CONTEXT_LINE):
        link = "context"
    else:
        return None
    i += 1
    if not stripped.endswith(":") and i < end and lines[i].strip().endswith(":") and grammar.HEADER not in lines[i]:
        i += 1
    return link, _skip_blank(lines, i, end, 3)


def _skip_blank(lines: list[str], at: int, end: int, most: int = 4) -> int:
    stop = min(end, at + most)
    while at < stop and not lines[at].strip():
        at += 1
    return at


def _goes_on_below(lines: list[str], at: int, end: int, most: int) -> bool:
    """Tell whether a frame or the exception follows what stands for lines that were left out."""
    for j in range(at, min(end, at + most)):
        stripped = lines[j].strip()
        if stripped.startswith('File "') or grammar.match_exception(stripped, False):
            return True
    return False


def _join_wrapped(lines: list[str], at: int, end: int) -> tuple[re.Match[str] | None, int]:
    """Join a frame line that a terminal broke with the lines after it."""
    text = lines[at].strip()
    for j in range(at + 1, min(end, at + 4)):
        part = lines[j].strip()
        if not part or part.startswith('File "') or grammar.HEADER in part:
            break
        if grammar.FILE.match(text) and not _finishes(part):
            break
        for glue in ("", " "):
            match = grammar.FILE_JOINED.match(text + glue + part)
            if match and match[3]:
                return match, j + 1
        text += part
    return None, at + 1


def _finishes(part: str) -> bool:
    """Tell whether ``34, in forward`` or ``, in f`` finishes a frame line that ended too early."""
    head, comma, rest = part.partition(",")
    if comma and (not head or head.isdigit()) and rest.lstrip().startswith("in"):
        return True
    return part.startswith("in ") and len(part.split()) == 2


def _read_code(lines: list[str], at: int, end: int, frame_indent: int, flat: bool) -> tuple[str | None, int]:
    """Return (source line, index past it and its markers) of the frame whose line is before ``at``."""
    code: str | None = None
    i = at
    # As Python prints it: one deeper line, perhaps one of carets, and the next frame.
    if not flat and i + 1 < end and lines[i][: frame_indent + 1].isspace() and not lines[i].lstrip().startswith('File "'):
        code = lines[i].strip()
        i += 1
        if code and lines[i].lstrip().startswith('File "'):
            return code, i
        code = code or None
        if code is None or grammar.is_carets(code):
            code, i = None, at
    while i < end:
        raw = lines[i]
        stripped = raw.strip()
        if not stripped:
            return code, i
        if stripped[0] in "└│├" and code is not None:
            # The values that loguru draws below a source line.
            i += 1
            continue
        deeper = grammar.indent(raw) > frame_indent
        if deeper and not flat:
            if code is None and not grammar.is_carets(stripped):
                if stripped.startswith('File "'):
                    return code, i
                code = stripped
            i += 1
            continue
        if stripped.startswith(('File "', "[Previous line repeated")) or grammar.HEADER in stripped:
            return code, i
        if grammar.is_carets(stripped):
            i += 1
            continue
        strong = grammar.match_exception(stripped, False)
        if flat and code is None and not strong:
            code = stripped
            i += 1
            continue
        # A fragment of a wrapped line, or the second line of a statement that 3.13 shows whole.
        if strong or code is None or not _frame_follows(lines, i + 1, end):
            return code, i
        i += 1
    return code, i


def _name_goes_on(lines: list[str], at: int, end: int, frame_indent: int, flat: bool) -> bool:
    """Tell whether a terminal broke the function's name: its rest stands at the margin, where no source line can be."""
    raw = lines[at]
    if flat or not raw or raw[0].isspace() or frame_indent == 0:
        return False
    rest = raw.strip().rstrip(">")
    if not rest.replace(".", "_").isidentifier() or grammar.match_exception(rest, False):
        return False
    return at + 1 < end and (grammar.indent(lines[at + 1]) > frame_indent or lines[at + 1].lstrip().startswith('File "'))


def _frame_follows(lines: list[str], at: int, end: int) -> bool:
    """Tell whether, before anything that ends a traceback, another frame follows."""
    for j in range(at, min(end, at + _LOOKAHEAD)):
        stripped = lines[j].strip()
        if stripped.startswith('File "'):
            return True
        if not stripped or grammar.HEADER in stripped or grammar.match_exception(stripped, False):
            return False
    return False
