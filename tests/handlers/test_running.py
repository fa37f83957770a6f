"""``troubleshoot run``: byte for byte what python prints on stdout, the same exit status, the same traceback, then the diagnosis."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from programs import TITLE, run_file

RUN = ("-m", "troubleshoot", "run")

#: Programs that end in every way there is.
PROGRAMS = {
    "prints": "print('one')\nimport sys\nsys.stdout.write('two')",
    "arguments": "import sys\nprint(sys.argv[1:], __name__, __file__, __package__, __spec__, __doc__)",
    "path": "import sys, os\nprint(sys.path[0], os.path.dirname(os.path.realpath(__file__)) == sys.path[0])",
    "neighbour": "import neighbour\nprint(neighbour.value)",
    "fails": "def step():\n    raise RuntimeError('expected scalar type Float but found Half')\nprint('before')\nstep()",
    "unknown": "print('before')\n{}['key']",
    "exit-3": "import sys\nsys.exit(3)",
    "exit-text": "import sys\nsys.exit('bye')",
    "exit-none": "import sys\nsys.exit()",
    "os-exit": "import os, sys\nprint('x')\nsys.stdout.flush()\nos._exit(7)",
    "syntax": "def broken(:\n",
    "bytes": "import sys\nsys.stdout.buffer.write(bytes(range(256)))",
    "unicode": "print('Ünïcödé 中文 🙂')",
    "surrogate": "print('\\udc80')",
    "atexit": "import atexit\natexit.register(print, 'at the end')\nraise ValueError('x')",
    "main-guard": "if __name__ == '__main__':\n    print('main')",
    "annotations": "x: int = 3\nprint(__annotations__ if '__annotations__' in dir() else '')",
    "pickle": "import pickle\nclass A: pass\nprint(pickle.loads(pickle.dumps(A())).__class__.__module__)",
    "chained": "try:\n    {}['a']\nexcept KeyError as error:\n    raise RuntimeError('b') from error",
    "recursion": "def again(): again()\nagain()",
    "future": "from __future__ import annotations\ndef f(x: undefined): ...\nprint(f.__annotations__)",
    "input": "print(input()[::-1])",
    "threads": "import threading\ndef work(): print('in thread')\nt = threading.Thread(target=work)\nt.start()",
    "hook": "import sys\nsys.excepthook = lambda kind, value, tb: print('mine', kind.__name__, tb.tb_frame.f_code.co_name)\n"
    "raise ValueError('x')",
    "fork": "import multiprocessing\ndef work(x): return x * 2\n"
    "if __name__ == '__main__':\n    with multiprocessing.get_context('spawn').Pool(1) as pool: print(pool.map(work, [1, 2]))",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_stdout_and_exit_status_are_those_of_python(name: str, tmp_path: Path) -> None:
    """Arguments, paths, bytes, exits, failures."""
    (tmp_path / "neighbour.py").write_text("value = 5\n")
    program = tmp_path / "program.py"
    program.write_text(PROGRAMS[name], encoding="utf-8")
    arguments = ("--flag", "-m", "--help", "a b", "")
    options = {"input": b"abc\n", "cwd": tmp_path.parent}
    plain = run_file(program, *arguments, **options)
    ours = run_file(program, *arguments, prefix=RUN, **options)
    assert ours.stdout == plain.stdout
    assert ours.returncode == plain.returncode
    # The traceback is python's own, to the byte, whatever follows; a runaway recursion has some frames less to run in.
    assert name == "recursion" or ours.stderr.startswith(plain.stderr)
    assert (TITLE.encode() in ours.stderr) is (name == "fails")


def test_a_relative_path_and_an_ascii_terminal(tmp_path: Path) -> None:
    """The encoding of the streams is the program's, not ours."""
    (tmp_path / "program.py").write_text("import sys\nprint(__file__, sys.argv)\nprint('é')", encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    outputs = [
        subprocess.run([sys.executable, *prefix, "program.py"], capture_output=True, cwd=tmp_path, env=environment, timeout=60)
        for prefix in ((), RUN)
    ]
    assert outputs[0].stdout == outputs[1].stdout
    assert outputs[0].stderr == outputs[1].stderr
    assert outputs[0].returncode == outputs[1].returncode == 1


def test_modules_packages_and_archives(tmp_path: Path) -> None:
    """``-m package``, ``-m package.module``, a folder and a zip file with ``__main__``."""
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text("import sys\nprint(sys.argv[1:], __name__)")
    (package / "tool.py").write_text("import sys\nprint(sys.argv, __name__, __spec__.name)\nraise RuntimeError('no')")
    import zipfile

    with zipfile.ZipFile(tmp_path / "app.pyz", "w") as archive:
        archive.writestr("__main__.py", "import sys\nprint(sys.argv[1:], __name__)")
    for target in (("-m", "package"), ("-m", "package.tool"), ("package",), ("app.pyz",)):
        plain, ours = (
            subprocess.run([sys.executable, *prefix, *target, "-x", "1"], capture_output=True, cwd=tmp_path, timeout=60)
            for prefix in ((), RUN)
        )
        assert (ours.stdout, ours.returncode) == (plain.stdout, plain.returncode)
        assert ours.stderr.splitlines()[-1:] == plain.stderr.splitlines()[-1:]


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_signals_end_it_as_they_end_python(name: str, tmp_path: Path) -> None:
    """Death by signal, with what was printed before and the exit handlers run."""
    program = tmp_path / "program.py"
    program.write_text(
        "import atexit, os, signal\natexit.register(print, 'end', flush=True)\nprint('start', flush=True)\n"
        f"os.kill(os.getpid(), signal.{name})"
    )
    plain, ours = run_file(program), run_file(program, prefix=RUN)
    assert plain.returncode == ours.returncode == -getattr(signal, name)
    assert ours.stdout == plain.stdout
    assert ours.stderr == plain.stderr


def test_wrong_use_is_told(tmp_path: Path) -> None:
    """No program, no such file, an unknown option: status 2 and one line."""
    for arguments in ((), (str(tmp_path / "absent.py"),), ("--no-such-option", "x.py"), ("--lang",), ("--lang", "xx", "x.py")):
        done = subprocess.run([sys.executable, *RUN, *arguments], capture_output=True, text=True, timeout=60)
        assert done.returncode == 2
        assert done.stderr.startswith("troubleshoot: ")
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_the_usage(option: str) -> None:
    """Help is there."""
    done = subprocess.run([sys.executable, *RUN, option], capture_output=True, text=True, timeout=60)
    assert "Run a program as python does" in done.stdout
    assert done.returncode == 0


def test_the_report_may_go_to_a_file(tmp_path: Path) -> None:
    """Then stderr is python's, to the byte."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAMS["fails"])
    plain = run_file(program)
    ours = run_file(program, prefix=(*RUN, "-o", str(tmp_path / "report.txt")))
    assert ours.stderr == plain.stderr
    assert TITLE in (tmp_path / "report.txt").read_text(encoding="utf-8")
