"""Resuming: a scan that was interrupted, a log that grew, a log that was replaced."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scan_logs import FRAMES, healthy, long_log

from troubleshoot import InputError
from troubleshoot.scale.scanning import ScanResult, scan

UNIT = 50_000


@pytest.fixture(autouse=True)
def _small_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    """As units are small here, what neighbours share is small too."""
    monkeypatch.setattr("troubleshoot.scale.scanning.units.OVERLAP", 10_000)


def told(result: ScanResult) -> set[tuple[object, ...]]:
    return {(one.fingerprint, one.count, one.first, one.last, one.ranks) for one in result.problems}


class StoppedError(Exception):
    pass


def test_an_interrupted_scan_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read before the interruption is not read again, and the counts are those of one scan."""
    log, state = tmp_path / "train.log", tmp_path / "scan.state"
    log.write_bytes(long_log(30))
    monkeypatch.setattr("troubleshoot.scale.scanning.log_scan._SAVE_EVERY", 0.0)
    read = []

    def stop(done: int, total: int, problems: int) -> None:
        read.append(done)
        if done > log.stat().st_size // 2:
            raise StoppedError

    with pytest.raises(StoppedError):
        scan([log], state=state, progress=stop, unit=UNIT)
    assert json.loads(state.read_text())["what"] == "troubleshoot scan"
    again: list[int] = []
    result = scan([log], state=state, progress=lambda done, total, problems: again.append(done), unit=UNIT)
    assert told(result) == told(scan([log]))
    assert result.lines == log.read_bytes().count(b"\n")
    # Units at their borders are read twice, the first half is not.
    assert again[-1] < log.stat().st_size
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".tmp")] == []


def test_nothing_is_read_twice(tmp_path: Path) -> None:
    """A log that has not changed is answered from the state."""
    log, state = tmp_path / "train.log", tmp_path / "scan.state"
    log.write_bytes(long_log(10))
    first = scan([log], state=state, unit=UNIT)
    again: list[int] = []
    second = scan([log], state=state, progress=lambda done, total, problems: again.append(done), unit=UNIT)
    assert again == []
    assert told(first) == told(second)
    assert (first.lines, first.bytes) == (second.lines, second.bytes)


@pytest.mark.slow
@pytest.mark.parametrize("first", [3, 14])
def test_a_log_that_grew(tmp_path: Path, first: int) -> None:
    """Whatever was its length before, in the middle of a failure too, the result is that of the whole."""
    log, state = tmp_path / "train.log", tmp_path / "scan.state"
    whole = long_log(20)
    for size in (len(whole) * first // 20, len(whole) * (first + 3) // 20, len(whole)):
        log.write_bytes(whole[:size])
        result = scan([log], state=state, unit=UNIT)
    assert told(result) == told(scan([log]))


def test_a_log_that_was_replaced(tmp_path: Path) -> None:
    """Another log under the same name is read from its beginning."""
    log, state = tmp_path / "train.log", tmp_path / "scan.state"
    log.write_bytes(FRAMES.encode() + healthy(500))
    scan([log], state=state, unit=UNIT)
    log.write_bytes(healthy(900) + b"step 4 loss nan\n")
    assert [one.issue for one in scan([log], state=state, unit=UNIT).problems] == ["numerics/nan-loss"]


def test_a_state_of_another_kind_is_not_overwritten(tmp_path: Path) -> None:
    """A path that holds something else is refused, whether it is JSON or not."""
    log = tmp_path / "train.log"
    log.write_bytes(healthy(10))
    for text in ("precious", '{"a": 1}'):
        other = tmp_path / "notes.txt"
        other.write_text(text)
        with pytest.raises(InputError, match="is no state of a scan"):
            scan([log], state=other)
        assert other.read_text() == text


def test_a_damaged_state_is_told_and_made_anew(tmp_path: Path) -> None:
    """Cut, or changed so that it is JSON all the same: never a wrong count."""
    log, state = tmp_path / "train.log", tmp_path / "scan.state"
    log.write_bytes(long_log(4))
    first = scan([log], state=state, unit=UNIT)
    whole = state.read_text()
    for text in (whole[: len(whole) // 2], whole.replace('"count": ', '"count": 9', 1), whole.replace('"files": {', '"files": [], "x": {')):
        state.write_text(text)
        result = scan([log], state=state, unit=UNIT)
        assert told(result) == told(first)
        assert "is damaged" in result.notes[0]
        assert state.read_text() == whole
    assert scan([log], state=state, unit=UNIT).notes == ()
