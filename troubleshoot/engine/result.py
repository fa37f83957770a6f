"""The result of a diagnosis, as frozen dataclasses, and its JSON form (schema 1, field names stable)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from troubleshoot.basics.lazy import lazy_attribute
from troubleshoot.reading.environment.machine import Environment, Package
from troubleshoot.reading.report import Failure, Report

if TYPE_CHECKING:
    from troubleshoot.reading.contrasts import Contrast
    from troubleshoot.reading.named import FailurePlace, Named
    from troubleshoot.reading.operations import NamedOperand
    from troubleshoot.reading.requirements import Requirement

SCHEMA = 1

State = Literal["supports", "refutes", "unknown"]
Verdict = Literal["known", "likely", "unknown"]
Reason = Literal["out-of-scope", "no-entry", "too-little", "no-failure"]


class EvidenceItem(msgspec.Struct, frozen=True):
    """A fact held against a condition of an entry: what was seen, and on which line of the report (None: not from the report)."""

    state: State
    kind: str
    text: str
    line: int | None = None
    #: the text in Chinese, where it is a sentence of the tool
    zh: str = ""


class SeenRun(msgspec.Struct, frozen=True):
    """The recorded outcome of running a fix: only for the device and versions named, for nothing else."""

    outcome: str
    device: str
    capability: str | None
    versions: dict[str, str]
    date: str


class FixAdvice(msgspec.Struct, frozen=True):
    """A fix held against the user's environment.

    ``fits`` is True, False, or None with the deciding fact named in ``why``. ``command`` is a shell command, ``code`` what to write.
    ``expected`` is ``fails`` for popular advice that does not help. ``warning`` is shown with a fix that fits at a price.
    """

    id: str
    kind: str
    title: str
    applicability: str
    fits: bool | None
    why: str
    reason: str
    command: str | None = None
    code: str | None = None
    expected: str = "works"
    warning: str | None = None
    seen: tuple[SeenRun, ...] = ()
    action: dict[str, Any] = {}


@dataclass(frozen=True)
class IssueDiagnosis:
    """One known issue with one cause, ranked.

    ``failure`` is the index of the failure that it explains (None: a symptom of the whole report). ``confidence`` is the probability
    of this issue, ``cause_confidence`` that of its cause. ``note`` says what this cause means in a family of several. ``kind`` is
    "issue", "family", or "cause" where a model that reads named a cause and no entry describes the report: ``issue`` is then its code.
    ``facts`` is what the message itself names: ``{"dtype.input": "float32", "dtype.weight": "float16", "op": "layer_norm"}``.
    """

    issue: str
    cause: str
    failure: int | None
    title: str
    confidence: float
    cause_confidence: float
    explanation: str
    note: str = ""
    kind: str = "issue"
    impact: str = "error"
    affected: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    evidence: tuple[EvidenceItem, ...] = ()
    fixes: tuple[FixAdvice, ...] = ()
    references: tuple[str, ...] = ()
    verify: str | None = None
    facts: dict[str, str] = field(default_factory=dict)

    @property
    def recommended(self) -> tuple[FixAdvice, ...]:
        """The fixes that fit or may fit, in the order in which to try them."""
        return tuple(fix for fix in self.fixes if fix.fits is not False)


@dataclass(frozen=True)
class Question:
    """What to ask the user: ``about`` is the fact (an ``--answer`` name), ``decides`` the issues or fixes that the answer decides."""

    ask: str
    about: str
    answers: tuple[str, ...]
    decides: tuple[str, ...]


class TriedInVain(msgspec.Struct, frozen=True):
    """An experiment that changed nothing, as the report or an answer says (``line`` None): what it is, in a sentence."""

    experiment: str
    text: str
    line: int | None = None


@dataclass(frozen=True)
class Outside:
    """What kind of problem a report out of scope is, and the next step for that kind."""

    kind: str
    title: str
    next: str


@dataclass(frozen=True)
class Culprit:
    """The module or tensor to blame, known only from a live exception."""

    module: str | None
    cls: str | None
    parameter: str | None
    has: str | None
    meets: str | None
    frame: str | None
    why: str


class ReadFact(msgspec.Struct, frozen=True):
    """A setting that a model read in the report, with the words that state it and their line."""

    name: str
    value: str
    quote: str
    line: int


class ReadContrast(msgspec.Struct, frozen=True):
    """An experiment of which a model read in the report, and what came of it."""

    experiment: str
    outcome: str
    value: str
    quote: str
    line: int


class Consulted(msgspec.Struct, frozen=True):
    """What a language model contributed that was asked to read the report: only what was checked.

    ``asked`` is False where its answer could have changed nothing. ``problem`` says why there is none ("timeout", "status", ...), with
    ``detail``. ``causes`` and ``issue`` are what it named of those listed ("none": no such problem), ``dropped`` how much of its answer was
    not believed, ``changed`` whether another cause stands first because of it.
    """

    model: str
    asked: bool = True
    problem: str | None = None
    detail: str = ""
    causes: tuple[str, ...] = ()
    issue: str | None = None
    facts: tuple[ReadFact, ...] = ()
    contrasts: tuple[ReadContrast, ...] = ()
    dropped: int = 0
    changed: bool = False


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """Ranked known issues with confidence, evidence, fixes and questions. ``str()`` is the terminal text without colour."""

    verdict: Verdict
    reason: Reason | None
    summary: str
    report: Report
    environment: Environment
    diagnoses: tuple[IssueDiagnosis, ...]
    questions: tuple[Question, ...]
    knowledge: str
    tool: str
    language: str = "en"
    culprit: Culprit | None = None
    errors: tuple[str, ...] = ()
    refuted: tuple[tuple[str, EvidenceItem], ...] = ()
    tried: tuple[TriedInVain, ...] = ()
    reader: Consulted | None = None
    outside: Outside | None = None
    #: Place and operands of a live exception, which knows them.
    exact: Named | None = None

    def __repr__(self) -> str:
        """In short, and without the report's text: what a notebook or a test prints is not masked."""
        first = f", {self.first.issue!r}" if self.first is not None else ""
        return f"<{type(self).__name__} {self.verdict}{first}>"

    @property
    def first(self) -> IssueDiagnosis | None:
        """The first diagnosis, or None where nothing is known."""
        return self.diagnoses[0] if self.diagnoses else None

    @property
    def failure(self) -> Failure | None:
        """The failure that the first diagnosis explains; without one, the failure to look at first."""
        index = self.diagnoses[0].failure if self.diagnoses else None
        failures = self.report.failures
        return failures[index] if index is not None and index < len(failures) else self.report.cause

    @property
    def caught(self) -> dict[str, str]:
        """What the message of the first diagnosis says of its operands, by fact: ``dtype.input``, ``device.weight``."""
        facts = self.diagnoses[0].facts if self.diagnoses else {}
        return {name: value for name, value in facts.items() if name.startswith(("dtype.", "device."))}

    @lazy_attribute
    def named(self) -> Named:
        """Place and operands of :attr:`failure`: read from its frames when they are first asked for."""
        from troubleshoot.reading.named import Named, names_of

        failure = self.failure
        if self.exact is not None or failure is None:
            return self.exact or Named()
        return names_of(failure.root, self.report, self.caught)

    @property
    def place(self) -> FailurePlace:
        """Where it failed: the user's line, the library's line below it, and the module, as the frames name it."""
        return self.named.place

    @property
    def operands(self) -> tuple[NamedOperand, ...]:
        """What the failing operation was given, by name, as far as the message and the frames tell."""
        return self.named.operands

    @property
    def contrasts(self) -> tuple[Contrast, ...]:
        """What the report says of experiments that were made: read when it is asked for."""
        return self.report.contrasts

    def to_dict(self, *, redact: bool = False) -> dict[str, Any]:
        """Return the JSON object of the contract. Secrets are masked; with ``redact``, home directories and addresses too."""
        data = {
            "schema": SCHEMA,
            "tool": self.tool,
            "knowledge": self.knowledge,
            "verdict": self.verdict,
            "reason": self.reason,
            "summary": self.summary,
            "failures": [_failure(one) for one in self.report.failures],
            "environment": _environment(self.environment),
            "diagnoses": [_issue(one) for one in self.diagnoses],
            "questions": [msgspec.to_builtins(one) for one in self.questions],
            "culprit": _culprit(self.culprit),
            "place": msgspec.to_builtins(self.place),
            "operands": [msgspec.to_builtins(one) for one in self.operands],
            "contrasts": [_contrast(one) for one in self.contrasts],
            "outside": msgspec.to_builtins(self.outside),
            "errors": list(self.errors),
            "numbers": [
                {"verdict": one.verdict, "of": one.of, "numbers": list(one.numbers), "line": one.line, "text": one.text}
                for one in self.report.reckoned
            ],
            "requirements": [_requirement(one) for one in self.report.requirements],
            "tried": [msgspec.to_builtins(one) for one in self.tried],
            "reader": _reader(self.reader),
        }
        from troubleshoot.basics.redact import redact_data

        return redact_data(data, personal=redact)

    def __str__(self) -> str:
        from troubleshoot.telling import render

        return render(self, "text")


def _reader(one: Consulted | None) -> dict[str, Any] | None:
    if one is None:
        return None
    data: dict[str, Any] = msgspec.to_builtins(one)
    return {**data, **{name: list(data[name]) for name in ("causes", "facts", "contrasts")}}


def _contrast(one: Contrast) -> dict[str, Any]:
    return {"experiment": one.experiment, "outcome": one.outcome, "value": one.value, "line": one.line}


def _failure(failure: Any) -> dict[str, Any]:
    root = failure.root
    return {
        "exception": root.type,
        "message": root.message,
        "line": failure.line,
        "count": failure.count,
        "ranks": list(failure.ranks),
        "role": failure.role,
        "fingerprint": failure.fingerprint,
        "place": {"user": failure.place.user, "library": failure.place.library},
    }


def _requirement(one: Requirement) -> dict[str, Any]:
    return {
        "accepts": {"arch": [str(arch) for arch in one.accepts_arch], "dtypes": list(one.accepts_dtypes)},
        "refuses": {"arch": [str(arch) for arch in one.refuses_arch], "dtypes": list(one.refuses_dtypes)},
        "got": {"arch": [str(arch) for arch in one.got_arch], "dtypes": list(one.got_dtypes), "device": one.got_device},
        "line": one.line,
        "text": one.text,
    }


def _environment(environment: Environment) -> dict[str, Any]:
    return {
        "python": environment.python,
        "os": environment.os,
        "packages": {one.name: _package(one) for one in environment.packages},
        "accelerators": [
            {
                "name": one.name,
                "kind": one.kind,
                "capability": ".".join(map(str, one.capability)) if one.capability else None,
                "memory_gib": one.memory,
                "count": one.count,
                "source": one.source,
            }
            for one in environment.accelerators
        ],
    }


def _package(package: Package) -> dict[str, Any]:
    """``version`` is "" where only the presence is known, null where it is absent; ``range`` has the releases that lines of code leave
    open, as [first, last], null for an open end.
    """
    told: dict[str, Any] = {"version": package.version, "source": package.source}
    if package.releases is not None:
        told["range"] = [list(span) for span in package.releases.spans]
    return told


def _issue(one: IssueDiagnosis) -> dict[str, Any]:
    data: dict[str, Any] = msgspec.to_builtins(one)
    for item in data["evidence"]:
        del item["zh"]
    for fix in data["fixes"]:
        del fix["action"]
        fix["seen"] = list(fix["seen"])
    for name in ("affected", "models", "evidence", "fixes", "references"):
        data[name] = list(data[name])
    return data


def _culprit(culprit: Culprit | None) -> dict[str, Any] | None:
    if culprit is None:
        return None
    data: dict[str, Any] = msgspec.to_builtins(culprit)
    data["class"] = data.pop("cls")
    return data
