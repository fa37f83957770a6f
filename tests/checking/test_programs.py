"""Small programs, healthy and broken: what is found in each. A comment behind a line tells what is expected there."""

from __future__ import annotations

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
from program_files import programs

pytest.importorskip("torch")

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]

HERE = re.compile(r"# here: (\S+)")


def findings_of(path: Path) -> list[tuple[int, str]]:
    """Return line and cause of what is told; where the float32 run has to decide, as if it had shown other numbers."""
    from troubleshoot.lab.checking import check
    from troubleshoot.lab.checking.judging import settled

    source = path.read_text()
    with redirect_stdout(StringIO()), check() as seen:
        exec(compile(source, str(path), "exec"), {"__name__": "__main__"})
    assert seen.error is None
    told = settled(seen.candidates, True) if source.startswith("# told by") else seen.findings
    return [(one.place.line, one.cause) for one in told]


@pytest.mark.parametrize("name", sorted(programs("healthy")))
def test_nothing_is_found_in_a_healthy_program(name: str, written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounding, masks and skipped first steps are part of healthy programs."""
    monkeypatch.syspath_prepend(written / "healthy")
    assert findings_of(written / "healthy" / f"{name}.py") == []


@pytest.mark.parametrize("name", sorted(programs("broken")))
def test_the_line_and_the_cause_come_first(name: str, written: Path) -> None:
    """The first finding is the line that is wrong, with its cause."""
    path = written / "broken" / f"{name}.py"
    expected = {(number, match[1]) for number, line in enumerate(path.read_text().splitlines(), 1) if (match := HERE.search(line))}
    found = findings_of(path)
    assert found
    assert found[0] in expected
