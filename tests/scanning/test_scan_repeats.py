"""Lines that come again are counted many at once: the result is that of looking at each."""

from __future__ import annotations

import random
import time
from dataclasses import asdict
from pathlib import Path

import pytest
from scan_logs import FRAMES

from troubleshoot.scale.scanning import examine, scan, stretch
from troubleshoot.scale.scanning.log_scan import Options, Reader
from troubleshoot.scale.scanning.problems import Tally
from troubleshoot.scale.scanning.repeats import Repeats
from troubleshoot.scale.scanning.stretch import Stretch

READER = Reader(Options(finder="python"))

#: Lines with holes for numbers. Some have digits within an anchor, which is then none, or a rank in one of several forms.
LINES = (
    "step {n} loss=nan lr=1.0e-{n}",
    "{{'loss': nan, 'grad_norm': nan, 'learning_rate': 0.{n}, 'epoch': {n}}}",
    "[rank{r}]: step {n} loss nan",
    "rank {r} of rank {r}: loss is nan at {n}",
    "[default{r}]:loss: nan",
    "worker-{n} [Worker {r}] loss: nan",
    "ra{n}nk {r}: loss=nan",
    "step {n} loss=na{n}n",
    "step {n} loss=nan{n}",
    "step {n}: loss: inf, grad inf",
    "OVERFLOW! Rank {r} Skipping step. Attempted loss scale: {n}, reducing to {n}",
    "gradient overflow {n}",
    "epoch {n}: val_loss=nan",
    "loss=nan",
    "step {n} loss=0.{n}",
    "{n}%|##| {n}/1000 [00:{n}, loss=nan]\r{n}%|##| {n}/1000 [00:{n}, loss=nan]",
    "RuntimeError {n} loss=nan",
    "E{n}rror: loss=nan",
    "x" * 2100 + " loss=nan {n}",
    "",
)


def made(chance: random.Random, lines: int, failures: float) -> bytes:
    """Return a log of these lines, with some tracebacks in it."""
    kinds = chance.sample(LINES, 8)
    out = []
    for number in range(lines):
        if chance.random() < failures:
            out.append(f"Traceback (most recent call last):\n{FRAMES}RuntimeError: expected scalar type Float but found Half\n")
        digits = str(chance.randrange(10 ** chance.randrange(1, 7)))
        out.append(chance.choice(kinds).format(n=digits if chance.random() < 0.9 else number, r=chance.randrange(9)) + "\n")
    return "".join(out).encode()


def tally(log: bytes, size: int, lead: int = 0, until: int | None = None) -> Tally:
    """Return what a pass finds in blocks of about this size."""
    stretch = Stretch(READER.finder, READER.anchors, READER.examiner(log[:1000]), lead=lead, until=until)
    at = 0
    while at < len(log):
        stop = log.find(b"\n", min(len(log) - 1, at + size)) + 1 or len(log)
        stretch.feed(log[at:stop], stop - at)
        at = stop
    return stretch.close_tally()


@pytest.mark.parametrize("seed", range(12))
def test_the_result_is_that_of_looking_at_each_line(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts, first and last places, steps, ranks: whatever stands where, and wherever blocks end."""
    chance = random.Random(seed)
    log = made(chance, 2_000, 0.0 if seed % 3 else 0.002)
    lead = log.find(b"\n", 5_000) + 1 if seed % 2 else 0
    until = log.find(b"\n", len(log) - 9_000) + 1 if seed % 2 else None
    taken: list[int] = []
    take = Repeats.take

    def counting(self: Repeats, block: bytes, end: int) -> object:
        found = take(self, block, end)
        taken.append(sum(one.count for one in found[1]) if found else 0)
        return found

    monkeypatch.setattr(Repeats, "take", counting)
    quick = tally(log, 8_000, lead, until)
    assert sum(taken) > 200
    monkeypatch.setattr(Repeats, "take", lambda self, block, end: None)
    assert asdict(quick) == asdict(tally(log, 8_000, lead, until))


@pytest.mark.slow
@pytest.mark.parametrize("finder", ["python", "auto"])
def test_a_log_of_nothing_but_nan_is_read_quickly(finder: str, tmp_path: Path) -> None:
    """On one core 30 MiB in a second, here a third of it at the least: the machine may be busy. It was 0.7 to 3 MiB."""
    log = tmp_path / "train.log"
    lines = (f"{{'loss': nan, 'grad_norm': nan, 'learning_rate': 0.{step:08}, 'epoch': {step / 1000:.3f}}}\n" for step in range(400_000))
    log.write_text("".join(lines), encoding="utf-8")
    scan([log], finder=finder, unit=1 << 20)
    started = time.process_time()
    (problem,) = scan([log], finder=finder).problems
    spent = time.process_time() - started
    assert (problem.issue, problem.count, problem.first.line, problem.last.line) == ("numerics/nan-loss", 400_000, 1, 400_000)
    assert log.stat().st_size / spent > (10 << 20)


def test_the_step_is_looked_for_only_where_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of thousands of occurrences of a failure the first and the last one are told with their step."""
    searched: list[str] = []

    def step_before(lines: list[str]) -> int | None:
        searched.extend(lines)
        return examine.step_before(lines)

    monkeypatch.setattr(stretch, "step_before", step_before)
    log = tmp_path / "train.log"
    log.write_text("step 7 loss 0.5\n" + "RuntimeError: expected scalar type Half but found Float\n" * 3000)
    (problem,) = scan([log], finder="python").problems
    assert (problem.count, problem.first.step) == (3000, 7)
    assert len(searched) < 300


def test_of_many_different_failures_the_first_and_the_last_are_diagnosed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are listed, and the output says so."""
    monkeypatch.setattr(stretch, "_MOST_FAILURES", 5)
    log = tmp_path / "train.log"
    names = [a + b for a in "abcdef" for b in "ghijk"]
    log.write_text("".join(f"RuntimeError: expected scalar type Half but found Float in {name}\n\n" for name in names))
    result = scan([log], finder="python")
    assert len(result.problems) == len(names)
    diagnosed = [one for one in result.problems if one.verdict != "unknown"]
    assert len(diagnosed) == 6
    assert any("not diagnosed" in one.title for one in result.problems)
    assert "24 failures are listed and were not diagnosed: there are too many different ones" in result.notes
    assert max(diagnosed, key=lambda one: one.last.line).last.line == log.read_text().count("\n") - 1


def test_symptoms_between_thousands_of_failures_are_placed_at_little_cost() -> None:
    """Whether a line is part of a traceback is looked up, not searched for."""
    spans = stretch._joined([(7, 9), (1, 3), (2, 5), (20, 20)])
    assert spans == [(1, 5), (7, 9), (20, 20)]
    assert [line for line in range(25) if stretch._is_within(line, spans)] == [1, 2, 3, 4, 5, 7, 8, 9, 20]


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("Loading checkpoint shards: 100%|██████████| 4/4 [00:02<00:00,  1.9it/s]", None),
        ("Fetching 12 files: 100%|██████████| 12/12 [00:00<00:00, 31.2it/s]", None),
        ("Map:  50%|█████     | 500/1000 [00:01<00:01, 400 examples/s]", None),
        ("  5%|▌         | 50/1000 [00:10<03:10,  5.0it/s]", 50),
        ("Epoch 3:  45%|████▌     | 450/1000 [01:10<01:20,  6.8it/s, loss=0.3]", 450),
        ("step 7 loss 0.5", 7),
    ],
)
def test_a_bar_counts_what_its_title_says(line: str, step: int | None) -> None:
    """Shards, files and examples are no steps."""
    assert examine.step_before([line]) == step
