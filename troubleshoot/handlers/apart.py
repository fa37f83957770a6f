"""A program's imports and ours in one process, kept apart.

``python script.py`` finds modules in the script's folder first. So does the program that we run; what we import ourselves is never looked
for there, or a ``queue.py`` beside the script would run in our place. And where that folder has a module of a name that we have imported
before the program began, the program gets its own.

Nothing is imported here that Python has not loaded when it starts.
"""

from __future__ import annotations

import os
import sys
from _frozen_importlib import BuiltinImporter, FrozenImporter
from _frozen_importlib_external import PathFinder
from _thread import get_ident

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: What is ours and depended on; all else that we import is in the standard library.
_OURS = ("_yaml", "click", "msgspec", "packaging", "rapidfuzz", "rich", "typer", "yaml")


class _Finder:
    """Finds the modules that a thread of ours imports; for other threads it finds nothing."""

    def __init__(self) -> None:
        #: ``sys.path`` without the program's folder; None until there is a program.
        self.path: list[str] | None = None
        self.threads: dict[int, int] = {}
        #: Modules of ours that make room for the program's of the same name.
        self.aside: dict[str, object] = {}
        self.known: frozenset[str] = frozenset()

    def find_spec(self, name: str, path: object = None, target: object = None) -> object:
        """Find a top-level module for a thread of ours. Raises ModuleNotFoundError, so that nobody looks for it in the program's folder."""
        if path is not None or get_ident() not in self.threads:
            return None
        spec = BuiltinImporter.find_spec(name) or FrozenImporter.find_spec(name) or PathFinder.find_spec(name, self.path)
        if spec is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return spec


_finder = _Finder()


def begin(known: object = None) -> None:
    """Take note of what Python loads when it starts: the names of ``known``, or else the modules that were there before ours.

    Without ``known`` the process is one that runs our own command: the folder that Python has put first in ``sys.path`` for that goes.
    """
    if known is None:
        # An archive (zipapp) holds us and what we depend on.
        if not sys.flags.safe_path and not os.path.isfile(sys.path[0]):  # noqa: PTH113
            del sys.path[0]
        known = _before_us()
    _finder.known = frozenset(known)  # type: ignore[call-overload]


def _before_us() -> list[str]:
    names = list(sys.modules)
    # A module comes to its place once it is imported; site is the last that Python itself imports, but for what -W needs.
    last = names.index("site" if "site" in names else "__main__")
    return names[: last + 1] + (["warnings"] if sys.warnoptions else [])


def hand_over(folder: str | None) -> None:
    """Make the process the program's: ``folder`` is where it looks for modules first (None: nowhere but in what is in ``sys.path``)."""
    _finder.path = list(sys.path)
    finder: Any = _finder
    if finder not in sys.meta_path:
        sys.meta_path.insert(0, finder)
    if folder is None:
        return
    sys.path.insert(0, folder)
    mine = [name for name, module in sys.modules.items() if name not in _finder.known and _replaceable(name, module)]
    try:
        # One look at the folder: most have no such name.
        there = {one.partition(".")[0] for one in os.listdir(folder)}  # noqa: PTH208
    except OSError:
        there = set(mine)
    if any(_has(folder, name) for name in mine if name in there):
        # All of them, as if none had been imported: others of them hold parts of the one that is the program's now.
        for name in mine:
            _finder.aside[name] = sys.modules.pop(name)


def _replaceable(name: str, module: object) -> bool:
    file = getattr(module, "__file__", None)
    return name.partition(".")[0] not in ("troubleshoot", "__main__", "encodings") and isinstance(file, str) and file.endswith(".py")


def _has(folder: str, name: str) -> bool:
    """Tell whether a folder has a module of a name, which Python would take from there."""
    spec = None if FrozenImporter.find_spec(name) else PathFinder.find_spec(name, [folder])
    return spec is not None and spec.loader is not None


class ours:  # noqa: N801
    """While the block runs, this thread imports for us, not for the program.

    With ``ended`` (the program has come to its end, or to its exception) names that the program has modules of mean ours again.
    """

    def __init__(self, *, ended: bool = False) -> None:
        self._ended = ended
        self._theirs: dict[str, object] = {}

    def __enter__(self) -> None:
        if _finder.path is None:
            return
        me = get_ident()
        _finder.threads[me] = _finder.threads.get(me, 0) + 1
        if self._ended:
            tops = {name for name, module in list(sys.modules.items()) if "." not in name and _hides_ours(name, module)}
            self._theirs = {name: module for name, module in list(sys.modules.items()) if name.partition(".")[0] in tops}
            for name in self._theirs:
                del sys.modules[name]
            for name, module in _finder.aside.items():
                sys.modules.setdefault(name, module)  # type: ignore[arg-type]

    def __exit__(self, *_: object) -> None:
        me = get_ident()
        if me not in _finder.threads:
            return
        _finder.threads[me] -= 1
        if not _finder.threads[me]:
            del _finder.threads[me]
        tops = {name.partition(".")[0] for name in self._theirs}
        for name in [name for name in sys.modules if name.partition(".")[0] in tops]:
            _finder.aside[name] = sys.modules.pop(name)
        sys.modules.update(self._theirs)  # type: ignore[arg-type]
        self._theirs = {}


def _hides_ours(name: str, module: object) -> bool:
    """Tell whether a module of the program has the name of one that we use."""
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or not (name in sys.stdlib_module_names or name in _OURS):
        return False
    spec = PathFinder.find_spec(name, _finder.path)
    return spec is not None and spec.origin is not None and spec.origin != file
