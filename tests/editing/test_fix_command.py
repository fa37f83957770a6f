"""`troubleshoot fix` as a user types it: streams, exit statuses, reports, --apply, --run, and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("libcst")

pytestmark = pytest.mark.torch

BROKEN = """import json
import pathlib
import sys

import torch
from torch import nn

import neighbour

model = nn.Linear(4, 2).bfloat16()
x = torch.randn(3, 4)
out = model(x)  # here
print(json.loads((pathlib.Path(__file__).parent / "data.json").read_text()), sys.argv[1:], neighbour.value, tuple(out.shape))
"""
FIXED = BROKEN.replace("model(x)", "model(x.to(model.weight.dtype))")


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(BROKEN)
    (tmp_path / "data.json").write_text('{"a": 1}')
    (tmp_path / "neighbour.py").write_text("value = 5\n")
    return path


def fix(*arguments: str, cwd: Path | None = None, given: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "troubleshoot", "fix", *arguments], capture_output=True, text=True, timeout=300, cwd=cwd, input=given
    )


def traceback_of(script: Path) -> str:
    return subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120).stderr


def test_the_diff_alone_is_on_stdout(script: Path) -> None:
    """It can be piped to git apply or patch; the rest is on stderr, and nothing is written."""
    done = fix("train.py", cwd=script.parent)
    assert done.returncode == 0
    assert done.stdout.startswith("--- a/train.py\n+++ b/train.py\n")
    assert "--apply does that" in done.stderr
    assert script.read_text() == BROKEN


def test_run_shows_the_scripts_own_output_and_apply_writes_it(script: Path) -> None:
    """Data beside the script, neighbours and arguments are there; then the file is written, with a backup."""
    done = fix(str(script), "--run", "--apply", "--", "--epochs", "1")
    assert done.returncode == 0
    assert "the error is gone" in done.stderr
    assert "{'a': 1} ['--epochs', '1'] 5 (3, 2)" in done.stderr
    assert script.read_text() == FIXED
    assert Path(f"{script}.orig").read_text() == BROKEN
    # It works now: nothing is left to fix.
    again = fix(str(script), "--format", "json")
    assert again.returncode == 1
    assert "ends without an error" in json.loads(again.stdout)["why"]


def test_a_saved_report_is_enough(script: Path) -> None:
    """Without a run there is no culprit; what the traceback alone allows is offered, and the place is found by the quoted line."""
    report = script.parent / "error.txt"
    report.write_text(traceback_of(script))
    script.write_text("# a line more\n" + BROKEN)
    done = fix(str(script), "--report", str(report), "--format", "json")
    told = json.loads(done.stdout)
    assert told["issue"] == "torch/linear-dtype"
    assert [one["id"] for one in told["refused"]]
    if done.returncode == 0:
        assert "+" in told["diff"]
    script.write_text("print('another script')\n")
    done = fix(str(script), "--report", str(report), "--format", "json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["diff"] == ""


def test_an_issue_without_a_run(tmp_path: Path) -> None:
    """What the source says unambiguously is edited at once, torch is not even imported."""
    path = tmp_path / "load.py"
    path.write_text(
        "from transformers import AutoModelForCausalLM\nimport torch\n\nmodel = AutoModelForCausalLM.from_pretrained(\n"
        '    "Qwen/Qwen2-VL",\n    torch_dtype=torch.float16,  # half\n)\n'
    )
    done = fix(str(path), "--issue", "transformers/qwen2-vl-eager-fp16-nan", "--fix", "sdpa", "--format", "json")
    assert done.returncode == 0
    added = [line for line in json.loads(done.stdout)["diff"].splitlines() if line.startswith(("+ ", "- "))]
    assert added == ['+    attn_implementation="sdpa",']
    done = fix(str(path), "--issue", "transformers/qwen2-vl-eager-fp16-nan", "--fix", "upgrade")
    assert done.returncode == 1
    assert "does not help here" in done.stderr


@pytest.mark.slow
def test_what_comes_instead_is_told_and_not_applied(script: Path) -> None:
    """An edit after which the program fails otherwise ends with 1, and --apply does not write it."""
    script.write_text(BROKEN + "raise KeyError('later')\n")
    done = fix(str(script), "--run", "--apply", "--fix", "cast-inputs")
    assert done.returncode == 1
    assert "KeyError" in done.stderr
    assert "not written" in done.stderr
    assert not Path(f"{script}.orig").exists()


@pytest.mark.slow
def test_the_same_failure_at_two_places_is_repaired_at_both(script: Path) -> None:
    """The second shows only once the first is repaired."""
    script.write_text(BROKEN + "again = torch.randn(3, 4)\nprint(model(again).dtype)\n")
    done = fix(str(script), "--run", "--format", "json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["works"]) == (0, True)
    assert [one["line"] for one in told["edits"]] == [12, 15]


def test_a_program_that_catches_its_own_exception(script: Path) -> None:
    """What it printed is read in place of the exception."""
    script.write_text(
        "import sys, traceback\nimport torch\nfrom torch import nn\n\n"
        "def main():\n    model = nn.Linear(4, 2).half()\n    return model(torch.randn(3, 4))\n\n"
        "try:\n    main()\nexcept Exception:\n    traceback.print_exc()\n    sys.exit(1)\n"
    )
    done = fix(str(script), "--run", "--format", "json")
    told = json.loads(done.stdout)
    assert told["issue"] == "torch/linear-dtype"
    assert told["works"] is True


def test_wrong_use_and_protected_files(script: Path) -> None:
    """One line on stderr: 2 for wrong use, 1 where it refuses."""
    import yaml

    cases = [
        (("absent.py",), 2, "no such file"),
        ((str(script), "--timeout", "x"), 2, "seconds"),
        ((str(script), "--format", "html"), 2, "choose"),
        ((str(script), "--issue", "no/such"), 2, "no/such"),
        ((str(script), "--issue", "torch/linear-dtype", "--fix", "no-such"), 2, "has no fix"),
        ((str(script.parent / "data.json"),), 2, "--report"),
        ((str(script.parent / "data.json"), "--issue", "numerics/nan-loss", "--run"), 2, "no Python script"),
        ((yaml.__file__, "--issue", "numerics/nan-loss"), 1, "never edited"),
        ((str(script), "--timeout", "0.05"), 1, "--timeout"),
    ]
    for arguments, status, why in cases:
        done = fix(*arguments)
        assert (done.returncode, why in done.stderr, done.stdout) == (status, True, ""), (arguments, done.stderr)


@pytest.mark.slow
def test_a_module_of_a_package(script: Path) -> None:
    """As `python -m` starts it: from the working folder, with relative imports; the file of the module is edited."""
    package = script.parent / "lab"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "neighbour.py").write_text("value = 5\n")
    (package / "data.json").write_text('{"a": 1}')
    main = package / "__main__.py"
    main.write_text(BROKEN.replace("import neighbour", "from . import neighbour"))
    done = fix("-m", "lab", "--run", "--apply", "--format", "json", "--", "--epochs", "1", cwd=script.parent)
    told = json.loads(done.stdout)
    assert (done.returncode, told["works"], told["script"]) == (0, True, "lab")
    assert [Path(one["file"]).resolve() for one in told["applied"]] == [main.resolve()]
    assert "['--epochs', '1'] 5 (3, 2)" in told["runs"][0]["output"]
    assert "model(x.to(model.weight.dtype))" in main.read_text()
    # The edited module runs as it stands.
    ran = subprocess.run([sys.executable, "-m", "lab"], cwd=script.parent, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0


@pytest.mark.parametrize(
    ("name", "status", "why"),
    [("no_such.thing", 2, "no module named"), ("bare", 2, "without __main__.py"), ("json.tool", 1, "never edited")],
)
def test_modules_that_cannot_be_edited(script: Path, name: str, status: int, why: str) -> None:
    """One line that says why."""
    (script.parent / "bare").mkdir()
    (script.parent / "bare" / "__init__.py").write_text("")
    done = fix("-m", name, "--issue", "numerics/nan-loss", cwd=script.parent)
    assert (done.returncode, why in done.stderr, done.stdout) == (status, True, ""), done.stderr


def test_a_script_that_is_no_python(script: Path) -> None:
    """The reason and the line, no traceback of ours."""
    script.write_text("def broken(:\n")
    done = fix(str(script), "--issue", "numerics/fp16-overflow")
    assert done.returncode == 1
    assert "train.py:1: it is no valid Python" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_setting_among_the_arguments(script: Path) -> None:
    """--fp16 on the command line becomes --bf16, and the run is made with it; so is one with the edited copy of a configuration."""
    script.write_text(
        "import sys, json, torch\nname = 'bfloat16' if '--bf16' in sys.argv else 'float' + '16'\n"
        "if sys.argv[1].endswith('.json') and 'bf16' in json.load(open(sys.argv[1])):\n    name = 'bfloat16'\n"
        "logits = torch.full((1, 4), 300.0, dtype=getattr(torch, name)) ** 2\n"
        "print(torch.multinomial(torch.softmax(logits, -1), 1).shape)\n"
    )
    (script.parent / "ds.json").write_text('{"fp16": {"enabled": true}}')
    for arguments in (("--fp16",), (str(script.parent / "ds.json"),)):
        done = fix(str(script), "--issue", "numerics/nan-loss", "--fix", "bf16", "--run", "--format", "json", "--", *arguments)
        told = json.loads(done.stdout)
        assert told["works"] is True, told
    assert sorted(one.name for one in script.parent.iterdir()) == ["data.json", "ds.json", "neighbour.py", "train.py"]


#: It asks for a dtype, and while it runs somebody saves the file.
SAVED = """# -*- coding: latin-1 -*-
import types
torch = types.SimpleNamespace(float16="half", bfloat16="brain")
dtype = torch.float16  # \xe9
with open(__file__, "ab") as file:
    file.write(b"# saved meanwhile\\n")
print(dtype)
""".encode("latin-1")


@pytest.mark.parametrize("form", ["text", "json"])
def test_what_is_saved_while_it_runs_is_kept(form: str, tmp_path: Path) -> None:
    """Nothing is written, the status is 2, and the edit is not lost either: it is printed, and applies."""
    path = tmp_path / "train.py"
    path.write_bytes(SAVED)
    arguments = ("train.py", "--issue", "numerics/nan-loss", "--fix", "bf16", "--run", "--apply", "--format", form)
    done = subprocess.run([sys.executable, "-m", "troubleshoot", "fix", *arguments], capture_output=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert b"train.py has changed since it was read: nothing was written" in done.stderr
    saved = path.read_bytes()
    assert saved == SAVED + b"# saved meanwhile\n"
    assert [one.name for one in tmp_path.iterdir()] == ["train.py"]
    if form == "json":
        told = json.loads(done.stdout)
        assert (told["works"], told["applied"]) == (True, [])
        diff = told["diff"].encode("utf-8", "surrogateescape")
    else:
        diff = done.stdout
    subprocess.run(["git", "apply"], input=diff, check=True, cwd=tmp_path)
    assert path.read_bytes() == saved.replace(b"= torch.float16", b"= torch.bfloat16")


@pytest.mark.slow
def test_a_line_with_a_form_feed(tmp_path: Path) -> None:
    """The edit is made in the line that failed, and the form feed stays."""
    path = tmp_path / "train.py"
    code = BROKEN.replace("import neighbour\n", "").replace(", neighbour.value", "").replace("# here", "# \f\u2028")
    path.write_bytes(b"\f\n" + code.encode())
    (tmp_path / "data.json").write_text("{}")
    done = fix(str(path), "--run", "--format", "json")
    told = json.loads(done.stdout)
    assert (told["works"], [one["line"] for one in told["edits"]]) == (True, [12])
    added = [line for line in told["diff"].split("\n") if line.startswith("+") and not line.startswith("+++")]
    assert added == ["+out = model(x.to(model.weight.dtype))  # \f\u2028"]
