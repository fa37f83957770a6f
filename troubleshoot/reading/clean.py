"""A pasted text to lines without decoration: terminal codes, HTML, quoting, boxes and log prefixes removed, line numbers kept."""

from __future__ import annotations

import re
from collections.abc import Callable

from troubleshoot.basics.patterns import anchored, searched
from troubleshoot.reading.prefixes import strip_prefixes

#: One line longer than this keeps its beginning and its end: nobody writes it, and no message is in its middle. The first limit holds for
#: what is pasted (a record of a log with a traceback in it is one line), the second for a line that is read.
LINE_LIMIT = 200_000
_READ_LIMIT = 8_000
#: Empty lines in a row that are kept.
_MOST_BLANK = 6
_MANY_LINES = 2_000
_HEADER = "Traceback (most recent call last)"


class CleanText:
    """Lines with their numbers.

    ``streams`` names the process of each line where prefixes told, ``ranks`` the ranks of streams, ``stamped`` the lines with a time.
    ``cut`` is True where a line was too long to be kept whole.
    """

    def __init__(self, lines: list[str], numbers: list[int], cut: bool = False) -> None:
        self.lines = lines
        self.numbers = numbers
        self.streams: list[str] | None = None
        self.ranks: dict[str, int] = {}
        self.stamped: list[bool] | None = None
        self.cut = cut


_ANSI = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[()][A-Z0-9]|[@-Z\\^_=>78c])?"
#: Colour codes whose escape character was lost or spelled out on the way.
_COLOUR_REST = (
    r"(?:\\x1b|\\u001b|\\033|\\e|\^\[|␛)\[[0-9;]{0,20}[mK]"
    r"|(?<![\w\]])\[(?:[0-9]{1,2}(?:;[0-9]{1,3}){0,6})m(?![\w\]])"
    r"|\[(?:0|1|22|39|49|0?;?[0-9]{1,2};?3[0-9]|3[0-9]|9[0-7])m"
)
#: Comments of notebooks that thousands of users start from; the GPUs and dtypes in them are nobody's.
_TEMPLATE_COMMENTS = (
    r"# ?(?:None for auto detection\.|Choose any! We auto support|Use 4bit quantization to reduce memory usage\. Can be False)[^\n]{0,200}"
)
_TAGS = r"</?(?:details|summary|pre|code|br|p|span|div|blockquote|tt|samp|kbd|font|b|strong|em|i)(?:\s[^<>\n]{0,300})?/?>"
_ENTITIES = {
    "gt": ">", "lt": "<", "amp": "&", "quot": '"', "apos": "'", "nbsp": " ", "ldquo": '"', "rdquo": '"', "lsquo": "'", "rsquo": "'",
    "hellip": "…",
}  # fmt: skip


def clean(text: str, numbers: list[int] | None = None) -> CleanText:
    """Return the lines of ``text`` without decoration. ``numbers`` are those of its lines where they are not 1, 2, 3, ..."""
    text = _undecorate(text)
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    numbers = list(range(1, len(lines) + 1)) if numbers is None else numbers[: len(lines)]
    if len(lines) > _MANY_LINES or "\n" * (_MOST_BLANK + 2) in text:
        lines, numbers = _without_gaps(lines, numbers)
    cut = _shorten(lines, LINE_LIMIT)
    if "\r" in text:
        lines, numbers = _carriage_returns(lines, numbers)
    if "\\" in text and "\\n" in text and ("Traceback" in text or "File " in text):
        lines, numbers = _expand(lines, numbers, _needs_unescape, _unescape)
    if 'File "' in text or "Traceback" in text:
        lines, numbers = _expand(lines, numbers, _needs_split, _split_joined)
    cut = _shorten(lines, _READ_LIMIT) or cut
    result = CleanText(lines, numbers, cut=cut)
    _unprefix(result, text)
    if "Exception Group Traceback" in text:
        result.lines = _ungroup(result.lines)
    if ("+" in text and "+-" in text) or (not text.isascii() and ("│" in text or "┃" in text)):
        result.lines = _unbox(result.lines)
    return result


def _without_gaps(lines: list[str], numbers: list[int]) -> tuple[list[str], list[int]]:
    """Leave out what goes on in a run of lines without anything: a few of them already end everything that a blank line can end."""
    kept: list[str] = []
    rows: list[int] = []
    blank = 0
    for line, number in zip(lines, numbers, strict=True):
        blank = blank + 1 if not line or line.isspace() else 0
        if blank <= _MOST_BLANK:
            kept.append(line)
            rows.append(number)
    return kept, rows


def _shorten(lines: list[str], limit: int) -> bool:
    """Leave out the middle of lines that are longer than ``limit``, and tell whether there were any."""
    rows = [row for row, line in enumerate(lines) if len(line) > limit]
    if rows:
        from troubleshoot.basics.redact import redact_text

        for row in rows:
            # Half of a secret, or one whose name was left out, shows no more what it is.
            line = redact_text(lines[row])
            lines[row] = line[: limit * 3 // 4] + " … " + line[-limit // 4 :] if len(line) > limit else line
    return bool(rows)


def _unprefix(result: CleanText, text: str) -> None:
    """Remove quoting and prefixes, also where one is inside the other."""
    for _ in range(3):
        if _quotes(text):
            result.lines = _unquote(result.lines, text)
        stripped = strip_prefixes(result.lines)
        if stripped is None:
            break
        result.lines, streams, ranks, stamped = stripped
        if result.streams is None:
            result.streams = streams
        else:
            result.streams = [outer + inner for outer, inner in zip(result.streams, streams, strict=True)]
        lengths = sorted({len(name) for name in ranks})
        for stream in dict.fromkeys(result.streams):
            rank = next((ranks[stream[-length:]] for length in lengths if stream[-length:] in ranks), None)
            if rank is not None:
                result.ranks.setdefault(stream, rank)
        result.stamped = stamped if result.stamped is None else result.stamped
        text = "\n".join(result.lines)
    if result.streams is not None and not any(result.streams):
        result.streams = None


def _undecorate(text: str) -> str:
    if "\x1b" in text:
        text = searched(_ANSI).sub("", text)
    if "[" in text and ("[0m" in text or "[39" in text or "[0;" in text or "[1;3" in text or "[31m" in text):
        text = searched(_COLOUR_REST).sub("", text)
    if not text.isascii():
        text = text.replace("\xa0", " ").replace("\ufeff", "").replace("\u200b", "").replace("\u3000", " ")
        if "\u2028" in text:
            text = text.replace("\u2028", " ")
    if "\x00" in text:
        text = text.replace("\x00", "")
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if "&" in text and ";" in text:
        for _ in range(2):
            text = searched(r"&(?:(gt|lt|amp|quot|apos|nbsp|ldquo|rdquo|lsquo|rsquo|hellip)|#(\d{2,5})|#x([0-9a-fA-F]{2,4}));").sub(
                _entity, text
            )
    if "<" in text and searched(r"<(?:/|[BbPpCcDd])").search(text):
        low = text.lower()
        if "</" in text or "<br" in low or "<pre" in low or "<code" in low or "<details" in low:
            text = searched(_TAGS, re.IGNORECASE).sub("", text)
    if "for auto detection" in text or "We auto support" in text:
        text = searched(_TEMPLATE_COMMENTS).sub("", text)
    return text


def _entity(match: re.Match[str]) -> str:
    if match[1]:
        return _ENTITIES[match[1]]
    code = int(match[2]) if match[2] else int(match[3], 16)
    return chr(code) if 32 <= code < 0xD800 or code == 9 else " "


def _carriage_returns(lines: list[str], numbers: list[int]) -> tuple[list[str], list[int]]:
    """Make a line of each state of a progress bar; what follows the last one is what counts."""
    out: list[str] = []
    rows: list[int] = []
    for line, number in zip(lines, numbers, strict=True):
        if "\r" in line:
            for part in line.split("\r"):
                if part.strip():
                    out.append(part)
                    rows.append(number)
            if not line.strip():
                out.append("")
                rows.append(number)
        else:
            out.append(line)
            rows.append(number)
    return out, rows


def _expand(
    lines: list[str], numbers: list[int], needs: Callable[[str], bool], split: Callable[[str], list[str]]
) -> tuple[list[str], list[int]]:
    """Replace each line that ``needs`` it by those that ``split`` makes of it; they share its number."""
    hits = [row for row, line in enumerate(lines) if needs(line)]
    if not hits:
        return lines, numbers
    wanted = set(hits)
    out: list[str] = []
    rows: list[int] = []
    for row, line in enumerate(lines):
        parts = split(line) if row in wanted else [line]
        out.extend(parts)
        rows.extend([numbers[row]] * len(parts))
    return out, rows


def _needs_unescape(line: str) -> bool:
    # Not every backslash before an n is an escape: C:\\ComfyUI\\nodes.py.
    return "last):\\n" in line or "\\n  File " in line or "\\nFile " in line


_ESCAPES = {"n": "\n", "t": "\t", "r": "", '"': '"', "'": "'", "\\": "\\", "/": "/"}


def _unescape(line: str, depth: int = 0) -> list[str]:
    """Unfold the string of a JSON record, or a repr, that holds a traceback."""
    string = anchored(r'"((?:[^"\\]++|\\.)*+)("?)')
    at = line.find('"')
    while at >= 0:
        match = string.match(line, at)
        if match is None or not match[2]:
            # A string that is not closed goes on to the end: there is no other behind it.
            break
        inside = match[1]
        if "\\n" in inside and ("Traceback" in inside or "File " in inside):
            parts = [line[:at].rstrip(), *_unfold(inside, depth), line[match.end() :].strip()]
            return [part for part in parts if part] if len(parts) == 3 else parts
        at = line.find('"', match.end())
    bare = line.strip()
    if len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "'\"":
        line = bare[1:-1]
    return _unfold(line, depth)


def _unfold(inside: str, depth: int = 0) -> list[str]:
    text = searched(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))").sub(_escape, inside)
    if "\n" not in text and _needs_unescape(text) and depth < 3:
        # A record inside a record.
        return _unescape(text, depth + 1)
    if "\x1b" in text:
        text = searched(_ANSI).sub("", text)
    return text.split("\n")


def _escape(match: re.Match[str]) -> str:
    digits = match[1] or match[2]
    if digits:
        code = int(digits, 16)
        return chr(code) if not 0xD800 <= code < 0xE000 else "?"
    return _ESCAPES.get(match[3], match[0])


def _needs_split(line: str) -> bool:
    if "Traceback (most" in line:
        head = line[: line.find("Traceback (most")].strip()
        tail = line[line.find("Traceback (most") + len(_HEADER) + 1 :]
        return ("it/s" in head or "s/it" in head or head.endswith("?")) or 'File "' in tail
    return line.count('File "') >= 2 and line.count('", line ') >= 2


def _split_joined(line: str) -> list[str]:
    """Part a traceback that was pasted as one line, and a header behind a progress bar."""
    at = line.find("Traceback (most")
    if at > 0 and 'File "' not in line[at:]:
        return [line[:at], line[at:]]
    head, tail = (line[:at], line[at:]) if at >= 0 else ("", line)
    # A run of blanks is looked at from its beginning alone.
    tail = searched(
        r"(?<!\s)\s*+(During handling of the above exception, another exception occurred:"
        r"|The above exception was the direct cause of the following exception:)\s*+"
    ).sub(r"\n\1\n", tail)
    tail = searched(r"(?<!\s)\s++(?=Traceback \(most recent call last\):)").sub("\n", tail)
    tail = searched(r'(?<!\s)\s*+(?=File "[^"\n]{1,4096}", line \d)').sub("\n  ", tail)
    rows: list[str] = []
    for part in tail.split("\n"):
        match = anchored(r'(  File "[^"]*", line \d+(?:, in (?:<[^>\n]{1,60}>|\S+))?)(?:\s+(.*))?$').match(part)
        if not match:
            rows.append(part)
            continue
        rows.append(match[1])
        rest = match[2]
        if rest:
            error = searched(r"(?:^|(?<=\s))((?:[A-Za-z_]\w*+\.){0,8}[A-Z]\w{0,80}(?:Error|Exception|Interrupt): .*)$").search(rest)
            code = rest[: error.start()].strip() if error else rest
            if code:
                rows.append(f"    {code}")
            if error:
                rows.append(error[1])
    return ([head.rstrip()] if head.strip() else []) + [row for row in rows if row.strip()]


def _quotes(text: str) -> bool:
    """Tell whether a line begins with ``>``. A text with few of them is not searched line by line."""
    if text.count(">") > 40:
        return searched(r"(?:\n|^)[ \t]{0,40}>").search(text) is not None
    at = text.find(">")
    while at >= 0:
        head = text[max(0, at - 41) : at].rstrip(" \t")
        if head[-1:] == "\n" or (not head and at <= 40):
            return True
        at = text.find(">", at + 1)
    return False


def _unquote(lines: list[str], text: str) -> list[str]:
    """Remove the ``>`` of quoted mail and Markdown; that of pytest and of the interpreter's prompt stays."""
    quoted = (
        r'^[ \t]{0,40}>[> \t]{0,20}+(?:[^\n]{0,120}?(?:Traceback \(most|File "[^"\n]{1,500}", line \d)|[\w.]{1,100}(?:Error|Exception):)'
    )
    if not searched(quoted, re.MULTILINE).search(text):
        return lines
    pattern = anchored(r"[ \t]{0,40}+(?:> ?)+")
    out = []
    for line in lines:
        head = line.lstrip()[:1]
        match = pattern.match(line) if head == ">" else None
        out.append(line[match.end() :] if match else line)
    return out


def _ungroup(lines: list[str]) -> list[str]:
    """Remove the margins of exception groups, however deep; the rules between the members stay."""
    out: list[str] = []
    inside = False
    margin = anchored(r"[ \t]{0,200}+\|(?: |$)")
    rule = anchored(r"[ \t]{0,200}+(?:\| )?(\+-.*)")
    for line in lines:
        if "Exception Group Traceback" in line:
            inside = True
        if inside:
            match = margin.match(line)
            if match:
                line = line[match.end() :]
            else:
                match = rule.match(line)
                if match:
                    line = match[1]
        out.append(line)
    return out


def _unbox(lines: list[str]) -> list[str]:
    """Remove the sides of rich's boxes; their top and bottom stay to mark them."""
    out: list[str] = []
    ascii_box = False
    for line in lines:
        stripped = line.strip()
        first = stripped[:1]
        if first in ("│", "┃") and len(stripped) > 1:
            inner = stripped[1:]
            if inner[-1:] in ("│", "┃"):
                inner = inner[:-1]
            out.append((inner[1:] if inner[:1] == " " else inner).rstrip())
            continue
        if first == "+" and "Traceback (most recent call last)" in stripped and stripped.startswith("+--"):
            ascii_box = True
        elif ascii_box and first == "+" and not stripped.strip("+-"):
            ascii_box = False
        elif ascii_box and first == "|" and len(stripped) > 1:
            inner = stripped[1:].removesuffix("|")
            out.append((inner[1:] if inner[:1] == " " else inner).rstrip())
            continue
        out.append(line)
    return out
