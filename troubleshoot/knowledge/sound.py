"""What an entry must hold to beyond its schema so that it can be compiled and held against any report; ``kb lint`` asks for far more.

An overlay's entry that does not is left out when the base is compiled. Otherwise the first report for which it is a candidate would end in
an error.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import yaml

from troubleshoot.basics.errors import KnowledgeError, KnowledgeProblem
from troubleshoot.basics.versions import parse_version
from troubleshoot.knowledge.phrases import ANYWHERE, terms_of
from troubleshoot.knowledge.schema import Affected, Cause, Causes, Condition, Entry, Fix, OutOfScope, Signs
from troubleshoot.knowledge.source import line_of
from troubleshoot.knowledge.templates import TemplateError, most_ways, parse_template

#: Characters of a phrase with the words of its classes; the longest of the shipped base has 3,100.
LONGEST_PHRASE = 20_000

#: Characters, holes and brackets of one template; the most that the shipped base has are 850, 8 and 9. What a template costs to parse, and
#: to try, grows with them.
LONGEST_TEMPLATE = 4_000
MOST_HOLES = 24
MOST_BRACKETS = 64
#: Ways in which gaps side by side may share a text out among them; the most that the shipped base has are 40,000.
MOST_WAYS = 200_000

#: (field, what is wrong with it)
Fault = tuple[str, str]


def check_sound(checked: Entry | Cause | Causes | Signs | tuple[OutOfScope, ...], path: Path, node: yaml.Node | None) -> None:
    """Check what was read from a file.

    Raises:
        KnowledgeError: with a problem for each fault.
    """
    faults = list(_faults(checked))
    if not faults and not isinstance(checked, Signs):
        faults = list(_as_kept(checked))
    if faults:
        raise KnowledgeError(
            tuple(KnowledgeProblem(path, line_of(node, where) if node is not None and where else 1, where, text) for where, text in faults)
        )


def _faults(checked: Entry | Cause | Causes | Signs | tuple[OutOfScope, ...]) -> Iterator[Fault]:
    if isinstance(checked, Entry):
        yield from _entry_faults(checked)
    elif isinstance(checked, Cause):
        yield from _fix_faults(checked.fixes, "")
    elif isinstance(checked, Causes):
        for code, cause in checked.causes.items():
            yield from _fix_faults(cause.fixes, f"causes.{code}.")
    elif isinstance(checked, Signs):
        for name, condition in checked.signs.items():
            yield from _condition_faults((condition,), f"signs.{name}")
    else:
        for index, group in enumerate(checked):
            for number, template in enumerate(group.message):
                for where, text in _template_faults(template, f"groups[{index}].message[{number}]"):
                    yield where, f"{group.id}: {text}"


def _as_kept(checked: Entry | Cause | Causes | tuple[OutOfScope, ...]) -> Iterator[Fault]:
    """Entries are kept as JSON, which has fewer kinds of values than YAML."""
    kind: object = tuple[OutOfScope, ...] if isinstance(checked, tuple) else type(checked)
    try:
        msgspec.json.decode(msgspec.json.encode(checked), type=kind)
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError) as error:
        yield "", f"holds a value that cannot be kept: {error}. Write it as a text, in quotes"


def _entry_faults(entry: Entry) -> Iterator[Fault]:
    for index, message in enumerate(entry.signature.message):
        yield from _template_faults(message.template, f"signature.message[{index}].template")
    for index, symptom in enumerate(entry.signature.symptoms):
        yield from _phrase_faults(symptom, f"signature.symptoms[{index}]")
    yield from _range_faults(entry.affected)
    evidence = entry.evidence
    for name, conditions in (("required", evidence.required), ("supporting", evidence.supporting), ("refuting", evidence.refuting)):
        yield from _condition_faults(conditions, f"evidence.{name}")
    for index, weighted in enumerate(entry.causes):
        where = f"causes[{index}]"
        if not (0 <= weighted.weight < math.inf):
            yield f"{where}.weight", f"is {weighted.weight}: give a number from 0 on"
        yield from _condition_faults((*weighted.likelier, *weighted.needs), where)
    yield from _fix_faults(entry.fixes, "")


def _range_faults(affected: Iterable[Affected]) -> Iterator[Fault]:
    for index, one in enumerate(affected):
        for part in one.ranges:
            for border in (part.introduced, part.unknown_before, part.fixed):
                if border is not None and parse_version(border) is None:
                    yield f"affected[{index}]", f"{one.package}: {border!r} is not a version (PEP 440)"


def _fix_faults(fixes: Iterable[Fix], within: str) -> Iterator[Fault]:
    for index, fix in enumerate(fixes):
        yield from _condition_faults((*fix.when, *fix.unless, *fix.later), f"{within}fixes[{index}]")


def _condition_faults(conditions: Iterable[Condition], where: str) -> Iterator[Fault]:
    for one in conditions:
        if one.text is not None:
            phrases = (one.text,) if isinstance(one.text, str) else one.text
            if not phrases:
                yield where, "`text` has no phrase: write one, or leave it out"
            for phrase in phrases:
                yield from _phrase_faults(phrase, where)
        if one.times is not None and not math.isfinite(one.times):
            yield where, f"`times` is {one.times}: give a number"
        yield from _condition_faults((*one.any, *one.all, *one.none), where)


def _template_faults(template: str, where: str) -> Iterator[Fault]:
    for count, most, what in (
        (len(template), LONGEST_TEMPLATE, "characters"),
        (template.count("{"), MOST_HOLES, "holes ({)"),
        (template.count("(") + template.count("["), MOST_BRACKETS, "brackets (( and [)"),
    ):
        if count > most:
            yield where, f"the template has {count:,} {what}, and at most {most:,} are allowed: make several of it"
            return
    try:
        ways = most_ways(parse_template(template))
    except TemplateError as error:
        yield where, str(error)
        return
    if ways > MOST_WAYS:
        yield where, (
            f"{template!r}: so many gaps and choices stand side by side that one text fits them in {ways:,} ways (at most {MOST_WAYS:,}): "
            "put words between them, or leave some out"
        )


def _phrase_faults(phrase: str, where: str) -> Iterator[Fault]:
    terms = terms_of(phrase)
    length = sum(map(len, terms))
    if length > LONGEST_PHRASE:
        yield where, f"the phrase has {length:,} characters, and at most {LONGEST_PHRASE:,} are looked for: make several of it"
    elif not terms:
        yield where, f"{phrase!r}: has no term: see docs/writing-entries.md"
    elif not all(term.removeprefix(ANYWHERE).strip("|") for term in terms):
        yield where, f"{phrase!r}: has a term without a word: see docs/writing-entries.md"
