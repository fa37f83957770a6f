"""One job in one process: every way to end has a name, and nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch")

from troubleshoot.lab.verify import registry
from troubleshoot.lab.verify.isolated import Interpreter
from troubleshoot.lab.verify.outcomes import Job, RunResult
from troubleshoot.lab.verify.registry import find_case
from troubleshoot.lab.verify.runs import run_job
from troubleshoot.lab.verify.signals import Stop
from troubleshoot.lab.verify.workspace import start_time, sweep, workspace

pytestmark = [pytest.mark.torch, pytest.mark.skipif(os.name == "nt", reason="the cases use POSIX signals")]


@pytest.fixture(scope="module", autouse=True)
def _own_cases() -> Iterator[None]:
    """The tests' cases are known while these tests run and not after: the lint of the shipped base would find issues that do not exist."""
    shipped = dict(registry.cases())
    import tests_verify_cases  # noqa: F401

    registry.cases.cache_clear()
    yield
    registry._cases.clear()
    registry._cases.update(shipped)
    registry.cases.cache_clear()


class WithTests(Interpreter):
    """The interpreter that runs the tests, which finds the tests' cases too."""

    def environment(self) -> dict[str, str]:
        return {**super().environment(), "PYTHONPATH": str(Path(__file__).parent)}


def run(name: str, folder: Path, timeout: float | None = None) -> RunResult:
    job = Job(case=name, role="before", device="cpu", dtype="float16", folder=str(folder), reference=str(folder / "reference.pt"))
    return run_job(job, find_case(name), WithTests(sys.executable), Stop(), timeout=timeout, module="child_of_tests")


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("crashes", "segfault"),
        ("leaves", "exited"),
        ("eats", "out-of-memory"),
        ("asserts", "device-side-assert"),
        ("runs_out", "out-of-memory"),
        ("lacks", "import-error"),
    ],
)
def test_every_bad_end_has_a_name(name: str, outcome: str, tmp_path: Path) -> None:
    """A crash, a silent exit, too much memory, an assert and a missing package are told apart."""
    result = run(name, tmp_path)
    assert result.outcome == outcome
    assert result.error


def test_a_program_that_hangs_is_stopped(tmp_path: Path) -> None:
    """The time limit ends it, and says so."""
    result = run("hangs", tmp_path, timeout=6)
    assert result.outcome == "hang"
    assert "did not end" in str(result.error)


def test_output_is_limited_and_grandchildren_end(tmp_path: Path) -> None:
    """Of 20 MB the beginning and the end are kept, and a process that the program left running is gone."""
    result = run("prints", tmp_path)
    assert len(result.output) < 600_000
    assert "bytes left out" in result.output
    time.sleep(0.2)
    assert "time.sleep(600)" not in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout


def test_folders_of_the_dead_are_swept(tmp_path: Path) -> None:
    """A folder whose owner is gone is removed at the next start, that of a living process stays."""
    dead = tmp_path / "troubleshoot-verify-999999999-1-abc"
    recycled = tmp_path / f"troubleshoot-verify-{os.getpid()}-1-abc"
    alive = tmp_path / f"troubleshoot-verify-{os.getpid()}-{start_time(os.getpid())}-abc"
    for folder in (dead, recycled, alive):
        folder.mkdir()
        (folder / "file").write_text("x")
    if start_time(os.getpid()):
        assert sweep(tmp_path) == 2
    else:
        assert sweep(tmp_path) == 1
    assert not dead.exists()
    assert alive.exists()


def test_a_workspace_is_gone_after_an_error(tmp_path: Path) -> None:
    """The folder is removed however the block ends."""
    with pytest.raises(ValueError, match="inside"), workspace(tmp_path) as folder:
        assert folder.is_dir()
        raise ValueError("inside")
    assert list(tmp_path.iterdir()) == []


PROGRAM = "from troubleshoot.cli import main; import sys; sys.exit(main(['verify', 'torch/linear-dtype', '--device', 'cpu']))"


def children_of(pid: int) -> set[int]:
    """Return the ids of all processes whose environment names this test's process."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if f"TROUBLESHOOT_TEST_OWNER={pid}".encode() in (entry / "environ").read_bytes():
                    found.add(int(entry.name))
            except OSError:
                continue
    return found


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
@pytest.mark.parametrize(("number", "delay"), [(signal.SIGTERM, 0.3), (signal.SIGTERM, 1.5), (signal.SIGINT, 2.2), (signal.SIGKILL, 1.8)])
def test_a_signal_leaves_nothing(number: signal.Signals, delay: float, tmp_path: Path) -> None:
    """Whenever the program is stopped, its children end with it, and its folder goes at once or, after SIGKILL, at the next start."""
    owner = f"{os.getpid()}{int(delay * 10)}{int(number)}"
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "TMPDIR": str(tmp_path), "TROUBLESHOOT_TEST_OWNER": owner},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(delay)
    program.send_signal(number)
    program.wait(20)
    for _ in range(100):
        if not children_of(int(owner)):
            break
        time.sleep(0.05)
    assert children_of(int(owner)) == set()
    if number == signal.SIGKILL:
        sweep(tmp_path)
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith("troubleshoot-verify")] == []


def test_children_find_a_checkout_that_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was found through the working folder, where a child does not look: they are told where it is."""
    import troubleshoot
    from troubleshoot.lab.verify import isolated

    root = str(Path(troubleshoot.__file__).parents[1])
    monkeypatch.setattr(isolated, "_installed", set)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    # -S: without what installs have put on the way.
    command = [sys.executable, "-S", "-P", "-c", "import troubleshoot; print(troubleshoot.__file__)"]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, env=Interpreter(sys.executable).environment(), check=True
    )
    assert done.stdout.strip().startswith(root)
    monkeypatch.setattr(isolated, "_installed", lambda: {root})
    assert "PYTHONPATH" not in Interpreter(sys.executable).environment()
