"""Logs for the tests of scanning: healthy lines as trainers print them, with recorded failures at known places."""

from __future__ import annotations

import random
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REPORTS = ROOT / "tests" / "data" / "reports"

LINEAR = (REPORTS / "cpython_torch.txt").read_bytes()
TORCHRUN = (REPORTS / "torchrun_all_tee.txt").read_bytes()

#: A failure as eight ranks print it, each line behind its rank.
FRAMES = (
    "Traceback (most recent call last):\n"
    '  File "/home/user/train.py", line 118, in <module>\n'
    "    loss = model(batch)\n"
    '  File "/usr/lib/python3.11/site-packages/torch/nn/modules/linear.py", line 134, in forward\n'
    "    return F.linear(input, self.weight, self.bias)\n"
    "RuntimeError: mat1 and mat2 must have the same dtype, but got Float and Half\n"
)


def healthy(count: int, seed: int = 0, first_step: int = 0) -> bytes:
    """Return so many lines of a run in which all is well."""
    rng = random.Random(seed)
    lines = []
    for step in range(first_step, first_step + count):
        kind = step % 4
        if kind == 0:
            lines.append(
                f"2026-11-20 12:00:{step % 60:02d},{rng.randrange(1000):03d} INFO step {step} loss {rng.random():.4f} lr {rng.random():.3e}"
            )
        elif kind == 1:
            lines.append(f"{{'loss': {rng.random():.4f}, 'grad_norm': {rng.random():.3f}, 'epoch': {step / 1000:.2f}}}")
        elif kind == 2:
            lines.append(
                f" {step % 100}%|███▏      | {step}/40000 [00:{step % 60:02d}<01:17,  3.92it/s]\r {step % 100}%|███▎      | {step}/40000"
            )
        else:
            lines.append(f"DEBUG worker {step % 16} fetched /data/info/nanogpt/infer-{step % 1024:05d}.tar in {rng.random():.2f} ms")
    return "".join(line + "\n" for line in lines).encode()


def interleaved(ranks: int, seed: int = 1, noise: int = 2) -> bytes:
    """Return the same failure of so many ranks, their lines mixed as launchers mix them, with progress of other ranks in between."""
    rng = random.Random(seed)
    waiting = {rank: FRAMES.splitlines(keepends=True) for rank in range(ranks)}
    out = []
    while waiting:
        rank = rng.choice(list(waiting))
        out.append(f"[rank{rank}]: {waiting[rank].pop(0)}")
        if not waiting[rank]:
            del waiting[rank]
        out += [
            f"[rank{ranks + rng.randrange(4)}]: step {rng.randrange(900)} loss {rng.random():.4f}\n"
            for _ in range(rng.randrange(noise + 1))
        ]
    return "".join(out).encode()


def long_log(incidents: int, gap: int = 400, seed: int = 2) -> bytes:
    """Return a log of several incidents that lie apart: plain tracebacks, interleaved ranks, NaN losses."""
    rng = random.Random(seed)
    parts = []
    for number in range(incidents):
        parts.append(healthy(gap, seed + number, number * gap))
        parts.append(
            rng.choice(
                (
                    FRAMES.encode(),
                    interleaved(6, number),
                    b"".join(b"step %d loss nan grad_norm nan\n" % (n + number) for n in range(9)),
                    LINEAR,
                )
            )
        )
    return b"".join(parts) + healthy(gap, seed)
