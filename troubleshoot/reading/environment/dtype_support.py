"""Which accelerator computes in which dtype, per kind of operation: asked of :mod:`~troubleshoot.reading.environment.dtype_rules`."""

from __future__ import annotations

from dataclasses import dataclass, replace

from troubleshoot.reading.environment import dtype_rules, gpus
from troubleshoot.reading.environment.dtype_rules import DTYPES, OPERATIONS
from troubleshoot.reading.environment.machine import Accelerator, Environment

__all__ = ["DTYPES", "OPERATIONS", "Support", "cpu_of", "support"]

_SPELLINGS = {"float4": "float4_e2m1fn_x2", "float8": "float8_e4m3fn"}


@dataclass(frozen=True)
class Support:
    """How a dtype is supported: ``state`` is native, emulated, slow, none or unknown; ``note`` says what follows; ``source`` is a URL.

    ``caveat`` names a defect that is known although the operation is supported. What the states mean stands at the top of
    :mod:`troubleshoot.reading.environment.dtype_rules`.
    """

    state: str
    note: str = ""
    source: str = ""
    caveat: str | None = None

    @property
    def usable(self) -> bool | None:
        """True where there are kernels, None where that is unknown."""
        return None if self.state == "unknown" else self.state != "none"


def cpu_of(environment: Environment) -> Accelerator:
    """Return the CPU of an environment as the device that :func:`support` takes: with its bfloat16 instructions where they are known."""
    return Accelerator("CPU", "cpu", environment.source, architecture=environment.details.get("cpu.dtypes"))


_UNKNOWN = Support("unknown", "nothing is known of this combination")


def support(accelerator: Accelerator | str, dtype: str, operation: str = "matmul") -> Support:
    """Tell how ``accelerator`` (or "cpu") supports ``dtype`` in a kind of operation, one of ``OPERATIONS``.

    An accelerator known by its compute capability or architecture alone is enough; where the members of the architecture differ,
    the answer is unknown. Raises ValueError for another operation.

    >>> from troubleshoot.reading.environment import accelerator_from_text
    >>> support(accelerator_from_text("T4"), "bfloat16").state, support(accelerator_from_text("T4"), "bfloat16", "convolution").state
    ('emulated', 'none')
    """
    if operation not in OPERATIONS:
        raise ValueError(f"operation must be one of {', '.join(OPERATIONS)}, not {operation!r}")
    dtype = _SPELLINGS.get(dtype, dtype)
    if dtype not in DTYPES:
        return _UNKNOWN
    if isinstance(accelerator, str):
        return _other(accelerator, None, dtype, operation)
    if accelerator.kind != "cuda":
        return _other(accelerator.kind, accelerator.architecture, dtype, operation)
    return _cuda(accelerator, dtype, operation)


def _cuda(accelerator: Accelerator, dtype: str, operation: str) -> Support:
    if accelerator.capability is not None:
        members = {accelerator.capability}
    else:
        members = {
            capability
            for kind, capability, architecture, _ in gpus.GENERATIONS
            if kind == "cuda" and architecture == accelerator.architecture and capability is not None
        }
    answers = [_nvidia(one, dtype, operation) for one in sorted(members)]
    if not answers or len({one.state for one in answers}) > 1:
        return _UNKNOWN
    return _with_caveat(answers[0], accelerator.name, dtype, operation)


def _nvidia(capability: tuple[int, int], dtype: str, operation: str) -> Support:
    for low, high, dtypes, operations, state, note, source in dtype_rules.NVIDIA:
        if low <= capability < high and dtype in dtypes and operation in operations:
            return Support(state, note, source)
    return _UNKNOWN


def _other(kind: str, architecture: str | None, dtype: str, operation: str) -> Support:
    for rule_kind, architectures, dtypes, operations, state, note, source in dtype_rules.OTHERS:
        if rule_kind == kind and dtype in dtypes and operation in operations and (not architectures or architecture in architectures):
            return Support(state, note, source)
    return _UNKNOWN


def _with_caveat(answer: Support, name: str, dtype: str, operation: str) -> Support:
    for names, of_dtype, of_operation, text, source in dtype_rules.CAVEATS:
        if dtype == of_dtype and operation == of_operation and _is_one_of(name, names):
            return replace(answer, caveat=text, source=source)
    return answer


def _is_one_of(name: str, names: tuple[str, ...]) -> bool:
    from troubleshoot.reading.environment.hardware import find_gpu

    known = find_gpu(name)
    return known is not None and known.kind == "cuda" and known.name.startswith(names)
