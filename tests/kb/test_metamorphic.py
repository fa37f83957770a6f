"""The shipped entries under change: another release, package, answer, GPU or wrapping must change the answer as the entry says.

Everything here is generated from the entries, so that a new one is tested the day it is written.
"""

from __future__ import annotations

import re
from functools import cache

import pytest
from shipped import BASE, EXAMPLES, POSITIVE, answer, ask, entry_of, releases, values

from troubleshoot.curation.checked import walk
from troubleshoot.curation.condition_checks import VALUES
from troubleshoot.engine.fixes import actions
from troubleshoot.engine.fixes.select import fixes_of
from troubleshoot.engine.matching import Search
from troubleshoot.engine.result import IssueDiagnosis
from troubleshoot.knowledge.schema import Condition, Fix
from troubleshoot.knowledge.sentences import tokens
from troubleshoot.knowledge.templates import Choice, Hole, Literal, Node, Optional_, compile_template, parse_template
from troubleshoot.reading import read_report

ISSUES = sorted(POSITIVE)


@pytest.mark.parametrize(("issue", "number"), EXAMPLES, ids=lambda value: str(value))
def test_a_positive_example_gives_its_entry(issue: str, number: int) -> None:
    """First, before all other entries, and with the cause that it names."""
    example, text = POSITIVE[issue][number]
    diagnosis = ask(example, text)
    assert diagnosis.verdict in ("known", "likely")
    assert diagnosis.first is not None
    assert diagnosis.first.issue == issue
    assert example.cause in (None, diagnosis.first.cause)


# --- releases and packages


@pytest.mark.parametrize("issue", [issue for issue in ISSUES if entry_of(issue).affected])
def test_releases_beside_the_ranges_change_the_answer(issue: str) -> None:
    """Below introduced, at introduced, just below fixed, at fixed."""
    wrong = []
    tried = 0
    for example, text in POSITIVE[issue]:
        for affected in entry_of(issue).affected:
            for release, inside in releases(affected):
                tried += 1
                got = answer(example, text, have={affected.package: release})
                if (got == issue) != inside:
                    wrong.append(f"{affected.package} {release}: {got}")
    assert tried
    assert wrong == []


def packages(conditions: tuple[Condition, ...]) -> list[tuple[str, str]]:
    """Return (package, present or absent) of the conditions that ask for nothing else."""
    return [
        (one.fact.removeprefix("package."), value)
        for one in conditions
        if one.fact and one.fact.startswith("package.") and one.is_ is not None
        for value in values(one)[:1]
        if value in ("present", "absent")
    ]


PACKAGES = [
    (issue, package, state, required)
    for issue in ISSUES
    for required, conditions in ((True, entry_of(issue).evidence.required), (False, entry_of(issue).evidence.refuting))
    for package, state in packages(conditions)
]
OPPOSITE = {"present": "absent", "absent": "present"}


@pytest.mark.parametrize(("issue", "package", "state", "required"), PACKAGES)
def test_a_package_decides_as_its_condition_says(issue: str, package: str, state: str, required: bool) -> None:
    """What is required must be there, and what refutes must not; the opposite flips the answer."""
    example, text = POSITIVE[issue][0]
    assert (answer(example, text, have={package: state}) == issue) is required
    assert (answer(example, text, have={package: OPPOSITE[state]}) == issue) is not required


#: What a user may answer, to find a value that a condition does not name.
ANSWERS = {
    **{fact: tuple(sorted(known)) for fact, known in VALUES.items() if not fact.startswith("gpu.")},
    "dtype": ("float32", "float16", "bfloat16", "float64", "int64", "uint8"),
    "device": ("cuda", "cpu", "mps", "xpu"),
}


def other_value(condition: Condition) -> str | None:
    """Return a value that makes an ``is`` false."""
    fact = condition.fact or ""
    known = ANSWERS.get(fact) or ANSWERS.get(fact.partition(".")[0], ())
    return next((value for value in known if value not in values(condition)), None)


def answerable(condition: Condition) -> bool:
    """Tell whether a condition compares a fact that a user can be asked for."""
    return bool(condition.fact and condition.is_ is not None and (condition.fact in ANSWERS or condition.fact.partition(".")[0] in ANSWERS))


REFUTING = [
    (issue, one.fact, value) for issue in ISSUES for one in entry_of(issue).evidence.refuting if answerable(one) for value in values(one)
]
REQUIRED = [(issue, one.fact, other_value(one)) for issue in ISSUES for one in entry_of(issue).evidence.required if answerable(one)]


@pytest.mark.parametrize(("issue", "fact", "value"), [one for one in dict.fromkeys((*REFUTING, *REQUIRED)) if one[2]])
def test_an_answer_that_refutes_takes_the_entry_away(issue: str, fact: str, value: str) -> None:
    """A user's word outranks what the report says; what refutes an entry, refutes it in every example."""
    kept = [number for number, (example, text) in enumerate(POSITIVE[issue]) if answer(example, text, answers={fact: value}) == issue]
    assert kept == []


# --- hardware

#: What each device is, by hand: docs/hardware.md has the sources. Facts that are not here are unknown.
DEVICES: dict[str, dict[str, str | float]] = {
    "T4": {"device.kind": "cuda", "gpu.capability": 7.5, "gpu.architecture": "turing", "gpu.memory": 16.0},
    "V100-16GB": {"device.kind": "cuda", "gpu.capability": 7.0, "gpu.architecture": "volta", "gpu.memory": 16.0},
    "A100-80GB": {"device.kind": "cuda", "gpu.capability": 8.0, "gpu.architecture": "ampere", "gpu.memory": 80.0},
    "H100-80GB": {"device.kind": "cuda", "gpu.capability": 9.0, "gpu.architecture": "hopper", "gpu.memory": 80.0},
    "RTX 5090": {"device.kind": "cuda", "gpu.capability": 12.0, "gpu.architecture": "blackwell", "gpu.memory": 32.0},
    "cpu": {"device.kind": "cpu"},
}
for _name, _facts in DEVICES.items():
    _capability = float(_facts.get("gpu.capability", 0.0))
    _cpu = _name == "cpu"
    _facts["support.float16"] = "emulated" if _cpu else "native"
    _facts["support.bfloat16"] = "native" if _capability >= 8.0 else "emulated"
    _facts["support.float8"] = "native" if _capability >= 8.9 else "none"
    _facts["support.float4"] = "native" if _capability >= 10.0 else "none"

NATIVE_BF16 = ("A100-80GB", "H100-80GB", "RTX 5090")
EMULATED_BF16 = ("T4", "V100-16GB")


def holds(condition: Condition, device: dict[str, str | float]) -> bool | None:
    """Hold a condition against a device alone: an evaluation of its own, to compare the engine's with."""
    if condition.any:
        return _some([holds(one, device) for one in condition.any])
    if condition.all:
        return _every([holds(one, device) for one in condition.all])
    if condition.none:
        state = _some([holds(one, device) for one in condition.none])
        return None if state is None else not state
    have = device.get(condition.fact or "")
    if have is None:
        return None
    if condition.is_ is not None:
        return str(have) in values(condition)
    if condition.not_ is not None:
        unwanted = condition.not_ if isinstance(condition.not_, list | tuple) else [condition.not_]
        return str(have) not in map(str, unwanted)
    if condition.at_least is not None or condition.below is not None:
        low = condition.at_least is None or float(have) >= condition.at_least
        return low and (condition.below is None or float(have) < condition.below)
    return True


def _some(states: list[bool | None]) -> bool | None:
    return True if True in states else None if None in states else False


def _every(states: list[bool | None]) -> bool | None:
    return False if False in states else None if None in states else True


@cache
def on_devices(issue: str) -> tuple[tuple[str, IssueDiagnosis], ...]:
    """Return what is said of an entry on each device, where it is said at all."""
    return tuple(
        (device, one)
        for example, text in POSITIVE[issue]
        for device in DEVICES
        for one in ask(example, text, gpu=device).diagnoses
        if one.issue == issue
    )


def hardware_only(fix: Fix) -> bool:
    """Tell whether a fix depends on the device alone: on no release and no other fact."""
    facts = {part.fact for part in walk((*fix.when, *fix.unless)) if not (part.any or part.all or part.none)}
    return facts <= DEVICES["T4"].keys() and actions.kind_of(fix.action) in ("patch", "edit", "setting", "advice")


def written(one: IssueDiagnosis) -> dict[str, Fix]:
    """Return the fixes of a diagnosis as the base writes them, in its order."""
    return {fix.id: fix for fix in fixes_of(entry_of(one.issue), one.cause, BASE)}


@pytest.mark.slow
def test_most_entries_answer_on_the_devices() -> None:
    """Else the next tests would say nothing; an entry about Macs or about one generation is silent on other devices."""
    assert sum(bool(on_devices(issue)) for issue in ISSUES) > 0.95 * len(ISSUES)


@pytest.mark.parametrize("issue", ISSUES)
def test_fixes_follow_the_device(issue: str) -> None:
    """A fix misfits where a condition of its own speaks against the device, and the others keep the entry's order.

    bfloat16 is a plain fix where it is native; on a T4 or V100 it comes with a warning, behind every fix that fits without one.
    """
    wrong = []
    for device, one in on_devices(issue):
        known, fixes = DEVICES[device], written(one)
        if len({advice.id for advice in one.fixes}) < len(one.fixes):
            wrong.append(f"{device}: two fixes have one id: {[advice.id for advice in one.fixes]}")
        places = {id_: place for place, id_ in enumerate(fixes)}
        plain = []
        for advice in one.fixes:
            fix = fixes[advice.id]
            against = any(holds(part, known) for part in fix.unless) or any(holds(part, known) is False for part in fix.when)
            late = "emulated" in (advice.warning or "") or any(holds(part, known) is not False for part in fix.later)
            if fix.expected == "fails" or against:
                if advice.fits is not False:
                    wrong.append(f"{device}: {fix.id} fits, though its conditions speak against it")
            elif fix.kind == "use-bf16" and device in EMULATED_BF16 and advice.fits and "emulated" not in (advice.warning or ""):
                wrong.append(f"{device}: {fix.id} without a warning")
            elif fix.kind == "use-bf16" and device in NATIVE_BF16 and not (fix.when or fix.unless) and (not advice.fits or advice.warning):
                wrong.append(f"{device}: {fix.id} does not simply fit, though bfloat16 is native")
            elif fix.kind == "use-fp16" and not fix.when and advice.fits is not True:
                wrong.append(f"{device}: {fix.id} does not fit")
            elif device == "cpu" and advice.fits is False and advice.why == "there is no GPU":
                # What moves something to a GPU can be none without one.
                if "cuda" not in str(fix.action):
                    wrong.append(f"{device}: {fix.id} needs no GPU")
            elif advice.fits is False and hardware_only(fix) and advice.why != "autocast is on":
                wrong.append(f"{device}: {fix.id} does not fit, though nothing speaks against it")
            if advice.fits and not late:
                plain.append(places[fix.id])
        fitting = [advice for advice in one.fixes if advice.fits]
        if plain != sorted(plain):
            wrong.append(f"{device}: not in the entry's order: {[advice.id for advice in fitting]}")
        if device in EMULATED_BF16:
            emulated = [index for index, advice in enumerate(fitting) if fixes[advice.id].kind == "use-bf16"]
            behind = [advice for index in emulated for advice in fitting[index + 1 :] if not advice.warning and not fixes[advice.id].later]
            if behind:
                wrong.append(f"{device}: bfloat16 before {[advice.id for advice in behind]}")
        if [advice.fits is False for advice in one.fixes] != sorted(advice.fits is False for advice in one.fixes):
            wrong.append(f"{device}: a misfit before a fix")
    assert wrong == []


# --- what stands around a report

WRAPPED = {
    "rank": lambda text: re.sub(r"(?m)^", "[rank0]: ", text),
    "quote": lambda text: re.sub(r"(?m)^", "> ", text),
    "fence": lambda text: f"Here is what I get:\n\n```\n{text}\n```\n",
    "indent": lambda text: re.sub(r"(?m)^", "    ", text),
    "crlf": lambda text: text.replace("\n", "\r\n"),
    "bold": lambda text: re.sub(r"(?m)^(\w*Error):", "\x1b[1;31m\\1\x1b[0m:", text),
}


@pytest.mark.slow
@pytest.mark.parametrize("wrapping", WRAPPED)
@pytest.mark.parametrize("issue", ISSUES)
def test_wrapping_does_not_change_the_answer(issue: str, wrapping: str) -> None:
    """Launchers, mail programs, Markdown, Windows and terminals write around what was said."""
    changed = {}
    for number, (example, text) in enumerate(POSITIVE[issue]):
        got = answer(example, WRAPPED[wrapping](text))
        if got != issue:
            changed[number] = got
    assert changed == {}


# --- every pattern

SAMPLES = {
    "dtype": "Half", "dtype_name": "torch.float16", "tensor_type": "torch.cuda.HalfTensor", "device": "cuda:0", "int": "7",
    "float": "0.5", "version": "4.50.1", "name": "frob_kernel", "path": "/srv/a.bin", "text": " some words ",
}  # fmt: skip


def sample(nodes: tuple[Node, ...]) -> str:
    """Return a message that fits a template: first branches, optional parts present, blanks around what a hole of text holds."""
    return re.sub(r" {2,}", " ", raw_sample(nodes))


def raw_sample(nodes: tuple[Node, ...]) -> str:
    """Return such a message, with two blanks in places."""
    parts = []
    for node in nodes:
        if isinstance(node, Literal):
            parts.append(node.text)
        elif isinstance(node, Hole):
            parts.append(SAMPLES[node.type])
        elif isinstance(node, Choice):
            parts.append(raw_sample(node.branches[0]))
        elif isinstance(node, Optional_):
            parts.append(raw_sample(node.body))
    return "".join(parts)


@pytest.mark.parametrize("issue", sorted(BASE.ids()))
def test_every_template_is_found_in_a_message_made_from_it(issue: str) -> None:
    """The index leads to it, and its pattern fits: a template that never matches looks just like one that does."""
    lost = []
    entry = entry_of(issue)
    for message in entry.signature.message:
        text = sample(parse_template(message.template))
        if entry.fallback:
            # A search asks general wordings only about messages that no other template fits, and some of these are fitted.
            led = [BASE.index.patterns[number][1] for number in BASE.general(tokens(text.lower()))]
            if message.template not in led or compile_template(message.template).search(text.lower(), text) is None:
                lost.append(text)
            continue
        search = Search(read_report(f"RuntimeError: {text}\n"), BASE)
        if not any(BASE.index.patterns[hit.pattern][1] == message.template for hit in search.hits):
            lost.append(text)
    assert lost == []
