"""A turn becomes Markdown: what it is, the question that decides, or the next fix. Every statement is the knowledge base's."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from troubleshoot.basics.redact import redact_text, redacted_start
from troubleshoot.engine.result import Diagnosis, FixAdvice, IssueDiagnosis, Question
from troubleshoot.reading.environment.exchange import ONE_LINE_PROBE
from troubleshoot.serve.chat.conversation import Turn
from troubleshoot.serve.chat.strings import TABLES
from troubleshoot.telling.content import fix_body, run_values, shorten
from troubleshoot.telling.document import Block as Part
from troubleshoot.telling.document import Code, Prose
from troubleshoot.telling.layout import visible
from troubleshoot.telling.markdown import fence
from troubleshoot.telling.words import Words

#: A block with a lower rank is left out first where an answer must be short; rank 9 never is.
_LAST = 9
_MOST_EVIDENCE, _MOST_OTHERS = 3, 4
_MOST_MESSAGE, _MOST_QUOTED = 300, 100


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
        self.stop = "。" if self.words.language == "zh" else "."

    def say(self, key: str, **values: object) -> str:
        """Return one of the chat's own sentences."""
        return self.table[key].format(**values) if values else self.table[key]

    def blocks(self, turn: Turn) -> list[Block]:
        """Return the answer to a turn as blocks, in the order in which they are read."""
        event, state = turn.state.event, turn.state
        told = [Block(self.say("unusable", text=_quoted(_sentence(one)))) for one in state.problems[:3]]
        if event == "image":
            return [*told, Block(self.say("image")), Block(fence(self.say("example"), "text")), *self._pending(turn)]
        if event == "reset":
            return [*told, Block(self.say("reset"))]
        if turn.diagnosis is None:
            return [*told, *self._without_report(turn)]
        if event == "worked":
            title = self.say("worked", title=visible(turn.fix.title)) if turn.fix is not None else self.say("worked-none")
            return [*told, Block(title), *self._page(turn.first)]
        if event in ("thanks", "greeting") and turn.answered:
            first = self.say("thanks") if event == "thanks" else self.say("greeting").partition("\n\n")[0]
            return [Block(first), *(self._question(turn.question) if turn.question is not None else ())]
        if event in ("other", "no-such-number", "yes", "no"):
            key = event if event == "no-such-number" else "other"
            return [*told, Block(self.say(key)), *self._reminder(turn)]
        if turn.first is None:
            return [*told, *self._unknown(turn)]
        if event == "back":
            told.append(Block(self.say("back")))
        if event == "why":
            return [*told, *self._head(turn, turn.first), *self._page(turn.first), *self._reminder(turn)]
        head = self._head(turn, turn.first) if turn.news or event in ("report", "facts", "rejected", "back", "dont-know") else []
        return [*told, *head, *self._pending(turn)]

    def _pending(self, turn: Turn) -> list[Block]:
        """Return what the conversation waits for: the answer to a question, or word of a fix."""
        if turn.question is not None:
            return self._question(turn.question)
        if turn.first is None:
            return []
        return self._fix(turn, turn.fix, turn.first) if turn.fix is not None else self._exhausted(turn, turn.first)

    def _reminder(self, turn: Turn) -> list[Block]:
        """Return in short what the conversation waits for."""
        if turn.question is not None:
            return self._question(turn.question)
        if turn.fix is None or turn.state.done:
            return [Block(self.say("empty"))] if not turn.answered else []
        return [self._fix_title(turn, turn.fix), *self._how(turn, turn.fix)]

    def _without_report(self, turn: Turn) -> list[Block]:
        if turn.state.event == "thanks":
            return [Block(self.say("thanks"))]
        if turn.state.event in ("other", "greeting", "report", "dont-know"):
            return [Block(self.say("greeting")), Block(fence(self.say("example"), "text"), 5)]
        return [Block(self.say("paste")), Block(fence(self.say("example"), "text"), 5)]

    def _head(self, turn: Turn, first: IssueDiagnosis) -> list[Block]:
        assert turn.diagnosis is not None
        sure = self.say("known" if first.confidence >= 0.8 else "likely", percent=self.words.percent(first.confidence))
        certainty = sure if turn.state.report else self.say("remembered")
        blocks = [Block(f"**{visible(first.title)}**{self.words.paren(certainty)}\n{self._named(first.issue)}")]
        if not turn.news and turn.state.event not in ("report", "rejected", "why"):
            # What it is was explained before.
            return blocks
        message = _message(turn.diagnosis, first)
        if message:
            blocks.append(Block(_fenced(message), 4))
        if first.kind == "family" and first.note:
            blocks.append(Block(self.say("family", note=visible(first.note.rstrip(".。")), cause=f"`{first.cause}`"), 8))
        elif first.note:
            blocks.append(Block(visible(first.note[:1].upper() + first.note[1:]) + self.stop, 7))
        explanation = shorten(self.words.flow(first.explanation))
        blocks.append(Block(visible(explanation), 6))
        if first.impact != "error":
            blocks.append(Block(self.words(f"impact.{first.impact}"), 7))
        told = [item for item in first.evidence if item.state == "supports" and item.kind not in ("message", "cut", "similar")]
        # A line of prose may speak for an entry twice.
        shown = list({item.text[:40]: item for item in told}.values())
        items = [
            _quoted(item.text) + (self.words.paren(self.words("on-line", line=item.line)) if item.line is not None else "")
            for item in shown[:_MOST_EVIDENCE]
        ]
        if items:
            blocks.append(Block(self.say("because", items=self.words.list(items)), 2))
        return blocks

    def _question(self, question: Question) -> list[Block]:
        options = question.answers
        lines = [self.say("ask", ask=visible(question.ask))]
        if not options:
            name = question.about.removeprefix("package.")
            how = self.say("version-how", package=name) if name != question.about else self.say("open-how", example="...")
            return [Block(lines[0]), Block(f"1. {self.say('dont-know')}"), Block(how)]
        lines += [f"{number}. {self._option(option)}" for number, option in enumerate((*options, None), 1)]
        return [Block("\n".join(lines)), Block(self.say("ask-how"), 8)]

    def _option(self, option: str | None) -> str:
        if option is None:
            return self.say("dont-know")
        return self.say({"present": "yes-present", "absent": "no-absent"}[option]) if option in ("present", "absent") else visible(option)

    def _fix(self, turn: Turn, fix: FixAdvice, first: IssueDiagnosis) -> list[Block]:
        blocks = [self._fix_title(turn, fix)]
        blocks += [block for part in fix_body(fix, self.words) for block in self._part(part)]
        seen = self.say("seen", **run_values(fix.seen[0], self.words)) if fix.seen else self.say("seen-none")
        blocks.append(Block(seen, 3))
        wrong = [one for one in first.fixes if one.expected == "fails"]
        if wrong and not turn.state.tried:
            blocks.append(Block(self.say("dont", items=self.words.list([visible(one.title) for one in wrong[:2]])), 4))
        return [*blocks, *self._how(turn, fix)]

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
            return [Block(visible(text[:1].upper() + text[1:]) + self.stop, 8)]
        return [Block(visible(part.text), 5)]

    def _fix_title(self, turn: Turn, fix: FixAdvice) -> Block:
        number, count = turn.fixes.index(fix) + 1, len(turn.fixes)
        return Block(self.say("fix", number=number, count=count, title=visible(fix.title), tag=self.words(fix.applicability)))

    def _how(self, turn: Turn, fix: FixAdvice) -> list[Block]:
        left = [(at, one) for at, one in enumerate(turn.fixes, 1) if one is not fix and one.id not in turn.state.tried]
        if not left:
            return [Block(self.say("how-last"), 7)]
        items = self.words.list([f"{at}. {visible(one.title)}" for at, one in left[:_MOST_OTHERS]])
        return [Block(self.say("others", items=items), 6), Block(self.say("how"), 7)]

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
            return [Block(self.say("unknown.out-of-scope", title=visible(title)))]
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
            return [*blocks, *self._question(turn.question)]
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
