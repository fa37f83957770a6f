"""Environments apart from the user's: the installed torch and its own dependencies, linked, and pinned releases beside them.

Nothing is ever installed into the user's environment. What is linked lies outside of the new environment's prefix, so that its pip does
not take it
for its own and never removes it. Environments are kept in the user's cache folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from troubleshoot.errors import TroubleshootError
from troubleshoot.verify import processes
from troubleshoot.verify.signals import Stop
from troubleshoot.verify.workspace import lives, remove, start_time

_FORMAT = 1
_DONE = "complete.json"
_MAKING = ".making-"

#: What pip prints where it reaches no index; the wordings of its resolver and of urllib3.
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
)


class IsolationError(TroubleshootError):
    """An isolated environment cannot be made; ``offline`` where the package index is out of reach."""

    def __init__(self, text: str, *, offline: bool = False) -> None:
        self.offline = offline
        super().__init__(text)


@dataclass(frozen=True)
class Interpreter:
    """A Python to run children with. ``isolated`` ones get no paths from this process's environment variables."""

    python: str
    isolated: bool = False

    def environment(self) -> dict[str, str]:
        """Return the environment variables for a child: one thread, nothing downloaded, failures in C told."""
        given = dict(os.environ)
        if self.isolated:
            for name in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PYTHONSTARTUP"):
                given.pop(name, None)
            given["PYTHONNOUSERSITE"] = "1"
        given.update(
            OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false", HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1",
            HF_HUB_DISABLE_TELEMETRY="1", PYTHONFAULTHANDLER="1", PYTHONIOENCODING="utf-8", PYTHONUNBUFFERED="1",
            TRANSFORMERS_VERBOSITY="error",
        )  # fmt: skip
        return given


def this_interpreter() -> Interpreter:
    """Return the interpreter that runs this program."""
    return Interpreter(sys.executable)


def cache_root() -> Path:
    """Return the folder that holds the environments."""
    if sys.platform == "win32":
        parent = os.environ.get("LOCALAPPDATA") or str(Path("~/AppData/Local").expanduser())
    elif sys.platform == "darwin":
        parent = str(Path("~/Library/Caches").expanduser())
    else:
        parent = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    if parent.startswith("~"):
        raise IsolationError("no cache folder can be named for isolated environments: set XDG_CACHE_HOME")
    return Path(parent) / "troubleshoot" / "environments"


def prepare(wanted: Mapping[str, str], stop: Stop, *, say: Callable[[str], None] = lambda _: None, timeout: float = 1800.0) -> Interpreter:
    """Return an interpreter with the installed torch and ``wanted`` ({"transformers": "4.50.2"}; "" for the newest), made now or kept
    from before.

    Raises:
        IsolationError: torch is not installed, the index is out of reach, or a release does not exist for this Python.
        Interrupted: a signal came.
    """
    linked = torch_closure()
    key = _key(wanted, linked)
    folder = cache_root() / key
    if not (folder / _DONE).is_file():
        remove(folder)
        _sweep(folder.parent)
        making = folder.with_name(f"{_MAKING}{os.getpid()}-{start_time(os.getpid())}-{key}")
        try:
            _make(making, wanted, linked, stop, say, timeout)
            # Another process may have been faster: then its environment serves.
            with suppress(OSError):
                making.rename(folder)
        finally:
            remove(making)
    return Interpreter(str(_python(folder)), isolated=True)


def discard(wanted: Mapping[str, str]) -> None:
    """Remove a kept environment."""
    remove(cache_root() / _key(wanted, torch_closure()))


def kept(wanted: Mapping[str, str]) -> bool:
    """Tell whether an environment is there already."""
    return (cache_root() / _key(wanted, torch_closure()) / _DONE).is_file()


def installed(interpreter: Interpreter) -> dict[str, str]:
    """Return the versions that pip put into an isolated environment, by name."""
    record = Path(interpreter.python).parent.parent.parent / _DONE
    try:
        return dict(json.loads(record.read_text(encoding="utf-8"))["packages"])
    except (OSError, ValueError, KeyError):
        return {}


def _make(
    folder: Path, wanted: Mapping[str, str], linked: Mapping[str, Path], stop: Stop, say: Callable[[str], None], timeout: float
) -> None:
    folder.mkdir(parents=True)
    environment = Interpreter("", isolated=True).environment()
    say("making an isolated environment")
    made = processes.run([sys.executable, "-m", "venv", str(folder / "venv")], stop=stop, timeout=300, environment=environment)
    if made.code != 0:
        raise IsolationError(f"python -m venv failed here: {_last(made.output)}")
    links = folder / "linked"
    links.mkdir()
    for name, source in linked.items():
        _link(source, links / name)
    site = next((folder / "venv").glob("lib/python*/site-packages"), folder / "venv" / "Lib" / "site-packages")
    # Relative, so that the folder can be renamed when it is complete.
    (site / "linked.pth").write_text(os.path.relpath(links, site) + "\n", encoding="utf-8")
    if wanted:
        _install(folder, wanted, stop, say, timeout, environment)
    packages = {}
    for info in sorted(site.glob("*.dist-info")):
        name, _, version = info.name.removesuffix(".dist-info").partition("-")
        packages[name] = version
    (folder / _DONE).write_text(json.dumps({"wanted": dict(wanted), "packages": packages}, indent=1), encoding="utf-8")


def _install(
    folder: Path, wanted: Mapping[str, str], stop: Stop, say: Callable[[str], None], timeout: float, environment: dict[str, str]
) -> None:
    names = [f"{name}=={version}" if version else name for name, version in sorted(wanted.items())]
    say(f"installing {', '.join(names)} into it")
    held = folder / "constraints.txt"
    # The linked torch stays: no release may bring another.
    held.write_text(f"torch=={_torch_version()}\n" if "torch" not in wanted else "", encoding="utf-8")
    command = [
        str(_python(folder)),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-input",
        "--prefer-binary",
        "-c",
        str(held),
    ]
    done = processes.run([*command, *names], stop=stop, timeout=timeout, environment=environment)
    if done.ended == "hang":
        raise IsolationError(f"installing {', '.join(names)} took more than {timeout:.0f} s")
    if done.code != 0:
        if any(sign in done.output for sign in _OFFLINE):
            raise IsolationError(f"offline: the package index cannot be reached for {', '.join(names)}", offline=True)
        raise IsolationError(f"cannot install {', '.join(names)} for this Python: {_last(done.output)}")


def _last(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    return (errors or lines or ["it printed nothing"])[-1]


def _python(folder: Path) -> Path:
    return folder / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _link(source: Path, target: Path) -> None:
    if os.name == "nt":
        if source.is_dir():
            import _winapi

            # A junction needs no privilege, a symbolic link does.
            _winapi.CreateJunction(str(source), str(target))  # type: ignore[attr-defined, unused-ignore]
        else:
            shutil.copy2(source, target)
        return
    target.symlink_to(source, target_is_directory=source.is_dir())


def torch_closure() -> dict[str, Path]:
    """Return the files and folders of torch, of what it requires, and of this package, by their names in site-packages.

    Raises:
        IsolationError: torch is not installed.
    """
    from importlib.metadata import PackageNotFoundError, distribution

    from packaging.requirements import Requirement

    found: dict[str, Path] = {}
    waiting, seen = ["torch"], set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            one = distribution(name)
        except PackageNotFoundError:
            if name == "torch":
                raise IsolationError("torch is not installed beside troubleshoot: there is nothing to verify with") from None
            continue
        for file in one.files or ():
            top = file.parts[0]
            # Programs in bin/ are named "../../../bin/x"; compiled modules are made anew.
            if top not in ("..", "__pycache__") and top not in found:
                found[top] = Path(str(one.locate_file(top))).resolve()
        for text in one.requires or ():
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(requirement.name)
    found["troubleshoot"] = Path(__file__).resolve().parent.parent
    return {name: path for name, path in sorted(found.items()) if path.exists() and name != "bin"}


def _torch_version() -> str:
    from importlib.metadata import version

    return version("torch")


def _key(wanted: Mapping[str, str], linked: Mapping[str, Path]) -> str:
    parts = [str(_FORMAT), sys.version, _torch_version(), *(f"{name}={path}" for name, path in linked.items())]
    parts += [f"{name}=={version}" for name, version in sorted(wanted.items())]
    readable = "-".join(f"{name}{version}" for name, version in sorted(wanted.items())) or "torch"
    return f"{readable[:60]}-{hashlib.sha256(chr(10).join(parts).encode()).hexdigest()[:12]}"


def _sweep(parent: Path) -> None:
    """Remove environments whose making was killed."""
    with suppress(OSError):
        for folder in parent.glob(f"{_MAKING}*"):
            pid, started, _ = folder.name.removeprefix(_MAKING).split("-", 2)
            if not lives(int(pid), started):
                remove(folder)
