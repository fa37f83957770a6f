"""Output of the real tools, recorded by tests/data/reports/record.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from troubleshoot.reading import read_report_file

DATA = Path(__file__).parents[1] / "data" / "reports"
MESSAGE = "mat1 and mat2 must have the same dtype, but got Float and Half"
NAMES = sorted(path.stem for path in DATA.glob("*.txt") if path.stem not in ("cpython_dynamo", "cpython_state_dict"))


@pytest.mark.parametrize("name", NAMES)
def test_the_cause_is_found_in_every_recording(name: str) -> None:
    """The dtype mismatch is the cause in each, with its place in the reporter's code and complete frames."""
    cause = read_report_file(DATA / f"{name}.txt").cause
    assert cause is not None
    assert cause.role == "cause"
    assert cause.root.type == "RuntimeError"
    assert " ".join(cause.root.message.split()) == MESSAGE
    if name != "pytest_line":
        last = cause.root.frames[-1]
        assert (last.path.rpartition("/")[2], last.number) in (("linear.py", 134), ("model.py", 6))
        assert (last.code or "").startswith(("return F.linear(input, self.weight", "raise RuntimeError("))
        assert cause.place.user is not None
        assert cause.place.user.endswith(("model.py:11", "model.py:6"))
        assert cause.root.complete


@pytest.mark.parametrize(
    ("name", "frames"),
    [
        ("rich_plain", 11),
        ("rich_narrow", 11),
        ("rich_ascii", 11),
        ("rich_locals", 11),
        ("jupyter_notebook", 12),
        ("ipython_7.34", 5),
        ("ipython_8.4", 5),
        ("pytest_short", 11),
        ("pytest_long", 11),
    ],
)
def test_no_frame_is_lost(name: str, frames: int) -> None:
    """Boxes and notebooks break long lines; their frames are counted by hand here."""
    cause = read_report_file(DATA / f"{name}.txt").cause
    assert cause is not None
    assert len(cause.root.frames) == frames


@pytest.mark.parametrize("kind", ["all", "all_record", "all_tee", "all_local_prefix"])
def test_equal_failures_of_all_ranks_are_one(kind: str) -> None:
    """Three ranks fail alike: one failure, and the launcher's footer beside it."""
    cause, launcher = read_report_file(DATA / f"torchrun_{kind}.txt").failures
    assert (cause.count, cause.ranks, cause.role) == (3, (0, 1, 2), "cause")
    assert launcher.role == "launcher"
    assert launcher.root.name == "ChildFailedError"


@pytest.mark.parametrize("kind", ["one", "late"])
@pytest.mark.parametrize("form", ["", "_record", "_tee"])
def test_who_lost_its_peer_is_a_victim(kind: str, form: str) -> None:
    """One rank fails, two lose their connection: the one is the cause though the others are more."""
    report = read_report_file(DATA / f"torchrun_{kind}{form}.txt")
    roles = {failure.role: failure for failure in report.failures}
    assert len(report.failures) == 3
    assert (roles["cause"].ranks, roles["cause"].count) == ((1,), 1)
    assert (roles["victim"].ranks, roles["victim"].count) == ((0, 2), 2)
    assert "Connection closed by peer" in roles["victim"].root.message
    assert report.cause is roles["cause"]


def test_tracebacks_written_into_each_other_are_told_apart() -> None:
    """Four processes wrote to one terminal without prefixes, also within a line."""
    (failure,) = read_report_file(DATA / "interleaved.txt").failures
    assert failure.count == 4


def test_prefixes_of_numbers_are_ranks() -> None:
    """``0: `` before each line names the process."""
    (failure,) = read_report_file(DATA / "prefixed_by_sed.txt").failures
    assert (failure.count, failure.ranks) == (3, (0, 1, 2))


def test_an_error_of_a_worker_comes_before_the_one_that_carries_it() -> None:
    """DataLoader and spawn put the worker's traceback into a message; what the worker raised is the root."""
    for name, outer in (("cpython_dataloader", "RuntimeError"), ("cpython_spawn", "ProcessRaisedException")):
        (failure,) = read_report_file(DATA / f"{name}.txt").failures
        assert failure.root.message == MESSAGE
        assert (failure.exceptions[-1].name, failure.exceptions[-1].link) == (outer, "cause")


def test_the_code_that_was_compiled_is_the_place() -> None:
    """Dynamo names the traced line within its message."""
    (failure,) = read_report_file(DATA / "cpython_dynamo.txt").failures
    assert failure.root.type == "torch._dynamo.exc.Unsupported"
    assert "Developer debug context" in failure.root.message
    assert failure.place.user == "/home/user/project/compiled.py:7"


def test_a_message_keeps_all_its_lines() -> None:
    """load_state_dict tells each key on a line of its own."""
    (failure,) = read_report_file(DATA / "cpython_state_dict.txt").failures
    assert "Missing key(s)" in failure.root.message
    assert "size mismatch for weight" in failure.root.message


def test_a_pytest_run_has_both_failures() -> None:
    """The summary at the end repeats, and adds nothing."""
    for style in ("long", "short", "native", "auto", "line"):
        failures = read_report_file(DATA / f"pytest_{style}.txt").failures
        assert [failure.root.name for failure in failures] == ["RuntimeError", "AssertionError"]
