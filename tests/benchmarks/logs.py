"""Training logs of any size for the benchmarks of scanning: ``python tests/benchmarks/logs.py BYTES [FILE]``, else to standard output.

Loggers, progress bars, JSON, data loaders, eight ranks; every so often a failure, or a stretch of NaN losses. ``--healthy``: without those.
The text is made in blocks of 8 MiB whose steps, losses and paths differ.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path
from typing import BinaryIO

ROOT = Path(__file__).resolve().parents[2]
REPORTS = ("cpython_torch.txt", "torchrun_all_tee.txt", "cpython_chained.txt", "rich_plain.txt")
_BLOCK = 8 << 20
#: Lines that are kept ready, in which only the step is filled in: making text must not take longer than scanning it.
_READY = 20_000


def lines(rng: random.Random) -> list[bytes]:
    """Return lines of a healthy run, with a place for the step."""
    made = []
    for number in range(_READY):
        kind = number % 10
        if kind < 5:
            clock = f"12:{number // 60 % 60:02d}:{number % 60:02d},{rng.randrange(1000):03d}"
            numbers = f"loss {rng.random() * 3:.4f} grad_norm {rng.random():.4f} lr {rng.random() * 1e-4:.3e}"
            made.append(f"[rank{number % 8}]: 2026-11-20 {clock} INFO train step %d {numbers}\n")
        elif kind < 7:
            made.append(
                f"{{'loss': {rng.random():.4f}, 'grad_norm': {rng.random():.3f}, 'learning_rate': {rng.random():.3e}, 'step': %d}}\n"
            )
        elif kind == 7:
            made.append(f" {number % 100}%%|███▏      | %d/400000 [00:{number % 60:02d}<01:17,  {rng.random() * 9:.2f}it/s]\n")
        elif kind == 8:
            made.append(
                f"DEBUG dataloader worker {number % 16} batch %d in {rng.random() * 9:.2f} ms /data/{rng.getrandbits(64):016x}.tar\n"
            )
        else:
            fields = f'"time": {1.7e9 + number}, "rank": {number % 8}, "loss": {rng.random():.5f}, "mem_gb": {rng.random() * 80:.1f}'
            made.append(f'{{{fields}, "step": %d}}\n')
    return [line.encode() for line in made]


def write(size: int, out: BinaryIO, *, sick: bool = True, seed: int = 1) -> int:
    """Write at least ``size`` bytes; return how many failures are among them."""
    rng = random.Random(seed)
    ready = lines(rng)
    failures = [(ROOT / "tests" / "data" / "reports" / name).read_bytes() for name in REPORTS]
    written = step = planted = 0
    while written < size:
        block = bytearray()
        while len(block) < _BLOCK:
            at = rng.randrange(len(ready) - 2000)
            block += b"".join(ready[at : at + 2000]) % tuple(range(step, step + 2000))
            step += 2000
        if sick:
            block += rng.choice(failures) + b"\n"
            block += b"".join(b"[rank%d]: step %d loss nan grad_norm nan\n" % (n % 8, step + n) for n in range(200))
            planted += 1
        out.write(block)
        written += len(block)
    return planted


def main() -> None:
    """Write a log."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bytes", type=float, help="1e10: 10 GB")
    parser.add_argument("file", nargs="?")
    parser.add_argument("--healthy", action="store_true")
    options = parser.parse_args()
    if options.file:
        with Path(options.file).open("wb") as out:
            write(int(options.bytes), out, sick=not options.healthy)
    else:
        write(int(options.bytes), sys.stdout.buffer, sick=not options.healthy)


if __name__ == "__main__":
    main()
