"""Diagnosing for somebody else: nothing of this machine is looked at, and what a client got wrong is told, not raised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from troubleshoot.basics.errors import InputError
from troubleshoot.basics.redact import redact_data, redact_text, redacted_start
from troubleshoot.engine.diagnosis import diagnose, question_for_model, recall
from troubleshoot.engine.evidence import VOCABULARY, environment_of, is_among
from troubleshoot.engine.result import Diagnosis, IssueDiagnosis
from troubleshoot.knowledge import KnowledgeBase, load_kb
from troubleshoot.knowledge.base import shipped_root
from troubleshoot.knowledge.schema import Entry
from troubleshoot.reader import Prompt
from troubleshoot.reading import Report, read_report
from troubleshoot.reading.environment.machine import Environment
from troubleshoot.reading.environment.merging import merge
from troubleshoot.reading.environment.parse import parse_environment
from troubleshoot.serve.consulting import Said, Told
from troubleshoot.serve.settings import Settings
from troubleshoot.telling.facts import relevant_packages

#: Values and names of answers that are longer name nothing.
_MOST_CHARS = 200
_MOST_ANSWERS = 64
_MOST_PACKAGES = 6


class Engine:
    """The knowledge base with the operator's settings. Immutable but for what it keeps of the base; safe to share between threads."""

    def __init__(self, settings: Settings) -> None:
        """Load the knowledge base.

        Raises:
            KnowledgeError: there is none to read.
            InputError: an assumption names no fact.
        """
        self.settings = settings
        self.base: KnowledgeBase = load_kb(settings.overlays)
        _, wrong = usable(settings.assume)
        if wrong:
            raise InputError(f"an assumption cannot be used: {wrong[0]}")

    @cached_property
    def public(self) -> KnowledgeBase:
        """The base that lists and pages show: the shipped one, unless the operator shows overlays."""
        return self.base if self.settings.show_overlays else load_kb((shipped_root(),), shipped=False)

    def shows(self, issue: str) -> bool:
        """Tell whether an issue has a page."""
        return issue in self.public.index.ids

    def public_entry(self, issue: str) -> Entry:
        """Return an entry that lists and pages show. Raises UnknownIssueError."""
        return self.public.entry(issue)

    def public_entries(self) -> list[Entry]:
        """Return the entries that lists show."""
        return [self.public.entry(id_) for id_ in self.public.ids()]

    def fix_ids(self, entry: Entry) -> frozenset[str]:
        """Return the ids of the fixes that may be shown for an entry: its own, and the general advice for its causes."""
        causes = [entry.cause] if entry.cause else [one.cause for one in entry.causes]
        general = (fix.id for cause in causes if cause in self.base.causes.causes for fix in self.base.causes.causes[cause].fixes)
        return frozenset(fix.id for fix in entry.fixes) | frozenset(general)

    def diagnose(
        self,
        report: str | bytes | Report,
        *,
        environment: Mapping[str, Any] | str | None = None,
        answers: Mapping[str, str] | None = None,
        gpu: str | None = None,
        have: Mapping[str, str] | None = None,
        language: str | None = None,
        said: Said | None = None,
    ) -> tuple[Diagnosis, tuple[str, ...]]:
        """Diagnose a report and return what could not be used of the rest, each in a sentence.

        ``said`` is what the operator's language model answered to :meth:`question`; without one, nothing is said of it.
        """
        read, stated, given, wrong = self._prepared(report, environment, joined(answers, gpu, have))
        model = self.settings.reader
        diagnosis = diagnose(
            read, environment=stated, kb=self.base, language=language or self.settings.language, answers=given,
            reader=Told(model.model, said) if model is not None and said is not None else None,
        )  # fmt: skip
        return diagnosis, wrong

    def question(
        self,
        report: str | bytes,
        *,
        environment: Mapping[str, Any] | str | None = None,
        answers: Mapping[str, str] | None = None,
        gpu: str | None = None,
        have: Mapping[str, str] | None = None,
    ) -> Prompt | None:
        """Return what the operator's language model is to be asked about a report; None where it need not be."""
        read, stated, given, _ = self._prepared(report, environment, joined(answers, gpu, have))
        return question_for_model(read, environment=stated, kb=self.base, answers=given)

    def _prepared(
        self, report: str | bytes | Report, environment: Mapping[str, Any] | str | None, answers: Mapping[str, str]
    ) -> tuple[Report, Environment, dict[str, str], tuple[str, ...]]:
        """Return the report, its environment, the facts that hold beside it, and what could not be used."""
        read = report if isinstance(report, Report) else read_report(report)
        stated, errors = self.environment(read, environment)
        given, wrong = usable(answers)
        return read, stated, {**self.assumed(read, stated, given), **given}, (*errors, *wrong)

    def recall(
        self, issue: str, cause: str | None, answers: Mapping[str, str], listed: Sequence[str], language: str
    ) -> tuple[Diagnosis, tuple[str, ...]]:
        """Return the diagnosis of an issue whose report is gone, with what is still known of the environment."""
        given, wrong = usable({**self.settings.assume, **self.stated_in("\n\n".join(listed)), **answers})
        return recall(issue, cause, kb=self.base, language=language, answers=given), wrong

    def said(self, text: str, listed: Sequence[str]) -> frozenset[str]:
        """Return the names of the facts that a text states by itself."""
        return frozenset(self.stated_in("\n\n".join((text, *listed))))

    def stated_in(self, text: str) -> dict[str, str]:
        """Return the versions, the GPU and the other facts that a text states by itself."""
        report = read_report(text)
        environment, _ = self.environment(report, None)
        return {**_facts_of(report), **_machine(environment, tuple(one.name for one in environment.packages))}

    def stated(self, diagnosis: Diagnosis, shown: IssueDiagnosis | None) -> dict[str, str]:
        """Return the facts of a report that bear on its diagnosis: what would be needed if the report were gone."""
        names = relevant_packages(diagnosis, shown, _MOST_PACKAGES)
        return {**_machine(diagnosis.environment, names), **_facts_of(diagnosis.report)}

    def environment(self, report: Report, given: Mapping[str, Any] | str | None) -> tuple[Environment, tuple[str, ...]]:
        """Return what the report and a given environment say, and what was wrong with the latter."""
        stated = merge(environment_of(report), parse_environment(report.lines, report.numbers))
        if not given:
            return stated, ()
        other = _given_environment(given)
        if not (other.packages or other.accelerators or other.closed_accelerators or other.python or other.os):
            return stated, ("the environment says nothing that can be used: paste pip list, collect_env, nvidia-smi, or give packages",)
        return merge(stated, other), other.warnings

    def assumed(self, report: Report, environment: Environment, given: Mapping[str, str]) -> dict[str, str]:
        """Return the operator's assumptions about which neither the report nor its author says anything."""
        said = {mention.kind.replace("_", "-") for mention in report.mentions if mention.kind not in ("dtype", "device")}
        said |= {f"{mention.kind}.{mention.name}" for mention in report.mentions}
        found: dict[str, str] = {}
        for name, value in self.settings.assume.items():
            package = environment.package(name.removeprefix("package.")) if name.startswith("package.") else None
            known = environment.accelerators or environment.closed_accelerators if name == "gpu" else package is not None
            if name not in given and name not in said and not known:
                found[name] = value
        return found


#: Mentions that are facts by themselves, under the fact's name.
_MENTIONED = {
    "attention": "attention", "quantization": "quantization", "model": "model", "phase": "phase", "autocast": "autocast",
    "device_map": "device-map",
}  # fmt: skip


def _facts_of(report: Report) -> dict[str, str]:
    found: dict[str, str] = {}
    # What an error message names, nobody asked for.
    told = {number for failure in report.failures for one in failure.exceptions for number in range(one.line, one.last_line + 1)}
    for mention in report.mentions:
        if mention.kind == "dtype" and mention.name == "requested" and mention.line not in told:
            found.setdefault("dtype.requested", mention.value)
        elif mention.kind in _MENTIONED:
            found.setdefault(_MENTIONED[mention.kind], mention.value)
    return found


def _machine(environment: Environment, names: tuple[str, ...]) -> dict[str, str]:
    found = {f"package.{name}": one.version for name in names if (one := environment.package(name)) is not None and one.version}
    if environment.accelerators:
        found["gpu"] = environment.accelerators[0].name
    elif environment.closed_accelerators:
        found["gpu"] = "none"
    return found


def joined(answers: Mapping[str, str] | None, gpu: str | None, have: Mapping[str, str] | None) -> dict[str, str]:
    """Bring the three ways of giving facts to one: fact name -> value."""
    return {**(answers or {}), **({"gpu": gpu} if gpu else {}), **{f"package.{name}": version for name, version in (have or {}).items()}}


def usable(given: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the facts that can be used, and for each of the others a sentence that says why not."""
    found: dict[str, str] = {}
    wrong: list[str] = []
    for name, value in list(given.items())[:_MOST_ANSWERS]:
        problem = _problem(name, value)
        if problem:
            wrong.append(redact_text(problem))
        else:
            found[name] = value.strip()
    if len(given) > _MOST_ANSWERS:
        wrong.append(f"more than {_MOST_ANSWERS} facts were given; the others are not used")
    return found, tuple(wrong)


def _problem(name: str, value: str) -> str | None:
    value = value.strip()
    if not value or len(value) > _MOST_CHARS or len(name) > _MOST_CHARS or not (name + value).isprintable():
        return f"the value of {redacted_start(name, 60)!r} cannot be used: give one line of at most {_MOST_CHARS} characters"
    if name == "gpu":
        from troubleshoot.reading.environment.hardware import accelerator_from_text

        try:
            accelerator_from_text(value)
        except InputError as error:
            return str(error)
        return None
    if not is_among(name, VOCABULARY):
        import difflib

        close = difflib.get_close_matches(name, sorted(VOCABULARY), n=2)
        return f"no fact is called {name!r}." + (f" Did you mean: {', '.join(close)}?" if close else " For example: package.apex")
    if name in ("gpu.memory", "gpu.count") and not (value.isascii() and value.replace(".", "", 1).isdigit()):
        return f"{value!r} is no number: give one such as 16 for {name}"
    if name.startswith("dtype."):
        from troubleshoot.basics.dtypes import parse_dtype

        return None if parse_dtype(value) else f"{value!r} is no dtype: give one such as float16, bfloat16 or float32 for {name}"
    return None


def _given_environment(given: Mapping[str, Any] | str) -> Environment:
    if isinstance(given, str):
        return parse_environment(given.splitlines(), source="file")
    from troubleshoot.reading.environment.exchange import read_own
    from troubleshoot.reading.environment.gathering import Draft

    draft = Draft("file")
    read_own(draft, _own_form(given))
    return draft.finish()


def _own_form(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tool's own JSON for an environment, from that or from the ``environment`` of a diagnosis."""
    data = dict(given)
    packages = data.get("packages")
    if isinstance(packages, dict):
        data["packages"] = {name: one.get("version") if isinstance(one, dict) else one for name, one in packages.items()}
    # Only a list that says so is complete: a client names the packages that it knows of.
    data.setdefault("closed_packages", "nvidia_smi" in data or "platform" in data)
    found = []
    for one in data.get("accelerators") or () if isinstance(data.get("accelerators"), list) else ():
        accelerator = {"name": one} if isinstance(one, str) else dict(one) if isinstance(one, dict) else {}
        capability = accelerator.get("capability")
        if isinstance(capability, str):
            major, _, minor = capability.partition(".")
            accelerator["capability"] = [int(major), int(minor)] if _small(major) and _small(minor) else None
        elif not (isinstance(capability, list) and len(capability) == 2 and all(isinstance(part, int) for part in capability)):
            accelerator["capability"] = None
        memory = accelerator.get("memory", accelerator.get("memory_gib"))
        accelerator["memory"] = memory if isinstance(memory, int | float) and 0 < memory < 1e6 else None
        count = accelerator.get("count")
        accelerator["count"] = count if isinstance(count, int) and 0 < count < 1e6 else 1
        accelerator["architecture"] = accelerator["architecture"] if isinstance(accelerator.get("architecture"), str) else None
        found.append(accelerator)
    data["accelerators"] = found
    return data


def _small(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 2


def as_data(diagnosis: Diagnosis, errors: tuple[str, ...] = (), top: int | None = None, *, personal: bool = False) -> dict[str, Any]:
    """Return the object of ``troubleshoot diagnose --format json``, secrets masked; ``errors`` are added to its own."""
    data = diagnosis.to_dict(redact=personal)
    if top is not None:
        data["diagnoses"] = data["diagnoses"][:top]
    data["errors"] = [*data["errors"], *redact_data(errors, personal=personal)]
    return data
