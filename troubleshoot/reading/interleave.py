"""Tracebacks of several processes that were written into each other without a prefix, told apart again.

Each line goes to the traceback that can take it: a source line to a frame that waits for one, a frame to the traceback whose last
source line calls it, or whose twin of another rank had the same frame at this depth. CPython writes a line in several pieces, so that
pieces of two processes may share a line; carets and indentation mean nothing here.
"""

from __future__ import annotations

from troubleshoot.reading import grammar

_REGION = 4000
_MOST = 16
#: Lines that fit nothing (pieces of messages) after which a region is over.
_STRAY = 6

#: Pieces of several processes that share a line; what is left after them is taken as one.
_MOST_PIECES = 16

#: A line of one traceback: (index in the source, text as it would have been alone).
Row = tuple[int, str]


class _Open:
    """One traceback of several that are being printed at once."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.frames: list[str] = []
        self.code = ""
        self.waits = False
        self.finished = False
        self.linked = False


def untangle(lines: list[str]) -> tuple[list[list[Row]], set[int]]:
    """Return the lines of each traceback that was written into others, and the indexes of all lines of such regions."""
    headers = {row for row, line in enumerate(lines) if grammar.HEADER in line and "Group" not in line}
    groups: list[list[Row]] = []
    taken: set[int] = set()
    if len(headers) < 2:
        return groups, taken
    past = 0
    for header in sorted(headers):
        if header < past:
            continue
        past = header + 1
        mixed, stop = _region(lines, header, headers)
        if not mixed:
            past = max(past, stop)
        else:
            groups.extend(_sort_out(lines, header, stop))
            taken.update(range(header, stop))
            past = stop
    return groups, taken


def _bare(line: str) -> str:
    return line.strip("^~ \t") if "^" in line else line.strip()


def _region(lines: list[str], start: int, headers: set[int]) -> tuple[bool, int]:
    """Tell whether a region of mixed tracebacks begins at ``start``, and where it ends; else up to where to look no more."""
    opened, errors = 1, 0
    mixed = False
    base = grammar.indent(lines[start])
    last = start
    for i in range(start + 1, min(len(lines), start + _REGION)):
        bare = _bare(lines[i])
        if i in headers:
            if opened == 1 and errors:
                return False, start
            opened += 1
            if opened > _MOST:
                return False, i
            last = i
        elif bare.startswith(('File "', "[Previous line")) or (bare and grammar.indent(lines[i]) > base + 2):
            mixed = mixed or errors > 0
            last = i
        elif not bare or bare.startswith((grammar.CAUSE_LINE, grammar.CONTEXT_LINE)):
            continue
        elif grammar.match_exception(bare, False):
            if opened == 1:
                return False, start
            mixed = mixed or errors > 0
            errors += 1
            last = i
            if errors >= opened and not _linked(lines, i + 1):
                break
        elif opened == 1 or i - last > _STRAY:
            break
    return (True, last + 1) if errors >= 2 and opened >= 2 and mixed else (False, start)


def _linked(lines: list[str], at: int) -> bool:
    return any(line.startswith((grammar.CAUSE_LINE, grammar.CONTEXT_LINE)) for line in lines[at : at + 3])


def _sort_out(lines: list[str], start: int, stop: int) -> list[list[Row]]:
    mixed = _Mixed()
    for row in range(start, stop):
        mixed.take(row, _bare(lines[row]))
    return [one.rows for one in mixed.open if one.rows]


class _Mixed:
    """The tracebacks of one region so far, and what each location's source line is."""

    def __init__(self) -> None:
        self.open: list[_Open] = []
        self.codes: dict[str, str] = {}
        self.errors: list[str] = []
        self.last: _Open | None = None

    def take(self, row: int, bare: str) -> None:
        """Give one line, or each piece of it, to the traceback that it belongs to."""
        pieces = [bare]
        splits = 0
        while pieces:
            first, rest = self._take(row, pieces.pop(), splits < _MOST_PIECES)
            splits += 1
            pieces += [one for one in (rest, first) if one]

    def _take(self, row: int, bare: str, splits: bool) -> tuple[str, str]:
        """Take a line; return the pieces of it that are still to be taken."""
        if not bare:
            return "", ""
        chosen: _Open | None
        if grammar.HEADER in bare:
            chosen, text = self._header(), bare
        elif bare.startswith((grammar.CAUSE_LINE, grammar.CONTEXT_LINE)):
            chosen, text = next((one for one in self.open if one.finished and not one.linked), self.last), bare
            if chosen:
                chosen.linked = True
        elif bare.startswith('File "'):
            chosen, text = self._frame(bare), f"  {bare}"
        elif bare.startswith("[Previous line"):
            chosen, text = self.last, f"  {bare}"
        elif grammar.match_exception(bare, False):
            known = next((one for one in self.errors if bare.startswith(one) and len(bare) > len(one)), None) if splits else None
            if known and grammar.match_exception(bare[len(known) :].strip(), False):
                return known, bare[len(known) :].strip()
            chosen, text = self._error(), bare
            self.errors.append(bare)
        elif self.last and self.last.finished and not any(one.waits for one in self.open):
            # The next line of a message.
            chosen, text = self.last, bare
        else:
            first, rest = self._split_code(bare) if splits else (bare, "")
            chosen, text = self._code(first), f"    {first}"
            if chosen:
                chosen.rows.append((row, text))
                return "", rest
        chosen = chosen or self.last
        if chosen:
            chosen.rows.append((row, text))
            self.last = chosen
        return "", ""

    def _split_code(self, bare: str) -> tuple[str, str]:
        """Part two source lines that share a line, where one of them is known from another rank."""
        for one in self.open:
            known = self.codes.get(one.frames[-1], "") if one.waits else ""
            if known and len(bare) > len(known):
                if bare.startswith(known):
                    return known, bare[len(known) :].strip("^~ ")
                if bare.endswith(known):
                    return known, bare[: -len(known)].strip("^~ ")
        return bare, ""

    def _header(self) -> _Open | None:
        linked = next((one for one in self.open if one.linked and one.finished), None)
        if linked:
            linked.finished = linked.linked = linked.waits = False
            linked.frames = []
            linked.code = ""
            return linked
        if len(self.open) >= _MOST:
            return None
        self.open.append(_Open())
        return self.open[-1]

    def _frame(self, bare: str) -> _Open | None:
        candidates = [one for one in self.open if not one.finished]
        if not candidates:
            return None
        function = bare.rpartition(" in ")[2]

        def score(one: _Open) -> tuple[int, int]:
            points = -2 if one.waits else 0
            depth = len(one.frames)
            twin = self._twin(one)
            if twin:
                points += 4 if twin.frames[depth] == bare else -1
            if function == "<module>":
                points += -2 if depth else 3
            elif depth and function in one.code:
                points += 2
            elif not depth:
                points -= 1
            return points, -depth

        best = max(candidates, key=score)
        best.frames.append(bare)
        best.waits, best.code = True, ""
        return best

    def _twin(self, one: _Open) -> _Open | None:
        """Another traceback that began with the same frames and is further on."""
        depth = len(one.frames)
        return next((other for other in self.open if len(other.frames) > depth and other.frames[:depth] == one.frames), None)

    def _code(self, bare: str) -> _Open | None:
        waiting = [one for one in self.open if one.waits and not one.finished]
        if not waiting:
            return None
        best = next((one for one in waiting if self.codes.get(one.frames[-1]) == bare), None)
        best = best or next((one for one in waiting if one.frames[-1] not in self.codes), waiting[0])
        self.codes.setdefault(best.frames[-1], bare)
        best.waits, best.code = False, bare
        return best

    def _error(self) -> _Open | None:
        candidates = [one for one in self.open if not one.finished]
        if not candidates:
            return None

        def score(one: _Open) -> tuple[int, int]:
            points = 0 if one.waits else 1
            if any(other.finished and other.frames == one.frames for other in self.open):
                points += 3
            elif self._twin(one):
                points -= 2
            return points, len(one.frames)

        best = max(candidates, key=score)
        best.finished = True
        return best
