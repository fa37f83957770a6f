"""From the frames of a traceback to the module that was called last: ``model.qformer.layernorm``.

The line of each frame holds the call that leads to the next frame. Where it is missing, or two of its calls could be the one, the path
says less: ``…`` stands for steps that are not known (none, one or several), ``[…]`` for an index.
"""

# ruff: noqa: SIM905  (lists of words read better as text)
from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from troubleshoot.basics.patterns import anchored, searched
from troubleshoot.reading import grammar
from troubleshoot.reading.calls import INDEX, RESULT, Call, Line, read_line
from troubleshoot.reading.places import locate
from troubleshoot.reading.report import Frame
from troubleshoot.reading.tracebacks import ELIDED

#: Steps that are not known.
GAP = "…"
#: Frames that are followed: no model is deeper, a runaway recursion is.
_MOST = 400

Path = tuple[str, ...]

#: A call by one of these names is a call of the object before the dot.
_SAME = frozenset(
    "__call__ forward _call_impl _wrapped_call_impl _slow_forward _old_forward model_forward _orig_forward __wrapped__".split()
)
#: Files of torch whose frames are a module's own code, or name the module that they call.
_OWN_CODE = ("torch/nn/modules/", "torch/nn/parallel/", "torch/nn/utils/", "torch/nn/functional.py", "torch/distributed/", "torch/ao/")
_MODULE = "torch/nn/modules/module.py"
#: The functions of that file that lead to a module's ``forward``.
_MODULE_CALLS = frozenset("__call__ _call_impl _wrapped_call_impl _slow_forward inner".split())
#: Loops in torch's own modules: (file, name) -> what it goes through.
_LOOPS = {
    ("torch/nn/modules/container.py", "module"): (INDEX,),
    ("torch/nn/modules/transformer.py", "mod"): ("layers", INDEX),
}
#: What is no module: namespaces of functions, functions, and methods of tensors.
_NAMESPACES = frozenset("torch F nn np numpy math einops functional functools itertools logger logging warnings os sys time jnp tf".split())
_FUNCTIONS = frozenset(
    "len range isinstance getattr hasattr setattr list tuple dict set int float str bool print zip enumerate min max sum any all sorted "
    "reversed type super repr abs round iter next slice partial rearrange repeat tqdm id vars".split()
)
_TENSOR_METHODS = frozenset(
    "view reshape transpose permute contiguous to float half double bfloat16 long int bool size dim unsqueeze squeeze expand expand_as "
    "type type_as flatten unflatten chunk split detach clone cpu cuda item sum mean masked_fill masked_fill_ repeat view_as reshape_as "
    "softmax sigmoid tanh exp log sqrt pow abs max min argmax argmin mul mul_ add add_ sub div div_ matmul bmm mm t any all numel "
    "repeat_interleave unbind gather index_select copy_ zero_ fill_ clamp clip roll movedim swapaxes new_zeros new_ones new_full "
    "new_tensor norm var std cumsum triu tril bool eq ne lt gt le ge get items keys values append pop format join split update "
    "numpy tolist backward requires_grad_ is_floating_point narrow nonzero where".split()
)
#: Ends of words in the names of modules, with the file of torch that holds such classes.
_KINDS = (
    ("dropout.py", ("drop", "dropout")),
    ("activation.py", ("act", "activation", "relu", "gelu", "silu", "softmax", "sigmoid", "tanh")),
    ("normalization.py", ("norm", "ln")),
    ("batchnorm.py", ("norm", "bn")),
)
_FOR = searched(
    r"\bfor\s++(?:[^\W\d]\w*+\s++in\s++|[^\W\d]\w*+\s*+,\s*+[^\W\d]\w*+\s++in\s++enumerate\(\s*+)self\.[^\W\d][\w.]{0,80}+(?!\()"
)
_PYTHON = anchored(r".*/(?:python|Python)3\.?([1-3]?\d)/")


class Shown:
    """The lines of the report around its frames: carets, what stands for frames left out, and the code that notebooks show."""

    def __init__(self, lines: Sequence[str], numbers: Sequence[int]) -> None:
        self._lines = lines
        self._numbers = numbers

    def elided(self, above: Frame, below: Frame) -> bool:
        """Tell whether the line above a frame stands for others."""
        at = bisect_left(self._numbers, below.at) - 1
        while at > 0 and not self._lines[at].strip():
            at -= 1
        return self._numbers[at] > above.at and self._lines[at].lstrip().startswith(ELIDED) if at >= 0 else False

    def between(self, frame: Frame, until: int) -> Sequence[str]:
        """Return the lines from a frame's first one to the line with a number, a few at most."""
        at = bisect_left(self._numbers, frame.at)
        return self._lines[at : min(bisect_left(self._numbers, until), at + 12)]

    def marks(self, frame: Frame) -> tuple[int, int] | None:
        """Return the columns of the frame's code that carets mark, on its first line; None without carets."""
        code = frame.code
        if not code or not code.isascii():
            return None
        at = bisect_left(self._numbers, frame.at) + 1
        above, line = self._lines[at : at + 2] if at + 1 < len(self._lines) else ("", "")
        if "^" not in line or above.strip() != code or not grammar.is_carets(line.strip()):
            return None
        margin = grammar.indent(above)
        start, end = grammar.indent(line) - margin, len(line.rstrip()) - margin
        return (start, end) if 0 <= start < end else None


def walked(frames: Sequence[Frame], shown: Shown) -> Walk:
    """Follow the calls of a traceback from its outermost frame to its innermost one."""
    return Walk(frames if len(frames) <= _MOST else (), shown)


def written(path: Path) -> str:
    """Return a path as one text."""
    text = ""
    for part in path:
        text += part if part[0] == "[" or not text else f".{part}"
    named = [part for part in path[1:] if part != GAP]
    return text if path and path[-1] != GAP and (named or path[0] not in (GAP, "self")) else ""


def _joined(path: Path, *parts: str) -> Path:
    """Return a path with more steps, without two gaps in a row."""
    for part in parts:
        if part != GAP or not path or path[-1] != GAP:
            path = (*path, part)
    return path


class Step:
    """A frame that calls by itself, and what lies between it and the next one."""

    __slots__ = ("call", "checkpoint", "cut", "entered", "frame", "function", "line", "name", "own", "short", "until", "user")

    def __init__(self, frame: Frame, until: int, short: str, user: bool, line: Line | None) -> None:
        self.frame = frame
        self.name = _function(frame)
        #: The line of the report at which the next frame begins.
        self.until = until
        self.short = short
        self.user = user
        self.line = line
        #: Frames of nn.Module's own call follow, those of gradient checkpointing, an autograd function's, or frames were left out.
        self.entered = False
        self.checkpoint = False
        self.function = False
        self.cut = False
        #: What ``self`` is in it, and the call that leads to the next frame.
        self.own: Path | None = None
        self.call: Call | None = None


class Walk:
    """Follows the calls. ``module`` is the path of the module that was entered last, ``steps`` the frames that call by themselves."""

    def __init__(self, frames: Sequence[Frame], shown: Shown) -> None:
        self.shown = shown
        self.innermost = frames[-1] if frames else None
        self.module: Path | None = None
        #: What ``self`` is in the frame that is looked at.
        self.own: Path | None = None
        self.steps = _steps(frames, shown)
        self.before: Step | None = None
        self.carets = any(shown.marks(step.frame) for step in self.steps[-8:])
        for here, there in zip(self.steps, self.steps[1:], strict=False):
            here.own = self.own
            self._follow(here, there)
            self.before = here
        if self.steps:
            last = self.steps[-1]
            last.own = self.own
            if last.entered:
                # The frames of what was called last were cut off.
                self.module = self._called(last, None)

    def _follow(self, here: Step, there: Step) -> None:
        """Go from one frame to the next one."""
        name = there.name
        same = here.name == name and here.frame.number == there.frame.number
        if name.startswith("<") and name != "<module>" and (here.frame.code == there.frame.code or name == "<lambda>") and not same:
            # A comprehension of the same line, a lambda of the same function.
            return
        if here.cut:
            if here.entered:
                self.module = self._called(here, None)
            self.own = self.module = _joined(self.module, GAP) if self.module else None
        elif here.entered or ((name == "forward" or _in_module(there) > _in_module(here)) and not here.function):
            self.module = self.own = self._called(here, there)
        else:
            self.own = self._method(here, there)
        if there.user and (not self.own or self.own[0] == GAP):
            if self.own is not None and self.own == self.module:
                self.module = ("self",)
            self.own = ("self",)

    def _called(self, here: Step, there: Step | None) -> Path:
        """Return the path of the module that a frame called."""
        unknown = _joined(self.module or self.own or (), GAP)
        parts = self._chosen(here, "", there)
        if parts is None or not (here.entered or parts[-1] in _SAME or parts[:-1] == ("self",) or (here.short, parts[0]) in _LOOPS):
            # Without nn.Module's own frames, the name may be that of a function or a method, and frames may be missing.
            return unknown
        return self._resolved(parts, here)

    def _method(self, here: Step, there: Step) -> Path | None:
        """Return what ``self`` is in a function or method that a frame called."""
        name = there.name
        if name == "__init__":
            return (GAP,)
        parts = self._chosen(here, name)
        if parts is None:
            return _joined(self.module, GAP) if self.module else None
        if len(parts) == 1 and parts[0] != name and self.before is not None and self.before.line is not None:
            # A method that the caller handed over.
            parts = _referred(self.before.line, name) or parts
        if parts[-1] == name or parts[-1] in _SAME:
            if len(parts) == 1:
                # A plain function: one that uses `self` is defined inside of this one.
                return self.own
            return self._resolved(parts[:-1], here)
        if name == "__call__":
            return self._resolved(parts, here)
        if len(parts) == 1 and there.short == here.short and not here.user:
            # A library's method under another name: `loop = find_loop(self._loop)`, `loop(...)`.
            return self.own
        return _joined(self.module, GAP) if self.module else None

    def _chosen(self, here: Step, name: str, there: Step | None = None) -> Path | None:
        """Return what the frame's line calls to get to the next frame, a function ``name`` (empty: a module); None where it is unclear."""
        line = here.line
        if line is None or here.frame.code is None:
            return None
        call, sure = self._marked(here, line)
        if not sure:
            call = self._likely(here, line, name, there)
        if call is None:
            return None if name == "" or sure else _referred(line, name)
        here.call = call
        if here.checkpoint:
            first = call.arguments[0] if call.arguments else ""
            names = read_line(first)
            return names.names[0] if names.names and not names.calls else (GAP,)
        if name and call.parts[-1] != name and name != "__call__":
            # A function that was handed over.
            return _referred(line, name) or call.parts
        return call.parts

    def _marked(self, here: Step, line: Line) -> tuple[Call | None, bool]:
        """Return the call that carets mark, and whether they decide. Where others are marked, the whole of an unmarked line is meant."""
        marks = self.shown.marks(here.frame)
        whole = len(line.code)
        if marks is None:
            if not self.carets or not line.code.isascii():
                return None, False
            marks = (0, whole)
        for call in line.calls:
            if call.start == marks[0] and (call.end or whole) == marks[1]:
                return call, True
        return None, marks[1] - marks[0] < whole

    def _likely(self, here: Step, line: Line, name: str, there: Step | None) -> Call | None:
        """Return the only call that can lead to the next frame, without carets."""
        if line.continues and not _spots_calls(here.frame.path):
            # Before Python 3.8 the line of a call is the one where its arguments end.
            return None
        if name:
            found = [call for call in line.calls if call.parts[-1] == name]
            if found:
                return found[0] if len({call.parts for call in found}) == 1 else None
            if name != "__call__" and len(line.calls) > 1:
                return None
        found = [call for call in line.calls if _may_be_module(call.parts)]
        if there is not None and len(found) > 1 and not name:
            found = [call for call in found if _may_be_in(there.short, call.parts[-1])]
        return found[0] if found and len({call.parts for call in found}) == 1 else None

    def _resolved(self, parts: Path, here: Step) -> Path:
        """Return the path of an object that the code of a frame names."""
        root, rest = parts[0], parts[1:]
        if root == "self":
            path = self.own or (("self",) if here.user else (GAP,))
        elif root == "super" and rest[:1] == (RESULT,):
            path, rest = self.own or (GAP,), rest[1:]
        elif root in (RESULT, GAP):
            path = _joined(self.module or (), GAP)
        elif (here.short, root) in _LOOPS:
            path = (*(self.own or (GAP,)), *_LOOPS[here.short, root])
        elif self.module:
            loop = self._loop(here, root)
            # In a method of something else that the module called (an attention processor), any module around may be meant.
            path = (*self.own, *loop) if loop and self.own else _joined(self.module, GAP)
        elif here.short.startswith("torch/"):
            path = (GAP,)
        elif self.own and self.own[0] != GAP and not here.user and root != "model":
            # A library's own variable: the user knows the object whose method this is. What it calls `model` is the user's.
            path = _joined(self.own, GAP)
        else:
            path = (root,)
        for part in rest:
            if part == RESULT:
                # What was called could be anything, and what it returned too.
                path = _joined(path[:-1] or path, GAP)
            elif part not in _SAME:
                path = _joined(path, part)
        return path

    def _loop(self, here: Step, name: str) -> Path | None:
        """Return what a loop that the report shows goes through: in the line itself, or above it in a notebook."""
        for text in (here.frame.code or "", *self.shown.between(here.frame, here.until)):
            if "for " in text and "self." in text:
                for match in _FOR.finditer(text[:300]):
                    names, _, container = match[0].partition("self.")
                    if name == names.split(" in ")[0].split(",")[-1].split()[-1]:
                        return (*container.split("."), INDEX)
        return None


def _steps(frames: Sequence[Frame], shown: Shown) -> list[Step]:
    """Return the frames that call by themselves: without nn.Module's own, torch's wrappers, and decorators."""
    steps: list[Step] = []
    for number, frame in enumerate(frames):
        owner, short = locate(frame.path)
        last = steps[-1] if steps else None
        if last is not None and shown.elided(frames[number - 1], frame):
            last.cut = True
        calls = short == _MODULE and _function(frame) in _MODULE_CALLS
        if calls or (owner == "torch" and not short.startswith(_OWN_CODE)):
            if last is not None and not last.cut:
                last.entered = last.entered or calls
                last.checkpoint = last.checkpoint or short == "torch/utils/checkpoint.py"
                last.function = last.function or short == "torch/autograd/function.py"
            continue
        if short.startswith("accelerate/") and short.endswith(("hooks.py", "operations.py")):
            if last is not None:
                # What accelerate wraps is a module's `forward`.
                last.entered = last.entered or _function(frame) == "new_forward"
            continue
        line = read_line(frame.code) if frame.code else None
        if line is not None and _only_hands_on(line, frame, last):
            continue
        until = frames[number + 1].at if number + 1 < len(frames) else frame.at
        steps.append(Step(frame, until, short, owner == "user", line))
    return steps


def _function(frame: Frame) -> str:
    """Return the name of a frame's function, without the class that notebooks put in front of it."""
    return (frame.function or "").rpartition(".")[2]


def _in_module(step: Step) -> bool:
    """Tell whether a frame is in the code of one of torch's modules."""
    return step.short.startswith("torch/nn/modules/")


def _only_hands_on(line: Line, frame: Frame, caller: Step | None) -> bool:
    """Tell whether a frame is a decorator's: it calls a plain name with what it was given, ``func(self, *args, **kwargs)``.

    A function that its caller calls by its name is itself: a decorator stands in front of it under another name.
    """
    if len(line.calls) != 1 or len(line.calls[0].parts) != 1 or _function(frame) in ("forward", "<module>"):
        return False
    if caller is not None and caller.line is not None and any(call.parts[-1] == _function(frame) for call in caller.line.calls):
        return False
    arguments = line.calls[0].arguments
    return any(one.startswith("*") for one in arguments) and all(one.startswith("*") or one in ("self", "module") for one in arguments)


def _may_be_module(parts: Path) -> bool:
    """Tell whether what is called may be a module, as far as its name tells."""
    root, last = parts[0], parts[-1]
    if len(parts) == 1:
        return root not in _FUNCTIONS and root not in _NAMESPACES
    if root in _NAMESPACES or last == "apply":
        return False
    # `self.norm(x)` is a module's, `x.norm()` and `self.weight.norm()` a tensor's.
    return last not in _TENSOR_METHODS or (root == "self" and len(parts) == 2)


def _may_be_in(short: str, name: str) -> bool:
    """Tell whether a module with such a name may be of a class of the given file of torch: a dropout is no Linear."""
    folder, _, file = short.rpartition("/")
    if folder != "torch/nn/modules" or file in ("container.py", "module.py"):
        return True
    kinds = {kind for word in name.lower().split("_") for kind, words in _KINDS if word.rstrip("0123456789").endswith(words)}
    return not kinds or file in kinds


def _referred(line: Line, name: str) -> Path | None:
    """Return the method of the given name that a line hands to another function."""
    found = {names for names in line.names if names[-1] == name}
    return found.pop() if len(found) == 1 else None


def _spots_calls(path: str) -> bool:
    """Tell whether a frame's file is of a Python that gives the line where a call begins (3.8 and later)."""
    match = _PYTHON.match(path)
    return match is not None and int(match[1]) >= 8
