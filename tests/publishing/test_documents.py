"""Every command and code block of README, the tutorials and the guides: parsed always, run where this machine can run it."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
import yaml

from troubleshoot.commands.app import add_rest, app

ROOT = Path(__file__).parents[2]
#: Written by tools, and checked where those are.
MADE = ("docs/hardware.md", "docs/benchmarks.md")
PAGES = sorted(
    name
    for name in ("README.md", *(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")))
    if name not in MADE
)
#: What cannot be run in a test, for the reason that stands beside it; it is parsed all the same.
UNRUN = {
    r"\bserve\b|\bmcp\b|--follow|curl|uvicorn": "a server, or endless input",
    r"pip install|git clone|docker|openssl|venv": "installs something, or is another program",
    r"--isolated|--with |--url|kb stale|kb lines|s3://|ray": "needs the package index or a network",
    r"--all\b|--cause|kb (?:lint|learn|weigh|score|bisect)|--record": "takes minutes",
    r"torchrun|git apply|kb new|kb gaps|audit --checkpoint": "needs what a sandbox has not",
}
#: What the code of a page has at hand: names that its text introduces.
MODEL = """
import torch, troubleshoot
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)).half()
model[1].float()
inputs = torch.randn(1, 8).half()
try:
    model(inputs)
except RuntimeError as error:
    diagnosis = troubleshoot.diagnose(error)
"""
BEFORE = {
    "docs/scan.md": "import troubleshoot\ntexts = ['RuntimeError: expected scalar type Float but found Half']\n",
    "docs/verification.md": MODEL,
    # Nothing listens there: the answer is that of the rules.
    "docs/reader.md": "text = 'RuntimeError: expected scalar type Float but found Half'\n",
    "docs/tutorials/exceptions.md": "def train(): pass\n",
    "docs/zh/python.md": "def train(): pass\n",
}
#: These pages have tests of their own, which hold the output against the page.
ELSEWHERE = ("docs/live.md", "docs/check.md", "docs/watch.md", "docs/audit.md")


def blocks(page: str, *kinds: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return [body for kind, body in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL) if kind in kinds]


def commands(page: str) -> Iterator[str]:
    """Yield the command lines of a page, without prompts and comments."""
    for body in blocks(page, "sh"):
        begun = ""
        for line in body.replace("\\\n", " ").splitlines():
            begun += ("\n" if begun else "") + re.sub(r"\s{2,}#.*$", "", line)
            # A quoted text may go on in the next line.
            if begun.count("'") % 2 == 0:
                if begun.strip() and not begun.startswith("#"):
                    yield begun
                begun = ""
    for body in blocks(page, "console"):
        for line in body.splitlines():
            if line.startswith("$ "):
                yield line.removeprefix("$ ")


FIRST = {line: page for page in reversed(PAGES) for line in commands(page)}
LINES = [pytest.param(page, line, id=f"{page}: {line}"[:120]) for line, page in FIRST.items()]


def own(line: str) -> list[list[str]]:
    """Return the arguments of each call of the tool in a line."""
    parts = re.split(r"\s(?:\|\|?|&&|>)\s", line.replace("PACKAGE/SLUG", "torch/linear-dtype"))
    words = [shlex.split(part) for part in parts if "troubleshoot" in part and not part.startswith(("curl", "docker"))]
    return [one[1:] for one in words if one and one[0].rpartition("/")[2] == "troubleshoot"]


@pytest.mark.parametrize(("page", "line"), LINES)
def test_every_command_exists_with_its_options(page: str, line: str) -> None:
    """As typer reads it."""
    add_rest()
    group = typer.main.get_command(app)
    for arguments in own(line):
        command, name = group, ""
        while hasattr(command, "commands") and arguments:
            name, *arguments = arguments
            if name.startswith("-"):
                break
            assert name in command.commands, f"{page}: {line}"
            command = command.commands[name]
        else:
            command.make_context(name, list(arguments))


@pytest.mark.parametrize("page", PAGES)
def test_other_blocks_are_what_they_say(page: str) -> None:
    """JSON and YAML can be read; no block is of a kind that nobody checks."""
    kinds = set(re.findall(r"^```(\w*)\n.*?^```$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL))
    assert kinds <= {"sh", "console", "python", "json", "yaml", "text", "nginx"}
    for body in blocks(page, "json"):
        json.loads(body)
    for body in blocks(page, "yaml"):
        yaml.safe_load(body)
    for body in blocks(page, "python"):
        if ">>>" not in body:
            compile(body, page, "exec")


@pytest.mark.parametrize("page", PAGES)
def test_what_is_installed_is_the_checkout(page: str) -> None:
    """Nothing is on a package index: an extra is one of this project's, and comes from the folder."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    text = (ROOT / page).read_text(encoding="utf-8")
    assert "troubleshoot[" not in text
    for extra in re.findall(r"'\.\[(\w+)\]'", text):
        assert extra in extras


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the pages speak of."""
    folder = tmp_path_factory.mktemp("sandbox")
    report = (ROOT / "docs" / "examples" / "blip2-half.txt").read_text(encoding="utf-8")
    (folder / "docs").symlink_to(ROOT / "docs")
    for name in ("error.txt", "report.txt", "train.log", "slurm-1234.out", "log.txt", "logs/a.log", "reports/a.txt"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(report, encoding="utf-8")
    program = "import torch\ntorch.nn.Linear(2, 2).half()(torch.ones(1, 2))\n"
    (folder / "my_package").mkdir()
    (folder / "my_package" / "__init__.py").touch()
    (folder / "my_package" / "models.py").write_text("import torch\ndef build():\n    return torch.nn.Linear(2, 2)\n", encoding="utf-8")
    for name in ("train.py", "my_package/train.py"):
        (folder / name).write_text(program, encoding="utf-8")
    for path in (ROOT / "docs" / "examples" / "scripts").glob("*.py"):
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "bin").mkdir()
    for name, what in (("troubleshoot", "-m troubleshoot "), ("python", "")):
        script = folder / "bin" / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {what}"$@"\n', encoding="utf-8")
        script.chmod(0o755)
    return folder


def environment(folder: Path) -> dict[str, str]:
    paths = {"PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "COLUMNS": "80", "NO_COLOR": "1"}
    return {**os.environ, **paths, "TROUBLESHOOT_LANG": "en"}


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize(("page", "line"), LINES)
def test_every_command_runs(page: str, line: str, sandbox: Path) -> None:
    """To its end: a diagnosis or none, a finding or none, but no error in use."""
    reason = next((why for pattern, why in UNRUN.items() if re.search(pattern, line)), None)
    if reason is not None:
        pytest.skip(reason)
    line = line.replace("PACKAGE/SLUG", "torch/linear-dtype")
    done = subprocess.run(
        ["bash", "-c", line], cwd=sandbox, env=environment(sandbox), capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL
    )
    if "this needs " in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert done.stdout or done.stderr or "-o " in line
    assert "internal error" not in done.stderr


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize("page", [page for page in PAGES if page not in ELSEWHERE and blocks(page, "python")])
def test_the_python_of_a_page_runs(page: str, sandbox: Path) -> None:
    """Each block after those before it. A client needs its server; a block whose package is not here is only compiled."""
    bodies = [body for body in blocks(page, "python") if "openai" not in body]
    parts = [f"try:\n{_indented(body)}\nexcept ModuleNotFoundError as error:\n    print('left out:', error)" for body in bodies]
    program = "\n".join((BEFORE.get(page, ""), *parts))
    script = sandbox / f"{page.replace('/', '-')}.py"
    script.write_text(program, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], cwd=sandbox, env=environment(sandbox), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


def _indented(body: str) -> str:
    return "\n".join(f"    {line}" for line in body.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if "openai.OpenAI" in "".join(blocks(page, "python"))])
def test_the_clients_of_the_pages_get_an_answer(page: str, tmp_path: Path) -> None:
    """From a server that is started for them."""
    pytest.importorskip("openai")
    pytest.importorskip("fastapi", reason="needs the extra serve")
    sys.path.insert(0, str(ROOT / "tests" / "serve"))
    from servers import start

    server = start(tmp_path)
    try:
        for body in blocks(page, "python"):
            if "openai" in body:
                names: dict[str, object] = {}
                exec(compile(body.replace("127.0.0.1:8000", f"127.0.0.1:{server.port}"), page, "exec"), names)
                assert "**1. " in str(names["reply"])
    finally:
        server.stop()


def test_the_picture_is_the_answer() -> None:
    """README's picture shows what the tool says today; python docs/site/picture.py > docs/answer.svg draws it anew."""
    pytest.importorskip("rich", reason="typer brings it")
    sys.path.insert(0, str(ROOT / "docs" / "site"))
    try:
        import picture
    finally:
        sys.path.pop(0)
    kept = (ROOT / "docs" / "answer.svg").read_text(encoding="utf-8")
    said = "".join(f"$ {picture.COMMAND}\n{picture.answer()}".split())
    assert _words_of(kept) == _words_of(picture.picture()) == said
    assert "http" not in re.sub(r'xmlns="[^"]*"|<!--.*?-->', "", kept, flags=re.DOTALL)


def _words_of(drawn: str) -> str:
    """Return what an SVG of rich shows, in the order of its lines, without blanks."""
    lines: dict[str, str] = {}
    for part in ET.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text"):
        line = part.get("clip-path", "")
        if "line-" in line:
            lines[line] = lines.get(line, "") + (part.text or "").replace("\u00a0", " ")
    return "".join("".join(lines.values()).split())


def test_the_tutorial_chat_answers() -> None:
    """With a fix, in both languages; what it cannot know it says."""
    (example,) = (body for body in blocks("docs/tutorials/chat.md", "python") if "def answer" in body)
    names: dict[str, object] = {}
    exec(compile(example.replace("print(", "_ = ("), "chat.md", "exec"), names)
    answer = names["answer"]
    assert callable(answer)
    assert "Try: " in answer("RuntimeError: expected scalar type Float but found Half")
    assert "No failure" in answer("hello")
    assert re.search(r"[\u4e00-\u9fff]", answer("RuntimeError: expected scalar type Float but found Half", "zh"))
