"""Tools that do a similar job, each in an environment of its own, on the same failures: how long the process takes and what it answers.

``python tests/benchmarks/rivals.py FOLDER`` installs them there (once) and prints. What cannot be installed is left out and named.
Tools that read reports get the report; those that only explain a running program get a program that raises the same message.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from measuring import Section, in_turn

ROOT = Path(__file__).resolve().parents[2]

REPORTS = {
    "BLIP-2 in float16": (ROOT / "docs" / "examples" / "blip2-half.txt").read_text(encoding="utf-8"),
    "linear, mixed dtypes": (ROOT / "tests" / "data" / "reports" / "cpython_torch.txt").read_text(encoding="utf-8"),
    "NaN losses": "".join(f"step {step} loss nan grad_norm nan lr 1e-5\n" for step in range(5)),
}

_FRIENDLY = """
import sys, friendly_traceback
friendly_traceback.set_lang("en")
try:
    exec(compile(open(sys.argv[1]).read(), sys.argv[1], "exec"))
except Exception:
    for part in ("message", "what", "why"):
        friendly_traceback.set_include(part)
        friendly_traceback.explain_traceback()
"""
_SIGGEN = """
import json, re, sys
from siggen.generator import SignatureGenerator
text = open(sys.argv[1]).read()
frames = [{"file": f, "line": int(n), "function": g.strip()} for f, n, g in re.findall(r'File "([^"]+)", line (\\d+), in (.*)', text)]
frames = [{**frame, "frame": at} for at, frame in enumerate(reversed(frames))]
print(SignatureGenerator().generate({"os": "Linux", "crashing_thread": 0, "threads": [{"frames": frames}]}).signature)
"""
_DRAIN = """
import sys
from drain3 import TemplateMiner
miner = TemplateMiner()
for line in open(sys.argv[1]):
    miner.add_log_message(line.strip())
for cluster in miner.drain.clusters:
    print(cluster.size, cluster.get_template())
"""


@dataclass(frozen=True)
class Rival:
    """A tool: its package, and how it is run in the environment ``bin`` on a report or on a program that fails."""

    package: str
    command: Callable[[Path, Path, Path], list[str]]
    live: bool = False


RIVALS = (
    Rival("whyfail", lambda folder, report, program: [str(folder / "whyfail"), "run", "--no-color", "python", str(program)], True),
    Rival("bug-autopsy", lambda folder, report, program: [str(folder / "autopsy"), "--no-color", "--file", str(report)]),
    Rival("error-translator-cli-v2", lambda folder, report, program: [str(folder / "explain-error"), report.read_text(encoding="utf-8")]),
    Rival("friendly-traceback", lambda folder, report, program: [str(folder / "python"), "-c", _FRIENDLY, str(program)], True),
    Rival("siggen", lambda folder, report, program: [str(folder / "python"), "-c", _SIGGEN, str(report)]),
    Rival("drain3", lambda folder, report, program: [str(folder / "python"), "-c", _DRAIN, str(report)]),
)  # fmt: skip


def install(folder: Path) -> dict[str, str]:
    """Install each tool into an environment below ``folder``; return the versions of those that could be."""
    versions = {}
    for rival in RIVALS:
        home = folder / rival.package
        python = home / "bin" / "python"
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
            subprocess.run([str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", rival.package], check=False)
        code = f"from importlib.metadata import version; print(version({rival.package!r}))"
        done = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            versions[rival.package] = done.stdout.strip()
    return versions


def compare(folder: Path, runs: int) -> Section:
    """Time every tool in turn with troubleshoot on each report, and show what it answers."""
    section = Section("Tools that do a similar job")
    versions = install(folder)
    for rival in RIVALS:
        if rival.package not in versions:
            section.say(f"{rival.package} could not be installed here and is left out.")
    with tempfile.TemporaryDirectory() as place:
        for title, text in REPORTS.items():
            _one_report(section, folder, versions, Path(place), title, text, runs)
    section.say(
        "Times are whole processes. whyfail and friendly-traceback read no reports: they ran a program that raises the same message."
    )
    return section


def _one_report(section: Section, folder: Path, versions: dict[str, str], place: Path, title: str, text: str, runs: int) -> None:
    report, program = place / "report.txt", place / "program.py"
    report.write_text(text, encoding="utf-8")
    message = next((line.partition(": ")[2] for line in reversed(text.splitlines()) if line.startswith("RuntimeError: ")), "")
    program.write_text(f"def forward(x):\n    raise RuntimeError({message!r})\nforward(1)\n", encoding="utf-8")
    commands = {"troubleshoot": [sys.executable, "-m", "troubleshoot", "diagnose", str(report)]}
    for rival in RIVALS:
        if rival.package in versions and (message or not rival.live):
            commands[f"{rival.package} {versions[rival.package]}"] = rival.command(folder / rival.package / "bin", report, program)
    figures = in_turn(runs, *[lambda one=command: _run(one) for command in commands.values()])  # type: ignore[misc]
    answers = []
    for (name, command), figure in zip(commands.items(), figures, strict=True):
        section.add(f"{name}: {title}", figure.text())
        answers.append(f"{name}:\n{_answer(_run(command))}")
    section.blocks.append(f"{title}\n\n```text\n" + "\n\n".join(answers) + "\n```")


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, encoding="utf-8", errors="replace")
    return done.stdout or done.stderr


def _answer(text: str) -> str:
    """Return the first lines of an answer, without rules and frames."""
    kept = [line.strip()[:150] for line in text.replace("```", "'''").splitlines() if any(char.isalnum() for char in line)]
    return "\n".join(f"    {line}" for line in kept[:8]) or "    (nothing)"


def main() -> None:
    """Print the comparison."""
    section = compare(Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 5)
    print("\n\n".join(section.blocks))


if __name__ == "__main__":
    main()
