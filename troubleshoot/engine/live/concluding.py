"""What was seen, in the result: the culprit, its evidence, and a fix that names the module."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import msgspec

from troubleshoot.engine.live.seen import Blame, Seen
from troubleshoot.engine.live.seen import Operand as SeenOperand
from troubleshoot.engine.live.weighing import DECIDED
from troubleshoot.engine.result import Culprit, Diagnosis, EvidenceItem, FixAdvice, IssueDiagnosis
from troubleshoot.reading.module_path import written
from troubleshoot.reading.named import Named, names_of
from troubleshoot.reading.operations import NamedOperand

#: Kinds of fixes that change the same thing.
_KIN = {
    "cast-inputs": ("cast-inputs", "cast-activations"),
    "cast-activations": ("cast-activations", "cast-inputs"),
    "cast-module": ("cast-module", "keep-module-fp32"),
    "keep-module-fp32": ("keep-module-fp32", "cast-module"),
    "move-to-device": ("move-to-device",),
}
_TITLES = {
    "cast-inputs": ("Cast this input", "转换这个输入"),
    "cast-activations": ("Cast this tensor where it is used", "在使用处转换这个张量"),
    "cast-module": ("Cast this module", "转换这个模块"),
    "keep-module-fp32": ("Keep this module in float32", "让这个模块保持 float32"),
    "move-to-device": ("Move what was left behind", "把遗漏的部分移过去"),
}


def conclude(diagnosis: Diagnosis, seen: Seen | None) -> Diagnosis:
    """Add place, operands and culprit to a diagnosis of the failure that they were seen in.

    A diagnosis that explains the failure otherwise gets no culprit.
    """
    if seen is None:
        return diagnosis
    diagnosis = replace(diagnosis, exact=_exact(diagnosis, seen))
    first = diagnosis.first
    if first is None or diagnosis.verdict == "unknown":
        return diagnosis
    blame = seen.blame
    if blame is None or first.cause not in DECIDED:
        return diagnosis
    if blame.cause is not None and blame.cause.partition("/")[0] != first.cause.partition("/")[0]:
        return diagnosis
    culprit = Culprit(blame.module or None, blame.cls, blame.parameter, blame.has, blame.meets, seen.frame, blame.why)
    first = replace(first, evidence=(*_evidence(seen, blame, first), *first.evidence))
    if blame.cause is None or blame.cause == first.cause:
        first = replace(first, fixes=_fixes(first, blame, diagnosis.language))
    return replace(diagnosis, culprit=culprit, diagnoses=(first, *diagnosis.diagnoses[1:]))


def _exact(diagnosis: Diagnosis, seen: Seen) -> Named | None:
    """Return place and operands: the module and the tensors as they are, called as the frames call them."""
    failure = diagnosis.failure
    if failure is None:
        return None
    module = _steps(seen.root, seen.path) if seen.path is not None else None
    read = names_of(failure.root, diagnosis.report, diagnosis.caught, module)
    operands = [_operand(one, seen, read.arguments) for one in seen.operands]
    known = [one for one in operands if one.role in read.arguments]
    return Named(read.place, tuple(known or operands), read.arguments)


def _steps(root: str, path: str) -> tuple[str, ...]:
    """Return the way to a module as code takes it: ``layers.3.mlp`` is ``layers[3].mlp``."""
    return (root, *(f"[{part}]" if part.isdigit() else part for part in path.split(".") if part))


def _operand(seen: SeenOperand, whole: Seen, arguments: Mapping[str, str]) -> NamedOperand:
    """Return an operand by its role, as the order of the operation's arguments or its own name tells it."""
    called = [role for role, name in arguments.items() if name and name == seen.name]
    role = next((one for one in (seen.keyword, *called, seen.name.rpartition(".")[2]) if one in arguments), "")
    # Torch's own name for what it was given tells a reader nothing.
    name = arguments.get(role) or ("" if seen.name == role else seen.name)
    if seen.owner is not None and seen.role in ("parameter", "buffer"):
        name = written((*_steps(whole.root, seen.owner), seen.name.rpartition(".")[2]))
    return NamedOperand(name, role, seen.dtype or "", seen.device or "")


def _evidence(seen: Seen, blame: Blame, first: IssueDiagnosis) -> list[EvidenceItem]:
    agrees = blame.cause is None or blame.cause == first.cause
    found = [EvidenceItem("supports" if agrees else "unknown", "culprit", blame.why)]
    quantized = [one for one in seen.modules if one.quantized]
    if quantized:
        found.append(EvidenceItem("supports", "culprit", f"`{quantized[-1].path}` is quantized by {quantized[-1].quantized}"))
    hooked = [one for one in seen.modules if one.hook]
    if hooked and first.cause.startswith("device"):
        found.append(EvidenceItem("supports", "culprit", f"accelerate moves `{hooked[-1].path or seen.root}` ({hooked[-1].hook})"))
    return found


def _fixes(first: IssueDiagnosis, blame: Blame, language: str) -> tuple[FixAdvice, ...]:
    """Put the line that names the module into the fix of its kind; general advice gives way to it, a known issue keeps its order."""
    if blame.change is None:
        return first.fixes
    kind, code = blame.change
    fixes = list(first.fixes)
    general = first.kind == "family"
    for wanted in _KIN[kind]:
        for position, fix in enumerate(fixes):
            if fix.kind == wanted and fix.fits is not False and fix.expected == "works":
                made = msgspec.structs.replace(fix, code=code, command=None, fits=True, why=blame.why if fix.fits is None else fix.why)
                if not general and _names_a_module(fix):
                    return first.fixes
                del fixes[position]
                fixes.insert(0 if general else position, made)
                return tuple(fixes)
    made = FixAdvice(
        id="culprit", kind=kind, title=_TITLES[kind][language == "zh"], applicability="safe", fits=True, why="", reason=blame.why,
        code=code, action={"edit": code},
    )  # fmt: skip
    fixes.insert(0 if general else min(1, len(fixes)), made)
    return tuple(fixes)


def _names_a_module(fix: FixAdvice) -> bool:
    """Tell whether an entry's own fix names the module already: it was tried as it stands there."""
    return bool(fix.action.get("module") or fix.action.get("modules"))
