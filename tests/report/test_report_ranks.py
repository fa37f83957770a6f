"""Many processes, one cause: roles, ranks, merging."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from troubleshoot.reading import read_report


def traceback(functions: list[str], error: str, file: str = "train.py") -> list[str]:
    lines = ["Traceback (most recent call last):", f'  File "{file}", line 99, in <module>', f"    {functions[0]}()"]
    for row, (function, callee) in enumerate(zip(functions, [*functions[1:], "torch.stop"], strict=True)):
        lines += [f'  File "{file}", line {row + 1}, in {function}', f"    {callee}()"]
    return [*lines, error]


CAUSE = traceback(["main", "step", "forward"], "RuntimeError: expected scalar type Half but found Float")
LOST = traceback(
    ["main", "step", "all_reduce"], "RuntimeError: [../gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.0.0.1]:21"
)


def text(*blocks: list[str]) -> str:
    return "".join(line + "\n" for block in blocks for line in [*block, ""])


@settings(max_examples=200, deadline=None)
@given(st.integers(2, 5), st.randoms(use_true_random=False))
def test_interleaved_tracebacks_of_equal_ranks_are_sorted_out(ranks: int, chance: random.Random) -> None:
    """However the lines of equal tracebacks are shuffled together, each keeps its frames."""
    positions = [0] * ranks
    lines: list[str] = []
    while any(at < len(CAUSE) for at in positions):
        rank = chance.choice([rank for rank, at in enumerate(positions) if at < len(CAUSE)])
        lines.append(CAUSE[positions[rank]])
        positions[rank] += 1
    report = read_report(text(lines))
    wanted = read_report(text(CAUSE)).failures[0]
    (failure,) = report.failures
    assert failure.count == ranks
    assert [(frame.function, frame.number, frame.code) for frame in failure.frames] == [
        (frame.function, frame.number, frame.code) for frame in wanted.frames
    ]


@settings(max_examples=100, deadline=None)
@given(st.randoms(use_true_random=False))
def test_interleaved_streams_with_prefixes_are_told_apart(chance: random.Random) -> None:
    """With prefixes any order and any mixture is exact."""
    blocks = {0: LOST, 1: CAUSE, 2: LOST}
    positions = dict.fromkeys(blocks, 0)
    lines: list[str] = []
    while True:
        open_ranks = [rank for rank, at in positions.items() if at < len(blocks[rank])]
        if not open_ranks:
            break
        rank = chance.choice(open_ranks)
        lines.append(f"[rank{rank}]: {blocks[rank][positions[rank]]}")
        positions[rank] += 1
    report = read_report(text(lines))
    found = {failure.role: failure.ranks for failure in report.failures}
    assert found == {"cause": (1,), "victim": (0, 2)}
    assert report.cause is not None
    assert report.cause.ranks == (1,)


def test_a_cut_traceback_and_a_whole_one_are_not_mixed() -> None:
    """One that was killed while printing, then another."""
    report = read_report(text([*CAUSE[:5], *CAUSE]))
    assert [len(failure.frames) for failure in report.failures] == [2, 4]


FOOTER = """\
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
  <NO_OTHER_FAILURES>
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2024-05-01_12:00:00
  host      : node01
  rank      : 3 (local_rank: 3)
  exitcode  : 1 (pid: 4711)
  error_file: <N/A>
  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html
============================================================
"""


def test_the_root_cause_of_the_launcher_decides() -> None:
    """Another rank printed first, but torchelastic saw rank 3 end first."""
    other = traceback(["main", "other"], "ValueError: something else")
    ranked = text([f"[rank0]: {line}" for line in other], [f"[rank3]: {line}" for line in CAUSE])
    head = 'Traceback (most recent call last):\n  File "/x/bin/torchrun", line 8, in <module>\n    sys.exit(main())\n'
    report = read_report(ranked + head + FOOTER)
    assert [failure.role for failure in report.failures] == ["victim", "cause", "launcher"]
    assert report.cause is not None
    assert report.cause.ranks == (3,)


def test_a_footer_speaks_for_its_own_run_only() -> None:
    """A log of two runs: in the first rank 3 failed first, in the second rank 0 with something else."""
    second = traceback(["main", "step"], "ValueError: another run, another reason")
    runs = [text([f"[rank3]: {line}" for line in CAUSE]), FOOTER, text([f"[rank0]: {line}" for line in second])]
    runs.append(FOOTER.replace("rank      : 3 (local_rank: 3)", "rank      : 0 (local_rank: 0)"))
    assert [failure.role for failure in read_report("".join(runs)).failures if failure.ranks] == ["cause", "cause"]


def test_the_most_frequent_is_not_the_cause() -> None:
    """One cause, and fifty times its consequence."""
    report = read_report(text(LOST, CAUSE, *[LOST] * 50))
    assert report.cause is not None
    assert report.cause.root.message == "expected scalar type Half but found Float"
    assert [failure.count for failure in report.failures] == [51, 1]


@pytest.mark.parametrize(
    "victim",
    [
        "KeyboardInterrupt",
        "SystemExit: 1",
        "BrokenPipeError: [Errno 32] Broken pipe",
        "RuntimeError: DataLoader worker (pid 4711) is killed by signal: Terminated.",
        "torch.distributed.elastic.multiprocessing.api.SignalException: Process 1 got signal: 15",
        "torch.distributed.DistBackendError: NCCL error: remote process exited or there was a network error, NCCL version 2.18.1",
        "[rank1]:[E ProcessGroupNCCL.cpp:475] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1) ran for 600000 ms",
    ],
)
def test_consequences_are_victims_whether_before_or_after(victim: str) -> None:
    """What ends because something else ended is never the first to diagnose."""
    block = [victim] if "Watchdog" in victim else traceback(["main", "wait"], victim)
    for blocks in ((CAUSE, block), (block, CAUSE)):
        report = read_report(text(*blocks))
        assert report.cause is not None
        assert report.cause.root.message == "expected scalar type Half but found Float"
        assert sorted(failure.role for failure in report.failures) == ["cause", "victim"]


def test_a_victim_alone_is_still_shown() -> None:
    """With nothing else in the report it is what there is."""
    report = read_report(text(LOST))
    assert report.cause is not None
    assert report.cause.role == "victim"
    interrupted = read_report(text(traceback(["main"], "KeyboardInterrupt")))
    assert interrupted.failures[0].role == "cause"


@pytest.mark.parametrize(
    "line",
    [
        "srun: error: node01: task 0: Exited with exit code 1",
        "[2024-05-01 12:00:00,123] [ERROR] [launch.py:321:sigkill_handler] ['/usr/bin/python', '-u', 'train.py'] exits"
        " with return code = 1",
        "mpirun has detected that one or more processes exited with non-zero status",
    ],
)
def test_lines_of_launchers_are_no_cause(line: str) -> None:
    """They only report exit codes."""
    report = read_report(text(CAUSE, [line]))
    assert [failure.role for failure in report.failures] == ["cause", "launcher"]


def test_fingerprints_do_not_depend_on_where_it_ran() -> None:
    """Line numbers, addresses, directories and ranks vary, the failure is the same."""
    one = traceback(["main"], "RuntimeError: bad pointer 0x7f00 on cuda:0 in /home/a/x.py", "/home/a/train.py")
    two = [
        line.replace("/home/a/", "/mnt/b/c/").replace("line 99", "line 103").replace("0x7f00", "0x8a11").replace("cuda:0", "cuda:3")
        for line in one
    ]
    other = [line.replace("bad pointer", "bad") for line in one]
    prints = [read_report(text(block)).failures[0].fingerprint for block in (one, two, other)]
    assert prints[0] == prints[1] != prints[2]
    assert len(prints[0]) == 16


def test_one_error_many_times_on_a_line_is_read() -> None:
    """Processes write into each other's lines: a line of a thousand errors is as good as any."""
    lines = ["Traceback (most recent call last):"] * 2 + ['  File "a.py", line 1, in f'] * 2
    lines += ["Exit:", "Exit:", "The above exception was the direct cause of x", "Exit: " * 1500]
    report = read_report("\n".join(lines))
    assert [one.root.type for one in report.failures][:1] == ["Exit"]
