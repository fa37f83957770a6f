"""``troubleshoot kb lint``: what an entry must show before it is shipped (the list is in docs/writing-entries.md).

Each check is a function from the collected base to problems; a test gives each a faulty entry that it must find. Nothing here looks
anything up outside the base and its examples: lint works offline.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from troubleshoot.basics import word_tables
from troubleshoot.basics.dtypes import parse_device
from troubleshoot.basics.errors import KnowledgeError, KnowledgeProblem
from troubleshoot.basics.versions import VersionRange, in_ranges, parse_version
from troubleshoot.curation import condition_checks, example_checks
from troubleshoot.curation.checked import Check, Checked
from troubleshoot.curation.growth import superlinear
from troubleshoot.curation.kept import kept
from troubleshoot.curation.make_word_tables import COMMAND, FILE, module_of
from troubleshoot.engine.fixes import actions
from troubleshoot.engine.matching.releases import affected_text
from troubleshoot.knowledge.base import KnowledgeBase
from troubleshoot.knowledge.collect import CAUSES_FOLDER, SCOPE_FILE, collect
from troubleshoot.knowledge.compiled import compile_base
from troubleshoot.knowledge.experiments import EXPERIMENTS_FILE
from troubleshoot.knowledge.files import WORDS_FOLDER
from troubleshoot.knowledge.phrases import parse_phrase
from troubleshoot.knowledge.schema import NO_CAUSE, Affected, Entry, Fix, MessageTemplate, Verify
from troubleshoot.knowledge.signs import SIGNS_FILE
from troubleshoot.knowledge.source import line_of, read_yaml
from troubleshoot.knowledge.templates import (
    Choice,
    Literal,
    Node,
    Optional_,
    TemplateError,
    compile_template,
    literal_length,
    most_ways,
    parse_template,
)
from troubleshoot.reading.environment.package_names import normalise_name

#: Literal characters that a template must have at least.
MIN_LITERAL = 12
_MOST_TEXT_HOLES = 2
#: Ways to share a text out among gaps from which on a template is tried against texts made from itself.
_MANY_WAYS = 1_000
_URL = re.compile(r"^https://[^\s/]+/\S+$")
_ID = re.compile(r"^[a-z0-9_][a-z0-9_.-]*/[a-z0-9][a-z0-9_.-]*$")


def lint(
    paths: Sequence[Path | str] = (),
    *,
    shipped: bool = True,
    innocent: Path | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> list[KnowledgeProblem]:
    """Check a knowledge base and return every problem, sorted by file and line.

    Without ``paths`` the shipped base; with them these overlays on top of it (``shipped=False``: alone). ``innocent`` is a folder of
    texts that must not be diagnosed; a checkout has its own. ``progress`` is told what is looked at.
    """
    from troubleshoot.knowledge.base import shipped_root

    roots = [*([shipped_root()] if shipped else []), *(Path(path) for path in paths)]
    collected = collect(roots)
    problems = list(collected.problems)
    checked = Checked(collected, KnowledgeBase(compile_base(collected, []), tuple(roots)), shipped and not paths)
    for check in CHECKS:
        progress(check.__name__.removeprefix("_").removeprefix("check_").replace("_", " "))
        try:
            problems.extend(_located(problem) for problem in check(checked))
        except KnowledgeError as damaged:
            # A line of the records.
            problems.extend(damaged.problems)
    if shipped and roots[0].name == "kb":
        problems.extend(_check_words(roots[0]))
    folder = innocent or _own_corpus(roots[0] if shipped else None)
    if folder is not None:
        progress("innocent texts")
        problems.extend(example_checks.check_innocent(checked, folder))
    return sorted(set(problems), key=lambda problem: (str(problem.file), problem.line, problem.text))


def _check_words(root: Path) -> Iterator[KnowledgeProblem]:
    """A checkout's tables of words are those that the package was given."""
    try:
        if module_of(root) != FILE.read_bytes():
            yield KnowledgeProblem(root / WORDS_FOLDER, 1, "", f"was changed, and basics/{FILE.name} was not made anew: {COMMAND}")
    except KnowledgeError as error:
        yield from error.problems


def _own_corpus(root: Path | None) -> Path | None:
    """Return the innocent corpus of a checkout."""
    folder = root.parent / "tests" / "data" / "innocent" if root else None
    return folder if folder is not None and folder.is_dir() else None


def _located(problem: KnowledgeProblem) -> KnowledgeProblem:
    """Return the problem with the line on which its field stands."""
    try:
        _, node = read_yaml(Path(problem.file))
    except KnowledgeError:
        return problem
    return KnowledgeProblem(problem.file, line_of(node, problem.path) if problem.path else 1, problem.path, problem.text)


def english_hash(entry: Entry) -> str:
    """Return the hash of the English texts that a translation was written from."""
    texts = [entry.title, entry.explanation, *(text for fix in entry.fixes for text in (fix.title, fix.reason))]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:8]


def _check_causes(checked: Checked) -> Iterator[KnowledgeProblem]:
    known = {*checked.base.causes.causes, NO_CAUSE}
    for entry in checked.entries:
        place = checked.place(entry.id)
        named = [entry.cause] if entry.cause else []
        named += [weighted.cause for weighted in entry.causes]
        named += [cause for fix in entry.fixes for cause in fix.causes]
        for cause in named:
            if cause not in known:
                yield KnowledgeProblem(place, 1, "cause", f"{cause!r} is not in {CAUSES_FOLDER}/")
        if entry.kind == "issue" and (not entry.cause or entry.causes):
            yield KnowledgeProblem(place, 1, "cause", "an issue has exactly one cause; a family lists causes")
        if entry.kind == "family" and (entry.cause or len(entry.causes) < 1):
            yield KnowledgeProblem(place, 1, "causes", "a family lists weighted causes and has no cause of its own")
        for weighted in entry.causes:
            if weighted.weight <= 0:
                yield KnowledgeProblem(place, 1, "causes", f"the weight of {weighted.cause} must be positive")
            for condition in weighted.likelier:
                if condition.times is None or condition.times <= 0:
                    yield KnowledgeProblem(place, 1, "causes", f"a likelier condition of {weighted.cause} needs a positive `times`")


def _check_signs(checked: Checked) -> Iterator[KnowledgeProblem]:
    for name in sorted(set(checked.collected.signs) - checked.collected.used_signs):
        yield KnowledgeProblem(SIGNS_FILE, 1, f"signs.{name}", "no entry uses this sign")


def _check_names(checked: Checked) -> Iterator[KnowledgeProblem]:
    owners: dict[str, str] = {}
    for entry in checked.entries:
        place = checked.place(entry.id)
        if not _ID.match(entry.id):
            yield KnowledgeProblem(place, 1, "id", f"{entry.id!r} is not package/slug in small letters")
        for index, alias in enumerate(entry.aliases):
            owner = alias if alias in checked.collected.entries else owners.setdefault(alias, entry.id)
            if owner != entry.id:
                yield KnowledgeProblem(place, 1, f"aliases[{index}]", f"{alias!r} leads to {owner} already")


def _check_refines(checked: Checked) -> Iterator[KnowledgeProblem]:
    entries = checked.collected.entries
    for entry in checked.entries:
        for index, parent in enumerate(entry.refines):
            if parent not in entries:
                yield KnowledgeProblem(checked.place(entry.id), 1, f"refines[{index}]", f"{parent!r} does not exist")
        seen: set[str] = set()
        waiting = list(entry.refines)
        while waiting:
            parent = waiting.pop()
            if parent == entry.id:
                yield KnowledgeProblem(checked.place(entry.id), 1, "refines", "leads back to the entry itself")
                break
            if parent not in seen and parent in entries:
                seen.add(parent)
                waiting.extend(entries[parent].refines)


def _check_templates(checked: Checked) -> Iterator[KnowledgeProblem]:
    for entry in checked.entries:
        place = checked.place(entry.id)
        if not entry.signature.message and not entry.signature.symptoms:
            yield KnowledgeProblem(place, 1, "signature", "needs a message or a symptom: nothing can reach this entry")
        seen: set[str] = set()
        for index, message in enumerate(entry.signature.message):
            where = f"signature.message[{index}]"
            for text in _template_problems(message):
                yield KnowledgeProblem(place, 1, where, text)
            # Matching ignores case and collapses white space.
            spelled = " ".join(message.template.lower().split())
            if spelled in seen:
                yield KnowledgeProblem(place, 1, where, f"{message.template!r} is given twice")
            seen.add(spelled)
        for index, symptom in enumerate(entry.signature.symptoms):
            if len(parse_phrase(symptom).terms) < 2:
                yield KnowledgeProblem(place, 1, f"signature.symptoms[{index}]", f"{symptom!r} needs at least two terms")
    for group in checked.collected.out_of_scope.values():
        for template in group.message:
            try:
                parse_template(template)
            except TemplateError as error:
                yield KnowledgeProblem(SCOPE_FILE, 1, group.id, str(error))


def _check_growth(checked: Checked) -> Iterator[KnowledgeProblem]:
    """No template takes long for a text that is written against it, as gaps side by side do."""
    for entry in checked.entries:
        for index, message in enumerate(entry.signature.message):
            try:
                template = compile_template(message.template)
            except TemplateError:
                continue
            # Fewer ways are those of a single gap, whose length is bounded.
            found = superlinear(template.pattern, True) if most_ways(template.nodes) >= _MANY_WAYS else None
            if found is not None:
                small, large = found.seconds
                text = f"{message.template!r}: {small * 1000:.0f} ms for {found.sizes[0]:,} characters and {large * 1000:.0f} ms for "
                text += f"{found.sizes[1]:,} like {found.text[:40]!r}: put words between its gaps, or leave one out"
                yield KnowledgeProblem(checked.place(entry.id), 1, f"signature.message[{index}]", text)


def _template_problems(message: MessageTemplate) -> Iterator[str]:
    try:
        nodes = parse_template(message.template)
    except TemplateError as error:
        yield str(error)
        return
    if literal_length(nodes) < MIN_LITERAL:
        yield f"{message.template!r} has fewer than {MIN_LITERAL} literal characters"
        return
    yield from (f"{message.template!r}: {text}" for text in _slips(nodes))
    holes = compile_template(message.template).holes
    if sum(hole.type == "text" for hole in holes) > _MOST_TEXT_HOLES:
        yield f"{message.template!r} has more than {_MOST_TEXT_HOLES} text holes"
    names = {hole.name for hole in holes}
    for role in message.roles:
        if role not in names:
            yield f"role {role!r}: the template has no such hole"
    if message.device is not None and message.device != "rocm" and parse_device(message.device) != message.device:
        yield f"{message.device!r} is no device"
    if message.torch is not None:
        try:
            SpecifierSet(message.torch)
        except InvalidSpecifier:
            yield f"torch: {message.torch!r} is no version specifier"


def _slips(nodes: tuple[Node, ...]) -> Iterator[str]:
    """What parses, and was meant otherwise: alternatives in brackets, and a parenthesis that ends an alternative."""
    for node in nodes:
        if isinstance(node, Optional_):
            if any(isinstance(one, Literal) and "|" in one.text for one in node.body):
                yield "[...] holds no alternatives; write (a|b|)"
            yield from _slips(node.body)
        elif isinstance(node, Choice):
            for branch in node.branches:
                spelled = "".join(one.text for one in branch if isinstance(one, Literal))
                if spelled.count("(") > spelled.count(")"):
                    yield f"the ) that closes {spelled!r} ends the alternatives; leave literal parentheses out of them"
                yield from _slips(branch)


def _check_fixes(checked: Checked) -> Iterator[KnowledgeProblem]:
    for entry in checked.entries:
        yield from _fix_problems(entry.fixes, checked.place(entry.id), "")
        if entry.kind == "issue" and not entry.fixes and entry.cause and not _general(checked, entry.cause):
            yield KnowledgeProblem(checked.place(entry.id), 1, "fixes", f"none here, and none in general for {entry.cause}")
    for code, cause in checked.base.causes.causes.items():
        place, within = checked.cause_place(code)
        yield from _fix_problems(cause.fixes, place, within)
        if not cause.fixes:
            yield KnowledgeProblem(place, 1, within.rstrip("."), f"{code} has no general fix")


def _check_experiments(checked: Checked) -> Iterator[KnowledgeProblem]:
    """Check that every cause says something of the experiments, that every experiment is told of, and that no name is misspelled."""
    told = checked.base.experiments
    files = [root / EXPERIMENTS_FILE for root in checked.base.roots if (root / EXPERIMENTS_FILE).is_file()]
    place = files[-1] if files else EXPERIMENTS_FILE
    causes = [*checked.base.causes.causes, NO_CAUSE]
    families = {cause.partition("/")[0] for cause in causes}
    if checked.shipped:
        for cause in causes:
            if not told.predicted(cause):
                yield KnowledgeProblem(place, 1, "predictions", f"{cause} says nothing of any experiment")
        for name in told.experiments:
            if not any(name in row for row in told.predictions.values()):
                yield KnowledgeProblem(place, 1, f"experiments.{name}", "no cause says anything of it")
    for cause, row in told.predictions.items():
        where = f"predictions.{cause}"
        if cause not in causes and cause not in families:
            yield KnowledgeProblem(place, 1, where, "is neither a cause nor a family of causes.yaml")
        family = told.predictions.get(cause.partition("/")[0], {}) if "/" in cause else {}
        for name, cell in row.items():
            if name not in told.experiments:
                close = get_close_matches(name, told.experiments, n=1)
                meant = f": did you mean {close[0]!r}?" if close else ""
                yield KnowledgeProblem(place, 1, where, f"{name!r} is no experiment{meant}")
            elif family.get(name) == cell:
                yield KnowledgeProblem(place, 1, where, f"{name}: {cell} is what its family says: leave it out")


def _general(checked: Checked, cause: str) -> tuple[Fix, ...]:
    known = checked.base.causes.causes.get(cause)
    return known.fixes if known else ()


_INSTALLABLE = frozenset(map(normalise_name, word_tables.DISTRIBUTIONS))


def _fix_problems(fixes: tuple[Fix, ...], place: Path | str, within: str) -> Iterator[KnowledgeProblem]:
    seen: set[str] = set()
    for index, fix in enumerate(fixes):
        where = f"{within}fixes[{index}]"
        if fix.id in seen:
            yield KnowledgeProblem(place, 1, f"{where}.id", f"{fix.id!r} is given twice")
        seen.add(fix.id)
        for text in actions.problems(fix.action):
            yield KnowledgeProblem(place, 1, f"{where}.action", f"{fix.id}: {text}")
        wanted = fix.action.get("to")
        if wanted is not None and (not isinstance(wanted, str) or parse_version(wanted) is None):
            yield KnowledgeProblem(place, 1, f"{where}.action", f"{fix.id}: to: {wanted!r} is not a version (PEP 440), quoted")
        for name in actions.named_distributions(fix.action) if fix.expected != "fails" else ():
            if normalise_name(name) not in _INSTALLABLE:
                other = name in word_tables.ELSEWHERE
                told = "the index gives that name to another project" if other else "it is not in words/modules.yaml"
                yield KnowledgeProblem(place, 1, f"{where}.action", f"{fix.id}: its command names {name!r}: {told}")
        if not fix.reason.strip():
            yield KnowledgeProblem(place, 1, f"{where}.reason", f"{fix.id} needs a reason")


def _check_versions(checked: Checked) -> Iterator[KnowledgeProblem]:
    measured = kept(checked.base).releases
    for entry in checked.entries:
        place = checked.place(entry.id)
        for index, affected in enumerate(entry.affected):
            where = f"affected[{index}]"
            for text in _range_problems(affected):
                yield KnowledgeProblem(place, 1, where, f"{affected.package}: {text}")
            if affected.basis == "measured" and not affected.record and (entry.id, affected.package) not in measured:
                yield KnowledgeProblem(place, 1, where, f"{affected.package}: `basis: measured` needs the record of a run")
        for name, version in (entry.verify.install if entry.verify else {}).items():
            if parse_version(version) is None:
                yield KnowledgeProblem(place, 1, "verify.install", f"{name}: {version!r} is not a version (PEP 440)")


def _range_problems(affected: Affected) -> Iterator[str]:
    if not affected.ranges:
        yield "has no range"
    for part in affected.ranges:
        if part.introduced is None and part.unknown_before is None:
            yield "a range needs `introduced` (or `unknown-before`)"
        for border in (part.introduced, part.unknown_before, part.fixed):
            if border is not None and parse_version(border) is None:
                yield f"{border!r} is not a version (PEP 440)"
        low, high, unknown = (parse_version(one or "") for one in (part.introduced, part.fixed, part.unknown_before))
        if low and high and low >= high:
            yield f"{part.introduced} is not before {part.fixed}"
        # Where both are the same, all older releases are unknown, and the others are told by another range.
        if unknown and high and unknown > high:
            yield f"unknown before {part.unknown_before}, but fixed in {part.fixed}"


def _check_cases(checked: Checked) -> Iterator[KnowledgeProblem]:
    """Every case that an entry names exists, and what is installed for it shows the issue. Cases import torch only when they are built."""
    naming = [(entry, entry.verify) for entry in checked.entries if entry.verify is not None]
    if not naming and not checked.shipped:
        return
    from troubleshoot.lab.verify.registry import cases

    known = cases()
    for entry, verify in naming:
        if verify.case not in known:
            close = get_close_matches(verify.case, known, n=3)
            hint = f": did you mean {', '.join(close)}?" if close else f"; the cases are {', '.join(known)}"
            yield KnowledgeProblem(checked.place(entry.id), 1, "verify.case", f"no case is called {verify.case!r}{hint}")
        for text in _install_problems(entry, verify):
            yield KnowledgeProblem(checked.place(entry.id), 1, "verify.install", text)
    if checked.shipped:
        ids = {*checked.collected.entries, *(alias for entry in checked.entries for alias in entry.aliases)}
        for case in known.values():
            for issue in case.issues:
                if issue not in ids:
                    yield KnowledgeProblem(f"case {case.name}", 1, "issues", f"{issue!r} does not exist")


def _install_problems(entry: Entry, verify: Verify) -> Iterator[str]:
    for affected in entry.affected:
        version = verify.install.get(affected.package)
        borders = [(part.introduced or part.unknown_before or "0", part.fixed) for part in affected.ranges]
        if version is None or any(one is not None and parse_version(one) is None for border in borders for one in border):
            continue
        if in_ranges(version, tuple(VersionRange(low, high) for low, high in borders)) is False:
            yield f"{affected.package} {version} is not among {affected_text(affected)}: it would not show the issue"


def _check_references(checked: Checked) -> Iterator[KnowledgeProblem]:
    for entry in checked.entries:
        place = checked.place(entry.id)
        urls = [one.url for one in entry.references]
        if checked.shipped and not urls:
            yield KnowledgeProblem(place, 1, "references", "needs at least one opened reference")
        for field, named in (("references", urls), ("claims", [one.url for one in entry.claims])):
            for index, url in enumerate(named):
                if not _URL.match(url):
                    yield KnowledgeProblem(place, 1, f"{field}[{index}]", f"{url!r} is not an https address")
                elif field == "references" and url in urls[:index]:
                    yield KnowledgeProblem(place, 1, f"{field}[{index}]", f"{url} is given twice")


def _check_translations(checked: Checked) -> Iterator[KnowledgeProblem]:
    for entry in checked.entries:
        place = checked.place(entry.id)
        if entry.zh is None:
            if checked.shipped and entry.status == "stable":
                yield KnowledgeProblem(place, 1, "zh", "is missing")
            continue
        expected = english_hash(entry)
        if entry.zh.of is not None and entry.zh.of != expected:
            yield KnowledgeProblem(place, 1, "zh.of", f"the English has changed: review the Chinese, then write {expected}")
        ids = {fix.id for fix in entry.fixes}
        for name in entry.zh.fixes.keys() - ids:
            yield KnowledgeProblem(place, 1, f"zh.fixes.{name}", "there is no such fix")
        translated = entry.zh.fixes.keys() | {fix.id for fix in entry.fixes if fix.zh}
        for name in sorted(ids - translated):
            yield KnowledgeProblem(place, 1, f"zh.fixes.{name}", "is missing")


CHECKS: tuple[Check, ...] = (
    _check_causes,
    _check_signs,
    _check_names,
    _check_refines,
    _check_templates,
    _check_growth,
    condition_checks.check_shapes,
    condition_checks.check_possible,
    condition_checks.check_phrases,
    _check_fixes,
    _check_experiments,
    _check_versions,
    _check_cases,
    _check_references,
    _check_translations,
    example_checks.check_example_files,
    example_checks.check_examples,
)
