"""The steps of docs/examples/Containerfile, run without a container: what is copied suffices, installs no torch, and serves."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
LINES = (ROOT / "docs" / "examples" / "Containerfile").read_text(encoding="utf-8").splitlines()


def steps(instruction: str) -> list[str]:
    """Return the arguments of an instruction, in order."""
    return [line.removeprefix(f"{instruction} ") for line in LINES if line.startswith(f"{instruction} ")]


def as_list(text: str) -> list[str]:
    """Return the JSON form of a command."""
    found: list[str] = json.loads(text[text.index("[") :])
    return found


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the image would have under /opt, built from the files that are copied and nothing else."""
    folder = tmp_path_factory.mktemp("image")
    source = folder / "src"
    source.mkdir()
    for step in steps("COPY"):
        if step.startswith("--from"):
            continue
        *names, target = step.split()
        for name in names:
            place = source / target / ("" if (ROOT / name).is_dir() else name)
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, place, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / name, place)
    (run,) = steps("RUN")
    made = run.replace("/opt/troubleshoot", str(folder / "opt")).replace("python3 ", f"{sys.executable} ")
    done = subprocess.run(made, shell=True, cwd=source, capture_output=True, text=True, timeout=560)
    if done.returncode and re.search(r"(?i)connection|network|resolve|timed out|No matching distribution", done.stderr):
        pytest.skip("the package index cannot be reached")
    assert done.returncode == 0, done.stderr
    for path in (folder, *folder.parents):
        # Another user must get to it.
        if path.stat().st_uid == os.getuid() and path != Path(path.anchor):
            path.chmod(path.stat().st_mode | 0o755)
    return folder / "opt"


def command(image: Path, *options: str, port: str = "8000") -> list[str]:
    """Return the entry point with options, on another port than the container's."""
    entry = [port if part == "8000" else part for part in as_list(steps("ENTRYPOINT")[0])]
    return [str(image / "bin" / entry[0]), *entry[1:], *options]


def test_nothing_that_runs_models_is_installed(image: Path) -> None:
    """No torch: the server reads text."""
    installed = {path.name.lower().split("-")[0] for path in image.glob("lib/python3*/site-packages/*.dist-info")}
    assert "fastapi" in installed
    assert not installed & {"torch", "numpy", "transformers", "pytest"}


def test_it_refuses_to_serve_others_without_a_token(image: Path) -> None:
    """As it stands, the entry point names no token."""
    done = subprocess.run(command(image, port="0"), capture_output=True, text=True, timeout=60, cwd="/tmp")
    assert done.returncode == 2
    assert "--token-file" in done.stderr


def test_it_serves_and_is_healthy(image: Path, tmp_path: Path) -> None:
    """With the image's user where the tests may become it and it may run this Python, with a token, and the health check as it stands."""
    tokens = tmp_path / "tokens.txt"
    tokens.write_text("0123456789abcdef\n")
    user, _, group = steps("USER")[0].partition(":")
    reachable = all(path.stat().st_mode & 0o001 for path in (Path(sys.executable).resolve(), *Path(sys.executable).resolve().parents))
    nobody = {"user": int(user), "group": int(group), "extra_groups": []} if os.getuid() == 0 and reachable else {}
    if nobody:
        for path in (tmp_path, *tmp_path.parents):
            if path.stat().st_uid == 0 and path != Path(path.anchor):
                path.chmod(path.stat().st_mode | 0o755)
    environment = {"PATH": f"{image / 'bin'}:{os.environ['PATH']}", "XDG_CACHE_HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1"}
    run = command(image, "--token-file", str(tokens), port="0")
    log = tmp_path / "log"
    with log.open("wb") as stream:
        process = subprocess.Popen(run, stderr=stream, stdout=stream, cwd="/tmp", env=environment, **nobody)  # type: ignore[call-overload]
    try:
        address = ""
        for _ in range(600):
            match = re.search(r"listening on http://[^:\s]+:(\d+)", log.read_text())
            if match:
                address = f"http://127.0.0.1:{match[1]}"
                break
            assert process.poll() is None, log.read_text()
            time.sleep(0.1)
        check = [part.replace("http://127.0.0.1:8000", address) for part in as_list(steps("HEALTHCHECK")[0])]
        # Until the start period is over, a check may fail: the server still loads.
        (seconds,) = re.findall(r"--start-period=(\d+)s", "\n".join(LINES))
        until = time.monotonic() + int(seconds)
        while subprocess.run(check, env=environment, timeout=30, capture_output=True).returncode != 0:
            assert time.monotonic() < until, log.read_text()
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(f"{address}/v1/issues", timeout=20)
        wanted = urllib.request.Request(f"{address}/v1/issues", headers={"Authorization": "Bearer 0123456789abcdef"})
        with urllib.request.urlopen(wanted, timeout=20) as answer:
            assert len(json.load(answer)) > 100
        with urllib.request.urlopen(f"{address}/", timeout=20) as answer:
            assert b"page.js" in answer.read()
    finally:
        process.terminate()
        assert process.wait(30) in (0, -15)
    assert subprocess.run(check, env=environment, timeout=30, capture_output=True).returncode != 0
