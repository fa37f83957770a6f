"""The compiled base in the user's cache: whatever happened to the file, the next start answers as if nothing had."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from troubleshoot import diagnose, load_kb
from troubleshoot.knowledge import cache

ENTRY = """\
schema: 1
id: acme/frobnicate
title: The frobnicator wants float32
status: stable
cause: dtype-mismatch/input-vs-weight
kind: issue
impact: error
signature:
  message:
    - template: "frobnicator cannot take {found:dtype} operands"
explanation: It was written for float32.
references: []
"""
MESSAGE = "RuntimeError: frobnicator cannot take Half operands"


@pytest.fixture
def overlay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an overlay's folder; the cache is a folder of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "cache"))
    (tmp_path / "o" / "acme").mkdir(parents=True)
    (tmp_path / "o" / "acme" / "frobnicate.yaml").write_text(ENTRY, encoding="utf-8")
    return tmp_path / "o"


def answers(overlay: Path) -> None:
    """Load as a new process does, and check the answer."""
    cache._loaded.clear()
    base = load_kb([overlay], shipped=False)
    first = diagnose(MESSAGE, kb=base, environment="report").first
    assert first is not None and first.issue == "acme/frobnicate"
    assert first.title == "The frobnicator wants float32"


def kept(tmp_path: Path) -> Path:
    """Return the one file in the cache."""
    (found,) = (tmp_path / "cache" / "troubleshoot").glob("kb-*")
    return found


def cut(part: float) -> Callable[[Path], None]:
    """Return a function that cuts a file."""
    return lambda path: os.truncate(path, int(path.stat().st_size * part))


def flip(part: float) -> Callable[[Path], None]:
    """Return a function that changes one bit."""

    def change(path: Path) -> None:
        content = bytearray(path.read_bytes())
        content[int((len(content) - 1) * part)] ^= 1
        path.write_bytes(content)

    return change


def other_text(path: Path) -> None:
    """Change an entry so that it is still one."""
    path.write_bytes(path.read_bytes().replace(b"wants float32", b"wants float64"))


def a_folder(path: Path) -> None:
    """Put a folder in its place."""
    path.unlink()
    path.mkdir()
    (path / "x").write_text("", encoding="utf-8")


def a_pipe(path: Path) -> None:
    """Put a pipe in its place."""
    path.unlink()
    os.mkfifo(path)


def open_to_all(path: Path) -> None:
    """Let others write, and somebody else's answer be there."""
    content = path.read_bytes()[: -cache._SEAL_LENGTH].replace(b"wants float32", b"wants float64")
    path.write_bytes(content + cache._seal(content))
    path.chmod(0o666)


DAMAGES: dict[str, Callable[[Path], None]] = {
    "empty": cut(0),
    "cut in the index": cut(0.2),
    "cut in an entry": cut(0.9),
    "last byte missing": lambda path: os.truncate(path, path.stat().st_size - 1),
    "a bit of the first byte": flip(0),
    "a bit of the index": flip(0.3),
    "a bit of an entry": flip(0.8),
    "a bit of the end": flip(1),
    "an entry changed": other_text,
    "something behind it": lambda path: path.write_bytes(path.read_bytes() + b"x") and None,  # type: ignore[func-returns-value]
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)) and None,  # type: ignore[func-returns-value]
    "a folder": a_folder,
    "a pipe": a_pipe,
    "open to all": open_to_all,
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_cache_is_made_anew(name: str, overlay: Path, tmp_path: Path) -> None:
    """Never a wrong answer, never an error; where nothing stands in the way the file is whole again."""
    if os.name == "nt" and name in ("a pipe", "open to all"):
        pytest.skip("no such thing on Windows")
    answers(overlay)
    whole = kept(tmp_path).read_bytes()
    DAMAGES[name](kept(tmp_path))
    answers(overlay)
    if name != "a folder":
        assert kept(tmp_path).read_bytes() == whole


def test_a_whole_cache_is_used(overlay: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling takes seconds."""
    answers(overlay)
    monkeypatch.setattr(cache, "compile_roots", lambda roots: pytest.fail("compiled again"))
    answers(overlay)


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root gives files away")
def test_a_file_of_another_user_is_not_trusted(overlay: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may say anything."""
    answers(overlay)
    whole = kept(tmp_path)
    os.chown(whole, 12345, 12345)
    assert cache._kept(whole) is None
    answers(overlay)
    assert kept(tmp_path).stat().st_uid == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_only_costs_the_time_of_the_next_start(overlay: Path, tmp_path: Path) -> None:
    """Nothing half-written stays behind."""
    import resource

    def limit() -> None:
        # A file may not grow beyond this: writing fails as on a full disk.
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))

    code = f"import troubleshoot as t; b = t.load_kb([{str(overlay)!r}], shipped=False); print(t.diagnose({MESSAGE!r}, kb=b).first.issue)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, preexec_fn=limit, timeout=120)
    assert done.stdout.strip() == "acme/frobnicate", done.stderr
    assert list((tmp_path / "cache" / "troubleshoot").iterdir()) == []


@pytest.mark.slow
def test_ten_cold_starts_at_once(overlay: Path, tmp_path: Path) -> None:
    """Each works, and one whole file is left."""
    code = f"import troubleshoot as t; b = t.load_kb([{str(overlay)!r}], shipped=False); print(t.diagnose({MESSAGE!r}, kb=b).first.issue)"
    run = [sys.executable, "-c", code]
    started = [subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for _ in range(10)]
    told = [one.communicate(timeout=300)[0].strip() for one in started]
    assert told == ["acme/frobnicate"] * 10
    assert cache._kept(kept(tmp_path)) is not None
