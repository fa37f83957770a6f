"""Edits lose nothing: lines as Python counts them, diffs that apply, files that are replaced whole or not at all."""

from __future__ import annotations

import ast
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

pytest.importorskip("libcst")

from troubleshoot.basics.errors import InputError
from troubleshoot.lab.editing.files import apply_files, unified_diff
from troubleshoot.lab.editing.lines import plain, split_lines, too_deep
from troubleshoot.lab.editing.plans import RefusedError
from troubleshoot.lab.editing.source import Changes, Source, deep

ROOT = hasattr(os, "geteuid") and os.geteuid() == 0

#: Sources as editors and other systems write them. In each the line "target = 1" is changed.
SOURCES = {
    "plain": b"a = 1\ntarget = 1\nb = 2\n",
    "no end": b"a = 1\ntarget = 1",
    "crlf": b"a = 1\r\ntarget = 1\r\nb = 2\r\n",
    "cr": b"a = 1\rtarget = 1\rif a:\r    b = 2\r",
    "mixed": b"a = 1\r\ntarget = 1\rb = 2\nc = 3",
    "mark": b"\xef\xbb\xbfa = 1\r\ntarget = 1\r\n",
    "mark and cookie": b"\xef\xbb\xbf# coding: utf-8\ra = 1\rtarget = 1\rb = '# coding: rot13'\r",
    "latin-1": b"# -*- coding: latin-1 -*-\na = '\xe9\x85'\ntarget = 1\n",
    "shift-jis": "# coding: shift_jis\na = '表示'\ntarget = 1\n".encode("shift_jis"),
    "tabs": b"if 1:\n\ta = 1\n\ttarget = 1\n",
    "page": b"\f\na = 1\n\ftarget = 1\n\fb = 2\nif a:\n\f    c = 3\n",
    "page in a block": b"if 1:\n    a = 1\n  \f    target = 1\n    b = 2\n",
    "separators": "a = '\v\x1c\x1d\x85\u2028\u2029'  # \f \u2028\ntarget = 1\nb = '\u2028'\n".encode(),
    "page in a string": b"a = '''\n \f x\r\n'''\rtarget = 1\n",
}


def edited(data: bytes, path: str = "x.py") -> bytes:
    """Change the target, and put a block behind it."""
    source = Source(path, data)
    changes = Changes(source)
    statement = next(one for one in source.walk() if source.code(one).strip() == "target = 1" and hasattr(one, "leading_lines"))
    number = next(one for one in source.walk(statement) if source.code(one) == "1")
    changes.put(number, "22")
    changes.insert_after(statement, "added = 3\nif added:\n    pass")
    return changes.result()


@pytest.mark.parametrize("name", SOURCES)
def test_only_the_edited_lines_change(name: str) -> None:
    """Byte for byte, and Python reads the result as it should."""
    data = SOURCES[name]
    source = Source("x.py", data)
    assert source.changed(source.module) == data
    after = edited(data)
    kept = [line for line in split_lines(data.decode("latin-1")) if "target" not in line]
    made = split_lines(after.decode("latin-1"))
    assert [line for line in made if "target" not in line and line.strip() not in ("added = 3", "if added:", "pass")] == kept
    found = ast.dump(ast.parse(after))
    assert found.count("value=Constant(value=22)") == 1
    # The changed line keeps what precedes and what ends it.
    old = next(line for line in split_lines(data.decode("latin-1")) if "target" in line)
    new = next(line for line in made if "target" in line)
    assert new.rstrip("\r\n") == old.rstrip("\r\n").replace("1", "22")


@pytest.mark.parametrize("name", SOURCES)
def test_lines_are_pythons(name: str) -> None:
    """The number of each statement is the one that a traceback of it has."""
    source = Source("x.py", SOURCES[name])
    for node in ast.walk(ast.parse(SOURCES[name])):
        if isinstance(node, ast.Assign):
            code = ast.unparse(node.targets[0])
            assert source.code(source.statement_at(node.lineno)).strip().startswith(code)


@pytest.mark.parametrize("tool", [("git", "apply", "-"), ("patch", "-p1"), ("patch", "-p0", "{}")])
@pytest.mark.parametrize("name", SOURCES)
def test_the_diff_applies(name: str, tool: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the real programs, to the file as it lies there."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "x.py"
    path.write_bytes(SOURCES[name])
    after = edited(SOURCES[name])
    diff = unified_diff(str(path), SOURCES[name], after)
    try:
        done = subprocess.run([one.format("x.py") for one in tool], input=diff, capture_output=True, cwd=tmp_path)
    except FileNotFoundError:
        pytest.skip(f"{tool[0]} is not installed")
    assert done.returncode == 0, (done.stdout, done.stderr, diff)
    assert path.read_bytes() == after


@pytest.mark.parametrize("name", ["a b.py", 'quo"te.py', "back\\slash.py", "tab\there.py", "ünï 中.py", "new\nline.py"])
def test_names_of_files(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no plain word is quoted as git does."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / name
    path.write_bytes(b"a\n")
    subprocess.run(["git", "apply"], input=unified_diff(str(path), b"a\n", b"b\n"), check=True, cwd=tmp_path)
    assert path.read_bytes() == b"b\n"


REFUSED = {
    "brackets": (b"a = 1\nx = " + b"(" * 10_000 + b")" * 10_000, ":2: it nests too deep"),
    "a sum": (b"x = " + b"1 + " * 10_000 + b"1\n", ":1: it nests too deep"),
    "calls": (b"x = a" + b".b()" * 10_000, ":1: it nests too deep"),
    "strings": (b"x = (\n" + b"'a'\n" * 10_000 + b")\n", "it nests too deep"),
    "branches": (b"if a:\n    pass\n" + b"elif b:\n    pass\n" * 5_000, "it nests too deep"),
    "in an f-string": (b'x = f"{' + b"(" * 5_000 + b")" * 5_000 + b'}"\n', ":1: it nests too deep"),
    "never closed": (b"x = [" * 100_000, ":1: it nests too deep"),
    "null": (b"a = 1\nb = '\0'\n", ":2: it holds a null byte"),
    "no utf-8": (b"a = 1\n\nb = '\xff'\n", ":3: its encoding cannot be read"),
    "no utf-8 in the first line": (b"b = '\xff'\n", ":1: its encoding cannot be read"),
    "no such encoding": (b"# coding: nonsense\n", "unknown encoding: nonsense"),
    "no text encoding": (b"# coding: rot13\n", "rot13"),
    "utf-7": (b"# coding: utf-7\na = '+AGE-'\n", "would not be the same"),
    "utf-16": ("a = 1\n".encode("utf-16"), ":1: its encoding"),
    "python 2": (b"a = 1\nprint 'x'\n", ":2: it is no valid Python"),
    "a syntax error": (b"\n\ndef f(:\n", ":3: it is no valid Python"),
    "huge": (b"x = 1\n" * 300_000, "1.8 MB"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_edited_is_refused(name: str) -> None:
    """It says what and where, and Python does not crash."""
    data, why = REFUSED[name]
    with pytest.raises(RefusedError) as raised:
        Source("x.py", data)
    assert why in str(raised.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    ["(" * 180 + "1" + ")" * 180, "1 + " * 390 + "1", "a" + ".b()" * 120, "(\n" + "'a'\n" * 390 + ")", "not " * 390 + "1"],
)
def test_what_is_deep_but_allowed_is_edited(code: str) -> None:
    """Whatever Python's limit of nested calls."""
    with deep():
        assert b"target = 22" in edited(f"x = {code}\ntarget = 1\n".encode())


def test_the_depth_of_this_project_is_no_problem() -> None:
    """The estimate does not take ordinary files for deep ones."""
    import troubleshoot

    files = list(Path(troubleshoot.__file__).parent.rglob("*.py"))
    assert [one for one in files if too_deep(plain(one.read_text(encoding="utf-8")), 300)] == []


def test_all_files_are_written_or_none(tmp_path: Path) -> None:
    """Where the second cannot be, the first is as it was, and no backup or half file is left."""
    one, two = tmp_path / "a.py", tmp_path / "b.py"
    one.write_bytes(b"a")
    two.write_bytes(b"b")
    os.link(two, tmp_path / "other.py")
    with pytest.raises(InputError, match=r"b\.py: the file has 2 names"):
        apply_files({str(one): (b"a", b"A"), str(two): (b"b", b"B")})
    assert (one.read_bytes(), two.read_bytes()) == (b"a", b"b")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.py", "b.py", "other.py"]


def test_a_failure_between_two_files_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first file has been replaced by then."""
    one, two = tmp_path / "a.py", tmp_path / "b.py"
    one.write_bytes(b"a")
    two.write_bytes(b"b")
    replace = os.replace

    def fails_at_the_second(new: str, old: str) -> None:
        if str(old).endswith("b.py"):
            raise OSError(5, "Input/output error")
        replace(new, old)

    monkeypatch.setattr(os, "replace", fails_at_the_second)
    with pytest.raises(InputError, match="Input/output error; it is as it was"):
        apply_files({str(one): (b"a", b"A"), str(two): (b"b", b"B")})
    assert (one.read_bytes(), two.read_bytes()) == (b"a", b"b")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.py", "b.py"]


def test_an_editor_that_saves_at_the_same_time(tmp_path: Path) -> None:
    """Whatever the moment: what it saved is in the file, or in the backup, or nothing was written."""
    path = tmp_path / "x.py"
    lost = 0
    for delay in range(40):
        path.write_bytes(b"old")

        def save(delay: int = delay) -> None:
            time.sleep(delay * 1e-5)
            with path.open("r+b") as file:
                file.write(b"USER")

        editor = threading.Thread(target=save)
        editor.start()
        with suppress(InputError):
            apply_files({str(path): (b"old", b"new")})
        editor.join()
        lost += not any(b"USER" in one.read_bytes() for one in tmp_path.iterdir())
        for one in tmp_path.glob("*.orig*"):
            one.unlink()
    assert lost == 0


@pytest.mark.skipif(os.name != "posix", reason="modes and owners of POSIX")
def test_owner_mode_and_attributes_stay(tmp_path: Path) -> None:
    """Of the file; the backup has them too."""
    path = tmp_path / "x.py"
    path.write_bytes(b"old")
    path.chmod(0o2754)
    if ROOT:
        os.chown(path, 12345, 23456)
        path.chmod(0o2754)
    attributes = {}
    if hasattr(os, "setxattr"):
        try:
            os.setxattr(path, "user.note", b"mine")
            # An access list: user 1000 may read and write.
            entries = [(1, 7, 0xFFFFFFFF), (2, 6, 1000), (4, 5, 0xFFFFFFFF), (16, 7, 0xFFFFFFFF), (32, 4, 0xFFFFFFFF)]
            value = (2).to_bytes(4, "little") + b"".join(
                tag.to_bytes(2, "little") + rights.to_bytes(2, "little") + who.to_bytes(4, "little") for tag, rights, who in entries
            )
            os.setxattr(path, "system.posix_acl_access", value)
        except OSError:
            pass  # Not on this file system.
        attributes = {name: os.getxattr(path, name) for name in os.listxattr(path)}
    before = path.stat()
    backup = apply_files({str(path): (b"old", b"new")})[str(path)]
    for one in (path, Path(backup)):
        after = one.stat()
        assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
        if hasattr(os, "listxattr"):
            assert {name: os.getxattr(one, name) for name in os.listxattr(one)} == attributes
    assert path.read_bytes() == b"new"


def test_a_read_only_file_and_what_is_no_file(tmp_path: Path) -> None:
    """They are told, also to root."""
    path = tmp_path / "x.py"
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(InputError, match="read-only"):
        apply_files({str(path): (b"old", b"new")})
    with pytest.raises(InputError, match="no regular file"):
        apply_files({str(tmp_path): (b"old", b"new")})
    assert [one.name for one in tmp_path.iterdir()] == ["x.py"]


APPLY = """import sys
from troubleshoot.lab.editing.files import apply_files
try:
    apply_files({sys.argv[1]: (b'old', b'new' * 100_000)})
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.mark.skipif(os.name != "posix", reason="users of POSIX")
def test_a_folder_that_may_not_be_written() -> None:
    """The file is as it was."""
    # Root is let in everywhere: it becomes nobody once all is imported. Pytest's folders are closed to that one.
    code = "import os, random, tempfile, troubleshoot.lab.editing.files\nif os.geteuid() == 0: os.setgid(65534); os.setuid(65534)\n" + APPLY
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "x.py"
        path.write_bytes(b"old")
        path.chmod(0o666)
        Path(name).chmod(0o555)
        done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=60)
        Path(name).chmod(0o755)
        assert "cannot write" in done.stdout, done
        assert "Permission denied; it is as it was" in done.stdout
        assert path.read_bytes() == b"old"


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
def test_a_full_disk(tmp_path: Path) -> None:
    """The file is as it was, with nothing beside it."""
    path = tmp_path / "x.py"
    path.write_bytes(b"old")
    done = subprocess.run(
        [sys.executable, "-c", "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n" + APPLY, str(path)],
        capture_output=True, text=True, timeout=60, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
    )  # fmt: skip
    assert "File too large; it is as it was" in done.stdout, done
    assert [one.name for one in tmp_path.iterdir()] == ["x.py"]
    assert path.read_bytes() == b"old"


@pytest.mark.skipif(not ROOT or sys.platform != "linux", reason="mounts a file system")
def test_a_full_file_system(tmp_path: Path) -> None:
    """Likewise where no block is left."""
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(tmp_path)], capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        path = tmp_path / "x.py"
        path.write_bytes(b"old")
        done = subprocess.run([sys.executable, "-c", APPLY, str(path)], capture_output=True, text=True, timeout=60)
        assert "No space left on device; it is as it was" in done.stdout, done
        assert [one.name for one in tmp_path.iterdir()] == ["x.py"]
        assert path.read_bytes() == b"old"
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)
