"""Counts and places: ranks that print at once, logs read in parts, on several processes, from the end."""

from __future__ import annotations

from pathlib import Path

import pytest
from scan_logs import FRAMES, LINEAR, healthy, interleaved, long_log

from troubleshoot.scale.scanning import ScanResult, scan
from troubleshoot.scale.scanning.last import last_failure
from troubleshoot.scale.scanning.log_scan import Options, Reader


def told(result: ScanResult) -> set[tuple[object, ...]]:
    """What must not depend on how a log was read."""
    return {(one.fingerprint, one.count, one.first, one.last, one.ranks, one.verdict, one.issue) for one in result.problems}


@pytest.mark.parametrize("ranks", [1, 2, 8, 64])
def test_interleaved_ranks_are_counted_one_by_one(tmp_path: Path, ranks: int) -> None:
    """However their lines are mixed, every rank's traceback counts once and is one problem."""
    log = tmp_path / "train.log"
    log.write_bytes(healthy(300) + interleaved(ranks) + healthy(300))
    (problem,) = scan([log]).problems
    assert (problem.count, problem.ranks) == (ranks, tuple(range(ranks)))
    assert problem.issue == "torch/linear-dtype"
    assert problem.user == "/home/user/train.py:118"


def test_places_are_lines_steps_and_ranks(tmp_path: Path) -> None:
    """The line is the file's, the step is the last one printed before, the rank is the prefix's."""
    log = tmp_path / "train.log"
    block = b"[rank0]: step 7 loss 0.5\n" + b"".join(b"[rank3]: " + line + b"\n" for line in FRAMES.encode().splitlines())
    log.write_bytes(healthy(100) + block + healthy(4000, first_step=1000) + block.replace(b"step 7", b"step 911"))
    (problem,) = scan([log]).problems
    lines = log.read_bytes().split(b"\n")
    spots = [number for number, line in enumerate(lines, 1) if b"mat1 and mat2" in line]
    assert [problem.first.line, problem.last.line] == spots
    assert (problem.first.step, problem.last.step) == (7, 911)
    assert (problem.first.rank, problem.last.rank) == (3, 3)
    assert problem.count == 2


@pytest.mark.slow
@pytest.mark.parametrize("unit", [50_000, 131_072, 300_001, 1 << 20])
def test_a_log_in_parts_is_the_same_log(tmp_path: Path, unit: int) -> None:
    """Where a log is cut makes no difference, also not in the middle of a traceback."""
    log = tmp_path / "train.log"
    log.write_bytes(long_log(40))
    whole, parts = scan([log]), scan([log], unit=unit)
    assert told(parts) == told(whole)
    assert (parts.lines, parts.bytes) == (whole.lines, whole.bytes) == (log.read_bytes().count(b"\n"), log.stat().st_size)


@pytest.mark.slow
def test_a_cut_at_every_byte_of_a_traceback(tmp_path: Path) -> None:
    """A border may fall on any byte of a failure: it counts once, on one side."""
    log = tmp_path / "train.log"
    before = healthy(150)
    log.write_bytes(before + FRAMES.encode() + healthy(150))
    for offset in range(len(before) - 3, len(before) + len(FRAMES) + 3, 7):
        result = scan([log], unit=offset)
        assert [one.count for one in result.problems] == [1], offset


def test_several_processes_find_the_same(tmp_path: Path) -> None:
    """Units are added up in their order, whichever process was first."""
    for number in range(3):
        (tmp_path / f"rank{number}.log").write_bytes(long_log(12, seed=number))
    assert told(scan([tmp_path], jobs=2, unit=100_000)) == told(scan([tmp_path]))


def test_repeated_failures_beyond_one_piece(tmp_path: Path) -> None:
    """A flood of tracebacks, longer than what is read at once, is counted exactly and is still one row."""
    log = tmp_path / "train.log"
    log.write_bytes(FRAMES.encode() * 5000)
    (problem,) = scan([log]).problems
    assert (problem.count, problem.first.line, problem.last.line) == (5000, 6, 30_000)


def test_nan_losses_do_not_flood(tmp_path: Path) -> None:
    """Every step of a run that went wrong is counted in one row, with the step at which it began."""
    log = tmp_path / "train.log"
    log.write_bytes(healthy(400) + b"".join(b"[rank%d]: step %d loss nan grad_norm nan\n" % (n % 4, n) for n in range(400, 5400)))
    (problem,) = scan([log]).problems
    assert (problem.issue, problem.count, problem.kind) == ("numerics/nan-loss", 5000, "symptom")
    assert (problem.first.line, problem.first.step, problem.last.step) == (401, 400, 5399)
    assert problem.ranks == (0, 1, 2, 3)


def test_skipped_steps_and_exhausted_loss_scales_are_found(tmp_path: Path) -> None:
    """The lines of DeepSpeed and apex, each its own problem."""
    log = tmp_path / "train.log"
    log.write_bytes(
        healthy(100) + b"[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768\n" * 3 + healthy(2000)
        + b"Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.\n" + healthy(100)
    )  # fmt: skip
    found = {one.issue: one.count for one in scan([log]).problems}
    assert found == {"numerics/skipped-steps": 3, "numerics/loss-scale-exhausted": 1}


def test_what_the_log_says_first_counts_later(tmp_path: Path) -> None:
    """Versions stand at the beginning of a log, the failure at its end: the diagnosis knows both."""
    example = (Path(__file__).resolve().parents[2] / "docs" / "examples" / "blip2-half.txt").read_bytes()
    bare = example[example.index(b"Traceback") :]
    log = tmp_path / "train.log"
    log.write_bytes(b"transformers 4.50.1, torch 2.6.0\n" + healthy(3000) + bare + b"\n")
    (problem,) = scan([log]).problems
    assert (problem.verdict, problem.issue) == ("known", "transformers/blip2-query-tokens-fp32")
    assert problem.command == "pip install 'transformers==4.50.3'"


def test_the_last_failure_is_read_from_the_end(tmp_path: Path) -> None:
    """Of a long log only the end is read, and its lines are those of the whole file."""
    log = tmp_path / "train.log"
    log.write_bytes(FRAMES.encode() + healthy(120_000) + LINEAR + b"\n" + healthy(50))
    result = last_failure(str(log), Reader(Options()))
    (problem,) = result.problems
    whole = next(one for one in scan([log]).problems if one.fingerprint == problem.fingerprint)
    assert problem.last == whole.last
    assert result.bytes < log.stat().st_size


def test_the_last_failure_of_a_log_without_one(tmp_path: Path) -> None:
    """A log without a failure answers with its last symptom; a healthy one with nothing."""
    log = tmp_path / "train.log"
    log.write_bytes(healthy(100) + b"step 3 loss nan\n" + healthy(100))
    (problem,) = last_failure(str(log), Reader(Options())).problems
    assert (problem.kind, problem.first.line) == ("symptom", 101)
    log.write_bytes(healthy(100))
    assert last_failure(str(log), Reader(Options())).problems == ()


def test_a_consequence_that_is_a_cause_elsewhere(tmp_path: Path) -> None:
    """What a launcher's footer makes a consequence in one place, and came first in another, is diagnosed, however the log is cut."""
    footer = (
        b"train.py FAILED\nRoot Cause (first observed failure):\n[0]:\n  time      : 2026-11-20_12:00:00\n"
        b"  rank      : 1 (local_rank: 1)\n  exitcode  : 1 (pid: 7)\n"
    )
    other = FRAMES.replace(
        "RuntimeError: mat1 and mat2 must have the same dtype, but got Float and Half", "ValueError: no such shard"
    ).encode()
    mine = b"".join(b"[rank0]: " + line + b"\n" for line in FRAMES.encode().splitlines())
    theirs = b"".join(b"[rank1]: " + line + b"\n" for line in other.splitlines())
    log = tmp_path / "train.log"
    log.write_bytes(healthy(200) + mine + theirs + footer + healthy(6000) + mine + healthy(400))
    for unit in (1 << 26, 200_000):
        problem = next(one for one in scan([log], unit=unit).problems if one.exception == "RuntimeError")
        assert (problem.count, problem.role, problem.issue) == (2, "cause", "torch/linear-dtype")
    first = tmp_path / "first.log"
    first.write_bytes(healthy(200) + mine + theirs + footer)
    assert {one.role for one in scan([first]).problems if one.exception == "RuntimeError"} == {"victim"}
