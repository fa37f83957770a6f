"""One pass over cleaned lines: every traceback, every error message that stands alone, and what launchers say."""

from __future__ import annotations

from dataclasses import replace

from troubleshoot.basics.patterns import anchored, searched
from troubleshoot.reading import grammar, tracebacks
from troubleshoot.reading.carried import read_members, read_nested
from troubleshoot.reading.clean import CleanText
from troubleshoot.reading.places import locate
from troubleshoot.reading.report import RaisedException
from troubleshoot.reading.stream import Chain, Scan, Source, raised

#: An exception's class and message within a line of prose or of a log.
_INSIDE = searched(r"(?<![\w./\\-])((?:[A-Za-z_]\w{0,80}\.){0,8}[A-Z]\w{0,80}(?:Error|Exception|Interrupt))(?:\*\*|`)?: ?(\S.*)")
_GENERIC = searched(
    r"(?:^\s{0,40}(?:error|fatal)|(?:^|[\s\]*])(?:Error|ERROR|Exception|Fatal|错误|报错|!!! Exception during processing ?!!!))"
    r"(?:\s?[:：]\s?|\s(?<=!!! ))(\S.{3,})"
)
_WARNING = searched(r"(?:^|[\s:])\w{0,60}Warning: ")
_COMFY = searched(r"Error occurred when executing ([^:\n]{1,200}):\s*$")
_STATED = anchored(r"[\s*#-]{0,10}Exception (Type|Message):?\**:?\s?(.*)$")
_FIELDS = ("#", "-", "*", "```", 'File "', "Traceback", "Exception ", "Stack Trace")
_SUMMARY = ("FAILED ", "ERROR tests", "ERROR test_")

#: More failures than this in one report are repetitions with other numbers in them.
_MOST_CHAINS = 5000


def scan_streams(text: CleanText) -> Scan:
    """Return what failed in every stream, in the order of the report."""
    found = Scan()
    if text.streams is None:
        _scan_tangled(Source(text.lines, text.numbers, None, text.stamped), found)
    else:
        rows: dict[str, list[int]] = {}
        for row, stream in enumerate(text.streams):
            rows.setdefault(stream, []).append(row)
        for stream, indexes in rows.items():
            stamped = [text.stamped[row] for row in indexes] if text.stamped else None
            source = Source([text.lines[row] for row in indexes], [text.numbers[row] for row in indexes], text.ranks.get(stream), stamped)
            _scan_tangled(source, found)
        found.chains.sort(key=lambda chain: chain.exceptions[0].line)
    return found


def _scan_tangled(source: Source, found: Scan) -> None:
    groups: list[list[tuple[int, str]]] = []
    if sum(1 for line in source.lines if grammar.HEADER in line) > 1:
        from troubleshoot.reading import interleave

        groups, taken = interleave.untangle(source.lines)
    if not groups:
        _Scanner(source, found).run()
        return
    rest = [(row, line) for row, line in enumerate(source.lines) if row not in taken]
    for group in [*groups, rest]:
        part = Source([line for _, line in group], [source.numbers[row] for row, _ in group], source.rank)
        _Scanner(part, found).run()
    found.chains.sort(key=lambda chain: chain.exceptions[0].line)


class _Scanner:
    """The place in one stream, and what the lines so far said about those that follow."""

    def __init__(self, source: Source, found: Scan) -> None:
        self.source = source
        self.found = found
        self.footer_rank: int | None = None
        self.in_root_cause = False
        self.stated: tuple[str, str] = ("", "")
        self.stated_at = 0
        self.before: tuple[int, str] | None = None

    def run(self) -> None:
        lines = self.source.lines
        i, end = 0, len(lines)
        while i < end:
            line = lines[i]
            # Cheap words first: almost every line of a log has none of them.
            if "Traceback" in line or 'File "' in line:
                i = self._traceback(i)
            elif "rror" in line or "xception" in line or "Interrupt" in line or "Exit" in line or "ERROR" in line or "错" in line:
                i = self._message(i)
            elif line[:4] == "E   " and len(line) > 4:
                i = self._pytest(i)
            elif " in " in line or line[-3:] == " in" or "In [" in line or "In[" in line or "File " in line:
                i = self._frame(i)
            elif (
                "terminat" in line
                or "Watchdog caught" in line
                or "code" in line
                or "rank " in line
                or "Root Cause" in line
                or "BAD" in line
                or "mpirun" in line
            ):
                i = self._native(i)
            else:
                i += 1
            if len(self.found.chains) >= _MOST_CHAINS:
                return

    def _add(self, exceptions: list[RaisedException], rank: int | None = None, role: str | None = None) -> Chain:
        chain = Chain(exceptions, rank if rank is not None else self.source.rank, role)
        self.found.chains.append(chain)
        return chain

    def _one(self, result: tuple[RaisedException | None, int]) -> int:
        one, past = result
        if one:
            self._add([one])
        return past

    # -- tracebacks ----------------------------------------------------------------------------------------------------------

    def _traceback(self, at: int) -> int:
        lines = self.source.lines
        line = lines[at]
        stripped = line.strip()
        if grammar.HEADER in line or stripped.startswith('File "') or ("Traceback" in line and self._is_box(line)):
            return self._chain(at)
        if "rror" in line or "xception" in line:
            return self._message(at)
        if stripped.startswith("File "):
            return self._frame(at)
        return at + 1

    def _chain(self, at: int) -> int:
        """Read a traceback and those that hang together with it."""
        lines, end = self.source.lines, len(self.source)
        in_footer = "traceback :" in lines[at] or "traceback:" in lines[at]
        exceptions: list[RaisedException] = []
        i = at
        link: str | None = None
        while i < end:
            one, past = self._read(i)
            if one is None:
                break
            exceptions.append(replace(one, link=link) if link else one)
            i = past
            nested = read_nested(self.source, i, one) if one.type else None
            if nested is not None:
                inner, i = nested
                # What a worker raised came first; the exception that carries its text came of it.
                wrapped = exceptions.pop()
                exceptions.extend([inner, replace(wrapped, link="cause")])
            if i < end and lines[i].strip() == '"""':
                i += 1
            if one.name.endswith("ExceptionGroup") and i < end and lines[i].startswith("+-"):
                i = read_members(self.source, i, exceptions)
            following = tracebacks.connector(lines, i, end)
            if not following or following[1] >= end or not self._begins(following[1]):
                break
            link, i = following
        if not exceptions:
            return max(i, at + 1)
        last = exceptions[-1]
        if not last.type and not last.message:
            exceptions[-1] = self._named(last, at)
        if exceptions[0].link:
            exceptions[0] = replace(exceptions[0], link=None)
        chain = self._add(exceptions)
        chain.ignored = at > 0 and lines[at - 1].startswith("Exception ignored in")
        if in_footer:
            chain.rank, chain.from_footer = self.footer_rank, True
        return max(i, at + 1)

    def _begins(self, at: int) -> bool:
        line = self.source.lines[at]
        return grammar.HEADER in line or line.lstrip().startswith('File "')

    def _is_box(self, line: str) -> bool:
        if ("──" not in line and "--" not in line and "━" not in line) or self.source.allowance <= 0:
            return False
        from troubleshoot.reading import boxes

        return boxes.begins_box(line)

    def _pytest(self, at: int) -> int:
        from troubleshoot.reading import pytest_output

        return self._one(pytest_output.read_pytest(self.source, at))

    def _read(self, at: int) -> tuple[RaisedException | None, int]:
        line = self.source.lines[at]
        if not line.lstrip().startswith(('File "', "Traceback (most")):
            if self._is_box(line):
                from troubleshoot.reading import boxes

                return boxes.read_box(self.source, at)
            if "  Traceback (most" in line and self.source.allowance > 0:
                from troubleshoot.reading import notebooks

                if notebooks.begins_notebook(line):
                    return notebooks.read_notebook(self.source, at)
        return tracebacks.read_traceback(self.source, at)

    def _named(self, one: RaisedException, at: int) -> RaisedException:
        """Give frames without an exception the one that the text named above them."""
        kind, message = self.stated
        line = self.source.numbers[self.stated_at] if message else one.line
        if not message and self.before and at - self.before[0] <= 12:
            line, message = self.source.numbers[self.before[0]], self.before[1]
            self._forget(line)
        if not kind and not message:
            return one
        match = grammar.match_exception(message, False) if not kind else None
        if match:
            kind, message = match
        return raised(kind, message, list(one.frames), line, one.last_line, one.link, one.complete)

    def _forget(self, line: int) -> None:
        """Drop the failure without frames that was made of a line which turned out to head a traceback."""
        chains = self.found.chains
        if chains and not chains[-1].exceptions[0].frames and chains[-1].exceptions[0].line == line:
            chains.pop()

    def _frame(self, at: int) -> int:
        lines = self.source.lines
        if self.source.allowance <= 0:
            return at + 1
        below = lines[at + 1 : at + 9]
        if any("❱" in line for line in below):
            from troubleshoot.reading import boxes

            if boxes.begins_cut_box(lines, at):
                return self._cut(boxes.read_box(self.source, at), at)
        if any("-> " in line for line in below):
            from troubleshoot.reading import notebooks

            if notebooks.begins_notebook_frame(lines, at):
                return self._cut(notebooks.read_notebook(self.source, at), at)
        return at + 1

    def _cut(self, result: tuple[RaisedException | None, int], at: int) -> int:
        """Frames whose top is missing: where the end is missing too, the message may stand above them."""
        one, past = result
        if one and not one.type and not one.message:
            one = self._named(one, at)
        return self._one((one, past))

    # -- messages --------------------------------------------------------------------------------------------------------------

    def _message(self, at: int) -> int:
        line = self.source.lines[at]
        if line[:4] == "E   " and len(line) > 4:
            return self._pytest(at)
        if len(line) > 20_000:
            return at + 1
        if "terminat" in line or "return code" in line or line.startswith(("srun:", "slurmstepd:")):
            past = self._native(at)
            if past > at + 1 or "terminat" in line or self._is_launcher(line):
                return past
        if " in " in line and ("In [" in line or "<ipython" in line):
            return self._frame(at)
        if line.startswith("Fatal Python error: "):
            return self._native(at)
        if "Warning: " in line:
            warned = _WARNING.search(line)
            if warned and not _INSIDE.search(line[: warned.end()]):
                # The line below it quotes the source that warned.
                return at + 2 if self.source.lines[at + 1 : at + 2] and self.source.lines[at + 1][:2] == "  " else at + 1
        stated = _STATED.match(line)
        if stated and stated[2]:
            kind, message = self.stated
            text = stated[2].strip().strip("*`")
            if stated[1] == "Type":
                self.stated = (text, message)
            else:
                past = self._stated_goes_on(at + 1)
                text = "\n".join([text, *(one.strip() for one in self.source.lines[at + 1 : past])])
                self.stated, self.stated_at = (kind, text), at
                return past
            return at + 1
        comfy = _COMFY.search(line)
        if comfy:
            return self._message_below(at)
        stripped = line.strip().strip("`*").strip()
        match = grammar.match_exception(stripped, False)
        if match and match[1] and not grammar.is_warning(match[0]):
            return self._bare(at, "" if match[0] == "Error" else match[0], match[1])
        if stripped.startswith(_SUMMARY) and "::" in stripped and " - " in stripped:
            stripped = stripped.partition(" - ")[2]
        if ".py:" in line:
            from troubleshoot.reading import pytest_output

            one = pytest_output.read_line_style(self.source, at)
            if one:
                self._add([one])
                return at + 1
        inside = _INSIDE.search(stripped)
        if inside:
            return self._bare(at, inside[1], inside[2])
        generic = _GENERIC.search(line)
        if generic:
            self.before = (at, generic[1].strip())
            return self._bare(at, "", generic[1].strip())
        return at + 1

    def _stated_goes_on(self, at: int) -> int:
        """A stated message of several lines ends with the next field, heading or fence."""
        lines = self.source.lines
        past = at
        while past < min(len(lines), at + 12) and lines[past].strip() and not lines[past].lstrip().startswith(_FIELDS):
            past += 1
        return past

    def _message_below(self, at: int) -> int:
        """``Error occurred when executing KSampler:`` is followed by the message, then by frames."""
        lines = self.source.lines
        for i in range(at + 1, min(len(lines), at + 4)):
            if lines[i].strip():
                if lines[i].lstrip().startswith('File "') or grammar.HEADER in lines[i]:
                    return i
                message, past = tracebacks.read_message(self.source, i + 1, lines[i].strip(), 0)
                self.before = (i, message)
                self._add([raised("", message, [], self.source.numbers[i], self.source.numbers[past - 1])])
                return past
        return at + 1

    def _bare(self, at: int, kind: str, first: str) -> int:
        message, past = first.rstrip("`*"), at + 1
        if kind:
            message, past = tracebacks.read_message(self.source, past, message, grammar.indent(self.source.lines[at]), sure=False)
        if self.before is None or self.before[0] != at:
            self.before = (at, f"{kind}: {message}" if kind else message)
        one = raised(kind, message, [], self.source.numbers[at], self.source.numbers[past - 1])
        nested = read_nested(self.source, past, one) if kind else None
        if nested:
            self._add([nested[0], replace(one, link="cause")])
            return nested[1]
        self._add([one])
        return past

    # -- native code and launchers -----------------------------------------------------------------------------------------

    def _is_launcher(self, line: str) -> bool:
        return any(word in line for word in grammar.LAUNCHER_LINES)

    def _native(self, at: int) -> int:
        line = self.source.lines[at]
        from troubleshoot.reading import native

        if line.startswith("Fatal Python error: "):
            return self._one(native.read_fatal(self.source, at))
        if "terminate called" in line or "uncaught exception" in line:
            return self._one(native.read_terminate(self.source, at))
        if "Watchdog caught" in line:
            one, rank = native.read_watchdog(self.source, at)
            self._add([one], rank, "victim")
            return at + 1
        if "Root Cause" in line:
            self.in_root_cause = True
        elif self._is_launcher(line):
            self._add([raised("", line.strip(), [], self.source.numbers[at], self.source.numbers[at])], None, "launcher")
        elif ": " in line:
            rank = native.footer_rank(line)
            if rank is not None:
                self.footer_rank = rank
                if self.in_root_cause:
                    self.in_root_cause = False
                    self.found.roots.append((self.source.numbers[at], rank))
        return at + 1


def quoted_lines(found: Scan) -> set[int]:
    """Return the numbers of the lines that quote code which is not the reporter's: they say nothing about what was asked for."""
    numbers: set[int] = set()
    for chain in found.chains:
        for one in chain.exceptions:
            frames = one.frames
            for row, frame in enumerate(frames):
                first = frame.at
                if frame.code is not None and locate(frame.path)[0] == "user":
                    numbers.add(first)
                    first += 2
                past = frames[row + 1].at if row + 1 < len(frames) else one.line
                numbers.update(range(first, past if 0 < past - first < 16 else first + 2))
    return numbers


def told_lines(found: Scan) -> set[int]:
    """Return the numbers of the lines of error messages: the dtypes they name were not asked for by anyone."""
    numbers: set[int] = set()
    for chain in found.chains[:200]:
        for one in chain.exceptions:
            numbers.update(range(one.line, min(one.last_line, one.line + 60) + 1))
    return numbers
