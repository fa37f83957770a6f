"""What the user already tried, and what came out: contrasts, read from the prose, the lists and the tables of a report.

A text is cut into clauses. In each the settings (a dtype, a card, a release, a switch) and the outcomes (works, NaN, an error, no change)
are found by tables of words. Settings are bound to the outcome of their clause or of the next one: a *run*. The first run that fails is the
user's own; every other one is held against it, and where they differ lies the experiment. Plans, questions, guesses, advice and hearsay are
no runs.

It is read when somebody asks for it. Every step walks over the words of a line once, and a line and a text have their limits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from troubleshoot.basics.patterns import anchored, searched
from troubleshoot.reading.contrast_clauses import FAILING, OUTCOMES, Clause, Item, cell_outcome, clause_of, outcome_of, sentences, told
from troubleshoot.reading.contrast_words import OFF, OPPOSITE, TRIED
from troubleshoot.reading.report import Report

#: Characters of a report, and of a line of it, that are looked at, and contrasts that are told.
_MOST_TEXT = 40_000
_LONGEST = 1200
_MOST = 40

#: What a machine wrote, commands, and a line of a list of packages.
_LOGGED = anchored(
    r"[\w.-]{1,60}==\S{1,60}$|"
    r"[/\\$!]|File |python3? |[^ ]{0,200}\.py[\": ]"
    r"|(?:\S{0,24} ){0,3}\S{0,24}\b(?:WARNING|INFO|DEBUG|ERROR|FAILED|PASSED|Traceback)\b"
)
#: The heading of a list of things tried.
_TRIED_SO_FAR = searched(r"\btried\b|\btested\b|\bdone so far\b|\battempt(?:s|ed)\b|试过|尝试", re.IGNORECASE)
_BULLET = anchored(r"(?:[-*+•] (?:\[[xX]\] )?|\d{1,2}[.)] )")
#: "cpu: none"; more words than that say something else.
_SHORT = 20
#: Letters beside its settings from which on a clause says something.
_SAID = 10
_REASONS = ("so", "because", "since", "as", "所以", "因此", "因为")
_NO_ERROR = ("no error", "without any error", "没有报错", "无报错")
#: How a line ends that a list goes on with.
_OPEN = (":", "：", " with", " on", " for", " when", " using", " under", " in")


class Contrast(msgspec.Struct, frozen=True):
    """One experiment whose outcome the report tells: ``gone``, ``same``, ``other`` (another failure), ``less`` or ``more``.

    ``value`` is what was tried, as written ("torch 2.1.2", "RTX 3090"), empty where the experiment says it all. ``quote`` is the clause of
    the outcome; ``sure`` tells that it names what was changed as well.
    """

    experiment: str
    outcome: str
    value: str
    line: int
    quote: str = ""
    sure: bool = False


@dataclass
class Run:
    """Settings, and what came out with them.

    ``also``: "even with", "too"; ``only``: "only with"; ``tried``: something was changed for it; ``denied``: it works because a failure is
    denied ("no NaN"); ``late``: something failed before it, or "now"; ``near``: the settings stand beside the outcome; ``listed``: it is
    from a list of things tried; ``weak``: it is only said to run.
    """

    settings: list[Item]
    outcome: str
    line: int
    text: str
    also: bool = False
    only: bool = False
    tried: bool = False
    denied: bool = False
    late: bool = False
    near: bool = True
    listed: bool = False
    weak: bool = False


def find_contrasts(report: Report) -> tuple[Contrast, ...]:
    """Return what the report's own words say of experiments, in the order of its lines."""
    printed = {row for failure in report.failures for one in failure.exceptions for row in range(one.line, one.last_line + 1)}
    # A frame's line of code stands below it.
    printed.update(row for failure in report.failures for frame in failure.frames for row in (frame.at, frame.at + 1))
    lines: list[tuple[int, str]] = []
    seen: set[str] = set()
    size = 0
    for line, number in zip(report.lines, report.numbers, strict=True):
        # What is said twice says no more.
        if line and number not in printed and line not in seen and not _LOGGED.match(line):
            seen.add(line)
            lines.append((number, line[:_LONGEST].strip()))
            size += len(lines[-1][1])
            if size > _MOST_TEXT:
                break
    return tuple(_contrasts(list(_runs(lines))))[:_MOST]


def _runs(lines: list[tuple[int, str]]) -> Iterator[Run]:
    """Yield the runs that lines of prose, lists, tables and commented code tell of."""
    pending: list[Item] = []
    quoted: list[Item] = []
    before: Run | None = None
    header: Run | None = None
    tried = listed = False
    head: list[str] = []
    for number, line in lines:
        bullet = _BULLET.match(line)
        listed = (listed and bullet is not None) or (line.endswith((":", "：")) and _TRIED_SO_FAR.search(line) is not None)
        if line[:1] == ">":
            quoted = [one for clauses, _ in sentences(line.lstrip("> "), number) for clause in clauses for one in clause.settings]
            continue
        if line[:1] == "|" and line.count("|") > 2:
            row = [cell.strip() for cell in line.strip("|").split("|")]
            if head:
                yield from _row(head, row, number, line)
            head = head or row
            continue
        head = []
        if line[:5] in ("- [ ]", "* [ ]"):
            continue
        if not bullet or not header:
            header = None if not bullet else header
            pending = []
        text = line[bullet.end() :] if bullet else line
        code, sign, comment = text.partition(" #")
        if sign and code.strip() and comment.strip() and ". " not in code:
            for before in _commented(code, comment, number):
                yield before
            continue
        for clauses, mark in sentences(text, number):
            stated = told(clauses, mark)
            found, pending = _bind(stated, pending or quoted, before, tried or bool(quoted))
            tried = any(clause.has("tried") or clause.has("also") for clause in stated)
            if listed and bullet:
                for run in found:
                    run.tried = run.listed = bool(run.settings)
            if header and not found and pending:
                found, pending = [Run(pending, header.outcome, number, text, header.also)], []
            if found:
                quoted, before = [], found[-1]
            yield from found
        if not bullet and before and not before.settings and line.endswith(_OPEN) and before.line == number:
            header = before


def _commented(code: str, comment: str, number: int) -> Iterator[Run]:
    """Yield the runs of ``code  # what came out``."""
    written = [one for clauses, _ in sentences(code, number) for clause in clauses for one in clause.settings]
    for clauses, mark in sentences(comment, number):
        found, _ = _bind(told(clauses, mark), [], None)
        for run in found:
            run.settings = run.settings or written
            yield run
            dims = {one.dim for one in written}
            if run.outcome in FAILING and run.settings is not written and not dims.isdisjoint(one.dim for one in run.settings):
                yield Run(written, "works", number, code.strip())


def _row(head: list[str], row: list[str], number: int, text: str) -> Iterator[Run]:
    """Yield the runs of a table's row: its labels and its heading are the settings of each cell that holds an outcome."""
    label: list[Item] = []
    outcomes: list[tuple[int, str]] = []
    unknown: list[int] = []
    for at, cell in enumerate(row):
        clause = clause_of(cell, number)
        outcome = outcome_of(clause) or (cell_outcome(cell) if at else "")
        if at and outcome:
            outcomes.append((at, outcome))
        elif at and cell and not clause.settings:
            unknown.append(at)
        else:
            label += clause.settings
    if not outcomes and label and unknown:
        # Other rows may tell that something fails; what is in this one does not.
        yield Run(label, "works", number, text, weak=True)
    if outcomes:
        outcomes += [(at, "fails") for at in unknown]
    for at, outcome in outcomes:
        above = clause_of(head[at], number).settings if at < len(head) else []
        if label or above:
            yield Run([*label, *above], outcome, number, text)


def _bind(clauses: list[Clause], pending: list[Item], before: Run | None, carried: bool = False) -> tuple[list[Run], list[Item]]:
    """Bind settings to outcomes in the told clauses of a sentence. Return the runs, and settings whose outcome is still to come.

    ``pending`` are settings of the sentence before that had no outcome, ``before`` is the last run that was read.
    """
    runs: list[Run] = []
    held: list[Item] = []
    last = pending or (before.settings if before else [])
    header = ""
    tried = neither = also_held = said = labelled = False
    now = any(clause.has("now") for clause in clauses)
    for clause in clauses:
        outcome = outcome_of(clause)
        settings = clause.settings
        also = clause.has("also") or clause.has("both")
        previous = runs[-1] if runs else before
        tried = tried or clause.has("tried") or clause.has("change")
        neither = neither or clause.opens in ("neither", "nor")
        if not settings and last and not held:
            settings = _switched(clause, last, outcome)
            pending = [] if settings else pending
        if settings and clause.text == "and without" and runs:
            runs.append(Run(settings, _again(runs[-1]), clause.line, clause.text, True))
            continue
        if outcome == "mixed":
            runs += _split(clause)
            held, last = [], settings
            continue
        weak = outcome == "runs"
        outcome = "" if weak and not settings else "works" if weak else outcome
        if not outcome and previous:
            outcome = _ellipsis(clause, previous, bool(held), neither)
            also = also and not outcome
        if clause.opens in ("neither", "nor") and settings and outcome in FAILING:
            # "Neither bfloat16 nor float32 shows it."
            outcome = "works"
        if outcome:
            if outcome == "works" and not settings and not held and clause.text.lower().startswith(_NO_ERROR):
                # Wrong numbers come without an error too.
                continue
            if clause.has("gone") and any(one.kind in FAILING for one in clause.items):
                # "The NaN on my 3090 is gone with ...": the card is where it was.
                settings = [one for one in settings if one.dim != "gpu"]
            if also and not settings and not tried and {"gpu", "release"} <= {one.dim for one in held}:
                # "On my 3090 (torch 2.3) it is black too": who says so, and nothing that was changed.
                held = []
            opposed = said and not also and clause.opens not in _REASONS and outcome in ("works", *FAILING)
            if settings and opposed and _is_other_value(held, settings):
                # "The CPU gives a sentence, MPS gives exclamation marks."
                runs.append(Run(held, "works" if outcome in FAILING else "fails", clause.line, clause.text, weak=True))
                held = []
            own = [*held, *settings]
            if not own and runs and not (clause.has("only") or clause.has("tried") or clause.has("change")):
                if _amends(runs[-1], clause, outcome, also):
                    continue
                pending = []
            near = now or bool(own)
            own = own or (pending if carried or (outcome != "same" and not also) else [])
            run = Run(own, outcome, clause.line, clause.text, also or also_held, clause.has("only"), tried, near=near)
            run.late = now or (previous is not None and previous.outcome in FAILING) or clause.says("than")
            run.weak = weak
            run.denied = outcome == "works" and (clause.has("not") or clause.has("gone"))
            runs.append(run)
            last = own or last
            header = outcome if clause.has("gone") or clause.has("works") else ""
            held, pending, also_held, said = [], [], False, False
        elif held and not settings and clause.sep in (":", "："):
            labelled = True
        elif settings:
            if held and labelled and _is_other_value(held, settings):
                # "without amp: 2.3, with amp: ..."
                runs.append(Run(held, "works", clause.line, clause.text, weak=True))
                held = []
            labelled = False
            if header and (
                clause.sep in (":", "：") or clause.opens in ("or", "and", "plus") or (clause.sep == "," and runs[-1].text == "")
            ):
                runs.append(Run(settings, header, clause.line, ""))
            elif runs and also and not held:
                runs.append(Run(settings, _again(runs[-1]), clause.line, clause.text, True))
            else:
                held = [*held, *settings]
                said = len(clause.text) > sum(len(one.text) for one in settings) + _SAID
                also_held = also_held or also
            last = settings
    if not runs and held and clauses[-1].settings and clauses[-1].text.lower().endswith((" too", " as well")):
        # "Not just the T4, the A10G too."
        return [Run(clauses[-1].settings, "again", clauses[-1].line, clauses[-1].text, True)], []
    if not runs and held and not also_held and any(clause.sep in (":", "：") and not clause.settings for clause in clauses[1:]):
        # "fp32: 2.31" below "fp16: nan"
        return [Run(held, "works", clauses[0].line, clauses[0].text, weak=True)], []
    final = clauses[-1] if clauses else None
    if (
        final
        and held
        and runs
        and runs[-1].outcome in FAILING
        and _is_other_value(held, runs[-1].settings)
        and _sets_against(runs[-1], final)
    ):
        runs.append(Run(held, "works", final.line, final.text, weak=True))
        held = []
    for run in runs:
        run.text = run.text or clauses[-1].text
    return runs, held or ([] if runs else pending)


def _again(run: Run) -> str:
    """Return the outcome of what comes out like a run: "A works, so does B"; of a failure, the kind is left open."""
    return run.outcome if run.outcome == "works" else "again"


def _is_other_value(held: list[Item], settings: list[Item]) -> bool:
    """Tell whether two lists name one thing, of which they give different values."""
    theirs = {one.dim: one.value for one in held}
    return any(theirs.get(one.dim, one.value) != one.value for one in settings)


def _sets_against(run: Run, final: Clause) -> bool:
    """Tell whether the last clause says something else of another value: "nan with fp16, colours with fp32", "fp16 nan, fp32 2.31"."""
    if run.only or not final.settings:
        return run.only or final.text.endswith("without")
    first, last = final.settings[0].text, final.settings[-1].text
    valued = final.text[-1:].isdigit() and not final.text.endswith(last)
    short = len(final.text) < len(first) + _SHORT and final.text.endswith(last) and not final.text.startswith(first)
    return valued or (short and not (final.has("also") or final.has("tried") or final.sep in ("and", "or")) and " with " in final.text)


def _switched(clause: Clause, last: list[Item], outcome: str) -> list[Item]:
    """Return what "without it" or "once it is on" speaks of: the last thing that can be switched, the other way round."""
    on = clause.has("ison")
    if not on and (outcome or clause.opens in ("without", "leave") or clause.text.endswith(" without")) and clause.switches_off():
        switches = [one._replace(value="off", text=f"without {one.text}") for one in last if one.dim in OFF and one.value != "off"]
        halves = [one for one in last if one.dim == "dtype" and one.value in ("float16", "bfloat16")]
        return (switches or [one._replace(dim="autocast", value="off", text="") for one in halves])[:1]
    if on and outcome:
        return [one._replace(value="on") for one in last if one.dim in OFF and one.value == "off"]
    return []


def _ellipsis(clause: Clause, previous: Run, held: bool, neither: bool) -> str:
    """Return the outcome of a clause that denies the one before it: "cpu: none", "eager doesn't", "neither A nor B gave me that"."""
    if clause.settings and clause.has("unless"):
        return "works" if previous.outcome in FAILING else ""
    if clause.settings and clause.has("only") and previous.outcome == "works":
        return "fails"
    marks = [one for one in clause.items if one.kind == "not"]
    if not marks or not (clause.settings or held):
        return ""
    none = any(one.text.lower() == "none" for one in marks)
    if clause.settings and not neither and not none:
        first, final = clause.settings[0], clause.settings[-1]
        bare = clause.opens in ("but", "and", "not") and len(clause.text) < _SHORT + sum(len(one.text) for one in clause.settings)
        if marks[-1].at < final.end and not any(mark.end + 1 == first.at and ("'" in mark.text or bare) for mark in marks):
            return ""
    if not clause.settings and not neither and len(clause.text) >= _SHORT:
        return ""
    return "works" if none or previous.outcome in FAILING else "fails" if previous.outcome == "works" else ""


def _amends(run: Run, clause: Clause, outcome: str, also: bool) -> bool:
    """Let a clause that has an outcome and no setting say more of the run before it; tell whether it is about that run."""
    failing, failed = outcome in FAILING, run.outcome in FAILING
    goes_on = run.denied or clause.has("but") or clause.sep in ("but", "却", "但")
    if failing and run.outcome == "works" and run.settings and goes_on:
        # "It doesn't crash any more, but the loss is NaN."
        run.outcome = outcome
    elif outcome == "works" and clause.has("gone") and failed:
        run.outcome = outcome
    elif failed and (outcome == "same" or (failing and also)):
        run.also = True
    return not (failing and run.outcome == "works")


def _split(clause: Clause) -> list[Run]:
    """Bind settings and outcomes one by one where a single clause has several of both."""
    order = [one for one in clause.items if one.kind in OUTCOMES or one in clause.settings]
    known = {one.at: one for one in clause.settings}
    runs: list[Run] = []
    held: list[Item] = []
    first_outcome = bool(order) and order[0].kind in OUTCOMES
    said = ""
    for one in order:
        if one.kind in OUTCOMES:
            beside = [mark for mark in clause.items if one.at - 4 <= mark.at <= one.at and mark.kind in ("not", one.kind)]
            said = outcome_of(Clause(beside, clause.line, clause.text))
            if held and not first_outcome:
                runs.append(Run(held, said, clause.line, clause.text))
                held = []
        elif one.at in known:
            if first_outcome and said:
                runs.append(Run([known[one.at]], said, clause.line, clause.text))
            else:
                held = [*held, known[one.at]]
    return [run for run in runs if run.outcome not in ("", "mixed")]


# --- runs to contrasts ------------------------------------------------------------------------------------------------------------------
def _contrasts(runs: list[Run]) -> Iterator[Contrast]:
    """Hold every run against the first one that fails, each contrast once."""
    if any(one.dim == "compile" and one.value == "on" for run in runs for one in run.settings):
        for run in runs:
            run.settings = [
                one._replace(dim="compile", value="off") if (one.dim, one.value) == ("attention", "eager") else one for one in run.settings
            ]
    failing = [run for run in runs if run.outcome in FAILING]
    main = next((run for run in failing if not (run.also or run.listed) and not _is_second_try(run)), None)
    if main is None:
        worked = {one.dim for run in runs if run.outcome == "works" for one in run.settings}
        main = next((run for run in failing if not run.listed and not worked.isdisjoint(one.dim for one in run.settings)), None)
    theirs: dict[str, set[str]] = {}
    for one in main.settings if main else ():
        theirs.setdefault(one.dim, set()).add(one.value)
    found = [contrast for run in runs for contrast in _against(run, main, theirs)]
    if not any(one.outcome == "gone" for one in found):
        works = any(run.outcome == "works" and not run.settings for run in runs)
        found += [contrast for run in failing if run.only or (works and run is main) for contrast in _only(run)]
    seen: set[tuple[str, str, str]] = set()
    for contrast in found:
        key = (contrast.experiment, contrast.outcome, contrast.value.lower())
        if key not in seen:
            seen.add(key)
            yield contrast


#: Settings that are always a second try.
_ALTERNATIVE = frozenset(
    ("batch=small", "input=short", "lr=low", "weights==other", "fresh=yes", "seed=other", "nodes=off", "release=changed")
)
_CHANGED = frozenset(
    ("off", "float32", "cpu", "before", "mixed", "older", "old", "previous", "earlier", "nightly", "newest", "latest", "newer")
)
#: Releases that are not told by number.
_UNNAMED = frozenset(("changed", "before", "newest", "since"))
#: Which of several things that differ is what was tried: a switch or a release before a dtype, and the card last.
_LATER = {"dtype": 1, "device": 1, "weights": 2, "gpu": 3}


def _is_second_try(run: Run) -> bool:
    return (run.outcome == "oom" and (run.tried or any(one.key == "dtype=float32" for one in run.settings))) or any(
        one.key in _ALTERNATIVE for one in run.settings
    )


def _against(run: Run, main: Run | None, theirs: dict[str, set[str]]) -> Iterator[Contrast]:
    """Yield what a run says, held against the main one. ``theirs`` are the settings known to fail, by dimension."""
    works, failing = run.outcome == "works", run.outcome in FAILING
    if failing and any(one.key == "release=since" for one in run.settings):
        yield Contrast("other-release", "gone", "before", run.line, run.text)
        return
    if run is main or (failing and run.only and not run.also):
        return
    dims = {one.dim for one in run.settings}
    quantized = works and "on" in theirs.get("quantization", ()) and "quantization" not in dims
    if quantized and (("dtype" in dims and "dtype" not in theirs) or any(one.text[:1] in ("o", "O", "原") for one in run.settings)):
        yield Contrast("no-quantization", "gone", "", run.line, run.text)
        return
    outcome = _outcome(run, main)
    differing = [one for one in run.settings if one.value not in theirs.get(one.dim, ())]
    named = {one.value.split()[0] for one in differing if one.dim == "release"} - _UNNAMED
    if len(named) > 1 and not (run.tried or run.late or run.also):
        # A list of versions is an environment.
        differing = [one for one in differing if one.dim != "release"]
    chosen = [one for one in differing if one.dim in theirs]
    if not chosen:
        chosen = _likely_changed([one for one in differing if _experiment(one, theirs, works)])
        if run.weak:
            return
        if works:
            chosen = _meant(run, chosen, main)
        elif failing and outcome != "other" and not (run.also or run.tried or run.outcome == "oom" or any(map(_is_alternative, chosen))):
            for one in differing:
                theirs.setdefault(one.dim, set()).add(one.value)
            return
        chosen = [one for one in chosen if one.key != "dtype=float16" or run.tried or run.outcome == "same"]
        chosen = [one for one in chosen if one.dim != "weights" or one.value == "=other" or (failing and run.also)]
    for one in chosen:
        experiment = _experiment(one, theirs, works)
        if experiment:
            yield Contrast(experiment, outcome, _value(one, experiment), run.line, run.text, _is_sure(run, outcome))


def _is_sure(run: Run, outcome: str) -> bool:
    """Tell whether the clause of a run's outcome names its settings: what stands farther apart is often bound wrongly.

    That it is the same has to be said: a run that fails in words of its own may be another story.
    """
    if run.weak or (outcome == "same" and run.outcome not in ("same", "again")):
        return False
    text = run.text.lower()
    return all(one.text and one.text.lower().removeprefix("without ") in text for one in run.settings)


def _outcome(run: Run, main: Run | None) -> str:
    """Return the outcome of a run as a contrast with the main one."""
    if run.outcome in ("same", "less", "other"):
        return run.outcome
    if run.outcome == "works":
        return "gone"
    if main is None:
        return "other" if run.outcome == "oom" else "same"
    changed = (run.outcome == "oom" and main.outcome != "oom") or {run.outcome, main.outcome} == {"fails", "errors"}
    return "other" if changed else "same"


def _is_alternative(one: Item) -> bool:
    return one.value == "off" or one.key in _ALTERNATIVE


def _likely_changed(settings: list[Item]) -> list[Item]:
    """Return, of all that a run names and the main one does not, what was most likely changed."""
    dims = {one.dim for one in settings}
    if any(one.dim == "release" and one.value != "changed" for one in settings):
        settings = [one for one in settings if one.value != "changed"]
    if "fresh" in dims:
        settings = [one for one in settings if one.dim != "release"]
    if "dtype" in dims:
        settings = [one for one in settings if one.dim != "autocast" or one.text]
    rank = min((_LATER.get(one.dim, 0) for one in settings), default=0)
    return [one for one in settings if _LATER.get(one.dim, 0) == rank]


def _meant(run: Run, settings: list[Item], main: Run | None) -> list[Item]:
    """Return what a run that works was made with on purpose: what works before anything fails is mostly the user's own setting."""
    if not (run.near or run.denied):
        return []
    if run.late or run.tried or run.only or run.denied or (main is None and len(run.settings) == 1):
        return settings
    return [one for one in settings if one.value.split()[0] in _CHANGED or (one.key in _ALTERNATIVE and not one.text[-1:].isdigit())]


def _only(run: Run) -> Iterator[Contrast]:
    """Yield what "only with two GPUs" says of one."""
    for one in run.settings:
        experiment = OPPOSITE.get(one.key) or (OFF.get(one.dim, "") if one.value == "on" and run.only else "")
        if experiment:
            yield Contrast(experiment, "gone", "", run.line, run.text, True)


def _experiment(one: Item, theirs: dict[str, set[str]], works: bool) -> str:
    """Return the experiment that a setting makes, held against those that fail; "" for none."""
    if one.dim in ("gpu", "weights"):
        return f"other-{one.dim}"
    if one.dim == "release":
        return "" if one.value == "since" else "other-release"
    if one.dim == "distributed" and "distributed" in theirs:
        return "no-distributed"
    if one.dim == "size":
        return "short-input" if any(_area(one.value) < _area(other) for other in theirs.get("size", ())) else ""
    if one.value == "off":
        return OFF.get(one.dim, "")
    if one.dim == "attention":
        return "other-attention"
    devices = theirs.get("device", ())
    if one.key == "device=cuda" and "mps" not in devices and not any(card[:1] == "m" for card in theirs.get("gpu", ())):
        return ""
    if (one.key == "device=gpu" and "cpu" not in devices) or (one.key == "autocast=on" and not works):
        return ""
    return TRIED.get(one.key, "")


def _area(size: str) -> int:
    width, _, height = size.replace("×", "x").replace("*", "x").partition("x")
    return int(width) * int(height)


def _value(one: Item, experiment: str) -> str:
    """Return what was tried, where the experiment does not say it."""
    return one.text if experiment.startswith("other-") or one.dim in ("distributed", "zero") else ""
