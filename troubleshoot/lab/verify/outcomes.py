"""What is verified and what came out, as frozen dataclasses. Nothing here imports torch, or what an isolated environment lacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from troubleshoot.engine.fixes.price import Price

Tier = Literal["upstream", "distilled"]
#: How a single run ended. ``wrong``: it ended, and its output is not what a healthy run gives.
RunOutcome = Literal[
    "ok", "raised", "wrong", "hang", "segfault", "signal", "out-of-memory", "device-side-assert", "import-error", "exited", "cannot-run"
]
BeforeOutcome = Literal["reproduced", "not-reproduced", "cannot-run"]
FixResult = Literal["works", "fails", "skipped"]
Verdict = Literal["verified", "not-reproduced", "unexpected", "cannot-run"]

#: A fix may be this many times as far from the reference as a healthy run of its dtype: the reference computation on weights and inputs
#: that were rounded to the dtype. In the cases run on the CPU, right fixes beyond the floor were at most 2.4 times as far off
#: (docs/verification.md).
TOLERANCE = 10.0

#: No fix counts as right that is farther off than this, however ill-conditioned the program.
CEILING = 0.2

#: The least tolerance per dtype, a few units in the last place: where rounding the weights changes nothing, the operations still round.
FLOORS: Mapping[str, float] = {"float64": 1e-10, "float32": 1e-5, "float16": 2e-3, "bfloat16": 1.6e-2}


@dataclass(frozen=True)
class Case:
    """A small program that reproduces issues, declared; ``build`` makes it and imports torch only then.

    ``present`` are distributions with a version specifier ("" for any), ``absent`` those that must not be there. ``installs`` is what an
    isolated
    environment gets unless the entry says otherwise. ``plays`` are ids of fixes that the builder itself plays (``setting.variant``).
    ``unplayable`` are ids of fixes that mean something else than their kind tells, each with the reason for leaving them out.
    ``shows`` are releases with which the fault shows ({"torch": "<2.2"}): elsewhere the program is right, which a measurement of releases
    is to see and a verification is not.
    ``cause`` is the cause that the case has where its issue is a family of several.
    ``facts`` are facts that the report of a user with this program holds (the requested dtype is added). ``symptom`` is what such a user
    would
    write where nothing raises. ``stand_in`` tells what was replaced, and by what. ``seconds`` is what one run took on two CPU cores.
    """

    name: str
    title: str
    issues: tuple[str, ...]
    build: Callable[[Setting], Program] = field(repr=False, compare=False)
    tier: Tier = "distilled"
    devices: tuple[str, ...] = ("cpu", "cuda")
    dtypes: tuple[str, ...] = ("float16",)
    reference: str = "float32"
    capability_at_least: float | None = None
    capability_below: float | None = None
    python: str = ""
    torch: str = ""
    present: Mapping[str, str] = field(default_factory=dict)
    absent: tuple[str, ...] = ()
    installs: Mapping[str, str] = field(default_factory=dict)
    plays: tuple[str, ...] = ()
    unplayable: Mapping[str, str] = field(default_factory=dict)
    shows: Mapping[str, str] = field(default_factory=dict)
    cause: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    symptom: str = ""
    stand_in: str = ""
    causal: bool = False
    seconds: float = 2.0
    memory_mib: int = 4096
    timeout: float = 120.0
    why_not_cpu: str = ""

    @property
    def silent(self) -> bool:
        """True where the issue shows as a wrong result, not as an error."""
        return bool(self.symptom)


@dataclass(frozen=True)
class Setting:
    """What a builder is asked for.

    ``dtype`` is a ``torch.dtype`` and ``device`` a ``torch.device``. ``faulty`` is False for the reference: the same weights and inputs,
    without the fault.
    ``variant`` is the id of the fix that the builder plays itself. ``folder`` is a place for files that the runs of one verification
    share; it is removed afterwards.
    """

    dtype: Any
    device: Any
    faulty: bool
    folder: Path
    variant: str | None = None

    def shows(self, *fixes: str) -> bool:
        """Tell whether the fault is to be built: not in the reference, and not where one of these fixes is played."""
        return self.faulty and self.variant not in fixes

    @property
    def name(self) -> str:
        """The dtype's name, ``float16``."""
        return str(self.dtype).removeprefix("torch.")


@dataclass
class Program:
    """A built case: a model, its inputs, and how it is called.

    ``call`` takes model and inputs and returns a tensor to compare, normally logits; by default ``model(**inputs)``. ``check`` may find
    fault with
    what no number shows and returns the complaint. ``last_changed`` are inputs whose last position differs: earlier positions of a
    causal model
    must not change; sequence positions are the output's second dimension.
    """

    model: Any
    inputs: dict[str, Any]
    call: Callable[[Any, dict[str, Any]], Any] | None = None
    check: Callable[[Any, Any], str | None] | None = None
    last_changed: dict[str, Any] | None = None

    def run(self, inputs: dict[str, Any] | None = None) -> Any:
        """Call the model and return the tensor to compare."""
        given = self.inputs if inputs is None else inputs
        return self.call(self.model, given) if self.call is not None else self.model(**given)


@dataclass(frozen=True)
class Job:
    """One run in one process. ``patches`` are actions of fixes, applied live before the call; ``tolerance`` is relative."""

    case: str
    role: Literal["reference", "before", "fix", "timing"]
    device: str
    dtype: str
    folder: str
    reference: str
    variant: str | None = None
    patches: tuple[Mapping[str, Any], ...] = ()
    autocast: str | None = None
    tolerance: float | None = None
    dtypes: tuple[str, ...] = ()
    parent: int = 0
    requested: str = ""


@dataclass(frozen=True)
class RunResult:
    """How one run ended. ``traceback`` is what a user would paste, the runner's own frames left out. ``detail`` is what the child
    measured.
    """

    outcome: RunOutcome
    error: str | None = None
    traceback: str | None = None
    seconds: float = 0.0
    peak_mib: float | None = None
    relative_error: float | None = None
    bytes_per_parameter: float | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
    output: str = ""


@dataclass(frozen=True)
class Before:
    """The program without a fix: ``reproduced`` means that it fails, and that the engine names this issue first for what it printed."""

    outcome: BeforeOutcome
    error: str | None = None
    diagnosed_as: str | None = None
    seconds: float | None = None
    why: str = ""
    traceback: str | None = None


@dataclass(frozen=True)
class FixOutcome:
    """One fix, tried. ``relative_error`` is against the reference, in the Euclidean norm; None where there is no finite output.

    ``price`` is what the user's model would take with this fix, where a model is named and its size is known.
    """

    id: str
    kind: str
    expected: str
    outcome: FixResult
    why: str
    relative_error: float | None = None
    weights_bytes_per_parameter: float | None = None
    title: str = ""
    seconds: float | None = None
    traceback: str | None = None
    ruled_out: bool = False
    price: Price | None = None

    @property
    def surprising(self) -> bool:
        """True where it was tried and did not do what the entry says.

        ``ruled_out`` is set where nobody promised that it would: the entry says that it does not fit this environment, or it is advice
        for the cause in general.
        """
        return self.outcome != "skipped" and self.outcome != self.expected and not self.ruled_out


@dataclass(frozen=True)
class Timing:
    """How long one layer of a real size takes per dtype on the device, in seconds; a text says why a dtype cannot be run.

    ``why`` says why nothing was measured.
    """

    seconds: Mapping[str, float | str] = field(default_factory=dict)
    hidden: int = 0
    tokens: int = 0
    why: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the member ``timing`` of the JSON object."""
        if self.why:
            return {"measured": False, "why": self.why}
        return {"measured": True, "hidden": self.hidden, "tokens": self.tokens, "seconds": dict(self.seconds)}


@dataclass(frozen=True)
class Verification:
    """A case run here: before, after each fix, and whether that is what the knowledge base says."""

    issue: str
    case: str
    tier: str
    device: str
    environment: Mapping[str, Any]
    before: Before
    fixes: tuple[FixOutcome, ...]
    verdict: Verdict
    dtype: str = ""
    stand_in: str = ""
    timing: Timing | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of the contract (docs/verification.md)."""
        told: dict[str, Any] = {
            "issue": self.issue,
            "case": self.case,
            "tier": self.tier,
            "device": self.device,
            "environment": dict(self.environment),
            "before": {name: asdict(self.before)[name] for name in ("outcome", "error", "diagnosed_as", "seconds")}
            | ({"why": self.before.why} if self.before.why else {}),
            "fixes": [
                {
                    name: getattr(one, name)
                    for name in ("id", "kind", "expected", "outcome", "why", "relative_error", "weights_bytes_per_parameter")
                }
                | ({"memory": _memory(one.price)} if one.price is not None else {})
                for one in self.fixes
            ],
            "verdict": self.verdict,
        }
        return told | ({"timing": self.timing.to_dict()} if self.timing is not None else {})

    @property
    def exit_code(self) -> int:
        """0 as expected, 1 not, 2 it cannot run here."""
        return {"verified": 0, "not-reproduced": 1, "unexpected": 1, "cannot-run": 2}[self.verdict]


def _memory(price: Price) -> dict[str, Any]:
    return {
        "model": price.model, "parameters": price.parameters, "basis": price.basis,
        "weights_gib": round(price.gib, 2), "gpu_memory_gib": price.memory, "fits": price.fits,
    }  # fmt: skip


def verdict_of(before: Before, fixes: tuple[FixOutcome, ...]) -> Verdict:
    """Compare what was seen with what the knowledge base says; fixes that were skipped say nothing."""
    if before.outcome == "cannot-run":
        return "cannot-run"
    if before.outcome == "not-reproduced":
        return "not-reproduced"
    return "unexpected" if any(one.surprising for one in fixes) else "verified"
