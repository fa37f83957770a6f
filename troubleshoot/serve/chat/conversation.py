"""Messages become the state of a conversation. Everything follows from the messages: nothing is kept between requests.

The messages are gone through from the first to the last, as they were when each was new: what was asked and which fix was shown follow
from the state before. Where the beginning is missing, the last line of an answer of ours stands in for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from troubleshoot.engine.result import Diagnosis, FixAdvice, IssueDiagnosis, Question
from troubleshoot.serve.chat.facts_line import Note, read_line
from troubleshoot.serve.chat.understanding import QUESTIONS, Meaning, language_of, named_fix, names_both, understand
from troubleshoot.serve.engine import Engine, usable

#: Messages that are gone through; what is before them is known from the facts line.
_MOST_MESSAGES = 40
#: Parts of a report (a traceback, then a list of packages, ...) that are read together, and their length.
_MOST_PARTS = 6
_LONGEST_TEXT = 200_000
#: Questions asked before the fix is given anyway.
_MOST_QUESTIONS = 3
#: Events: a report, and the report of another failure than the one before.
_REPORTED, _ANOTHER = "report", "another"
#: Facts that stay when the problem changes: the machine's, not the problem's.
_LASTING = ("package.", "gpu", "os", "python")


@dataclass(frozen=True)
class Message:
    """One message: ``role`` is user or assistant, ``speaker`` the name of the user, ``image`` whether something was attached."""

    role: str
    text: str
    speaker: str | None = None
    image: bool = False


@dataclass(frozen=True)
class State:
    """What a conversation has come to.

    ``report`` holds the pasted texts of the problem, ``listed`` dumps of the environment, ``answers`` the facts that the user gave by name,
    ``issue`` and ``cause`` what a facts line says where the report is gone. ``tried`` are fixes that did not help or were passed over,
    ``shown`` the one in view, ``rejected`` issues that the user says it is not, ``unknown`` questions that the user cannot answer,
    ``asked`` the fact of the question in view, ``done`` that a fix helped. ``event`` is what the last message was, see :class:`Meaning`;
    also ``image``. ``problems`` says what could not be used of the last message, ``new`` the facts in it.
    """

    language: str | None = None
    report: tuple[str, ...] = ()
    listed: tuple[str, ...] = ()
    answers: dict[str, str] = field(default_factory=dict)
    issue: str | None = None
    cause: str | None = None
    tried: tuple[str, ...] = ()
    shown: str | None = None
    rejected: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    asked: str | None = None
    done: bool = False
    event: str = "greeting"
    problems: tuple[str, ...] = ()
    new: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Turn:
    """A state with its diagnosis: the fix to try next, and the question that may be asked below it.

    ``before`` is what was known before the last message, ``asked`` what that message asks, ``supposed`` what would be known if the facts
    in its question held.
    """

    state: State
    diagnosis: Diagnosis | None = None
    first: IssueDiagnosis | None = None
    fixes: tuple[FixAdvice, ...] = ()
    question: Question | None = None
    fix: FixAdvice | None = None
    before: Turn | None = None
    asked: Meaning | None = None
    supposed: Turn | None = None

    @property
    def answered(self) -> bool:
        """Tell whether there is a diagnosis that is known or likely."""
        return self.first is not None

    @property
    def pair(self) -> tuple[FixAdvice, ...]:
        """The two fixes to try next."""
        left = [one for one in self.fixes if one.id not in self.state.tried]
        return (self.fix, *(one for one in left if one is not self.fix))[:2] if self.fix is not None else ()

    @property
    def change(self) -> str:
        """How the answer differs from the one before: ``cause``, ``fix``, ``sure``, ``found``, ``lost`` or ``nothing``."""
        was = self.before.first if self.before is not None else None
        if was is None or self.first is None:
            return "found" if self.first is not None else "lost" if was is not None else "nothing"
        if (was.issue, was.cause) != (self.first.issue, self.first.cause):
            return "cause"
        assert self.before is not None
        if [(one.id, one.code) for one in self.before.pair[:1]] != [(one.id, one.code) for one in self.pair[:1]]:
            return "fix"
        return "sure" if is_known(was) != is_known(self.first) else "nothing"


def is_known(one: IssueDiagnosis) -> bool:
    """Tell whether a diagnosis counts as known, not only as likely."""
    return one.confidence >= 0.8


def converse(messages: Sequence[Message], engine: Engine) -> Turn:
    """Return what is to be said to the author of the last user message."""
    speaker = next((one.speaker for one in reversed(messages) if one.role == "user"), None)
    diagnosed = _Diagnosed(engine)
    turn = Turn(State())
    before: list[Turn] = []
    for message in _own(messages, speaker, engine)[-_MOST_MESSAGES:]:
        if message.role == "assistant":
            note = read_line(message.text, engine.base)
            if note is not None:
                turn = _remembered(turn, note, diagnosed)
            continue
        meaning = _meaning(message, turn)
        if meaning is not None and meaning.kind == "back":
            # One step back, as if the message before had not been written.
            turn = replace_event(before.pop() if before else turn, "back")
            continue
        before.append(turn)
        turn = replace(_plan(_next(turn, message, meaning, diagnosed), diagnosed), before=replace(turn, before=None), asked=meaning)
    if turn.asked is not None and turn.asked.kind == "would" and turn.asked.facts and turn.first is not None:
        facts = usable(turn.asked.facts)[0]
        turn = replace(turn, supposed=replace(_plan(_with_facts(turn.state, facts, ()), diagnosed), before=turn))
    return turn


class _Diagnosed:
    """The diagnoses of one request: one for each set of facts, since many messages change nothing. Nothing is kept beyond it."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._found: dict[tuple[str, tuple[tuple[str, str], ...], str], tuple[Diagnosis, tuple[str, ...]]] = {}

    def of(self, text: str, answers: dict[str, str], language: str) -> tuple[Diagnosis, tuple[str, ...]]:
        key = (text, tuple(answers.items()), language)
        if key not in self._found:
            self._found[key] = self.engine.diagnose(text, answers=answers, language=language)
        return self._found[key]

    def alone(self, text: str, state: State) -> tuple[Diagnosis, tuple[str, ...]]:
        """Return the diagnosis of one message, with what is known of the machine."""
        return self.of(text, _lasting(state), state.language or self.engine.settings.language)


def replace_event(turn: Turn, event: str) -> Turn:
    """Return a turn as the answer to another event."""
    return replace(turn, state=replace(turn.state, event=event, problems=()), asked=None)


def _own(messages: Sequence[Message], speaker: str | None, engine: Engine) -> list[Message]:
    """Return the messages between one speaker and the assistant. An answer belongs to the user message before it, or to whom it names."""
    names = {one.speaker for one in messages if one.role == "user"}
    kept: list[Message] = []
    current: str | None = None
    opened = False
    for message in messages:
        if message.role == "user":
            current, opened = message.speaker, True
            if current == speaker:
                kept.append(message)
        elif message.role == "assistant":
            note = read_line(message.text, engine.base) if not opened or message.speaker is None else None
            named = note.speaker if note is not None else None
            # With the beginning cut off, an answer that names nobody is for the only one who speaks.
            mine = named == speaker if named is not None else current == speaker if opened else len(names) <= 1
            if mine:
                kept.append(message)
    return kept


def _meaning(message: Message, turn: Turn) -> Meaning | None:
    if message.image and not message.text.strip():
        return None
    return understand(message.text[:_LONGEST_TEXT], turn.question)


def _remembered(turn: Turn, note: Note, diagnosed: _Diagnosed) -> Turn:
    """Take over what a facts line knows and the messages do not: their beginning was cut off."""
    state = turn.state
    if state.report:
        # The report is there: what it leads to was gone through. Answers whose messages are missing are taken from the line.
        said = diagnosed.engine.said(_text(state), state.listed) if not set(note.answers) <= set(state.answers) else frozenset()
        missing = {name: value for name, value in note.answers.items() if name not in state.answers and name not in said}
        tried = tuple(dict.fromkeys((*state.tried, *note.tried)))
        if not missing and tried == state.tried and set(note.unknown) <= set(state.unknown) and set(note.rejected) <= set(state.rejected):
            return turn
        unknown = tuple(dict.fromkeys((*state.unknown, *note.unknown)))
        rejected = tuple(dict.fromkeys((*state.rejected, *note.rejected)))
        state = replace(
            state, answers={**usable(missing)[0], **state.answers}, tried=tried, shown=note.shown, unknown=unknown, rejected=rejected
        )
        return _plan(state, diagnosed)
    if note.issue is None and not note.answers:
        return replace(turn, state=replace(state, language=state.language or note.language))
    answers, _ = usable(note.answers)
    state = replace(
        state, language=note.language, answers={**state.answers, **answers}, issue=note.issue, cause=note.cause, tried=note.tried,
        shown=note.shown, unknown=note.unknown, rejected=note.rejected, asked=note.asked, event="facts",
    )  # fmt: skip
    return _plan(state, diagnosed, asked=note.asked)


def _text(state: State) -> str:
    return "\n\n".join(state.report)


def _next(turn: Turn, message: Message, meaning: Meaning | None, diagnosed: _Diagnosed) -> State:
    """Return the state after a message of the user."""
    state = replace(turn.state, language=language_of(message.text) or turn.state.language, problems=(), new={})
    if meaning is None:
        return replace(state, event="image")
    kind = meaning.kind
    if kind == "report":
        return _reported(turn, state, message.text, diagnosed)
    if kind == "environment":
        return replace(state, listed=(*state.listed, message.text[:_LONGEST_TEXT])[-_MOST_PARTS:], shown=None, event="facts")
    if kind in QUESTIONS:
        # What is asked about is not said to be so.
        return replace(state, event=kind)
    if kind == "reset":
        return State(language=state.language, event="reset")
    if kind == "choice":
        return _chosen(turn, state, meaning)
    if kind in ("yes", "no"):
        # Where nothing is asked, the open question is whether the fix helped.
        kind = "other" if turn.fix is None or turn.question is not None else "worked" if kind == "yes" else "failed"
    facts, problems = usable(meaning.facts)
    active = bool(state.report or state.issue)
    if kind in ("other", "facts") and not (kind == "facts" and active):
        described = _described(turn, state, message.text, diagnosed)
        if described is not None:
            return described
    state = _with_facts(state, facts, problems)
    if kind in ("failed", "next"):
        return _passed_over(turn, state, kind, message.text)
    if kind == "dont-know":
        skipped = (turn.question.about,) if turn.question is not None else ()
        return replace(state, unknown=tuple(dict.fromkeys((*state.unknown, *skipped))), event=kind)
    if kind == "rejected":
        dropped = (turn.first.issue,) if turn.first is not None else ()
        return replace(state, rejected=(*state.rejected, *dropped), tried=(), shown=None, event=kind)
    if message.image and not facts:
        return replace(state, event="image")
    if kind == "worked":
        named = named_fix(message.text, turn.fixes)
        return replace(state, done=True, shown=named.id if named is not None else state.shown, event=kind)
    return replace(state, event="facts" if facts and kind == "other" else kind)


def _with_facts(state: State, facts: dict[str, str], problems: tuple[str, ...]) -> State:
    unknown = tuple(one for one in state.unknown if one not in facts)
    # New facts may put another fix first.
    shown = None if facts else state.shown
    return replace(state, answers={**state.answers, **facts}, unknown=unknown, shown=shown, problems=problems, new=facts)


def _passed_over(turn: Turn, state: State, event: str, text: str = "") -> State:
    """A fix did not help, was tried before, or another is wanted: the one that the message names, all in view, or the first of them."""
    if turn.fix is None:
        return replace(state, event=event)
    in_view = (turn.fix,) if turn.state.event in ("failed", "next", "choice") else turn.pair
    over = in_view if names_both(text) else (named_fix(text, turn.fixes) or turn.fix,)
    tried = tuple(dict.fromkeys((*state.tried, *(one.id for one in over))))
    return replace(state, tried=tried, shown=None, done=False, event=event)


def _chosen(turn: Turn, state: State, meaning: Meaning) -> State:
    """A letter chooses an answer, a number a fix; where no fix is in view, an answer too."""
    state = _with_facts(state, *usable(meaning.facts))
    if turn.question is not None and (meaning.letter or not turn.fixes):
        options = turn.question.answers
        number = len(options) if meaning.number == -1 else meaning.number
        if 1 <= number <= len(options):
            return replace(_with_facts(state, {turn.question.about: options[number - 1]}, ()), event="facts")
        if number == len(options) + 1:
            return replace(state, unknown=tuple(dict.fromkeys((*state.unknown, turn.question.about))), event="dont-know")
        return replace(state, event="no-such-number")
    number = len(turn.fixes) if meaning.number == -1 else meaning.number
    if not meaning.letter and 1 <= number <= len(turn.fixes):
        return replace(state, shown=turn.fixes[number - 1].id, done=False, event="choice")
    return replace(state, event="no-such-number" if turn.fixes else "other")


def _reported(turn: Turn, state: State, text: str, diagnosed: _Diagnosed) -> State:
    """A report was pasted: the first one, more of it, the same failure again after a fix, or another problem."""
    text = text[:_LONGEST_TEXT]
    if not state.report and state.issue is None:
        return replace(_fresh(state, text, diagnosed.engine), event=_REPORTED)
    alone, _ = diagnosed.alone(text, state)
    same = turn.first is not None and alone.first is not None and alone.verdict != "unknown" and alone.first.issue == turn.first.issue
    if same and turn.fix is not None:
        # The same failure after a fix: it did not help.
        return _passed_over(turn, replace(state, report=(text,)), "failed")
    if (same or turn.first is None) and not _unrelated(alone, turn):
        # Nothing was clear yet, or more of the same was pasted: both are read together.
        return replace(state, report=(*state.report, text)[-_MOST_PARTS:], issue=None, cause=None, event=_REPORTED)
    return replace(_fresh(state, text, diagnosed.engine), event=_ANOTHER)


def _unrelated(alone: Diagnosis, turn: Turn) -> bool:
    """Tell whether a new report answers for itself while the first one named another failure."""
    return alone.verdict != "unknown" and turn.diagnosis is not None and bool(turn.diagnosis.report.failures)


def _fresh(state: State, text: str, engine: Engine) -> State:
    """Return the state of a new problem: what is known of the machine stays, unless the report says otherwise."""
    said = engine.said(text, ())
    return State(
        language=state.language,
        report=(text,),
        listed=state.listed,
        answers={name: value for name, value in _lasting(state).items() if name not in said},
    )


def _lasting(state: State) -> dict[str, str]:
    return {name: value for name, value in state.answers.items() if name.startswith(_LASTING)}


def _described(turn: Turn, state: State, text: str, diagnosed: _Diagnosed) -> State | None:
    """Return the state where a message without an exception describes a problem ("black images in float16"), else None."""
    diagnosis, _ = diagnosed.alone(text[:_LONGEST_TEXT], state)
    if diagnosis.verdict == "unknown" and diagnosis.reason in ("no-failure", None):
        return None
    if turn.first is not None and (diagnosis.verdict == "unknown" or diagnosis.first is None or diagnosis.first.issue == turn.first.issue):
        return None
    if turn.first is None and state.report:
        return replace(state, report=(*state.report, text)[-_MOST_PARTS:], event=_REPORTED)
    return replace(_fresh(state, text, diagnosed.engine), event=_REPORTED if turn.first is None else _ANOTHER)


def _plan(state: State, diagnosed: _Diagnosed, asked: str | None = None) -> Turn:
    """Diagnose the state and choose the next fix, and the question that may be asked below it."""
    language = state.language or diagnosed.engine.settings.language
    if state.report:
        text = "\n\n".join((*state.report, *state.listed))
        diagnosis, problems = diagnosed.of(text, state.answers, language)
    elif state.issue is not None:
        diagnosis, problems = diagnosed.engine.recall(state.issue, state.cause, state.answers, state.listed, language)
    else:
        return Turn(replace(state, asked=None))
    if problems:
        state = replace(state, problems=(*state.problems, *problems))
    first = None
    if diagnosis.verdict != "unknown":
        first = next((one for one in diagnosis.diagnoses if one.issue not in state.rejected and one.confidence >= 0.1), None)
    fixes = tuple(fix for fix in first.recommended if fix.expected != "fails") if first is not None else ()
    question = _question(state, diagnosis, first, asked)
    chosen = next((one for one in fixes if one.id == state.shown), None)
    fix = chosen or next((one for one in fixes if one.id not in state.tried), None)
    state = replace(state, asked=question.about if question is not None else None, shown=fix.id if fix is not None else None)
    return Turn(state, diagnosis, first, fixes, question, fix)


def _question(state: State, diagnosis: Diagnosis, first: IssueDiagnosis | None, asked: str | None) -> Question | None:
    """Return the question to ask now. None once a fix was tried or chosen, after a few questions, and where the user cannot answer."""
    if state.tried or state.event in ("choice", "worked") or (first is not None and first is not diagnosis.first):
        return None
    if len(state.unknown) >= _MOST_QUESTIONS:
        return None
    # Nobody has all models in a list: which one it is, is never asked.
    closed = {"model", *state.unknown, *state.answers}
    open_ = [one for one in diagnosis.questions if one.about not in closed]
    return next((one for one in open_ if one.about == asked), open_[0] if open_ else None)


def note_of(turn: Turn, speaker: str | None, language: str, engine: Engine) -> Note:
    """Return what the facts line says after a turn."""
    state = turn.state
    answers = dict(state.answers)
    if turn.diagnosis is not None:
        answers = {**engine.stated(turn.diagnosis, turn.first), **answers}
    return Note(
        language=language, answers=answers, issue=turn.first.issue if turn.first is not None else None,
        cause=turn.first.cause if turn.first is not None else None, asked=state.asked, tried=state.tried, shown=state.shown,
        unknown=state.unknown, rejected=state.rejected, speaker=speaker,
    )  # fmt: skip
