"""Isolated environments: torch and its own dependencies, nothing else, and nothing of the user's is touched."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("torch")

from troubleshoot.lab.verify import isolated
from troubleshoot.lab.verify.signals import Stop

pytestmark = pytest.mark.torch


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))


def test_the_closure_of_torch_is_torch_and_what_it_requires() -> None:
    """The tests' own packages are not in it."""
    names = set(isolated.torch_closure())
    assert {"torch", "sympy", "troubleshoot"} <= names
    assert not names & {"pytest", "_pytest", "hypothesis", "typer", "msgspec"}


@pytest.mark.slow
def test_torch_is_linked_and_nothing_leaks_in() -> None:
    """The environment imports torch and this package, and finds no other package of the user's."""
    interpreter = isolated.prepare({}, Stop())
    program = (
        "import sys, torch, importlib.util as u, troubleshoot.lab.verify.registry as r; assert len(r.cases()) >= 60; "
        "print(torch.__version__, u.find_spec('hypothesis'), u.find_spec('typer'))"
    )
    done = subprocess.run([interpreter.python, "-c", program], env=interpreter.environment(), capture_output=True, text=True, check=True)
    import torch

    assert done.stdout.split() == [str(torch.__version__), "None", "None"]
    again = isolated.prepare({}, Stop())
    assert again == interpreter, "the environment is kept"


@pytest.mark.slow
def test_a_damaged_environment_is_told_and_made_anew() -> None:
    """Its record was cut, or the interpreter that it was made with is gone."""
    interpreter = isolated.prepare({}, Stop())
    folder = Path(interpreter.python).parent.parent.parent
    for damage in (lambda: os.truncate(folder / isolated._DONE, 10), lambda: Path(interpreter.python).unlink()):
        damage()
        assert not isolated.kept({})
        said: list[str] = []
        assert isolated.prepare({}, Stop(), say=said.append) == interpreter
        assert f"the environment in {folder} is damaged" in said[0]
        assert isolated.kept({})


@pytest.mark.slow
def test_the_linked_packages_are_outside_of_its_prefix() -> None:
    """Pip takes what lies in its prefix for its own, and would remove it through the links."""
    interpreter = isolated.prepare({}, Stop())
    program = "import sys, sympy, pathlib; p = pathlib.Path(sympy.__file__); print(p.is_relative_to(sys.prefix), sys.prefix)"
    done = subprocess.run([interpreter.python, "-c", program], env=interpreter.environment(), capture_output=True, text=True, check=True)
    assert done.stdout.startswith("False ")


@pytest.mark.slow
def test_offline_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index out of reach is told apart from a release that does not exist, and leaves no half-made environment."""
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null" if sys.platform != "win32" else "nul")
    monkeypatch.setenv("PIP_RETRIES", "1")
    with pytest.raises(isolated.IsolationError, match="offline") as caught:
        isolated.prepare({"transformers": "4.50.2"}, Stop())
    assert caught.value.offline
    assert list(isolated.cache_root().iterdir()) == []


@pytest.mark.slow
def test_what_a_kill_left_is_swept() -> None:
    """A half-made environment of a process that is gone is removed when the next one is made."""
    left = isolated.cache_root() / ".making-999999999-1-key"
    left.mkdir(parents=True)
    isolated.prepare({}, Stop())
    assert not left.exists()


@pytest.mark.slow
def test_an_environment_that_nothing_uses_any_more_is_removed() -> None:
    """One used within the last month stays, as does what is no environment; use counts, not making."""
    root = isolated.cache_root()
    old, used, foreign = root / "old-key", root / "used-key", root / "foreign"
    for folder in (old, used, foreign):
        folder.mkdir(parents=True)
    for folder, days in ((old, 31), (used, 29)):
        (folder / "complete.json").write_text("{}")
        then = time.time() - days * 86400
        os.utime(folder / "complete.json", (then, then))
    kept = isolated.prepare({}, Stop())
    assert not old.exists()
    assert used.exists()
    assert foreign.exists()
    record = Path(kept.python).parents[2] / "complete.json"
    long_ago = time.time() - 40 * 86400
    os.utime(record, (long_ago, long_ago))
    assert isolated.prepare({}, Stop()) == kept
    assert record.stat().st_mtime > time.time() - 3600
