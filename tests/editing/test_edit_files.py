"""Writing: a backup that is never overwritten, one step, no file that is not the user's."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from troubleshoot.basics.errors import InputError
from troubleshoot.lab.editing.files import apply_files, protected, unified_diff


def test_a_backup_is_kept_and_never_overwritten(tmp_path: Path) -> None:
    """The first is SCRIPT.orig, the next SCRIPT.orig.1; the mode of the file stays."""
    path = tmp_path / "run.py"
    path.write_bytes(b"one")
    path.chmod(0o750)
    assert apply_files({str(path): (b"one", b"two")}) == {str(path): f"{path}.orig"}
    assert apply_files({str(path): (b"two", b"three")}) == {str(path): f"{path}.orig.1"}
    assert (path.read_bytes(), Path(f"{path}.orig").read_bytes(), Path(f"{path}.orig.1").read_bytes()) == (b"three", b"one", b"two")
    assert stat.S_IMODE(path.stat().st_mode) == 0o750
    assert sorted(one.name for one in tmp_path.iterdir()) == ["run.py", "run.py.orig", "run.py.orig.1"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """The file that it leads to is written, and the backup lies beside that."""
    (tmp_path / "real").mkdir()
    real = tmp_path / "real" / "run.py"
    real.write_bytes(b"one")
    link = tmp_path / "run.py"
    link.symlink_to(real)
    apply_files({str(link): (b"one", b"two")})
    assert link.is_symlink()
    assert real.read_bytes() == b"two"
    assert (tmp_path / "real" / "run.py.orig").read_bytes() == b"one"


def test_a_file_that_changed_meanwhile_is_not_written(tmp_path: Path) -> None:
    """Nor is any other of the same edit."""
    one, two = tmp_path / "a.py", tmp_path / "b.py"
    one.write_bytes(b"a")
    two.write_bytes(b"changed")
    with pytest.raises(InputError, match="has changed since"):
        apply_files({str(one): (b"a", b"A"), str(two): (b"b", b"B")})
    assert one.read_bytes() == b"a"
    assert not list(tmp_path.glob("*.orig"))


def test_an_editor_that_saves_by_renaming_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its file comes after the last comparison of the contents, and stays; nothing is left beside it."""
    path, saved = tmp_path / "run.py", tmp_path / "saved"
    path.write_bytes(b"one")
    read = Path.read_bytes
    times = []

    def reading(self: Path) -> bytes:
        found = read(self)
        times.append(self)
        if len(times) == 3:
            saved.write_bytes(b"two")
            saved.replace(path)
        return found

    monkeypatch.setattr(Path, "read_bytes", reading)
    with pytest.raises(InputError, match="has changed since"):
        apply_files({str(path): (b"one", b"edited")})
    monkeypatch.undo()
    assert len(times) == 3
    assert path.read_bytes() == b"two"
    assert [one.name for one in tmp_path.iterdir()] == ["run.py"]


def test_what_is_never_edited() -> None:
    """Installed packages, the standard library, remote code of models; a user's file is none of them."""
    import yaml

    assert "installed package" in str(protected(yaml.__file__))
    assert "Python installation" in str(protected(os.__file__))
    remote = "/home/me/.cache/huggingface/modules/transformers_modules/openbmb/MiniCPM-V/abc/modeling.py"
    assert "live patch" in str(protected(remote))
    assert protected(__file__) is None


@pytest.mark.skipif(subprocess.run(["git", "--version"], capture_output=True).returncode != 0, reason="git")
def test_git_applies_the_diff(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the file has no newline at its end, and Windows line ends."""
    monkeypatch.chdir(tmp_path)
    subprocess.run(["git", "init", "-q"], check=True)
    for before, after in ((b"a\nb", b"a\nc"), (b"a\r\nb\r\n", b"a\r\nc\r\nb\r\n"), (b"a\n", b"a\nb")):
        path = tmp_path / "x.py"
        path.write_bytes(before)
        subprocess.run(["git", "apply"], input=unified_diff(str(path), before, after), check=True)
        assert path.read_bytes() == after


def test_importing_the_editing_package_needs_no_libcst() -> None:
    """Only the edits of Python do; and `troubleshoot diagnose` imports none of it."""
    code = (
        "import sys; sys.modules['libcst'] = None; import troubleshoot.lab.editing, troubleshoot.lab.editing.failure, "
        "troubleshoot.commands.fix, troubleshoot.lab.trying.session; import troubleshoot.commands.app"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
