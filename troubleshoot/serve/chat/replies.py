"""A turn becomes Markdown: what it is with the two best fixes, what a fact changes, the next fix. Statements are the knowledge base's."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from troubleshoot.basics.redact import redact_text, redacted_start
from troubleshoot.engine.result import Diagnosis, FixAdvice, IssueDiagnosis
from troubleshoot.reading.environment.exchange import ONE_LINE_PROBE
from troubleshoot.serve.chat.asides import Asides
from troubleshoot.serve.chat.conversation import Turn, is_known
from troubleshoot.serve.chat.strings import TABLES
from troubleshoot.serve.chat.understanding import named_fix
from troubleshoot.telling.content import fix_body, run_values, shorten
from troubleshoot.telling.document import Block as Part
from troubleshoot.telling.document import Code, Prose
from troubleshoot.telling.layout import visible
from troubleshoot.telling.markdown import fence
from troubleshoot.telling.screen import Screen, first_screen
from troubleshoot.telling.words import Words

#: A block with a lower rank is left out first where an answer must be short; rank 9 never is.
_LAST = 9
_MOST_EVIDENCE, _MOST_OTHERS = 3, 4
_MOST_FACTS = 2
_MOST_MESSAGE, _MOST_QUOTED, _MOST_CODE = 300, 100, 160
_LETTERS = "abcdefgh"


@dataclass(frozen=True)
class Block:
    """A paragraph or a code block of an answer, and how much it matters."""

    text: str
    rank: int = _LAST


class Replies:
    """Writes answers in one language; ``link(issue)`` is the address of an issue's page, or None where it has none."""

    def __init__(self, language: str, link: Callable[[str], str | None]) -> None:
        self.words = Words(language)
        self.table = TABLES[self.words.language]
        self.link = link
        self._screens: dict[int, Screen] = {}

    def say(self, key: str, **values: object) -> str:
        """Return one of the chat's own sentences."""
        return self.table[key].format(**values) if values else self.table[key]

    def blocks(self, turn: Turn) -> list[Block]:
        """Return the answer to a turn as blocks, in the order in which they are read."""
        event, state, first = turn.state.event, turn.state, turn.first
        told = [Block(self.say("unusable", text=_quoted(_sentence(one)))) for one in state.problems[:3]]
        if event == "image":
            return [*told, Block(self.say("image")), Block(fence(self.say("example"), "text"), 5)]
        if event == "reset":
            return [*told, Block(self.say("reset"))]
        if event in ("which", "can"):
            return [Block(text) for text in self._asides.about_hardware(turn)]
        if turn.diagnosis is None:
            return [*told, *self._without_report(turn)]
        if event == "worked":
            title = self.say("worked", title=visible(turn.fix.title)) if turn.fix is not None else self.say("worked-none")
            return [*told, Block(title), *self._page(first)]
        if event in ("thanks", "greeting"):
            return [Block(self.say("thanks" if event == "thanks" else "hello"))]
        if event in ("other", "no-such-number"):
            return [*told, Block(self.say(event) if first is not None else self.say("other-unknown"))]
        if first is None:
            return [*told, *self._another(turn), *self._lost(turn), *self._unknown(turn)]
        if event == "would":
            return [*told, *self._would(turn, first)]
        if event == "why":
            return [*told, *self._explained(turn, first)]
        if event == "facts" and turn.before is not None:
            return [*told, *self._changed(turn, first)]
        if event in ("failed", "next"):
            return [*told, *self._next_fix(turn, first)]
        if event == "choice" and turn.fix is not None:
            return [*told, *self._fix(turn, turn.fix, first), *self._how(turn, (turn.fix,))]
        if event == "dont-know":
            return [*told, Block(self.say("answer-stays")), *self._question(turn)]
        if event == "back":
            told.append(Block(self.say("back")))
        return [*told, *self._another(turn), *self._screen(turn, first)]

    @cached_property
    def _asides(self) -> Asides:
        return Asides(self.words.language)

    def _screen(self, turn: Turn, first: IssueDiagnosis) -> list[Block]:
        """Return the answer in short: what it is, where, the two best fixes, and one question below them."""
        said = self._said(turn, first)
        blocks = [self._head(turn, first), *self._place(turn, first)]
        blocks += [Block(visible(fact), 7 if at == 0 else 5) for at, fact in enumerate(said.facts[:_MOST_FACTS])]
        return [*blocks, *self._two(turn, first), *self._question(turn, said)]

    def _said(self, turn: Turn, first: IssueDiagnosis) -> Screen:
        """Return the short answer of every face, about the issue in view."""
        if id(first) in self._screens:
            return self._screens[id(first)]
        diagnosis = turn.diagnosis
        assert diagnosis is not None
        if diagnosis.first is not first:
            others = tuple(one for one in diagnosis.diagnoses if one is not first)
            diagnosis = replace(diagnosis, diagnoses=(first, *others), verdict="known" if is_known(first) else "likely")
        self._screens[id(first)] = first_screen(diagnosis)
        return self._screens[id(first)]

    def _two(self, turn: Turn, first: IssueDiagnosis) -> list[Block]:
        if turn.fix is None:
            return self._exhausted(turn, first)
        blocks = [block for fix in turn.pair for block in self._fix(turn, fix, first, brief=True)]
        if not turn.state.tried:
            blocks += [Block(self.say("dont", item=visible(_sentence(one))), 6) for one in self._said(turn, first).donts]
        return [*blocks, *self._how(turn, turn.pair)]

    def _head(self, turn: Turn, first: IssueDiagnosis) -> Block:
        said = self._said(turn, first)
        certainty = said.badge if turn.state.report else self.say("remembered")
        return Block(f"**{visible(said.title)}**{self.words.paren(certainty)}\n{self._named(first.issue)}")

    def _place(self, turn: Turn, first: IssueDiagnosis) -> list[Block]:
        """Return the user's line and the library's with their code, and the message."""
        assert turn.diagnosis is not None
        message = _message(turn.diagnosis, first)
        if not message:
            return []
        lines = [redact_text(f"{spot.where}   {spot.code}", personal=True)[:_MOST_CODE] for spot in self._said(turn, first).spots]
        return [Block(_fenced("\n".join((*lines, message))), 4)]

    def _explained(self, turn: Turn, first: IssueDiagnosis) -> list[Block]:
        """Return all that there is to say of why."""
        blocks = [self._head(turn, first), *self._place(turn, first)]
        if first.kind == "family" and first.note:
            blocks.append(Block(visible(self.say("family", note=first.note.rstrip(".。"))), 8))
        blocks.append(Block(visible(shorten(self.words.flow(first.explanation))), 8))
        if first.impact != "error":
            blocks.append(Block(self.words(f"impact.{first.impact}"), 7))
        told = [item for item in first.evidence if item.state == "supports" and item.kind not in ("message", "cut", "similar", "words")]
        # A line of prose may speak for an entry twice.
        shown = list({item.text[:40]: item for item in told}.values())
        items = [
            _quoted(item.text) + (self.words.paren(self.words("on-line", line=item.line)) if item.line is not None else "")
            for item in shown[:_MOST_EVIDENCE]
        ]
        blocks += [Block(self.say("because", items=self.words.list(items)), 2)] if items else []
        return [*blocks, *self._page(first)]

    def _another(self, turn: Turn) -> list[Block]:
        """Return that a new case has begun, and what of the old one still counts."""
        if turn.state.event != "another":
            return []
        kept = [self._asides.fact(name, value) for name, value in turn.state.answers.items()]
        return [Block(self.say("another-kept", items=self.words.list(kept)) if kept else self.say("another"), 8)]

    def _changed(self, turn: Turn, first: IssueDiagnosis) -> list[Block]:
        """Return what a new fact changes, and only then what follows from it."""
        given, change = self._asides.given(turn.state.new), turn.change
        if change in ("cause", "fix", "found"):
            rest = self._screen(turn, first) if change != "fix" else [*self._two(turn, first), *self._question(turn)]
            return [Block(self.say(f"change.{change}", given=given)), *rest]
        # What was asked and passed over is not asked again at once.
        was = turn.before.question if turn.before is not None else None
        again = was is not None and turn.question is not None and was.about == turn.question.about
        return [Block(self._unchanged(turn, first, given)), *([] if again else self._question(turn))]

    def _unchanged(self, turn: Turn, first: IssueDiagnosis, given: str) -> str:
        title = visible(self._said(turn, first).title)
        sure = self.say("known" if is_known(first) else "likely", percent=self.words.percent(first.confidence))
        said = self.say("change.sure" if turn.change == "sure" else "change.nothing", given=given, title=title, certainty=sure)
        if turn.fix is None:
            return said
        stays = self.say("stays-first", number=turn.fixes.index(turn.fix) + 1, title=visible(turn.fix.title))
        return said + ("" if self.words.language == "zh" else " ") + stays

    def _lost(self, turn: Turn) -> list[Block]:
        if turn.state.event != "facts" or turn.change != "lost":
            return []
        return [Block(self.say("change.lost", given=self._asides.given(turn.state.new)))]

    def _would(self, turn: Turn, first: IssueDiagnosis) -> list[Block]:
        """Return whether a fix or a dtype would help, or what another device or release would change."""
        assert turn.asked is not None
        held = turn.supposed if turn.supposed is not None and turn.supposed.first is not None else turn
        assert held.first is not None
        if turn.asked.dtypes:
            texts = self._asides.about_dtype(turn.asked.dtypes[0], held, held.first)
            fix = self._asides.dtype_fix(turn.asked.dtypes[0], held.first)
        else:
            fix = named_fix(turn.asked.text, held.first.fixes)
            texts = self._asides.about_fix(fix, held) if fix is not None else []
        if not texts and turn.supposed is not None:
            change = turn.supposed.change
            given = self._asides.given(turn.asked.facts)
            if change in ("nothing", "sure"):
                return [Block(self._unchanged(turn.supposed, held.first, given))]
            rest = [] if change == "lost" else self._screen(held, held.first)
            return [Block(self.say(f"change.{change}", given=given)), *rest]
        if not texts:
            texts = [self.say("would.unknown", what=self.say("that"))]
        helps = fix is not None and fix.expected != "fails" and fix.fits is not False
        body = fix_body(fix, self.words, brief=True) if fix is not None and helps else ()
        code = [block for part in body if isinstance(part, Code) for block in self._part(part)]
        stays = [] if turn.fix is None or fix is turn.fix or turn.state.done else [Block(self._stays(turn), 7)]
        return [Block(texts[0]), *code, *(Block(text, 7) for text in texts[1:]), *stays]

    def _stays(self, turn: Turn) -> str:
        assert turn.fix is not None
        return self.say("stays-first", number=turn.fixes.index(turn.fix) + 1, title=visible(turn.fix.title))

    def _next_fix(self, turn: Turn, first: IssueDiagnosis) -> list[Block]:
        was = turn.before.state.tried if turn.before is not None else ()
        over = [one for one in turn.fixes if one.id in turn.state.tried and one.id not in was]
        noted = []
        if turn.state.event == "failed" and over:
            noted.append(Block(self.say("noted", items=self.words.list([visible(one.title) for one in over])), 7))
        if turn.fix is None:
            return [*noted, *self._exhausted(turn, first)]
        return [*noted, *self._fix(turn, turn.fix, first), *self._how(turn, (turn.fix,))]

    def _without_report(self, turn: Turn) -> list[Block]:
        if turn.state.event == "thanks":
            return [Block(self.say("thanks"))]
        if turn.state.event in ("other", "greeting", "report", "dont-know"):
            return [Block(self.say("greeting")), Block(fence(self.say("example"), "text"), 5)]
        return [Block(self.say("paste")), Block(fence(self.say("example"), "text"), 5)]

    def _question(self, turn: Turn, said: Screen | None = None) -> list[Block]:
        """Return the question that would settle more, in one paragraph; its answers have letters, since fixes have numbers.

        Where no fact decides, it is what the short answer asks for, such as the whole traceback.
        """
        question = turn.question
        if question is None:
            wanted = said.question if said is not None else None
            return [Block(self.say("ask", ask=visible(wanted.text)))] if wanted is not None and not wanted.about else []
        options = question.answers
        lines = [self.say("ask", ask=visible(question.ask))]
        if not options:
            name = question.about.removeprefix("package.")
            return [Block(lines[0] + (f"\n{self.say('version-how', package=name)}" if name != question.about else ""))]
        listed = (*options[: len(_LETTERS) - 1], None)
        lines += [f"{letter}) {self._option(option)}" for letter, option in zip(_LETTERS, listed, strict=False)]
        return [Block("\n".join(lines))]

    def _option(self, option: str | None) -> str:
        if option is None:
            return self.say("dont-know")
        return self.say({"present": "yes-present", "absent": "no-absent"}[option]) if option in ("present", "absent") else visible(option)

    def _fix(self, turn: Turn, fix: FixAdvice, first: IssueDiagnosis, *, brief: bool = False) -> list[Block]:
        number, count = turn.fixes.index(fix) + 1, len(turn.fixes)
        # Where there is little room, the second of two fixes goes as a whole before the first loses anything.
        least = brief and fix is not turn.fix
        blocks = [Block(self.say("fix", number=number, count=count, title=visible(fix.title), tag=self.words(fix.applicability)))]
        blocks += [block for part in fix_body(fix, self.words, brief=brief) for block in self._part(part)]
        if not brief:
            seen = self.say("seen", **run_values(fix.seen[0], self.words)) if fix.seen else self.say("seen-none")
            blocks.append(Block(seen, 3))
        return [replace(block, rank=min(block.rank, 3)) for block in blocks] if least else blocks

    def _part(self, part: Part) -> list[Block]:
        """Return a block of a document as one of the chat; what is only an aside is left out."""
        if isinstance(part, Code):
            return [Block(fence(part.text, part.language))]
        if not isinstance(part, Prose) or part.tone == "dim":
            return []
        if part.lead:
            return [Block(self.say("price", text=visible(part.text)), 7)]
        if part.tone == "warn":
            text = _sentence(part.text)
            return [Block(visible(text[:1].upper() + text[1:]) + self.table["stop"].strip(), 8)]
        return [Block(visible(part.text), 5)]

    def _how(self, turn: Turn, shown: tuple[FixAdvice, ...]) -> list[Block]:
        left = [(at, one) for at, one in enumerate(turn.fixes, 1) if one not in shown and one.id not in turn.state.tried]
        if not left:
            return [Block(self.say("how-last"), 5)]
        items = self.words.list([f"{at}. {visible(one.title)}" for at, one in left[:_MOST_OTHERS]])
        return [Block(self.say("others", items=items), 6), Block(self.say("how"), 5)]

    def _exhausted(self, turn: Turn, first: IssueDiagnosis) -> list[Block]:
        key = "exhausted" if turn.fixes else "no-fix-fits" if first.fixes else "no-fix"
        blocks = [Block(self.say(key, count=len(turn.fixes)))]
        others = [] if turn.diagnosis is None else self._others(turn.diagnosis, first, turn.state.rejected)
        if others:
            blocks.append(Block(self.say("maybe", items=self.words.list(others)), 6))
        return [*blocks, *self._collect(), *self._page(first)]

    def _others(self, diagnosis: Diagnosis, first: IssueDiagnosis, rejected: tuple[str, ...]) -> list[str]:
        found = [one for one in diagnosis.diagnoses if one.issue != first.issue and one.issue not in rejected and one.confidence >= 0.1]
        return [f"{visible(one.title)}{self.words.paren(self._named(one.issue))}" for one in found[:2]]

    def _unknown(self, turn: Turn) -> list[Block]:
        diagnosis = turn.diagnosis
        assert diagnosis is not None
        reason = diagnosis.reason or "too-little"
        if reason == "out-of-scope":
            title = re.split("[:：]", diagnosis.summary, maxsplit=1)[-1].strip()
            step = first_screen(diagnosis).next
            return [Block(self.say("unknown.out-of-scope", title=visible(title))), *([Block(visible(step))] if step else [])]
        if turn.state.rejected:
            return [Block(self.say("rejected-none")), *self._collect()]
        if reason == "no-failure":
            return [
                Block(self.say("unknown.no-failure")),
                Block(self.say("greeting").rpartition("\n\n")[2]),
                Block(fence(self.say("example"), "text"), 5),
            ]
        blocks = [Block(self.say(f"unknown.{reason}"))]
        failure = diagnosis.report.cause
        if failure is not None:
            text = redacted_start(f"{failure.root.type}: {failure.root.message}".strip(": "), _MOST_MESSAGE, personal=True)
            blocks += [Block(self.say("first-failure"), 5), Block(_fenced(text), 5)]
        if turn.question is not None:
            return [*blocks, *self._question(turn)]
        if reason == "no-entry":
            library = failure.place.library.partition("/")[0] if failure is not None and failure.place.library else "torch"
            blocks.append(Block(self.say("search", package=_quoted(library)), 6))
        return [*blocks, *self._collect()]

    def _collect(self) -> list[Block]:
        return [Block(self.say("collect"), 7), Block(fence(ONE_LINE_PROBE, "sh"), 7)]

    def _page(self, first: IssueDiagnosis | None) -> list[Block]:
        if first is None or self.link(first.issue) is None:
            return []
        return [Block(self.say("read-on", link=self._named(first.issue)), 6)]

    def _named(self, issue: str) -> str:
        address = self.link(issue)
        return f"[{issue}]({address})" if address else f"`{issue}`"


def _fenced(text: str) -> str:
    """Return what a report says in a fence. Some chat clients end it at any three back-quotes, however long it is: there are none in it."""
    return fence(re.sub("`{3,}", lambda run: " ".join(run[0]), text), "text")


def _message(diagnosis: Diagnosis, first: IssueDiagnosis) -> str:
    """Return the message of the failure that a diagnosis explains, secrets and names masked."""
    failures = diagnosis.report.failures
    if first.failure is None or first.failure >= len(failures):
        return ""
    root = failures[first.failure].root
    lines = redact_text(f"{root.type}: {root.message}".strip(": "), personal=True).splitlines()
    return "\n".join(lines[:3])[:_MOST_MESSAGE]


def _quoted(text: str) -> str:
    """Return what a report says as inline code: nothing in it is markup, whoever wrote it."""
    shown = visible(redact_text(text, personal=True)).replace("`", "'")
    return f"`{shown[:_MOST_QUOTED]}{'…' if len(shown) > _MOST_QUOTED else ''}`"


def _sentence(text: str) -> str:
    return text.strip().rstrip(".。")
