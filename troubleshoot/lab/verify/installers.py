"""What puts packages into an isolated environment: pip, or uv where the packages are to be those of a day."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from troubleshoot.basics.errors import TroubleshootError
from troubleshoot.lab.verify import index, processes
from troubleshoot.lab.verify.signals import Stop

#: What pip and uv print where they reach no index; the wordings of their resolvers, of urllib3 and of reqwest.
_OFFLINE = (
    "Temporary failure in name resolution",
    "Name or service not known",
    "getaddrinfo failed",
    "nodename nor servname",
    "NewConnectionError",
    "Network is unreachable",
    "Connection refused",
    "ConnectTimeoutError",
    "Failed to establish a new connection",
    "ProxyError",
    "Max retries exceeded",
    "error sending request",
    "dns error",
)


class IsolationError(TroubleshootError):
    """An isolated environment cannot be made; ``offline`` where the package index is out of reach."""

    def __init__(self, text: str, *, offline: bool = False) -> None:
        self.offline = offline
        super().__init__(text)


@dataclass(frozen=True)
class Download:
    """What an installation would load: how many files, and their bytes together; ``unknown`` files do not tell their size."""

    files: int
    bytes: int
    unknown: int = 0

    def __str__(self) -> str:
        size = f"{self.bytes / 1e9:.1f} GB" if self.bytes >= 1e9 else f"{self.bytes / 1e6:.0f} MB"
        return f"{size} in {self.files} files" + (f", and {self.unknown} of unknown size" if self.unknown else "")


def uv() -> str | None:
    """Return the uv program, or None where there is none."""
    return shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))


def python_of(folder: Path) -> Path:
    """Return the Python of an environment's folder."""
    return folder / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def create(folder: Path, stop: Stop, environment: Mapping[str, str], *, of_day: str | None) -> None:
    """Make an empty virtual environment in ``folder``.

    Raises:
        IsolationError: that failed, or packages of a day are wanted and there is no uv.
    """
    place = str(folder / "venv")
    command = [sys.executable, "-P", "-m", "venv", place]
    if of_day is not None:
        program = uv()
        if program is None:
            raise IsolationError("packages of a day need uv, which is not installed: pip install uv")
        command = [program, "venv", "--quiet", "--python", sys.executable, place]
    made = processes.run(command, stop=stop, timeout=300, environment=environment)
    if made.code != 0:
        raise IsolationError(f"no virtual environment can be made here: {_last(made.output)}")


def install(
    folder: Path,
    wanted: Mapping[str, str],
    stop: Stop,
    environment: Mapping[str, str],
    *,
    held: Mapping[str, str],
    linked: Sequence[str],
    of_day: str | None,
    say: Callable[[str], None],
    timeout: float,
) -> None:
    """Install ``wanted`` ("" is any version) into the environment of ``folder``. ``linked`` packages lie in it already; of them those in
    ``held`` must stay as they are.

    Raises:
        IsolationError: the index is out of reach, or there are no such releases for this Python.
    """
    names = [f"{name}=={version}" if version else name for name, version in sorted(wanted.items())]
    listed = ", ".join(names)
    say(f"installing {listed} into it")
    rules = folder / "held.txt"
    if of_day is None:
        # pip sees the linked packages and does not take them for its own; the constraint keeps it from bringing others.
        rules.write_text("".join(f"{name}=={version}\n" for name, version in held.items()), encoding="utf-8")
        command = [str(python_of(folder)), "-P", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
        command += ["--prefer-binary", "-c", str(rules), *names]
    else:
        # uv does not see them: they are left out of what it resolves, so that no older one takes their place.
        rules.write_text("".join(f"{name}\n" for name in linked if name != "setuptools"), encoding="utf-8")
        command = [uv() or "uv", "pip", "install", "--quiet", "--python", str(python_of(folder)), "--exclude-newer", of_day]
        # Older packages import pkg_resources, which only older setuptools have.
        command += ["--excludes", str(rules), "setuptools", *names]
    done = processes.run(command, stop=stop, timeout=timeout, environment=environment)
    if done.ended == "hang":
        raise IsolationError(f"installing {listed} took more than {timeout:.0f} s")
    if done.code != 0:
        raise _failed(listed, done.output)


def planned(wanted: Mapping[str, str], folder: Path, stop: Stop, environment: Mapping[str, str], *, timeout: float = 600.0) -> Download:
    """Return what installing ``wanted`` with all that it requires would load, as the index tells; nothing is installed.

    Raises:
        IsolationError: the index is out of reach, or there are no such releases for this Python.
    """
    names = [f"{name}=={version}" if version else name for name, version in sorted(wanted.items())]
    listed = ", ".join(names)
    report = folder / "plan.json"
    command = [sys.executable, "-P", "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--disable-pip-version-check"]
    command += ["--no-input", "--only-binary", ":all:", "--report", str(report), *names]
    done = processes.run(command, stop=stop, timeout=timeout, environment=environment)
    if done.ended == "hang":
        raise IsolationError(f"the index did not tell within {timeout:.0f} s what {listed} needs")
    if done.code != 0:
        raise _failed(listed, done.output)
    addresses = [str(one["download_info"]["url"]) for one in json.loads(report.read_text(encoding="utf-8"))["install"]]
    try:
        sizes = index.sizes_of(addresses)
    except OSError as error:
        raise IsolationError(f"offline: {error}", offline=True) from None
    return Download(len(addresses), sum(sizes.values()), len(addresses) - len(sizes))


def _failed(listed: str, output: str) -> IsolationError:
    if any(sign in output for sign in _OFFLINE):
        return IsolationError(f"offline: the package index cannot be reached for {listed}", offline=True)
    # pip ends some of these with "ERROR: Exception:" and a traceback of its own.
    if "No space left on device" in output or "Disk quota exceeded" in output:
        return IsolationError(
            f"no space is left on the disk for {listed}: "
            "remove environments of earlier runs (troubleshoot/environments in the cache folder)"
        )
    return IsolationError(f"cannot install {listed} for this Python: {_last(output)}")


def _last(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    return (errors or lines or ["it printed nothing"])[-1]
