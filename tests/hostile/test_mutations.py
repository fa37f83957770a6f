"""Damaged reports: whatever happens to a text on its way, a diagnosis raises nothing, and its JSON can be written and read.

    python -m tests.hostile.test_mutations [RUNS] [--jobs 2] [--seed 0]

Takes the reports of the tests and the examples of the entries, and damages each in a few ways: cut, spliced, repeated, quoted, wrapped,
escaped, with control characters and Unicode in it. A text on which it fails is written to ``crash-N.txt``.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pytest

DATA = Path(__file__).parents[1] / "data"
#: The longest text that is damaged, and that comes of it.
_LONGEST, _LONGEST_RESULT = 20_000, 60_000

#: What gets into a text on its way: terminals, mail, phones, keyboards, broken encodings.
ODD = (
    "\x00", "\x01", "\x07", "\x08", "\x0b", "\x0c", "\x1b[31m", "\x1b[", "\x1b]0;", "\x1c", "\x1f", "\x7f", "\x85", "\x9b", "\xa0", "\xad",
    "\u0130", "\u0301" * 9, "\u00b2", "\u2460", "\u0661", "\u200b", "\u200d", "\u2028", "\u2029", "\u202e", "\u2066", "\u3000", "\uff1a",
    "\uff11", "\ufeff", "\ufffd", "\ufffe", "\ud800", "\udfff", "\udc80", "\U0001f525", "\U0010ffff", "\r", "\r\n", "\n\r", "\t", "\u201c",
    "\u2019", "\u2026", "\u2502", "\u256d\u2500 Traceback", "\u2771", "&#0;", "&#55296;", "&lt;", "<br>", "\\n", "\\", "\\u0000", "\\ud800",
    '"', "'", "`", "```", ">", "|", "%s", "{", "}", "[rank0]: ", "1\u00b2:", "9" * 5_000, "1" * 400, "-" * 300, "0x" + "f" * 300,
    ".0" * 200, 'File "', ", line 99999999999999999999, in ", "==", "nan", "\u4e86",
)  # fmt: skip

#: What launchers, mail and editors put before each line.
PREFIXES = (
    "> ", ">> ", "    ", "\t", "[rank{}]: ", "{}: ", "pod-{} | ", "2024-01-01T00:00:00Z ", "(W pid={}) ", "\u2502 ", "| ", "E   ", "# ",
    "* ",
)  # fmt: skip

Change = Callable[[str, random.Random], str]


def _place(text: str, chance: random.Random) -> int:
    return chance.randrange(len(text) + 1)


def _cut(text: str, chance: random.Random) -> str:
    start, end = sorted((_place(text, chance), _place(text, chance)))
    return text[:start] + text[end:] if chance.random() < 0.5 else text[start:end]


def _splice(text: str, chance: random.Random) -> str:
    other = chance.choice(reports())
    return text[: _place(text, chance)] + other[_place(other, chance) :]


def _repeat(text: str, chance: random.Random) -> str:
    start, end = sorted((_place(text, chance), _place(text, chance)))
    end = min(end, start + chance.choice((1, 10, 200, 3_000)))
    return text[:start] + text[start:end] * chance.choice((2, 3, 20, 200)) + text[end:]


def _insert(text: str, chance: random.Random) -> str:
    for _ in range(chance.choice((1, 1, 3, 20))):
        at = _place(text, chance)
        text = text[:at] + chance.choice(ODD) + text[at:]
    return text


def _swap(text: str, chance: random.Random) -> str:
    lines = text.split("\n")
    for _ in range(chance.choice((1, 3, 10))):
        one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
        lines[one], lines[other] = lines[other], lines[one]
    return "\n".join(lines)


def _drop_lines(text: str, chance: random.Random) -> str:
    return "\n".join(line for line in text.split("\n") if chance.random() < 0.8)


def _mix_lines(text: str, chance: random.Random) -> str:
    """Write two reports into each other, as two processes do."""
    waiting = [text.split("\n"), chance.choice(reports()).split("\n")]
    out: list[str] = []
    while any(waiting):
        lines = chance.choice([one for one in waiting if one])
        out.append(lines.pop(0))
    return "\n".join(out)


def _prefix(text: str, chance: random.Random) -> str:
    prefix = chance.choice(PREFIXES)
    return "\n".join(prefix.format(chance.randrange(3)) + line for line in text.split("\n"))


def _wrap(text: str, chance: random.Random) -> str:
    width = chance.choice((1, 20, 72, 80, 132))
    return "\n".join(line[at : at + width] for line in text.split("\n") for at in range(0, max(1, len(line)), width))


def _escape(text: str, chance: random.Random) -> str:
    how = chance.randrange(5)
    if how == 0:
        return json.dumps({"level": "error", "message": text}, ensure_ascii=chance.random() < 0.5)
    if how == 1:
        return repr(text)
    if how == 2:
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    if how == 3:
        return text.replace("\n", "\\n")
    return json.dumps(json.dumps([text]))


def _spell(text: str, chance: random.Random) -> str:
    how = chance.randrange(7)
    if how == 0:
        return text.replace("\n", chance.choice(("\r\n", "\r", "\u2028", " ", "", "\n\n")))
    if how == 1:
        return text.upper() if chance.random() < 0.5 else text.lower()
    if how == 2:
        return text.translate({code: code + 0xFEE0 for code in range(0x21, 0x7F)})
    if how == 3:
        return text.replace(" ", chance.choice(("\xa0", "\u3000", "\t", "", "  ")))
    if how == 4:
        return text[::-1]
    if how == 5:
        return text.encode("utf-16-le", "surrogatepass").decode("latin-1")
    return text.encode("utf-8", "surrogatepass").decode(chance.choice(("latin-1", "cp1252", "gb18030")), "replace")


CHANGES: tuple[Change, ...] = (_cut, _splice, _repeat, _insert, _swap, _drop_lines, _mix_lines, _prefix, _wrap, _escape, _spell)


@lru_cache(maxsize=1)
def reports() -> tuple[str, ...]:
    """Return the texts that are damaged: the reports of the tests, and the examples of the entries."""
    from troubleshoot.knowledge import load_kb

    base = load_kb()
    found = [path.read_text(encoding="utf-8", errors="surrogateescape")[:_LONGEST] for path in sorted(DATA.rglob("*.txt"))]
    for issue in base.ids():
        examples = base.entry(issue).examples
        found += [one.text for one in (*examples.positive, *examples.negative) if one.text]
    return tuple(found)


def mutant(seed: int) -> str | bytes:
    """Return a damaged report; some as the bytes of a file."""
    chance = random.Random(seed)
    text = chance.choice(reports())
    for _ in range(chance.choice((1, 1, 2, 3, 5))):
        text = chance.choice(CHANGES)(text, chance)[:_LONGEST_RESULT]
    if chance.random() < 0.1:
        return text.encode(chance.choice(("utf-8", "utf-16", "utf-16-le", "utf-32", "gb18030")), "replace")
    return text


def check(text: str | bytes, face: int = 0) -> None:
    """Diagnose a text; raise what must not happen."""
    import msgspec

    from troubleshoot import diagnose
    from troubleshoot.telling import FORMATS, render

    diagnosis = diagnose(text, environment="report", language=("en", "zh")[face % 2])
    written = render(diagnosis, "json", redact=face % 3 == 0).encode("utf-8")
    assert json.loads(written)["verdict"] == diagnosis.verdict
    # What the server answers with.
    assert msgspec.json.decode(msgspec.json.encode(diagnosis.to_dict()))["verdict"] == diagnosis.verdict
    render(diagnosis, FORMATS[face % len(FORMATS)], redact=face % 3 == 0).encode("utf-8")


def attempt(seed: int) -> str:
    """Return what goes wrong with a mutant, or nothing."""
    text = mutant(seed)
    try:
        check(text, seed)
    except Exception as error:
        return f"{seed}: {type(error).__name__}: {error}"[:400]
    return ""


def _failures(seeds: range, jobs: int) -> list[str]:
    if jobs < 2:
        return [problem for problem in map(attempt, seeds) if problem]
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        return [problem for problem in pool.imap_unordered(attempt, seeds, chunksize=50) if problem]


def test_damaged_reports_are_diagnosed() -> None:
    assert _failures(range(300), 1) == []


@pytest.mark.slow
def test_many_damaged_reports_are_diagnosed() -> None:
    assert _failures(range(1_000, 6_000), 1) == []


@pytest.mark.parametrize("odd", ODD, ids=ascii)
def test_an_odd_character_anywhere(odd: str) -> None:
    message = "RuntimeError: expected scalar type Half but found Float\n"
    text = f'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    x()\n{message}'
    for at in (0, text.index("a.py"), text.index("1,"), text.index("x()"), text.index("Runtime") + 3, text.index("Half"), len(text)):
        check(text[:at] + odd + text[at:])


def main(arguments: list[str] | None = None) -> int:
    """Damage many reports; the status says whether one failed."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.hostile.test_mutations", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="?", type=int, default=100_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0, help="the first of the seeds")
    given = parser.parse_args(arguments)
    problems = _failures(range(given.seed, given.seed + given.runs), given.jobs)
    for problem in problems:
        print(problem)
        text = mutant(int(problem.partition(":")[0]))
        data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
        Path(f"crash-{problem.partition(':')[0]}.txt").write_bytes(data)
    print(f"{len(problems)} of {given.runs} failed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
