"""`troubleshoot run --try-fixes`: the program's own run stays what it is, reruns are fresh processes, and it says which fix helps."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("torch")

pytestmark = pytest.mark.torch

RUN = (sys.executable, "-m", "troubleshoot", "run", "--try-fixes")
BROKEN = """import sys
import torch
from torch import nn
print("started", sys.argv[1:], flush=True)
model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2)).bfloat16()
model[1].float()
with open("count.txt", "a") as file:
    file.write("x")
print(tuple(model(torch.randn(3, 4).bfloat16()).shape))
"""


def run(folder: Path, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([*RUN, *arguments], capture_output=True, text=True, timeout=300, cwd=folder, input=given)


def write(folder: Path, code: str) -> None:
    (folder / "train.py").write_text(code)


@pytest.mark.slow
def test_the_programs_output_is_its_own_and_the_answer_is_on_stderr(tmp_path: Path) -> None:
    """Stdout has what the first run printed and nothing of the reruns; every fix is a run more, announced before."""
    write(tmp_path, BROKEN)
    done = run(tmp_path, "train.py", "--epochs", "3")
    assert done.returncode == 0
    assert done.stdout == "started ['--epochs', '3']\n"
    assert "Traceback" in done.stderr
    assert "more times, and once in float32 to compare its numbers, with all it does" in done.stderr
    assert "repairs it" in done.stderr
    assert "  | (3, 2)" in done.stderr
    reruns = done.stderr.count("troubleshoot: [")
    assert (tmp_path / "count.txt").read_text() == "x" * (1 + reruns + 1)


def test_json_is_alone_on_stdout(tmp_path: Path) -> None:
    """The program's own output then goes to stderr; --first stops at the first that helps."""
    write(tmp_path, BROKEN)
    done = run(tmp_path, "--format", "json", "--first", "train.py")
    told = json.loads(done.stdout)
    assert (done.returncode, told["status"], told["issue"]) == (0, 1, "torch/linear-dtype")
    ran = [one for one in told["fixes"] if one["outcome"] != "skipped"]
    assert [one["works"] for one in ran] == [True]
    assert told["works"] == ran[0]["id"]
    assert "started" in done.stderr


@pytest.mark.slow
def test_where_nothing_helps_the_status_is_the_programs(tmp_path: Path) -> None:
    """A failure after the repaired one, an unknown failure, an exit of its own, an end without failure."""
    programs = {
        BROKEN + "raise KeyError('later')\n": (1, "past the call that failed, but later: KeyError"),
        "{}['key']\n": (1, "there is no diagnosis"),
        "import sys\nsys.exit(3)\n": (3, "nothing to try"),
        "print('fine')\n": (0, ""),
    }
    for code, (status, text) in programs.items():
        write(tmp_path, code)
        done = run(tmp_path, "train.py")
        assert (done.returncode, text in done.stderr) == (status, True), done.stderr


@pytest.mark.slow
def test_a_rerun_has_a_limit_and_an_empty_input(tmp_path: Path) -> None:
    """A program that works on after the repaired call is stopped at the limit, and that it got past the failure is said."""
    write(tmp_path, BROKEN + "import time\nprint('on we go', repr(sys.stdin.read()), flush=True)\ntime.sleep(600)\n")
    done = run(tmp_path, "--first", "--timeout", "25", "--format", "json", "train.py", given="typed\n")
    first = json.loads(done.stdout)["fixes"][0]
    assert first["outcome"] == "hang"
    assert "past the call that failed" in first["why"]
    assert "on we go ''" in first["output"]
    assert done.returncode == 1


@pytest.mark.slow
def test_a_model_whose_own_method_calls_its_parts(tmp_path: Path) -> None:
    """``generate`` of a model is no call of the model: it is patched before the first of its parts is called."""
    write(
        tmp_path,
        """import torch
from torch import nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(4, 4)
        self.head = nn.Linear(4, 2).float()
    def generate(self, x):
        return self.head(self.encoder(x))
model = Model().bfloat16()
model.head.float()
print(model.generate(torch.randn(1, 4).bfloat16()).dtype)
""",
    )
    done = run(tmp_path, "--format", "json", "train.py")
    told = json.loads(done.stdout)
    assert done.returncode == 0, told
    assert told["works"]


@pytest.mark.slow
def test_a_mismatch_outside_of_any_module(tmp_path: Path) -> None:
    """The operands of the failing line are cast; a tensor that is written into stays the one it is."""
    write(
        tmp_path,
        """import torch
cache = torch.zeros(4, 8, dtype=torch.bfloat16)
values = torch.ones(2, 8)
cache[torch.tensor([0, 1])] = values
assert cache.sum() == 16
print(cache.dtype)
""",
    )
    told = json.loads(run(tmp_path, "--format", "json", "train.py").stdout)
    works = next(one for one in told["fixes"] if one["works"])
    assert "train.py:4" in works["how"]
    assert works["output"] == "torch.bfloat16\n"


@pytest.mark.slow
def test_modules_and_wrong_use(tmp_path: Path) -> None:
    """-m works as in python; options without --try-fixes and missing scripts are errors in use."""
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "tool.py").write_text(BROKEN)
    done = run(tmp_path, "--first", "-m", "package.tool", "a")
    assert (done.returncode, done.stdout) == (0, "started ['a']\n")
    assert "troubleshoot fix -m package.tool" in done.stderr
    for arguments in (("absent.py",), ("--timeout", "x", "train.py"), ("--format", "html", "train.py")):
        done = run(tmp_path, *arguments)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    done = subprocess.run([*RUN[:-1], "--first", "x.py"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "go with --try-fixes" in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds processes through /proc")
def test_a_signal_leaves_no_process_and_no_folder(tmp_path: Path) -> None:
    """SIGTERM during a rerun ends the program, and its folder is gone."""
    write(tmp_path, BROKEN.replace("with open", "import os, time\nif os.path.exists('count.txt'): time.sleep(300)\nwith open"))
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    streams = {"stderr": subprocess.PIPE, "stdout": subprocess.DEVNULL}
    process = subprocess.Popen([*RUN, "train.py"], cwd=tmp_path, env=environment, text=True, **streams)
    assert process.stderr is not None
    for line in process.stderr:
        if "[1/" in line:
            break
    deadline = time.monotonic() + 60
    while not (children := _below(process.pid)) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    process.stderr.read()
    assert process.wait(60) == -signal.SIGTERM
    assert list(temporary.iterdir()) == []
    assert not any(Path(f"/proc/{one}").exists() for one in children)


def _below(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_integers_are_wanted_of_one_operand(tmp_path: Path) -> None:
    """Class labels become integers, the logits beside them do not."""
    write(
        tmp_path,
        """import torch
torch.manual_seed(0)
net = torch.nn.Linear(8, 3)
logits = net(torch.randn(16, 8))
labels = torch.randint(0, 3, (16,)).float()
loss = torch.nn.functional.cross_entropy(logits, labels)
loss.backward()
print("loss", round(loss.item(), 4))
""",
    )
    told = json.loads(run(tmp_path, "--format", "json", "--first", "train.py").stdout)
    first = told["fixes"][0]
    assert first["works"], first
    assert "an integer" in first["how"]
    assert "prints the numbers of the float32 run" in first["why"]


@pytest.mark.slow
def test_a_patch_that_changes_nothing_is_no_failed_fix(tmp_path: Path) -> None:
    """Under torch.compile the model inside of the wrapper is patched; what is right already is not called a failure of the fix."""
    write(
        tmp_path,
        """import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(8, 4)).bfloat16().eval()
fast = torch.compile(net, backend="eager")
x = torch.randn(3, 8)
with torch.no_grad():
    print("sum", fast(x).float().sum().item())
""",
    )
    told = json.loads(run(tmp_path, "--format", "json", "train.py").stdout)
    outcomes = {one["id"]: (one["outcome"], one["works"]) for one in told["fixes"]}
    assert outcomes["use-fp32"] == ("ok", True)
    assert outcomes["enable-autocast"] == ("ok", True)
    assert outcomes["cast-model"] == ("no-change", False)
