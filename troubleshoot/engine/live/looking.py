"""Looking into a live exception: from its frames to the module that is to blame."""

from __future__ import annotations

import re
import sys
from dataclasses import fields, is_dataclass, replace
from typing import Any

from troubleshoot.basics.dtypes import HALF
from troubleshoot.engine.live.blaming import Scene, blame, quantized_input
from troubleshoot.engine.live.census import Census
from troubleshoot.engine.live.frames import Spot, named_values, spots
from troubleshoot.engine.live.objects import (
    Clock,
    TimeUpError,
    attribute,
    class_module,
    class_name,
    classes,
    elements,
    instance_dict,
    is_module,
    is_tensor,
    items,
    read_tensor,
)  # fmt: skip
from troubleshoot.engine.live.operands import UPCAST, Found, find_operands, in_torch
from troubleshoot.engine.live.seen import Seen
from troubleshoot.reading.decode import encodable
from troubleshoot.reading.places import locate
from troubleshoot.reading.report import Mention, Report

#: Seconds that looking may take.
LIMIT = 0.05
#: Exceptions of one chain or group, and outermost modules of one traceback, that are looked at.
_MOST_EXCEPTIONS = 8
#: The share of the limit that reading the operands has.
_OPERANDS = 0.2
_MOST_ROOTS = 4
#: Attributes of an object (a pipeline, a trainer) among which its models are looked for.
_MOST_ATTRIBUTES = 200

_WITH_AUTOCAST = re.compile(r"^(\s*)(?:async )?with .*\bautocast\(")


def look(exception: BaseException, seconds: float | None = None) -> Seen | None:
    """Return what the frames of an exception show, or None where torch is not loaded or nothing was seen. Never raises an Exception.

    At most ``seconds`` are spent (default: LIMIT). Nothing of the program's is kept alive.
    """
    if "torch" not in sys.modules:
        return None
    clock = Clock((LIMIT if seconds is None else seconds) * (1 - _OPERANDS))
    seen: Seen | None = None
    try:
        for one in _chain(exception):
            found = _look_at(one, clock)
            seen = seen or found
            if found is not None and found.blame is not None:
                seen = found
                break
    except (Exception, SystemExit, GeneratorExit):
        # What was seen until then counts.
        pass
    cleaned: Seen | None = _encodable(seen)
    return cleaned


def _encodable(value: Any) -> Any:
    """Replace lone surrogates in what was seen: names and messages of a program may hold them, and no output can."""
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, tuple):
        return tuple([_encodable(one) for one in value])
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{one.name: _encodable(getattr(value, one.name)) for one in fields(value)})
    return value


def _chain(exception: BaseException) -> list[BaseException]:
    """Return the exceptions of a chain or group, those that were raised first in front."""
    found: list[BaseException] = []
    waiting: list[BaseException | None] = [exception]
    while waiting and len(found) < _MOST_EXCEPTIONS:
        one = waiting.pop(0)
        if one is None or any(one is other for other in found):
            continue
        found.append(one)
        waiting.append(BaseException.__dict__["__cause__"].__get__(one))
        if not BaseException.__dict__["__suppress_context__"].__get__(one):
            waiting.append(BaseException.__dict__["__context__"].__get__(one))
        members = instance_dict(one).get("_exceptions")
        if class_name(one).endswith("ExceptionGroup"):
            members = _members(one)
        waiting.extend(member for member in elements(members) if BaseException in classes(member))
    return found[::-1]


def _members(group: BaseException) -> Any:
    kind = getattr(sys.modules.get("builtins"), "BaseExceptionGroup", None)
    if kind is not None and kind in classes(group):
        return kind.__dict__["exceptions"].__get__(group)
    return instance_dict(group).get("_exceptions")


def _message(exception: BaseException) -> str:
    arguments = BaseException.__dict__["args"].__get__(exception)
    return arguments[0] if arguments and type(arguments[0]) is str else ""


def _look_at(exception: BaseException, clock: Clock) -> Seen | None:
    frames = spots(BaseException.__dict__["__traceback__"].__get__(exception))
    inside = [spot.self_ for spot in reversed(frames) if spot.self_ is not None]
    if any(class_name(one) == "OptimizedModule" for one in inside):
        # The graph that the compiler has written is no module of the program's: the one that was compiled is.
        inside = [_compiled(one) for one in inside if class_name(one) != "GraphModule"]
    leaf = inside[0] if inside else None
    census, root, name = Census(), None, "model"
    found = Found([], [], None, "")
    try:
        if leaf is not None:
            census, root, name = _outermost(frames, leaf, clock)
        # A huge model may have used up the time; the few operands are read all the same.
        found = find_operands(frames, census, Clock(LIMIT * _OPERANDS))
    except TimeUpError:
        pass
    if leaf is None and not found.operands:
        return None
    return _conclude(frames, census, root, name, leaf, found, _message(exception))


def _conclude(frames: list[Spot], census: Census, root: Any, name: str, leaf: Any, found: Found, message: str) -> Seen:
    path = census.paths.get(id(leaf)) if leaf is not None else None
    inside = (id(spot.self_) for spot in frames if spot.self_ is not None)
    passed = list(dict.fromkeys(census.paths[one] for one in inside if one in census.paths))
    autocast, why = _autocast(frames)
    place = next((spot for spot in reversed(frames) if not in_torch(spot)), None)
    seen = Seen(
        operands=tuple(found.operands),
        modules=tuple(census.describe(one) for one in passed),
        root=name,
        main_dtype=census.main_dtype,
        main_device=census.main_device,
        autocast=autocast,
        autocast_text=why,
        frame=f"{locate(place.file)[1]}:{place.line}" if place else None,
        message=message,
        path=path,
        root_cls=census.classes.get(""),
        odd=census.odd(found.kind),
        call=place.expression() if place else "",
        named=_named_tensors(place) if place else (),
        torch=tuple(spot.function for spot in frames[frames.index(place) + 1 :]) if place else (),
    )
    if not found.kind and leaf is not None and class_module(leaf).startswith(_QUANTIZED):
        return replace(seen, blame=quantized_input(seen, path, class_name(leaf), _user_names(frames), found.keys))
    if not found.kind or (leaf is not None and path is None):
        return seen
    names = _user_names(frames)
    origins = {index: names[key] for index, key in enumerate(found.keys) if key in names}
    made = _made(frames)
    sites = [spot.expression() for spot in frames if leaf is not None and spot.self_ is leaf]
    if found.spot is not None:
        sites.append(found.spot.expression())
    scene = Scene(
        seen,
        census,
        path,
        class_name(leaf) if leaf is not None else None,
        found.kind,
        origins,
        [(names.get(id(value), name), value) for name, value in _given(frames)],
        upcasts=any(UPCAST.search(site) for site in sites),
        writes=bool(found.spot and _WRITE.search(found.spot.statement())),
        autocast_before=any(
            "autocast" in line for spot in frames if not in_torch(spot) and spot.self_ is None for line in spot.source_before()
        ),
        site=_site(frames, leaf),
        made={index: made[key] for index, key in enumerate(found.keys) if key in made},
        loss=bool(found.spot and in_torch(found.spot) and _LOSS.search(found.spot.function)) or bool(_LOSS.search(_called(sites))),
    )
    return replace(seen, blame=blame(scene))


def _named_tensors(spot: Spot) -> tuple[tuple[str, str], ...]:
    """Return the tensors that the failed expression names, with their dtypes."""
    found = ((one.text, read_tensor(one.value).dtype) for one in named_values(spot, spot.expression()) if is_tensor(one.value))
    return tuple(dict.fromkeys((text, dtype) for text, dtype in found if dtype is not None))


#: Where torch's own quantized layers are defined: they hold packed weights, which are no tensors.
_QUANTIZED = ("torch.ao.nn.quantized", "torch.nn.quantized")
#: Functions that compare a prediction with a target.
_LOSS = re.compile(r"_loss$|cross_entropy|kl_div")


def _called(sites: list[str]) -> str:
    """Return the function that the failed expression calls."""
    return sites[-1].partition("(")[0] if sites else ""


def _site(frames: list[Spot], leaf: Any) -> str:
    """Return the expression that called a module: in the nearest frame above it that is not torch's."""
    for position, spot in enumerate(frames):
        if leaf is not None and spot.self_ is leaf:
            return next((one.expression() for one in reversed(frames[:position]) if not in_torch(one)), "")
    return ""


_WRITE = re.compile(r"\][ \t]*=(?!=)|\.(?:index_put|index_copy|masked_scatter|scatter|index_add|copy|lerp)_?\(|\[[^\n]*\]\s*[-+*/]=")


def _outermost(frames: list[Spot], leaf: Any, clock: Clock) -> tuple[Census, Any, str]:
    """Return the census of the outermost module found that holds ``leaf``, that module, and how the user's code calls it."""
    tried: list[Any] = []
    way = frozenset(id(spot.self_) for spot in frames if spot.self_ is not None)
    for spot in frames:
        for text, module in _modules(spot):
            if any(module is one for one in tried):
                continue
            tried.append(module)
            census, root, name = Census(), module, text
            try:
                census.walk(module, clock, way)
            except TimeUpError:
                return census, root, name
            if id(leaf) in census.paths:
                return census, root, name
            if len(tried) >= _MOST_ROOTS:
                break
        if len(tried) >= _MOST_ROOTS:
            break
    # None of them holds it: it is its own outermost module.
    census = Census()
    census.walk(leaf, clock, way)
    return census, leaf, "model"


def _modules(spot: Spot) -> list[tuple[str, Any]]:
    """Return the modules that a frame's failing line names, then the one whose method it is, with the text that reaches each."""
    found: list[tuple[str, Any]] = []
    if spot.self_ is not None:
        return [("model", _compiled(spot.self_))]
    for one in named_values(spot, spot.statement()):
        if is_module(one.value):
            found.append((one.text, _compiled(one.value)))
        elif not is_tensor(one.value):
            own = instance_dict(one.value)
            names = list(own.items())[:_MOST_ATTRIBUTES] if not isinstance(one.value, type(sys)) else []
            found += [(f"{one.text}.{name}", value) for name, value in names if type(name) is str and is_module(value)]
    return found


def _compiled(module: Any) -> Any:
    """Return the module inside of torch.compile's wrapper, which hands every attribute on."""
    inner = attribute(module, "_orig_mod") if class_name(module) == "OptimizedModule" else None
    return inner if is_module(inner) else module


def _user_names(frames: list[Spot]) -> dict[int, str]:
    """Return how the code outside of the model calls its tensors, by identity."""
    outside: list[Spot] = []
    for spot in frames:
        if spot.self_ is not None:
            break
        # torch's functions have names of their own for what they are given.
        if not in_torch(spot):
            outside.append(spot)
    plain: dict[int, str] = {}
    inside: dict[int, str] = {}
    for spot in reversed(outside):
        line = spot.statement()
        # A tensor may have several names (`x.to(device)` is x if it is there already): the one that the failing line says.
        known = list(spot.locals.items())[:_MOST_ATTRIBUTES]
        for name, value in sorted(known, key=lambda one: type(one[0]) is not str or one[0] not in line):
            if type(name) is not str:
                continue
            if is_tensor(value):
                plain.setdefault(id(value), name)
            for key, one in items(value)[:_MOST_ATTRIBUTES] or items(instance_dict(value).get("data"))[:_MOST_ATTRIBUTES]:
                if type(key) is str and is_tensor(one):
                    inside.setdefault(id(one), f'{name}["{key}"]')
    return {**inside, **plain}


#: A tensor made by one of these without ``device=`` is on the CPU, wherever the model is.
_MAKES = r"\s*(?::[^=\n]+)?=(?!=).*\btorch\.(?:arange|as_tensor|empty|eye|from_numpy|full|linspace|ones|rand|randint|randn|tensor|zeros)\("


def _made(frames: list[Spot]) -> dict[int, str]:
    """Return the local tensors of modules' own code that it makes itself and does not get, by identity."""
    found: dict[int, str] = {}
    for spot in frames:
        if spot.self_ is None or in_torch(spot):
            continue
        given = {name for name, _ in spot.arguments}
        names = {name: value for name, value in list(spot.locals.items())[:_MOST_ATTRIBUTES] if name not in given and is_tensor(value)}
        source = "".join(spot.source_before()) if names else ""
        for name, value in names.items():
            if re.search(rf"^\s*{re.escape(name)}{_MAKES}", source, re.MULTILINE):
                found[id(value)] = name
    return found


def _given(frames: list[Spot]) -> list[tuple[str, Any]]:
    """Return the tensors that the outermost module was called with, by argument."""
    for spot in frames:
        if spot.self_ is None or (in_torch(spot) and spot.function != "forward"):
            continue
        found: list[tuple[str, Any]] = []
        for name, value in spot.arguments:
            if is_tensor(value):
                found.append((name, value))
            else:
                found += [(f"{name}[{key!r}]", one) for key, one in items(value) if is_tensor(one)]
                found += [(name, one) for one in elements(value) if is_tensor(one)]
        return found
    return []


def _autocast(frames: list[Spot]) -> tuple[str | None, str]:
    """Tell whether autocast was on where it failed: by handler time it is off, so that frames and source text must tell."""
    for spot in reversed(frames):
        if spot.function == "decorate_autocast" and in_torch(spot):
            own = instance_dict(spot.locals.get("autocast_instance"))
            enabled = own.get("_enabled")
            if type(enabled) is bool:
                return ("on" if enabled else "off"), f"decorated with autocast to {own.get('fast_dtype')}"
            return "on", "decorated with autocast"
        if in_torch(spot):
            continue
        lines = spot.source_before()
        indent = len(lines[-1]) - len(lines[-1].lstrip()) if lines and lines[-1].strip() else 0
        for number, line in zip(range(spot.line - 1, 0, -1), reversed(lines[:-1]), strict=False):
            depth = len(line) - len(line.lstrip())
            if not line.strip() or depth >= indent:
                continue
            indent = depth
            if _WITH_AUTOCAST.match(line):
                off = "enabled=False" in line.replace(" ", "")
                return ("off" if off else "on"), f"inside the autocast block of line {number}"
    return None, ""


def tell(report: Report, seen: Seen | None) -> Report:
    """Add what was seen to the report as mentions: the model's class, its dtype and device, quantized layers, autocast."""
    if seen is None or not report.failures:
        return report
    line = report.failures[0].root.line
    told: list[Mention] = []
    if seen.modules:
        told.append(Mention("model", "model", seen.modules[0].cls, line, f"the model is a {seen.modules[0].cls}"))
    if seen.main_dtype in HALF:
        told.append(Mention("dtype", "requested", seen.main_dtype, line, f"most of the model's parameters are {seen.main_dtype}"))
    kind = (seen.main_device or "").partition(":")[0]
    if kind and kind != "meta":
        told.append(Mention("device", "requested", kind, line, f"most of the model's parameters are on {seen.main_device}"))
    quantized = next((one.quantized for one in reversed(seen.modules) if one.quantized), None)
    if quantized:
        told.append(Mention("quantization", "quantization", quantized, line, f"the model has layers quantized by {quantized}"))
    if seen.autocast:
        told.append(Mention("autocast", "autocast", seen.autocast, line, seen.autocast_text))
    return replace(report, mentions=(*told, *report.mentions))
