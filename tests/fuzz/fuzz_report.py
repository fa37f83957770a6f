"""Fuzz the report reader.

    python tests/fuzz/fuzz_report.py [RUNS]            a random mixture of pieces of real reports, 20,000 times
    python tests/fuzz/fuzz_report.py -atheris [ARGS]   coverage-guided, where atheris is installed; ARGS are libFuzzer's

Each text must be read without an exception into a consistent report, and within a second; the one that is not is written to
``crash-report.txt``.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

from report_pieces import PIECES, check  # noqa: E402

_SECONDS = 1.0


def one(text: str) -> None:
    """Check one text and its time."""
    started = time.perf_counter()
    try:
        check(text)
        spent = time.perf_counter() - started
        if spent > _SECONDS:
            raise AssertionError(f"{spent:.1f} s for {len(text)} characters")
    except BaseException:
        Path("crash-report.txt").write_text(text, encoding="utf-8", errors="surrogateescape", newline="")
        raise


def mixture(chance: random.Random) -> str:
    """A text of pieces, some of them damaged."""
    parts = []
    for _ in range(chance.randrange(1, 60)):
        piece = chance.choice(PIECES)
        if chance.random() < 0.2:
            at = chance.randrange(len(piece) + 1)
            piece = piece[:at] + chr(chance.choice((chance.randrange(32, 127), chance.randrange(0x20000)))) + piece[at:]
        if chance.random() < 0.1:
            piece = piece[chance.randrange(len(piece) + 1) :]
        parts.append(piece * (chance.randrange(1, 200) if chance.random() < 0.02 else 1))
    return "".join(parts).encode("utf-8", "replace").decode("utf-8", "replace")


def main() -> None:
    """Run the fuzzer that is there."""
    if "-atheris" in sys.argv:
        import atheris

        sys.argv.remove("-atheris")
        with atheris.instrument_imports():
            import troubleshoot.reading  # noqa: F401
        atheris.Setup(sys.argv, lambda data: one(data.decode("utf-8", "replace")))
        atheris.Fuzz()
        return
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    for number in range(runs):
        one(mixture(chance))
        if number % 2000 == 0:
            print(f"{number} of {runs} (seed {seed})", flush=True)
    print(f"{runs} texts, nothing found")


if __name__ == "__main__":
    main()
