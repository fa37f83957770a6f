"""A program that we run finds the modules that `python` would find, and we never import one of its folders' in our own's place."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("libcst")

FAILS = 'raise RuntimeError("expected scalar type Float but found Half")\n'
#: What we depend on, at run time or for edits.
DEPENDENCIES = (
    "_yaml", "annotated_doc", "click", "libcst", "markdown_it", "msgspec", "numpy", "packaging", "psutil", "pygments", "rapidfuzz", "rich",
    "shellingham", "torch", "typer", "typing_extensions", "yaml",
)  # fmt: skip
NAMES = sorted({*sys.stdlib_module_names, *DEPENDENCIES} - {"__main__", "antigravity", "this"})
COMMANDS = {
    "run": ("run", "{}"),
    "run-module": ("run", "-m", "{}"),
    "try-fixes": ("run", "--try-fixes", "--yes", "{}"),
    "fix": ("fix", "{}"),
    "fix-run": ("fix", "{}", "--run"),
}


def spread(folder: Path, names: list[str], then: str = "") -> None:
    """Put a module of every name into a folder; each notes that it was run."""
    for name in names:
        (folder / f"{name}.py").write_text(f"import os\nopen(os.environ['RAN'], 'a').write(__name__ + '\\n')\n{then}")


def started(*command: str, cwd: Path, note: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command from a folder; ``note`` is where modules note that they were run."""
    note.unlink(missing_ok=True)
    known = {**os.environ, "RAN": str(note), **environment}
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=300, cwd=cwd, env=known)


def noted(note: Path) -> set[str]:
    return set(note.read_text().split()) if note.exists() else set()


#: The installed program: its own folder is first in sys.path, not the working folder.
PROGRAM = "import sys\nfrom troubleshoot.cli import main\nif __name__ == '__main__':\n    sys.exit(main())\n"


def troubleshoot(
    *arguments: str, cwd: Path, note: Path, flags: tuple[str, ...] = (), **environment: str
) -> subprocess.CompletedProcess[str]:
    program = cwd / "bin" / "troubleshoot"
    program.parent.mkdir(exist_ok=True)
    program.write_text(PROGRAM)
    return started(*flags, str(program), *arguments, cwd=cwd, note=note, **environment)


@pytest.fixture(autouse=True, scope="module")
def _compiled() -> None:
    """The knowledge base is compiled: a diagnosis at the end of a program has ten seconds."""
    from troubleshoot.knowledge import load_kb

    load_kb()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "run-module"])
def test_nothing_of_the_working_folder_runs(name: str, tmp_path: Path) -> None:
    """Every name that we import is there, and fails; `python sub/p.py` looks for none of them there, and neither do we."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "p.py").write_text(FAILS)
    spread(tmp_path, NAMES, "raise ImportError('of the working folder')\n")
    note = tmp_path / "ran.txt"
    done = troubleshoot(*(one.format("sub/p.py") for one in COMMANDS[name]), cwd=tmp_path, note=note)
    assert noted(note) == set()
    assert "torch/expected-scalar-type" in done.stderr, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_of_the_scripts_folder_runs_that_the_script_does_not_import(name: str, tmp_path: Path) -> None:
    """What `python p.py` runs of them runs here, and nothing else; both see the same modules."""
    module = name == "run-module"
    note = tmp_path / "ran.txt"
    (tmp_path / "p.py").write_text("import sys\nprint(*sys.modules)\n")
    # Without these, Python itself would not start the program.
    loaded = {one.partition(".")[0] for one in started(*(("-m", "p") if module else ("p.py",)), cwd=tmp_path, note=note).stdout.split()}
    (tmp_path / "p.py").write_text("import colorsys\nprint(colorsys.__file__)\n" + FAILS)
    spread(tmp_path, [one for one in NAMES if one not in loaded])
    plain = started(*(("-m", "p") if module else ("p.py",)), cwd=tmp_path, note=note)
    ran = noted(note)
    assert "colorsys" in ran
    done = troubleshoot(*(one.format("p" if module else "p.py") for one in COMMANDS[name]), cwd=tmp_path, note=note)
    assert noted(note) == ran
    assert "torch/expected-scalar-type" in done.stderr, done.stderr
    if name.startswith("run"):
        assert done.stdout == plain.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", ["types", "keyword", "pathlib", "json", "tokenize", "traceback", "signal"])
@pytest.mark.parametrize("command", ["run", "fix"])
def test_a_module_of_the_program_is_the_programs(name: str, command: str, tmp_path: Path) -> None:
    """Also where we have imported the one of Python before: the program ends as under `python`, well or not."""
    (tmp_path / f"{name}.py").write_text("mine = 5\n")
    code = f"import sys\nimport {name}\nprint({name}.mine, file=sys.stderr)\nimport enum\nprint('on', enum.Enum)\n"
    (tmp_path / "p.py").write_text(code + FAILS)
    note = tmp_path / "ran.txt"
    plain = started("p.py", cwd=tmp_path, note=note)
    told = json.loads(troubleshoot("fix", "p.py", "--format", "json", cwd=tmp_path, note=note).stdout) if command == "fix" else None
    if told is not None:
        assert told["error"] is None or told["error"].splitlines()[0] in plain.stderr
        assert (told["issue"] == "torch/expected-scalar-type") is ("expected scalar" in plain.stderr)
    else:
        done = troubleshoot("run", "p.py", cwd=tmp_path, note=note)
        assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout)
        assert done.stderr.startswith(plain.stderr)


SHOWS = """import json, os, sys
path = [one for one in sys.path if one not in sys.argv[2:]]
print(json.dumps([sys.argv, __name__, __file__, path, list(sys.flags), sys.warnoptions, sys._xoptions, __debug__,
                  sorted(one for one in os.environ if one.startswith("PYTHON")), str(sys.modules["__main__"].__spec__)]), file=sys.stderr)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "environment"),
    [
        ((), {}),
        (("-O", "-W", "error::ResourceWarning", "-X", "dev", "-B"), {}),
        ((), {"PYTHONSAFEPATH": "1", "PYTHONPATH": "{}"}),
        (("-P",), {}),
        (("-OO", "-b"), {"PYTHONPATH": "{}" + os.pathsep + "{}/more", "PYTHONSTARTUP": "x.py"}),
    ],
)
def test_the_program_sees_what_it_would_see(flags: tuple[str, ...], environment: dict[str, str], tmp_path: Path) -> None:
    """The path, the arguments, Python's options and variables, in the first run and in a rerun."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "p.py").write_text(SHOWS + FAILS)
    note = tmp_path / "ran.txt"
    given = {name: value.format(tmp_path, tmp_path) for name, value in environment.items()}
    inherited = os.environ.get("PYTHONPATH", "")
    if "PYTHONPATH" in given:
        given["PYTHONPATH"] += os.pathsep + inherited
    plain = started(*flags, "sub/p.py", "-x", "1", cwd=tmp_path, note=note, **given).stderr.splitlines()[0]
    done = troubleshoot("run", "sub/p.py", "-x", "1", cwd=tmp_path, note=note, flags=flags, **given)
    assert done.stderr.splitlines()[0] == plain
    done = troubleshoot("run", "--try-fixes", "sub/p.py", "-x", "1", cwd=tmp_path, note=note, flags=flags, **given)
    assert done.stderr.splitlines()[0] == plain


def test_processes_that_the_program_starts(tmp_path: Path) -> None:
    """Those of multiprocessing find the program and its neighbours, and see no option of ours."""
    (tmp_path / "neighbour.py").write_text("def double(x):\n    import sys\n    return x * 2, sys.flags.safe_path, sys.path[0]\n")
    (tmp_path / "p.py").write_text(
        "import multiprocessing, neighbour, sys\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        print(pool.map(neighbour.double, [1, 2]), file=sys.stderr)\n"
        f"    {FAILS}"
    )
    note = tmp_path / "ran.txt"
    (tmp_path / "elsewhere").mkdir()
    plain = started("../p.py", cwd=tmp_path / "elsewhere", note=note).stderr
    for command in (("run",), ("run", "--try-fixes")):
        done = troubleshoot(*command, "../p.py", cwd=tmp_path / "elsewhere", note=note)
        assert done.stderr.splitlines()[0] == plain.splitlines()[0]


@pytest.mark.slow
@pytest.mark.torch
def test_verification_and_live_patches_in_a_hostile_folder(tmp_path: Path) -> None:
    """The children of `verify` and of the trials import torch; nothing of the working folder runs there either."""
    pytest.importorskip("torch")
    (tmp_path / "sub").mkdir()
    code = "import torch\nmodel = torch.nn.Linear(4, 2).bfloat16()\nprint(model(torch.randn(1, 4)).shape)\n"
    (tmp_path / "sub" / "p.py").write_text(code)
    spread(tmp_path, NAMES, "raise ImportError('of the working folder')\n")
    note = tmp_path / "ran.txt"
    done = troubleshoot("run", "--try-fixes", "--first", "--yes", "sub/p.py", cwd=tmp_path, note=note)
    assert (done.returncode, noted(note)) == (0, set()), done.stderr
    done = troubleshoot("verify", "torch/linear-dtype", "--device", "cpu", "--case", "linear_dtype", cwd=tmp_path, note=note)
    assert noted(note) == set(), done.stderr
