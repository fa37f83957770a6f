"""One live patch in the program's own process, applied just before the model that failed is called for the first time.

The model is the outermost module around a call, recognised by its class. What fails outside of any module is caught at the failing line,
whose operands are cast.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, cast

from troubleshoot.basics.errors import InputError
from troubleshoot.handlers.apart import ours

#: Frames between an operation and the line of the program that called it.
_MOST_FRAMES = 40
#: The exit status of a program that was stopped because the patch does not fit its model.
REFUSED = 97


class _State:
    """What the parent is told: whether the patch was applied, whether it changed anything, whether the call that failed came through, why
    it cannot be applied.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._told: dict[str, Any] = {"applied": False, "changed": False, "passed": False, "refused": None}

    def tell(self, **what: Any) -> None:
        if all(self._told[name] == value for name, value in what.items()):
            return
        self._told.update(what)
        temporary = self._path.with_suffix(".part")
        temporary.write_text(json.dumps(self._told), encoding="utf-8")
        temporary.replace(self._path)


def prepare(trial: Mapping[str, Any], state: Path) -> None:
    """Make ready to play a trial: ``actions`` on the model of class ``root_class``, or ``line`` (file, number, dtype) at a line.

    It begins once the program has imported torch: when that happens, and with which variables set, is the program's matter.
    """
    sys.meta_path.insert(0, TorchFinder(lambda torch: _begin(torch, trial, _State(state))))


def _begin(torch: Any, trial: Mapping[str, Any], told: _State) -> None:
    with ours():
        if trial["line"] is not None:
            mode = _line_mode(torch, trial["line"], told)
            mode.__enter__()
        else:
            _OnFirstCall(torch, trial, told).install()


class TorchFinder:
    """Finds torch as it is found without it, once, and calls a function when it has been imported."""

    def __init__(self, then: Callable[[Any], None]) -> None:
        self._then = then

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return torch's spec with the function behind its loader."""
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        for finder in sys.meta_path:
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = cast(Any, _Loader(spec.loader, self._then))
                return spec
        return None


class _Loader:
    """A loader that calls a function when it has done its work, and leaves no trace of itself."""

    def __init__(self, loader: Any, then: Callable[[Any], None]) -> None:
        self._loader = loader
        self._then = then

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Create the module."""
        found: ModuleType | None = self._loader.create_module(spec)
        return found

    def exec_module(self, module: ModuleType) -> None:
        """Import the module, then call the function."""
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._then(module)


class _OnFirstCall:
    """Stands in for ``torch.nn.Module.__call__`` and patches every outermost module of the class, each once."""

    def __init__(self, torch: Any, trial: Mapping[str, Any], told: _State) -> None:
        self._module = torch.nn.Module
        self._original = torch.nn.Module.__call__
        from troubleshoot.lab.verify.patches import apply

        self._patch = apply
        self._trial = trial
        self._told = told
        # The modules themselves are kept, so that no other one gets the id.
        self._met: dict[int, Any] = {}
        self._goals: dict[int, Any] = {}
        self._handles: list[Any] = []

    def install(self) -> None:
        """Take the place of ``__call__``."""
        original = self._original

        def call(module: Any, *arguments: Any, **keywords: Any) -> Any:
            self._prepare(module)
            try:
                result = original(module, *arguments, **keywords)
            finally:
                if any(one.changed for one in self._handles):
                    self._told.tell(changed=True)
            if id(module) in self._goals:
                self._told.tell(passed=True)
            return result

        self._module.__call__ = call

    def _prepare(self, module: Any) -> None:
        if id(module) in self._met:
            return
        root = _compiled(self._outermost(module))
        self._met[id(module)] = module
        module = _compiled(module)
        if root is not module and id(root) in self._met:
            return
        self._met[id(root)] = root
        wanted = self._trial["root_class"]
        if type(root).__name__ != wanted if wanted else next(root.parameters(), None) is None:
            return
        self._apply(root)

    def _outermost(self, module: Any) -> Any:
        """The module farthest out whose method is running: a model's own ``generate`` calls only its parts."""
        found = module
        frame: FrameType | None = sys._getframe(3)
        while frame is not None:
            code = frame.f_code
            if code.co_argcount and not code.co_filename.startswith(_OURS):
                one = frame.f_locals.get(code.co_varnames[0])
                if isinstance(one, self._module) and not isinstance(one, type):
                    found = one
            frame = frame.f_back
        return found

    def _apply(self, root: Any) -> None:
        try:
            for action in self._trial["actions"]:
                self._handles.append(self._patch(_named(action, root), root))
        except InputError as error:
            self._told.tell(refused=str(error))
            sys.stdout.flush()
            os._exit(REFUSED)
        goal = dict(root.named_modules()).get(self._trial["goal"] or "", root)
        self._goals[id(goal)] = goal
        self._told.tell(applied=True)


_OURS = str(Path(__file__).parent)
#: The float32 run has a mode of its own above this one.
_LAB = str(Path(__file__).parent.parent)


def _compiled(module: Any) -> Any:
    """Return the module inside of torch.compile's wrapper: it is the one that the diagnosis names."""
    return module._orig_mod if type(module).__name__ == "OptimizedModule" else module


def _named(action: Mapping[str, Any], root: Any) -> Mapping[str, Any]:
    """Return the action with a class in place of modules' names written out: ``class:LayerNormFp32``."""
    modules = action.get("modules")
    if not (isinstance(modules, str) and modules.startswith("class:")):
        return action
    wanted = modules.removeprefix("class:")
    return {**action, "modules": [name for name, one in root.named_modules() if type(one).__name__ == wanted]}


def _line_mode(torch: Any, line: Mapping[str, Any], told: _State) -> Any:
    """Return the mode that casts the floating operands of what a line of the program calls; with ``wanted`` only the argument that has to
    be an integer, or a float.
    """
    from torch.overrides import TorchFunctionMode

    from troubleshoot.lab.editing import arguments
    from troubleshoot.lab.verify.patches import Undo, map_floats, map_tensors

    file, number = os.path.realpath(line["file"]), int(line["number"])
    dtype = getattr(torch, line["dtype"])
    last = int(line.get("last") or number)
    undo = Undo()

    def cast(function: Any, args: Any, kwargs: Any) -> Any:
        name = getattr(function, "__name__", "")
        if line.get("wanted"):
            return one_argument(arguments.wanted(name), args, kwargs)
        into = bool(args) and isinstance(args[0], torch.Tensor) and _writes(name)
        if into and args[0].is_floating_point():
            # A cast destination would be a copy, and what is written into it lost.
            change = undo.noting(lambda one: one.to(args[0].dtype))
            return (args[0], *map_floats(tuple(args[1:]), change)), map_floats(kwargs, change)
        change = undo.noting(lambda one: one.to(dtype))
        return map_floats(tuple(args), change), map_floats(kwargs, change)

    def one_argument(found: Any, args: Any, kwargs: Any) -> Any:
        if found is None:
            return args, kwargs
        position, dtype = found
        change = undo.noting(lambda one: one.to(getattr(torch, dtype)))
        if position < len(args):
            return (*args[:position], map_tensors(args[position], change), *args[position + 1 :]), kwargs
        return args, {key: map_tensors(one, change) if key in arguments.NAMES[position > 0 :] else one for key, one in kwargs.items()}

    class AtLine(TorchFunctionMode):  # type: ignore[misc, unused-ignore]
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if not self._here():
                return function(*args, **(kwargs or {}))
            told.tell(applied=True)
            args, kwargs = cast(function, args, dict(kwargs or {}))
            if undo.changed:
                told.tell(changed=True)
            result = function(*args, **kwargs)
            told.tell(passed=True)
            return result

        def _here(self) -> bool:
            frame: FrameType | None = sys._getframe(2)
            for _ in range(_MOST_FRAMES):
                if frame is None:
                    return False
                name = frame.f_code.co_filename
                if "/torch/" not in name.replace("\\", "/") and not name.startswith(_LAB):
                    return number <= (frame.f_lineno or 0) <= last and os.path.realpath(name) == file
                frame = frame.f_back
            return False

    return AtLine()


def _writes(name: str) -> bool:
    return name == "__setitem__" or (name.endswith("_") and not name.startswith("__")) or (name.startswith("__i") and name != "__invert__")
