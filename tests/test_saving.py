"""A file is written whole or not at all."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from troubleshoot.basics.saving import save

POSIX = pytest.mark.skipif(os.name == "nt", reason="files of POSIX")
LINEAR = "RuntimeError: mat1 and mat2 must have the same dtype, but got Float and Half\n"
PROGRAM = [sys.executable, "-m", "troubleshoot"]


def test_a_file_is_made_and_replaced(tmp_path: Path) -> None:
    """Nothing else is left in the folder."""
    path = tmp_path / "new.txt"
    save(path, b"one")
    save(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(tmp_path.iterdir()) == [path]


@POSIX
def test_rights_and_links_stay(tmp_path: Path) -> None:
    """The file behind a link is replaced, not the link; a link to nothing makes its file, as opening it would."""
    target, link, dangling = tmp_path / "target", tmp_path / "link", tmp_path / "dangling"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to("target")
    save(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    dangling.symlink_to(tmp_path / "made")
    save(dangling, b"made")
    assert dangling.is_symlink()
    assert (tmp_path / "made").read_bytes() == b"made"


@POSIX
def test_a_new_file_has_the_usual_rights(tmp_path: Path) -> None:
    """Those that the user's mask leaves."""
    before = os.umask(0o027)
    try:
        save(tmp_path / "x", b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o640


@POSIX
def test_what_is_no_file_is_written_to(tmp_path: Path) -> None:
    """A pipe gets the bytes, a device swallows them."""
    os.mkfifo(tmp_path / "pipe")
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    save(tmp_path / "pipe", b"through")
    reader.join(20)
    assert got == [b"through"]
    save("/dev/null", b"gone")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def _small_files() -> None:
    """Let writing fail as on a full disk: no file may grow beyond 600 bytes."""
    import resource
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))


@POSIX
def test_a_full_disk_tears_no_file(tmp_path: Path) -> None:
    """What was there stays, the error says which file, and the exit code is 2."""
    (tmp_path / "report.txt").write_text(LINEAR * 3)
    out = tmp_path / "out.txt"
    out.write_text("what was there")
    for name in ("out.txt", "other.txt"):
        command = [*PROGRAM, "diagnose", str(tmp_path / "report.txt"), "--env", "report", "-o", str(tmp_path / name)]
        done = subprocess.run(command, capture_output=True, text=True, preexec_fn=_small_files, check=False, timeout=120)
        assert done.returncode == 2, done.stderr
        assert f"cannot write {tmp_path / name}: " in done.stderr
    assert out.read_text() == "what was there"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["out.txt", "report.txt"]


@POSIX
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_device_is_an_error(tmp_path: Path) -> None:
    """As a full disk is."""
    (tmp_path / "report.txt").write_text(LINEAR)
    command = [*PROGRAM, "diagnose", str(tmp_path / "report.txt"), "-o", "/dev/full"]
    done = subprocess.run(command, capture_output=True, check=False, timeout=120)
    assert done.returncode == 2
    assert b"cannot write /dev/full: No space left on device" in done.stderr


@POSIX
def test_streams_have_paths(tmp_path: Path) -> None:
    """What others write into the same file stays: it is not replaced."""
    (tmp_path / "report.txt").write_text(LINEAR)
    out = tmp_path / "out.txt"
    line = f"echo before; {' '.join(PROGRAM)} diagnose {tmp_path / 'report.txt'} --env report -o /dev/stdout; echo behind"
    with out.open("wb") as file:
        subprocess.run(["/bin/sh", "-c", line], stdout=file, check=True, timeout=120)
    told = out.read_text()
    assert told.startswith("before\n")
    assert told.endswith("behind\n")
    assert "torch/linear-dtype" in told
