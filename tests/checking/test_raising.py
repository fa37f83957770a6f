"""Small programs that raise: the edit of each is the one that its comment tells, and its numbers are those of float32."""

from __future__ import annotations

import linecache
import re
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from program_files import programs

pytest.importorskip("torch")
pytest.importorskip("libcst")

from editing.programs_to_edit import changed, execute

from troubleshoot.lab.checking.comparing import compare
from troubleshoot.lab.editing.failure import Failure
from troubleshoot.lab.editing.planning import plans_for, whole_model
from troubleshoot.lab.editing.plans import Plan
from troubleshoot.lab.trying.child import _failure
from troubleshoot.lab.trying.fresh import Program
from troubleshoot.lab.trying.proving import _further

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]

RAISING = programs("raising")
FLOAT32 = re.compile(r"^# float32: (.+)$", re.MULTILINE)
EDIT = re.compile(r"^# edit: (.+)$", re.MULTILINE)


def run(path: Path, plan: Plan | None) -> tuple[str, Failure | None]:
    """Run a program, edited by a plan, in this process; return what it prints and what it dies of."""
    source = next(iter(plan.files.values())) if plan is not None else path.read_bytes()
    linecache.cache[str(path)] = (len(source), None, source.decode().splitlines(keepends=True), str(path))
    output = StringIO()
    try:
        with redirect_stdout(output):
            execute(path, source)
    except Exception as error:
        assert error.__traceback__ is not None
        assert error.__traceback__.tb_next is not None
        error.__traceback__ = error.__traceback__.tb_next.tb_next
        return output.getvalue(), _failure(error)
    return output.getvalue(), None


@pytest.mark.parametrize("name", sorted(RAISING))
def test_the_edit_is_local_and_its_numbers_are_right(name: str, written: Path) -> None:
    """What one edit leaves behind is the next one's: the operands of a float32 FFT, the second of two caches."""
    path = written / "raising" / f"{name}.py"
    _, failure = run(path, None)
    assert failure is not None
    plans, refused = plans_for(str(path), [one for one in failure.fixes if one.fits is not False], failure)
    assert plans, [(one.fix.id, one.why) for one in refused]
    plan = plans[0]
    assert not whole_model(plan)
    for _ in range(4):
        printed, failure = run(path, plan)
        if failure is None:
            break
        further = _further(Program(str(path)), plan, failure, {})
        assert further is not None, failure.error
        plan = replace(plan, files=further.files)
    assert failure is None
    expected = FLOAT32.search(RAISING[name])
    assert expected is not None
    compared = compare(printed, expected[1], "float16")
    assert compared.outcome == "same", compared.lines
    assert [line[1:].strip() for line in changed(plan) if line[0] == "+"] == EDIT.findall(RAISING[name])
