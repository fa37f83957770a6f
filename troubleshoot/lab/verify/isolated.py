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
import site
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import Distribution
from pathlib import Path

from troubleshoot.lab.verify import installers
from troubleshoot.lab.verify.installers import IsolationError
from troubleshoot.lab.verify.signals import Stop
from troubleshoot.lab.verify.workspace import lives, remove, start_time

_FORMAT = 2
_DONE = "complete.json"
_MAKING = ".making-"
# Environments take some hundred MB to several GB each: whoever has not needed one for a month hardly will.
UNUSED_DAYS = 30

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
        else:
            # A checkout that is not installed is found through the working folder, where a child does not look.
            root = str(Path(__file__).parents[3])
            if root not in _installed():
                given["PYTHONPATH"] = os.pathsep.join([root, *filter(None, [given.get("PYTHONPATH")])])
        given.update(
            OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false", HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1",
            HF_HUB_DISABLE_TELEMETRY="1", PYTHONFAULTHANDLER="1", PYTHONIOENCODING="utf-8", PYTHONUNBUFFERED="1",
            TRANSFORMERS_VERBOSITY="error",
        )  # fmt: skip
        return given


def _installed() -> set[str]:
    """Return the folders of installed packages: Python finds them by itself, behind the standard library."""
    import sysconfig

    return {sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), site.getusersitepackages()}


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


def prepare(
    wanted: Mapping[str, str],
    stop: Stop,
    *,
    say: Callable[[str], None] = lambda _: None,
    timeout: float = 1800.0,
    of_day: str | None = None,
) -> Interpreter:
    """Return an interpreter with the installed torch and ``wanted`` ({"transformers": "4.50.2"}; "" for the newest), made now or kept
    from before.

    A torch among ``wanted`` takes the place of the installed one. With ``of_day`` ("2023-05-01") nothing that was published later is
    installed.

    Raises:
        IsolationError: torch is not installed, the index is out of reach, or a release does not exist for this Python.
        Interrupted: a signal came.
    """
    linked = _linked(wanted)
    key = _key(wanted, linked, of_day)
    folder = cache_root() / key
    if not _whole(folder):
        if (folder / _DONE).is_file():
            say(f"the environment in {folder} is damaged: it is made anew")
        remove(folder)
        _sweep(folder.parent)
        making = folder.with_name(f"{_MAKING}{os.getpid()}-{start_time(os.getpid())}-{key}")
        try:
            _make(making, wanted, linked, stop, say, timeout, of_day)
            # Another process may have been faster: then its environment serves.
            with suppress(OSError):
                making.rename(folder)
        finally:
            remove(making)
    # When it was last used, for _sweep.
    with suppress(OSError):
        os.utime(folder / _DONE)
    return Interpreter(str(installers.python_of(folder)), isolated=True)


def discard(wanted: Mapping[str, str], *, of_day: str | None = None) -> None:
    """Remove a kept environment."""
    remove(cache_root() / _key(wanted, _linked(wanted), of_day))


def kept(wanted: Mapping[str, str], *, of_day: str | None = None) -> bool:
    """Tell whether an environment is there already."""
    return _whole(cache_root() / _key(wanted, _linked(wanted), of_day))


def _whole(folder: Path) -> bool:
    """Tell whether an environment is complete: its record is written last, and its interpreter may have been uninstalled since."""
    return _packages(folder) is not None and installers.python_of(folder).exists()


def _packages(folder: Path) -> dict[str, str] | None:
    try:
        return dict(json.loads((folder / _DONE).read_text(encoding="utf-8"))["packages"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def installed(interpreter: Interpreter) -> dict[str, str]:
    """Return the versions that pip put into an isolated environment, by name."""
    return _packages(Path(interpreter.python).parent.parent.parent) or {}


def _linked(wanted: Mapping[str, str]) -> dict[str, Path]:
    """Return what is linked into an environment; a torch of its own brings its own dependencies."""
    return {"troubleshoot": Path(__file__).resolve().parents[2]} if "torch" in wanted else torch_closure()


def _make(
    folder: Path,
    wanted: Mapping[str, str],
    linked: Mapping[str, Path],
    stop: Stop,
    say: Callable[[str], None],
    timeout: float,
    of_day: str | None,
) -> None:
    folder.mkdir(parents=True)
    environment = Interpreter("", isolated=True).environment()
    say("making an isolated environment")
    installers.create(folder, stop, environment, of_day=of_day)
    links = folder / "linked"
    links.mkdir()
    for name, source in linked.items():
        _link(source, links / name)
    site = next((folder / "venv").glob("lib/python*/site-packages"), folder / "venv" / "Lib" / "site-packages")
    # Relative, so that the folder can be renamed when it is complete.
    (site / "linked.pth").write_text(os.path.relpath(links, site) + "\n", encoding="utf-8")
    if wanted:
        linked_names = () if "torch" in wanted else tuple(_closure())
        held = {"torch": _torch_version()} if linked_names else {}
        installers.install(folder, wanted, stop, environment, held=held, linked=linked_names, of_day=of_day, say=say, timeout=timeout)
    packages = {}
    for info in sorted(site.glob("*.dist-info")):
        name, _, version = info.name.removesuffix(".dist-info").partition("-")
        packages[name] = version
    (folder / _DONE).write_text(json.dumps({"wanted": dict(wanted), "packages": packages}, indent=1), encoding="utf-8")


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
    found: dict[str, Path] = {}
    for one in _closure().values():
        for file in one.files or ():
            top = file.parts[0]
            # Programs in bin/ are named "../../../bin/x"; compiled modules are made anew.
            if top not in ("..", "__pycache__") and top not in found:
                found[top] = Path(str(one.locate_file(top))).resolve()
    found["troubleshoot"] = Path(__file__).resolve().parents[2]
    return {name: path for name, path in sorted(found.items()) if path.exists() and name != "bin"}


def _closure() -> dict[str, Distribution]:
    """Return torch and all that it requires, by name."""
    from importlib.metadata import PackageNotFoundError, distribution

    from packaging.requirements import Requirement

    found: dict[str, Distribution] = {}
    waiting = ["torch"]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            if name == "torch":
                raise IsolationError("torch is not installed beside troubleshoot: there is nothing to verify with") from None
            continue
        for text in found[name].requires or ():
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(requirement.name)
    return found


def _torch_version() -> str:
    from importlib.metadata import version

    return version("torch")


def _key(wanted: Mapping[str, str], linked: Mapping[str, Path], of_day: str | None) -> str:
    parts = [str(_FORMAT), sys.version, _torch_version(), *(f"{name}={path}" for name, path in linked.items())]
    parts += [f"{name}=={version}" for name, version in sorted(wanted.items())]
    if of_day is not None:
        parts.append(of_day)
    readable = "-".join(f"{name}{version}" for name, version in sorted(wanted.items())) or "torch"
    return f"{readable[:60]}-{hashlib.sha256(chr(10).join(parts).encode()).hexdigest()[:12]}"


def _sweep(parent: Path) -> None:
    """Remove environments whose making was killed, and those that nothing has used for ``UNUSED_DAYS`` days."""
    with suppress(OSError):
        for folder in parent.glob(f"{_MAKING}*"):
            pid, started, _ = folder.name.removeprefix(_MAKING).split("-", 2)
            if not lives(int(pid), started):
                remove(folder)
        oldest = time.time() - UNUSED_DAYS * 86400
        for record in parent.glob(f"*/{_DONE}"):
            if record.stat().st_mtime < oldest:
                remove(record.parent)
