"""Lints over conditions and phrases: their shape, their names, and those that no report can ever fulfil."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from troubleshoot.basics.dtypes import parse_device, parse_dtype
from troubleshoot.basics.errors import KnowledgeProblem
from troubleshoot.basics.versions import parse_version
from troubleshoot.curation.checked import Checked, conditions_of_fixes, phrases_of
from troubleshoot.engine.evidence import VOCABULARY, is_among
from troubleshoot.knowledge.phrases import ANYWHERE, parse_phrase, terms_of
from troubleshoot.knowledge.schema import Condition, Entry
from troubleshoot.knowledge.sentences import sentences
from troubleshoot.knowledge.templates import TemplateError, compile_template
from troubleshoot.reading.environment import gpus
from troubleshoot.reading.environment.package_names import normalise_name

#: Facts with a closed list of values: a condition that asks for another one never holds. Those of a report are the ones that
#: ``kb/words/options.yaml`` has (a test compares them).
VALUES: dict[str, frozenset[str]] = {
    "quantization": frozenset({
        "bitsandbytes-4bit", "bitsandbytes-8bit", "gptq", "awq", "fp8", "gguf", "hqq", "torchao", "quanto", "exl2", "nunchaku",
    }),
    "attention": frozenset({
        "eager", "sdpa", "flash_attention_2", "flash_attention_3", "flex_attention", "xformers", "sage_attention",
    }),
    "launcher": frozenset({"torchrun", "accelerate", "deepspeed", "mpirun", "ray", "slurm", "lightning"}),
    "phase": frozenset({"training", "inference", "loading", "saving", "export", "compile"}),
    "os": frozenset({"linux", "windows", "macos", "wsl"}),
    "autocast": frozenset({"on", "off"}),
    "gpu.architecture": frozenset(architecture for _, _, architecture, _ in gpus.GENERATIONS),
}  # fmt: skip
_SUPPORT = frozenset({"native", "emulated", "slow", "none"})

#: Facts of these kinds that a report or its environment can state without a template.
_STATED = frozenset({"dtype.requested", "dtype.mentioned", "device.requested", "device.mentioned", "device.kind"})
_CAUGHT = ("dtype", "device", "name", "number", "text", "version")

#: What a hole of each type becomes (knowledge/templates.py, facts_of).
_HOLE_FACTS: dict[str, tuple[str, ...]] = {
    "dtype": ("dtype",), "dtype_name": ("dtype",), "tensor_type": ("dtype", "device"), "device": ("device", "number"),
    "int": ("number",), "float": ("number",), "version": ("version",), "name": ("name",), "path": ("text",), "text": ("text",),
}  # fmt: skip

#: Two words that people join in a sentence without meaning one thing by them: "not found" is a term of its own in many a phrase.
_JOINING = frozenset({"no", "not", "on", "without", "is", "only", "does", "doesn't", "can't", "cannot", "after", "before", "low"})


def check_shapes(checked: Checked) -> Iterator[KnowledgeProblem]:
    """Exactly one kind, at most one comparison, a fact of the vocabulary."""
    for place, _, condition in checked.conditions:
        frame = condition.fact is None and any((condition.frame, condition.function, condition.code))
        kinds = [bool(condition.fact), bool(condition.any), bool(condition.all), bool(condition.none), condition.text is not None, frame]
        if sum(kinds) != 1:
            yield KnowledgeProblem(place, 1, "conditions", "a condition has exactly one of fact, frame, text, any, all, none")
        comparisons = _comparisons(condition)
        if comparisons and condition.fact is None:
            yield KnowledgeProblem(place, 1, "conditions", f"`{comparisons[0]}` compares a fact, and there is none")
        if len(comparisons) > 1:
            yield KnowledgeProblem(place, 1, "conditions", f"{condition.fact} has several comparisons: {', '.join(comparisons)}")
        fact = condition.fact
        if fact and not is_among(fact, VOCABULARY):
            yield KnowledgeProblem(place, 1, "conditions", f"{fact!r} is not a fact: see the table in docs/writing-entries.md")


def _comparisons(condition: Condition) -> list[str]:
    given = {
        "is": condition.is_ is not None,
        "not": condition.not_ is not None,
        "contains": condition.contains is not None,
        "in": condition.in_ is not None,
        "at-least or below": condition.at_least is not None or condition.below is not None,
    }
    return [name for name, present in given.items() if present]


def check_possible(checked: Checked) -> Iterator[KnowledgeProblem]:
    """A condition that no report can fulfil is a mistake in its spelling."""
    caught = {entry.id: _caught(entry) for entry in checked.entries}
    for place, entry, condition in checked.conditions:
        for text in _impossible(condition):
            yield KnowledgeProblem(place, 1, "conditions", f"can never hold: {text}")
        fact = condition.fact
        # What a question can bring needs no hole.
        by_template = fact is not None and fact.partition(".")[0] in _CAUGHT and fact not in _STATED and condition.ask is None
        if entry is not None and by_template and fact not in caught[entry.id]:
            yield KnowledgeProblem(place, 1, "conditions", f"can never hold: no hole or role of the templates gives {fact}")
    weighed = [(checked.place(entry.id), one) for entry in checked.entries for one in _weighed(entry)]
    for code, cause in checked.base.causes.causes.items():
        weighed += [(checked.cause_place(code)[0], one) for one in conditions_of_fixes(cause.fixes)]
    for place, condition in weighed:
        if _never_true(condition):
            text = "can never hold: `none` of a text is false or unknown, never true, for what is not said may still be so"
            yield KnowledgeProblem(place, 1, "conditions", text)
    for entry in checked.entries:
        for condition in entry.evidence.refuting:
            if condition in entry.evidence.required:
                text = f"{_told(condition)} is required and refuting: the entry never answers"
                yield KnowledgeProblem(checked.place(entry.id), 1, "evidence", text)


def _weighed(entry: Entry) -> Iterator[Condition]:
    """Yield the conditions that do something only where they hold; those of ``required`` and ``needs`` rule out where they do not."""
    yield from entry.evidence.supporting
    yield from entry.evidence.refuting
    for cause in entry.causes:
        yield from cause.likelier
    yield from conditions_of_fixes(entry.fixes)


def _never_true(condition: Condition) -> bool:
    if condition.none:
        return any(_never_false(one) for one in condition.none)
    if condition.all:
        return any(_never_true(one) for one in condition.all)
    return bool(condition.any) and all(_never_true(one) for one in condition.any)


def _never_false(condition: Condition) -> bool:
    if condition.none:
        return all(_never_true(one) for one in condition.none)
    if condition.all:
        return all(_never_false(one) for one in condition.all)
    return condition.text is not None or any(_never_false(one) for one in condition.any)


def _told(condition: Condition) -> str:
    return condition.fact or condition.frame or str(condition.text or "a condition")


def _caught(entry: Entry) -> frozenset[str]:
    """Return the facts that the holes of an entry's templates give, under their names and roles."""
    found: set[str] = set()
    for message in entry.signature.message:
        try:
            holes = compile_template(message.template).holes
        except TemplateError:
            continue
        for hole in holes:
            names = [hole.name, *([message.roles[hole.name]] if hole.name in message.roles else [])]
            found |= {f"{kind}.{name}" for kind in _HOLE_FACTS[hole.type] for name in names}
    return frozenset(found)


def _impossible(condition: Condition) -> Iterator[str]:
    fact = condition.fact or ""
    if fact.startswith("package."):
        name = fact.removeprefix("package.")
        if normalise_name(name) != name:
            yield f"the distribution {name} is called {normalise_name(name)}"
        if condition.at_least is not None or condition.below is not None:
            yield f"the release of {name} is compared with `in`"
    if condition.in_ is not None:
        yield from _specifier(condition.in_)
    if condition.at_least is not None and condition.below is not None and condition.at_least >= condition.below:
        yield f"nothing is at least {condition.at_least:g} and below {condition.below:g}"
    if condition.frame is not None and "\\" in condition.frame:
        yield f"the paths of frames have forward slashes: {condition.frame!r}"
    values = condition.is_ if isinstance(condition.is_, list | tuple) else [condition.is_]
    for value in values if condition.is_ is not None else ():
        yield from _value(fact, value)


def _value(fact: str, value: object) -> Iterator[str]:
    text = str(value)
    if isinstance(value, bool):
        yield f"{fact} is a text; quote {text.lower()!r} (YAML reads on, off, yes and no as true and false)"
    elif fact in VALUES and text not in VALUES[fact]:
        yield f"{fact} is never {text!r}; its values are {', '.join(sorted(VALUES[fact]))}"
    elif fact.startswith("support.") and text not in _SUPPORT:
        yield f"{fact} is never {text!r}; its values are {', '.join(sorted(_SUPPORT))}"
    elif fact.startswith("dtype.") and parse_dtype(text) != text:
        yield f"{fact} is never {text!r}" + (f"; write {parse_dtype(text)}" if parse_dtype(text) else "; it is no dtype")
    elif fact.startswith("device.") and text != "rocm" and parse_device(text) != text:
        yield f"{fact} is never {text!r}" + (f"; write {parse_device(text)}" if parse_device(text) else "; it is no device")
    elif fact == "gpu.capability" and not (isinstance(value, float) or "." in text):
        yield f"a capability has a minor number: {text}.0"
    elif fact.startswith("package.") and text not in ("present", "absent") and parse_version(text) is None:
        yield f"{fact} is present, absent or a release, not {text!r}"


def _specifier(text: str) -> Iterator[str]:
    try:
        parts = list(SpecifierSet(text))
    except InvalidSpecifier:
        yield f"{text!r} is no version specifier"
        return
    low = [parse_version(part.version) for part in parts if part.operator in (">=", ">")]
    high = [parse_version(part.version) for part in parts if part.operator == "<"]
    if any(one and other and one >= other for one in low for other in high):
        yield f"no release is in {text!r}"


def check_phrases(checked: Checked) -> Iterator[KnowledgeProblem]:
    """A phrase is a list of terms: alternatives that no text can hold, and several words that were meant as one."""
    uses: list[tuple[object, str]] = []
    for entry in checked.entries:
        uses += [(checked.place(entry.id), symptom) for symptom in entry.signature.symptoms]
    uses += [(place, phrase) for place, _, condition in checked.conditions for phrase in phrases_of(condition)]
    compounds = _compounds(phrase for _, phrase in uses)
    for place, phrase in dict.fromkeys(uses):
        for text in (*_dead_alternatives(phrase), *_split_words(phrase, compounds)):
            yield KnowledgeProblem(str(place), 1, "phrases", f"{phrase!r}: {text}")


@cache
def _dead_alternatives(phrase: str) -> tuple[str, ...]:
    """Hold each alternative against a sentence made of it."""
    parsed = parse_phrase(phrase)
    if not parsed.terms:
        return ("has no term",)
    found = [] if parsed.least <= len(parsed.further) else [f"asks for {parsed.least} of {len(parsed.further)} terms"]
    for term in (*parsed.terms, *parsed.further, *parsed.around):
        if not term.alternatives:
            found.append("has a term without a word")
        found += [f"no text holds {one!r}; leave out what is before or behind the word" for one in term.alternatives if not _holds(one)]
    return tuple(found)


def _holds(alternative: str) -> bool:
    """Tell whether a sentence that holds the alternative, side by side or as it is written, fulfils it."""
    written = alternative[:-1] + "x" if alternative.endswith("*") else alternative
    said = sentences([(1, f"it says {written.replace('_', ' ')} here"), (2, f"it says {written} here"), (3, f'it says "{written}" here')])
    terms = parse_phrase(alternative).terms  # none where a mark, such as ~, stands before an alternative and not before its term
    return bool(terms) and any(terms[0].holds(sentence) for sentence in said)


def _compounds(phrases: Iterable[str]) -> Counter[str]:
    """Count the pairs of words that the base writes as one, with ``_`` or ``-``."""
    parts = (part for phrase in phrases for term in terms_of(phrase) for part in set(term.lstrip(ANYWHERE).split("|")))
    return Counter(part.replace("-", "_") for part in parts if part.count("_") + part.count("-") == 1 and part[0].isalnum())


def _split_words(phrase: str, compounds: Counter[str]) -> Iterator[str]:
    terms = [term.split("|") for term in terms_of(phrase) if not term.startswith(("+", ANYWHERE))]
    for index, term in enumerate(terms):
        for other in terms[index + 1 :]:
            for word in sorted(set(term) & set(other)):
                yield f"{word!r} is in two terms, which one word then fulfils: a blank separates terms, a_b is two words side by side"
    for before, after in pairwise(terms):
        joined = f"{before[-1]}_{after[0]}"
        if joined not in compounds or len(before) == len(after) == 1:
            continue
        others = (*before[:-1], *after[1:])
        usual = before[-1] not in _JOINING and (len(before) > 1 or compounds[joined] > 1)
        if usual or any("_" in one or "-" in one for one in others):
            yield f"a blank separates terms: write {joined}, or turn the alternatives round where two terms are meant"
