"""torchrun: one report per node, the traceback of every rank, the launcher's own exit status."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

pytestmark = pytest.mark.torch

WORKER = """
import os, sys, time
import torch, torch.distributed as dist
import troubleshoot
{before}
dist.init_process_group("gloo")
{after}
rank = dist.get_rank()
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)).bfloat16()
model[1].float()
dist.barrier()
if {which}:
    model(torch.ones(1, 4, dtype=torch.bfloat16))
time.sleep({wait})
"""


def launch(tmp_path: Path, *, workers: int = 2, before: str = "", after: str = "", which: str = "True", wait: str = "0") -> str:
    """Run the worker under torchrun and return stderr; the launcher must report the failure itself."""
    script = tmp_path / "worker.py"
    script.write_text(WORKER.format(before=before, after=after, which=which, wait=wait))
    environment = {**os.environ, "TMPDIR": str(tmp_path), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={workers}", str(script)],
        capture_output=True, text=True, timeout=180, env=environment,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "ChildFailedError" in done.stderr
    return done.stderr


INSTALL = "troubleshoot.install()"


@pytest.mark.slow
@pytest.mark.parametrize("order", ["before", "after"])
def test_one_report_per_node(order: str, tmp_path: Path) -> None:
    """Also where torch.distributed has wrapped our hook and put a buffer in place of stderr."""
    stderr = launch(tmp_path, **{order: INSTALL})  # type: ignore[arg-type]
    assert "RuntimeError: expected m1 and m2" in stderr or "must have the same dtype" in stderr
    assert stderr.count("More: ") == 1
    assert "torch/linear-dtype" in stderr


@pytest.mark.slow
def test_a_single_failing_rank_reports_whichever_it_is(tmp_path: Path) -> None:
    """Rank 0 is not special: the others are ended by the launcher."""
    stderr = launch(tmp_path, before=INSTALL, which="rank == 1", wait="60")
    assert stderr.count("More: ") == 1


def test_without_a_launcher_every_process_reports(tmp_path: Path) -> None:
    """The file of a node belongs to one run."""
    environment = {key: value for key, value in os.environ.items() if key not in ("TORCHELASTIC_RUN_ID", "LOCAL_RANK")}
    code = 'import troubleshoot; troubleshoot.install(); raise RuntimeError("expected scalar type Float but found Half")'
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**environment, "TMPDIR": str(tmp_path)})
        assert "More: troubleshoot explain" in done.stderr


def test_the_election_is_for_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first process of a run wins, a restart of it is another run; where no file can be created, everybody reports."""
    import tempfile

    from troubleshoot.handlers.election import elected

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "run")
    assert [elected(), elected(), elected()] == [True, False, False]
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    assert elected()
    for name in ("TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"):
        monkeypatch.delenv(name)
    for name, value in {"LOCAL_RANK": "0", "MASTER_PORT": "29500", "WORLD_SIZE": "2"}.items():
        monkeypatch.setenv(name, value)
    assert [elected(), elected()] == [True, False]
    for path in (tmp_path / f"troubleshoot-{os.getuid()}").iterdir():
        os.utime(path, (0, 0))
    assert [elected(), elected()] == [True, False]
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert [elected(), elected()] == [True, True]
    monkeypatch.setenv("WORLD_SIZE", "2")
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "file"))
    assert [elected(), elected()] == [True, True]


@pytest.mark.slow
@pytest.mark.parametrize("order", ["before", "after"])
def test_accelerate_launch_has_one_report_per_node(order: str, tmp_path: Path) -> None:
    """Accelerate's launcher starts the ranks through torchelastic, in a process of its own."""
    pytest.importorskip("accelerate")
    script = tmp_path / "worker.py"
    script.write_text(WORKER.format(**{"before": "", "after": "", "which": "True", "wait": "0", order: INSTALL}))
    done = subprocess.run(
        [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes=2", "--num_machines=1", "--mixed_precision=no",
         "--dynamo_backend=no", str(script)],
        capture_output=True, text=True, timeout=240, env={**os.environ, "TMPDIR": str(tmp_path), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "ChildFailedError" in done.stderr
    assert "must have the same dtype" in done.stderr or "expected m1 and m2" in done.stderr
    assert done.stderr.count("More: ") == 1
    assert "torch/linear-dtype" in done.stderr
