"""From the operands that differ, and the model around them, to who is to blame, the cause that follows, and the line that helps.

The rules compare three things: what the parameters of the failing module are, what met them, and what most of the model is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from troubleshoot.basics.dtypes import BITS, FLOATING, HALF
from troubleshoot.engine.live.census import Census, Held
from troubleshoot.engine.live.objects import read_tensor
from troubleshoot.engine.live.seen import Blame, Operand, Seen

_ADAPTER = re.compile(r"(?:^|[._])(?:lora|adapter|ia3|vera|lokr|loha|dora|prompt_encoder|modules_to_save)", re.IGNORECASE)
_MASK = re.compile(r"mask|bias$|attn_bias", re.IGNORECASE)
_CALL = re.compile(r"(self(?:\.\w+|\[\w+\])+)\((.+)\)$")
_NAMED = 3


@dataclass(frozen=True)
class Scene:
    """What there is to judge by.

    ``path`` is that of the failing module below the outermost one, ``origins`` the user's names of operands, ``given`` what the outermost
    module was called with, ``upcasts`` whether the failing code casts to float32 itself, ``writes`` whether it writes into a tensor,
    ``site`` is the expression that called the failing module, ``made`` the names of operands that a module's own code made, ``loss``
    whether the operation compares a prediction with a target.
    """

    seen: Seen
    census: Census
    path: str | None
    cls: str | None
    kind: str
    origins: dict[int, str]
    given: list[tuple[str, Any]]
    upcasts: bool
    writes: bool
    autocast_before: bool
    site: str = ""
    made: dict[int, str] = field(default_factory=dict)
    loss: bool = False

    def of(self, operand: Operand) -> str | None:
        """Return what an operand is, in what the operands differ."""
        return operand.device if self.kind == "device" else operand.dtype

    def call(self, path: str) -> str:
        """Return how the user's code reaches a module."""
        code = self.seen.root
        for part in path.split(".") if path else ():
            code += f"[{part}]" if part.isdigit() else f".{part}"
        return code

    def name(self, path: str) -> str:
        """Return a module's path for prose."""
        return path or self.seen.root


def blame(scene: Scene) -> Blame | None:
    """Return who is to blame, or None where the operands tell nothing."""
    operands = [
        (index, one)
        for index, one in enumerate(scene.seen.operands)
        if (scene.kind == "device" and one.device and not (one.shape == () and one.device == "cpu"))
        or (scene.kind == "dtype" and one.dtype in FLOATING)
    ]
    weights = [(index, one) for index, one in operands if one.role in ("parameter", "buffer")]
    mine = [(index, one) for index, one in weights if one.owner is None or one.owner == scene.path]
    if mine:
        # A parameter of another module is what this one was given: query tokens, position embeddings.
        weights = mine
    others = [pair for pair in operands if pair not in weights]
    if scene.writes and scene.kind == "dtype":
        return _write(scene, [one for _, one in operands])
    odd = next(((index, one) for index, one in others if weights and scene.of(one) != scene.of(weights[0][1])), None)
    if weights and odd:
        return (_device if scene.kind == "device" else _dtype)(scene, weights[0][1], *odd)
    if weights:
        return _weights(scene, [one for _, one in weights])
    return _no_weights(scene, others)


def _path(scene: Scene, weight: Operand) -> str | None:
    return weight.owner if weight.owner is not None else scene.path


def _write(scene: Scene, operands: list[Operand]) -> Blame:
    target, source = operands[0], next(one for one in operands if one.dtype != operands[0].dtype)
    why = f"`{source.name}` is {source.dtype} and is written into `{target.name}`, which is {target.dtype}."
    change = ("cast-activations", f"{source.code} = {source.code}.to({target.code}.dtype)")
    return Blame("dtype-mismatch/buffer-write", scene.path, scene.cls, target.name, target.dtype, source.dtype, why, change)


def _weights(scene: Scene, weights: list[Operand]) -> Blame:
    """The parameters of one operation differ among themselves."""
    main = scene.seen.main_device if scene.kind == "device" else scene.seen.main_dtype
    odd = next((one for one in weights if scene.of(one) != main), weights[-1])
    other = next(one for one in weights if scene.of(one) != scene.of(odd))
    path = _path(scene, odd)
    has, meets = scene.of(odd), scene.of(other)
    cause = "device-mismatch/module-left-behind" if scene.kind == "device" else "dtype-mismatch/fp32-island"
    call = scene.call(path or "")
    why = f"Its parameters differ: `{odd.name}` is {has}, `{other.name}` is {meets}."
    return Blame(cause, path, _cls(scene, path), odd.name, has, meets, why, _to(scene, call, meets))


def _cls(scene: Scene, path: str | None) -> str | None:
    return scene.census.classes.get(path, scene.cls) if path is not None else scene.cls


def _to(scene: Scene, call: str, value: str | None) -> tuple[str, str]:
    if scene.kind == "device":
        return "move-to-device", f'{call}.to("{value}")'
    return "cast-module", f"{call}.float()" if value == "float32" else f"{call}.to(torch.{value})"


def _dtype(scene: Scene, weight: Operand, index: int, other: Operand) -> Blame:
    has, meets, main = weight.dtype, other.dtype, scene.seen.main_dtype
    path = _path(scene, weight)
    cls = _cls(scene, path)
    shown = scene.name(path or "")

    def to(cause: str | None, why: str, change: tuple[str, str] | None, at: str | None = path, parameter: str | None = None) -> Blame:
        return Blame(cause, at, _cls(scene, at) if at != path else cls, parameter or weight.name, has, meets, why, change)

    if scene.seen.autocast == "on" and scene.kind == "dtype" and not scene.upcasts:
        why = f"Autocast was on ({scene.seen.autocast_text}), and this operation is none that it casts."
        return to("dtype-mismatch/autocast-boundary", why, None)
    if scene.upcasts and meets == "float32" and has in HALF:
        return to(
            "dtype-mismatch/broken-fp32-guard",
            f"The code casts its input to float32 and needs float32 parameters, but those of `{shown}` are {has}.",
            ("keep-module-fp32", f"{scene.call(path or '')}.float()"),
        )
    if path is not None and _ADAPTER.search(path):
        return to(
            "dtype-mismatch/adapter-vs-base",
            f"The adapter `{path}` is {has}, the base model hands it {meets}.",
            ("cast-module", f"{scene.call(path)}.to(torch.{meets})"),
        )
    if main is not None and has != main and path:
        # The module stands out from its model.
        wide = scene.census.widest(path, dtype=has)
        inside = f"{path.removeprefix(wide).lstrip('.')}.{weight.name}".lstrip(".")
        why = f"`{wide}` is {has}, while most of the model is {main}; it got {meets}."
        return to("dtype-mismatch/fp32-island", why, ("cast-module", f"{scene.call(wide)}.to(torch.{main})"), wide, inside)
    return _foreign_input(scene, to, has, index, other, shown)


def _foreign_input(scene: Scene, to: Callable[..., Blame], has: str | None, index: int, other: Operand, shown: str) -> Blame:
    """The module is like its model; what it got is not: from the caller, from another part of the model, or made on the way."""
    meets = other.dtype
    mine = scene.origins.get(index)
    if mine and scene.autocast_before and meets in HALF and has == "float32":
        why = f"`{mine}` came out of an autocast block as {meets}, and `{shown}` runs outside of it with {has} weights."
        return to("dtype-mismatch/autocast-boundary", why, ("cast-inputs", f"{mine} = {mine}.to(torch.{has})"))
    cause = "dtype-mismatch/double" if meets == "float64" else "dtype-mismatch/input-vs-weight"
    if mine:
        return to(cause, f"`{shown}` is {has} and got `{mine}`, which is {meets}.", ("cast-inputs", f"{mine} = {mine}.to(torch.{has})"))
    islands = [one for one in scene.census.held if one.role == "parameter" and one.dtype == meets]
    islands = _nearest(islands, scene)
    if islands and meets != "float64":
        adapter = all(_ADAPTER.search(one.full) for one in islands)
        names = _names(islands)
        why = f"`{shown}` is {has} and got {meets}, which comes from {names}: {'an adapter' if adapter else 'kept'} in {meets}."
        change = ("cast-module", "\n".join(_convert(scene, one, has) for one in _roots(islands)[:_NAMED]))
        return to("dtype-mismatch/adapter-vs-base" if adapter else "dtype-mismatch/fp32-island", why, change)
    for name, value in scene.given:
        if read_tensor(value).dtype == meets:
            return to(cause, f"The model is {has} and was called with `{name}` in {meets}.", _cast_argument(name, has))
    if meets == "float64":
        return to(cause, f"`{shown}` is {has} and got {meets}.", None)
    if scene.given:
        why = f"`{shown}` is {has} and got {meets}; no parameter and no input is {meets}, so that code on the way casts to it or makes it."
        return to("dtype-mismatch/cast-in-forward", why, _cast_at_site(scene, has))
    return to(None, f"`{shown}` is {has} and got {meets}.", _cast_at_site(scene, has))


def _cast_at_site(scene: Scene, dtype: str | None) -> tuple[str, str] | None:
    """Return the call of the failing module with its only argument cast, or None where the call is not that simple."""
    match = _CALL.match(" ".join(scene.site.split()))
    if match is None or "," in match[2] or "=" in match[2] or "*" in match[2]:
        return None
    argument = match[2] if re.fullmatch(r"[\w.()\[\]]+", match[2]) else f"({match[2]})"
    return "cast-activations", f"{match[1]}({argument}.to(torch.{dtype}))"


def _cast_argument(name: str, dtype: str | None) -> tuple[str, str]:
    return "cast-inputs", f"{name} = {name}.to(torch.{dtype})"


def _nearest(islands: list[Held], scene: Scene) -> list[Held]:
    """Prefer parameters that modules on the way hold themselves (query tokens, position embeddings) to those of other modules."""
    passed = {one.path for one in scene.seen.modules}
    near = [one for one in islands if one.path in passed]
    return near or islands


def _roots(islands: list[Held]) -> list[Held]:
    """One parameter for each module."""
    found: dict[str, Held] = {}
    for one in islands:
        found.setdefault(one.path, one)
    return list(found.values())


def _names(islands: list[Held]) -> str:
    listed = _roots(islands)
    names = ", ".join(f"`{one.full}`" for one in listed[:_NAMED])
    return names + (f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else "")


def _convert(scene: Scene, one: Held, dtype: str | None) -> str:
    passed = {module.path for module in scene.seen.modules}
    call = scene.call(one.path)
    if one.path in passed:
        # The module holds more than this parameter: only the parameter is converted.
        return f"{call}.{one.name}.data = {call}.{one.name}.to(torch.{dtype})"
    return f"{call}.to(torch.{dtype})"


def _device(scene: Scene, weight: Operand, index: int, other: Operand) -> Blame:
    has, meets, main = weight.device, other.device, scene.seen.main_device
    path = _path(scene, weight)
    shown = scene.name(path or "")
    both = _both(weight, other)
    mine = scene.origins.get(index)
    if main is not None and has != main and path:
        wide = scene.census.widest(path, device=has)
        inside = f"{path.removeprefix(wide).lstrip('.')}.{weight.name}".lstrip(".")
        why = f"`{wide}` is on {has}, while most of the model is on {main}.{both}"
        # A meta tensor has no data to move: only loading it helps.
        move = _to(scene, scene.call(wide), main) if has != "meta" else None
        return Blame("device-mismatch/module-left-behind", wide, _cls(scene, wide), inside, has, meets, why, move)
    cls = _cls(scene, path)
    if other.role == "constant":
        return _constant(scene, other, path, has)
    if index in scene.made:
        return _made(scene, scene.made[index], path, meets, has)
    if has in ("cpu", "meta") and meets not in ("cpu", "meta"):
        why = f"The whole model is on {has}, its input on {meets}.{both}"
        move = _to(scene, scene.call(""), meets)
        return Blame("device-mismatch/module-left-behind", "", _cls(scene, ""), weight.name, has, meets, why, move)
    if _sharded(scene):
        why = f"`{shown}` is on {has} and got {meets}.{both}"
        return Blame("device-mismatch/sharded", path, cls, weight.name, has, meets, why, None)
    cause = None if "meta" in (has, meets) and not mine else "device-mismatch/inputs-left-behind"
    given = next((argument for argument, value in scene.given if read_tensor(value).device == meets), None)
    name = mine or given or other.name
    why = f"`{shown}` is on {has} and got `{name}`, which is on {meets}.{both}"
    return Blame(cause, path, cls, weight.name, has, meets, why, ("move-to-device", f'{name} = {name}.to("{has}")'))


def _constant(scene: Scene, constant: Operand, path: str | None, meets: str | None) -> Blame:
    """A tensor that a module keeps as a plain attribute stays where it was made."""
    why = f"`{constant.name}` is a plain attribute on {constant.device}: `to()` moves parameters and buffers only."
    name = constant.name.rpartition(".")[2]
    change = ("move-to-device", f'self.register_buffer("{name}", self.{name}, persistent=False)')
    at = constant.owner if constant.owner is not None else path
    return Blame("device-mismatch/constant-left-behind", at, _cls(scene, at), constant.name, constant.device, meets, why, change)


def _made(scene: Scene, name: str, path: str | None, device: str | None, meets: str | None) -> Blame:
    """A tensor that the module's own code makes without saying where."""
    why = f"`{name}` is made in the module's own code and is on {device}, what it meets is on {meets}: the code must say where."
    change = ("move-to-device", f'{name} = {name}.to("{meets}")')
    return Blame("device-mismatch/constant-left-behind", path, _cls(scene, path), name, device, meets, why, change)


def _both(weight: Operand, other: Operand) -> str:
    if weight.dtype == other.dtype or None in (weight.dtype, other.dtype) or {weight.dtype, other.dtype} - FLOATING:
        return ""
    return f" The dtypes differ too: {weight.dtype} and {other.dtype}."


def _sharded(scene: Scene) -> bool:
    devices = {one.device for one in scene.census.held if one.device and one.device not in ("cpu", "meta")}
    return len(devices) > 1


def _common(scene: Scene, values: list[str | None]) -> str | None:
    """Return what operands among themselves are to be.

    A loss is computed in the wider dtype. What the model is in is what the others follow: a rotary embedding in float32 promotes query and
    key and leaves the value alone, and then there are two of the wrong ones.
    """
    if scene.kind == "dtype" and scene.loss:
        return max(values, key=lambda value: BITS.get(value or "", 0))
    main = scene.seen.main_device if scene.kind == "device" else scene.seen.main_dtype
    if main in values and not (scene.kind == "dtype" and scene.seen.autocast == "on"):
        return main
    return max(values, key=values.count)


def quantized_input(seen: Seen, path: str | None, cls: str, names: dict[int, str], keys: list[int]) -> Blame | None:
    """A layer that torch quantized was given half precision: it takes float32 only."""
    for one, key in zip(seen.operands, keys, strict=True):
        if one.role == "input" and one.dtype in HALF:
            name = names.get(key)
            change = ("cast-inputs", f"{name} = {name}.float()") if name else None
            why = f"`{path or seen.root}` is quantized and takes float32 input, whatever the rest of the model is in; it got {one.dtype}."
            return Blame("dtype-mismatch/input-vs-weight", path, cls, None, "float32", one.dtype, why, change)
    return None


def _no_weights(scene: Scene, operands: list[tuple[int, Operand]]) -> Blame | None:
    """Activations among themselves: attention, a product by hand, a loss."""
    if len(operands) < 2:
        return None
    common = _common(scene, [scene.of(one) for _, one in operands])
    differing = [(index, one) for index, one in operands if scene.of(one) != common]
    index, odd = differing[0]
    mask = scene.kind == "dtype" and bool(_MASK.search(odd.name) or _MASK.search(odd.keyword))
    cause = "dtype-mismatch/attention-mask" if mask else None
    name = scene.origins.get(index) or odd.code
    if scene.kind == "device" and odd.role == "constant":
        return _constant(scene, odd, scene.path, common)
    if scene.kind == "device" and index in scene.made:
        return _made(scene, scene.made[index], scene.path, odd.device, common)
    alike = list(dict.fromkeys(scene.origins.get(at) or one.code for at, one in differing if scene.of(one) == scene.of(odd)))
    names = " and ".join(f"`{one}`" for one in alike)
    be, meet = ("is", "it meets") if len(alike) == 1 else ("are", "they meet")
    why = f"{names} {be} {scene.of(odd)}, what {meet} is {common}."
    if scene.kind == "device":
        change = ("move-to-device", f'{name} = {name}.to("{common}")')
    else:
        change = ("cast-activations", "\n".join(f"{one} = {one}.to(torch.{common})" for one in alike))
    return Blame(cause, scene.path, scene.cls, odd.name, scene.of(odd), common, why, change)
