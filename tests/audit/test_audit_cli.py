"""``troubleshoot audit``: what it prints, and its exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from test_audit_checkpoint import write

from troubleshoot.cli import main

FACTORIES = """\
import torch
from torch import nn

def sound():
    return nn.Linear(2, 2)

def half():
    return nn.Sequential(nn.Linear(2, 2).half(), nn.Linear(2, 2)), torch.zeros(1, 2)

def training():
    model = nn.Linear(2, 2)
    return {"model": model, "optimizer": torch.optim.SGD(nn.Linear(1, 1).parameters(), lr=1.0)}

def large():
    return nn.Linear(1_000_000, 1_000_000)

def failing():
    raise KeyError("weights")

nothing = 3
"""

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the program in a folder with factories, and return (exit code, stdout, stderr)."""
    (tmp_path / "audited_factories.py").write_text(FACTORIES, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))

    def call(*arguments: str | Path) -> tuple[int, str, str]:
        code = main(["audit", *map(str, arguments)])
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.mark.torch
def test_a_factory_is_called_and_its_model_audited(run: Run) -> None:
    """0 where nothing was found, 1 where something was; a tuple brings inputs, a mapping an optimizer."""
    pytest.importorskip("torch")
    assert run("audited_factories:sound")[0] == 0
    code, out, _ = run("audited_factories:half")
    assert code == 1
    assert "error: 1" in out or "error: 0" in out
    code, out, _ = run("audited_factories:training", "--format", "json")
    assert code == 1
    assert json.loads(out)["findings"][0]["check"] == "optimizer"


@pytest.mark.torch
def test_with_meta_the_model_takes_no_memory(run: Run) -> None:
    """A layer of a terabyte is built on the meta device; the planned dtype and GPU are looked at."""
    pytest.importorskip("torch")
    code, out, _ = run("audited_factories:large", "--meta", "--dtype", "bf16", "--gpu", "T4")
    assert code == 1
    assert "bfloat16 matmul is emulated on T4" in out


@pytest.mark.torch
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("audited_factories:failing",), "raised KeyError"),
        (("audited_factories:absent",), "has no absent"),
        (("audited_factories:nothing",), "give a function"),
        (("audited_factories",), "package.module:factory"),
        (("no_such_package_at_all:build",), "cannot be imported"),
        ((), "--checkpoint"),
        (("audited_factories:sound", "--checkpoint", "."), "--checkpoint"),
        (("audited_factories:sound", "--format", "html"), "text or json"),
        (("--checkpoint", "no-such-folder"), "no safetensors files"),
        (("--checkpoint", ".", "--dtype", "float16"), "for models"),
    ],
)
def test_errors_in_use_are_one_line_and_exit_with_2(run: Run, arguments: tuple[str, ...], text: str) -> None:
    """No traceback; the line says what to do."""
    pytest.importorskip("torch")
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert text in err
    assert err.count("\n") == 1


def test_a_checkpoint_is_audited(run: Run, tmp_path: Path) -> None:
    """--checkpoint takes a folder or a file."""
    file = write(tmp_path / "model.safetensors", {"layer.weight": ("BF16", [1.0, float("nan")])})
    code, out, _ = run("--checkpoint", tmp_path)
    assert code == 1
    assert "error: layer.weight" in out
    assert "see: troubleshoot explain checkpoint/nan-weights" in out
    assert run("--checkpoint", file, "--output", tmp_path / "out.txt")[:2] == (1, "")
    assert (tmp_path / "out.txt").read_text(encoding="utf-8") == out.replace(str(tmp_path), str(file))
