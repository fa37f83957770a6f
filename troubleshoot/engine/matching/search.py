"""Finding which templates and phrases of the knowledge base occur in a report.

Words of the report lead through the index to the few patterns that may match; only these are tried. A first attempt runs over the text with
white space collapsed; where no template fits, a second runs over the text without any, because terminals wrap inside words.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from itertools import islice, pairwise

import msgspec

from troubleshoot.basics.lazy import lazy_attribute
from troubleshoot.basics.patterns import anchored
from troubleshoot.engine.evidence import FailureFacts
from troubleshoot.engine.matching.conditions import Programs
from troubleshoot.engine.matching.leaning import Leaning
from troubleshoot.knowledge.base import KnowledgeBase
from troubleshoot.knowledge.phrases import Speech, parse_phrase
from troubleshoot.knowledge.sentences import WORD_PART, Sentence, neighbours, sentence_words, sentences, tokens
from troubleshoot.knowledge.templates import Captured, Template, compile_template
from troubleshoot.reading.metrics import lost_loss
from troubleshoot.reading.places import without_folders
from troubleshoot.reading.report import RaisedException, Report

#: Texts longer than this are searched around the index words alone.
_WINDOWED = 20_000
_BEFORE, _AFTER = 1_200, 2_400
#: Occurrences of one pattern that are looked at, and characters in which it is looked for.
_MOST_HITS = 12
_MOST_READ = 200_000
#: Templates whose words are all in a text, and that are looked at: a text with more of them, of which the longest ones are looked at, is
#: no report.
_MOST_CANDIDATES = 1_000
#: Templates whose longest literal stands in a text, and that are tried: a text with more of them, of which those with the longest are
#: tried, is a list of messages. Occurrences of all of them.
_MOST_TRIED = 120
_MOST_IN_ALL = 1_000
#: Parts of one line (states of a progress bar, a record with a traceback in it) that are looked at for a message in it.
_MOST_UNFOLDED = 64
#: Messages that are looked for in the whole text, and failures whose messages are held against general wordings: the first ones count.
_MOST_LOOKED_FOR = 64
_MOST_MESSAGES = 64
#: Characters of one message, and of all of them, that are held against general wordings. A message is cut at half of the first.
_MOST_GENERAL, _MOST_GENERAL_IN_ALL = 8_192, 120_000
#: Lines that a message may have beside those that were read as its own: blank ones, the sides of a box, where a terminal broke it.
_BESIDE = 16
#: Lines that are announced.
_MOST_ANNOUNCED = 64
_MOST_WINDOWS = 60
#: A terminal's width breaks a paste, not a log of this length.
_LONGEST_JOINED = 200_000
#: Punctuation of full width, as a retyped message has it, and what torch prints.
_FULL_WIDTH = str.maketrans("（），：；＝！", "(),:;=!")
#: Prose of more sentences than this is a log: its neighbouring lines do not belong together.
_LONGEST_STORY = 40
#: A message that was pasted by itself is hardly longer.
_LONGEST_MESSAGE_LINE = 200
#: Lines longer than this carry data.
_LONGEST_LINE = 20_000
#: What a request for a feature says of itself. Its prose names dtypes and GPUs as a failure's does, and nothing has failed.
_WISHES = (
    "feature_request|feature_requests|feature-request|enhancement_request",
    "would|it'd be nice|great|cool|helpful|useful|awesome add|adding|support|supporting|have|option",
    "could|can|would be_added|be_allowed|be_exposed|be_offered|be_made_available|be_made_configurable",
    "希望|建议 增加|添加|新增|支持",
)


class Hit(msgspec.Struct, frozen=True):
    """One occurrence of a pattern: its number in the index, the line of the report, and what its holes caught (empty for phrases)."""

    pattern: int
    line: int
    captured: tuple[Captured, ...]
    text: str


class SearchText:
    """A report's text prepared for searching, with the way back to line numbers."""

    def __init__(self, report: Report) -> None:
        """Collapse white space; messages that the lines show only wrapped or boxed are appended as they were read."""
        parts: list[str] = []
        numbers: list[int] = []
        for line, number in zip(report.lines, report.numbers, strict=True):
            collapsed = " ".join(line[:_LONGEST_LINE].split())
            if collapsed:
                parts.append(collapsed)
                numbers.append(number)
        self.parts = parts
        self.numbers = numbers
        self.shown = len(parts)
        text = " ".join(parts)
        added: dict[str, int] = {}
        looked = 0
        for one in (one for failure in report.failures for one in failure.exceptions):
            message = " ".join(one.message[:4000].split())
            if not message or message in added:
                continue
            # Nearly always it stands where it was read.
            rows = self.own_rows(one)
            if rows and rows[-1] - rows[0] < len(rows) and message in " ".join(parts[rows[0] : rows[-1] + 1]):
                continue
            looked += 1
            if looked <= _MOST_LOOKED_FOR and message not in text:
                added[message] = one.line
        for message, number in added.items():
            self._rows.setdefault(number, []).append(len(parts))
            parts.append(message)
            numbers.append(number)
        text = " ".join((text, *added)) if added else text
        # Chinese and Japanese keyboards type parentheses, colons and commas of full width; each is one character, so that offsets stay.
        self.original = text if text.isascii() else text.translate(_FULL_WIDTH)
        self.lowered = _lower(self.original)

    @lazy_attribute
    def starts(self) -> list[int]:
        """Offset of each part in the text."""
        starts: list[int] = []
        offset = 0
        for part in self.parts:
            starts.append(offset)
            offset += len(part) + 1
        return starts

    def line_at(self, offset: int) -> int:
        """Return the report's line at an offset of the text."""
        return self.numbers[max(0, bisect_right(self.starts, offset) - 1)]

    def part_at(self, offset: int) -> str:
        """Return the text of the line at an offset."""
        return self.parts[max(0, bisect_right(self.starts, offset) - 1)]

    @lazy_attribute
    def _rows(self) -> dict[int, list[int]]:
        rows: dict[int, list[int]] = {}
        for row, number in enumerate(self.numbers):
            rows.setdefault(number, []).append(row)
        return rows

    def rows(self, lines: range) -> list[int]:
        """Return the parts that show some lines of the report, in order; of a line that was unfolded to many, the first ones."""
        return sorted(row for number in lines for row in self._rows.get(number, ())[:_MOST_UNFOLDED])

    @lazy_attribute
    def _rows_of_text(self) -> dict[str, list[int]]:
        rows: dict[str, list[int]] = {}
        for row, part in enumerate(self.parts):
            rows.setdefault(part, []).append(row)
        return rows

    def own_rows(self, one: RaisedException) -> list[int]:
        """Return the parts that show an exception's message: the lines of other processes that stand among its own are not of it."""
        told = one.message.split("\n")
        if one.last_line - one.line < 2 * len(told) + _BESIDE:
            return self.rows(range(one.line, one.last_line + 1))
        rows = self.rows(range(one.line, one.line + 1))
        last = bisect_right(self.numbers, one.last_line, hi=self.shown)
        at = bisect_right(self.numbers, one.line, hi=self.shown)
        for line in told[1:]:
            places = self._rows_of_text.get(" ".join(line.split()), ())
            place = bisect_left(places, at)
            if place < len(places) and places[place] < last:
                rows.append(places[place])
                at = places[place] + 1
        return sorted(rows)

    def stretches(self, rows: list[int]) -> list[tuple[int, int]]:
        """Return from where to where the text of some parts goes: a message that lines show only wrapped stands at the end once more."""
        found: list[tuple[int, int]] = []
        for row in rows:
            start, end = self.starts[row], self.starts[row] + len(self.parts[row])
            joins = bool(found) and found[-1][1] + 1 == start
            found[-1:] = [(found[-1][0], end)] if joins else [*found[-1:], (start, end)]
        return found

    @lazy_attribute
    def words(self) -> set[str]:
        """The words that lead into the index."""
        # A deep traceback repeats its lines; a word counts once.
        return tokens(_lower(" ".join(dict.fromkeys(self.parts))))

    @lazy_attribute
    def pairs(self) -> set[tuple[str, str]]:
        """The words that stand side by side."""
        return set(pairwise(WORD_PART.findall(self.lowered)))

    @lazy_attribute
    def joined(self) -> tuple[str, str, list[int]]:
        """The text without blanks: original, lowered, and for each part its offset."""
        starts: list[int] = []
        pieces: list[str] = []
        offset = 0
        for part in self.parts:
            piece = part.replace(" ", "")
            starts.append(offset)
            pieces.append(piece)
            offset += len(piece)
        original = "".join(pieces)
        return original, _lower(original), starts


def _lower(text: str) -> str:
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    # A few characters change their length in lower case; offsets must stay the same.
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in text)


class Search:
    """What is found in a report once, whatever the user answers later: occurrences of patterns, sentences, each failure's own facts."""

    def __init__(self, report: Report, base: KnowledgeBase, known: str = "", beside: str = "") -> None:
        """Search a report for everything in a knowledge base.

        ``known`` are the words of facts that hold of the whole report: conditions hear them with each of its sentences. Symptoms hear
        only those that were told ``beside`` the text: what the text itself says stands in a sentence of its own there.
        """
        self.report = report
        self.known, self.beside = _sentence_of(known), _sentence_of(beside)
        self.base = base
        self.text = SearchText(report)
        self.failures = [FailureFacts(failure) for failure in report.failures]
        if base.programs is None:
            base.programs = Programs()
        self.programs: Programs = base.programs
        candidates = base.candidates(self.text.words)
        patterns = base.index.patterns
        self.hits = _search_templates(self.text, base, [number for number in candidates if patterns[number][0] == "t"])
        #: patterns that a message only resembles
        self.recalled: list[tuple[Hit, bool]] = []
        self._recall()
        self._fall_back()
        templated = bool(self.hits or self.recalled)
        vocabulary = self.speech.vocabulary
        spoken = [number for number in base.phrases(vocabulary.keys) if patterns[number][0] == "p"]
        phrases = [number for number in spoken if parse_phrase(patterns[number][1]).possible(vocabulary)]
        if phrases:
            self.speech.expect([patterns[number][1] for number in phrases])
            listening = self.speech if self.beside == self.known else Speech(self.speech.sentences, known=self.beside)
            self._listen(phrases, listening.said)
            if not self.hits and not self.recalled:
                # Nothing is said in one sentence: then what the title says goes with the sentences below it.
                self._listen(phrases, self.speech.told)
            if not templated and not report.failures and len(self.speech.sentences) <= _LONGEST_STORY:
                # ... and each of them with the one after it, for phrases that were written for it.
                heard = {hit.pattern for hit in self.hits}
                broad = [number for number in phrases if "<" in patterns[number][1] and number not in heard]
                self._listen(broad, Speech(neighbours(self.speech.sentences), self.speech.vocabulary).said)
        if not report.failures and not self.hits and not self.recalled:
            self._fall_back_on_lines()

    def _listen(self, phrases: list[int], hear: Callable[[str], Sentence | None]) -> None:
        """Note the phrases that are heard in a sentence."""
        for number in phrases:
            sentence = hear(self.base.index.patterns[number][1])
            # A card alone is no symptom.
            if sentence is not None and sentence.line:
                self.hits.append(Hit(number, sentence.line, (), sentence.text))

    def _recall(self) -> None:
        """Look for resembling templates where the first failure's message fits none and its class does not put it out of scope."""
        failure = self.report.cause
        if failure is None or failure.root.name in self.base.index.scope_exceptions:
            return
        lines = range(failure.root.line, failure.root.last_line + 1)
        if any(hit.line in lines for hit in self.hits):
            return
        from troubleshoot.engine.matching.recall import recall, reread

        shown = failure.root.message.partition("\n")[0]
        read = reread(failure.root, self.base)
        if read:
            self.hits += [Hit(number, failure.root.line, captured, shown) for number, captured in read]
            return
        for number, cut in recall(failure.root, self.base):
            self.recalled.append((Hit(number, failure.root.line, (), shown), cut))

    def _fall_back(self) -> None:
        """Look for the general wordings of fallbacks in messages that no other template fits; prose uses such words as well."""
        known = {hit.line for hit in self.hits} | {hit.line for hit, cut in self.recalled if cut}
        text = self.text
        raised = (one for failure in self.report.failures for one in failure.exceptions)
        left = _MOST_GENERAL_IN_ALL
        for one in islice(raised, _MOST_MESSAGES):
            rows = text.own_rows(one)
            unread = min(left, _MOST_GENERAL)
            for start, end in text.stretches(rows) if known.isdisjoint(text.numbers[row] for row in rows) else ():
                end = min(end, start + unread)
                if start < end:
                    self._generally(start, end)
                    unread -= end - start
                    left -= end - start

    def _generally(self, start: int, end: int) -> None:
        """Note the general wordings that a stretch of the text holds."""
        patterns = self.base.index.patterns
        text = self.text
        for number in self.base.general(tokens(text.lowered[start:end])):
            if patterns[number][0] != "f":
                continue
            match = compile_template(patterns[number][1]).search(text.lowered, text.original, start, end)
            if match is not None:
                self.hits.append(Hit(number, text.line_at(match.start), match.captured, text.part_at(match.start)))

    def _fall_back_on_lines(self) -> None:
        """Look for general wordings in a line that is announced ("it stops with this:"), where a report shows no failure as such."""
        text = self.text
        announced = (row + 1 for row, part in enumerate(text.parts[:-1]) if part.endswith((":", "：")))
        for row in islice((row for row in announced if len(text.parts[row]) <= _LONGEST_MESSAGE_LINE), _MOST_ANNOUNCED):
            self._generally(text.starts[row], text.starts[row] + len(text.parts[row]))

    @lazy_attribute
    def speech(self) -> Speech:
        """The sentences of the report that are not part of a traceback's frames: prose, log lines and messages."""
        return Speech(_prose(self.report), known=self.known)

    @lazy_attribute
    def leaning(self) -> Leaning:
        """What the words of the report say about the causes of a family."""
        return Leaning(self.base, self.text.words | tokens(self.known.lowered) if self.known is not None else self.text.words)

    @lazy_attribute
    def wishes(self) -> bool:
        """Tell whether the report asks for a feature."""
        return any(self.speech.said(phrase) is not None for phrase in _WISHES)


def _sentence_of(told: str) -> Sentence | None:
    return Sentence(0, told, told.lower(), sentence_words(told.lower())) if told else None


def _search_templates(text: SearchText, base: KnowledgeBase, candidates: list[int]) -> list[Hit]:
    """Return the occurrences of templates, in the order of the patterns; of wrapped ones where nothing else fits."""
    if not text.original:
        return []
    if len(candidates) > _MOST_CANDIDATES:
        candidates = sorted(sorted(candidates, key=lambda number: len(base.index.patterns[number][1]))[-_MOST_CANDIDATES:])
    templates = [(number, compile_template(base.index.patterns[number][1])) for number in candidates]
    if len(text.lowered) > _WINDOWED:
        templates = [(number, template) for number, template in templates if template.pairs <= text.pairs]
    templates = [(number, template) for number, template in templates if template.probe in text.lowered]
    if len(templates) > _MOST_TRIED:
        templates = sorted(sorted(templates, key=lambda one: len(one[1].probe))[-_MOST_TRIED:])
    hits: list[Hit] = []
    for number, template in templates:
        hits.extend(_find(number, template, text, base))
        if len(hits) > _MOST_IN_ALL:
            break
    return hits or _search_joined(text, base)


def _find(number: int, template: Template, text: SearchText, base: KnowledgeBase) -> list[Hit]:
    hits: list[Hit] = []
    read = 0
    position = 0
    for start, end in _stretches(number, template, text, base):
        read += end - start
        position = max(start, position)
        while len(hits) < _MOST_HITS:
            match = template.match_within(text.lowered, text.original, position, end)
            if match is None:
                break
            hits.append(Hit(number, text.line_at(match.start), match.captured, text.part_at(match.start)))
            position = max(match.end, position + 1)
        if read > _MOST_READ or len(hits) >= _MOST_HITS:
            break
    return hits


def _stretches(number: int, template: Template, text: SearchText, base: KnowledgeBase) -> Iterable[tuple[int, int]]:
    """Return the stretches in which a template can match: around its probe, or around its index words where it has none."""
    length = len(text.lowered)
    words = base.words_of(number)
    if template.probe or length <= _WINDOWED or not words:
        return template.stretches(text.lowered, 0, length)
    windows: list[tuple[int, int]] = []
    for word in words:
        position = text.lowered.find(word)
        while position >= 0 and len(windows) < _MOST_WINDOWS:
            windows.append((max(0, position - _BEFORE), min(length, position + _AFTER)))
            position = text.lowered.find(word, position + _AFTER)
    return windows


def _search_joined(text: SearchText, base: KnowledgeBase) -> list[Hit]:
    """Search the text without blanks for the templates of which a long enough piece occurs in it."""
    if len(text.lowered) > _LONGEST_JOINED:
        return []
    original, lowered, starts = text.joined
    hits: list[Hit] = []
    for number in base.joined_candidates(lowered):
        template = compile_template(base.index.patterns[number][1], False)
        match = template.search(lowered, original)
        if match is not None:
            part = max(0, bisect_right(starts, match.start) - 1)
            hits.append(Hit(number, text.numbers[part], match.captured, text.parts[part]))
    return hits


_FRAME = ("frame #", 'File "')


def _prose(report: Report) -> list[Sentence]:
    frames: set[int] = set()
    for failure in report.failures:
        for one in failure.exceptions:
            if one.frames:
                first = one.frames[0].at
                frames.update(range(first, one.line))
    lines = _without_listings(
        [(number, line) for line, number in zip(report.lines, report.numbers, strict=True) if number not in frames]
    )
    lost = {number: said for number, line in lines if (said := lost_loss(line))}
    # Frames that are no part of a traceback (a native one, or below their message) name a program's place as a whole.
    heard = [(number, line if line.lstrip().startswith(_FRAME) else without_folders(lost.get(number, line))) for number, line in lines]
    found = sentences(heard)
    # What is shown is what the report says: a path without its folders is masked by no rule.
    changed = {number: (line, said) for (number, line), (_, said) in zip(lines, heard, strict=True) if said is not line}
    return [msgspec.structs.replace(one, text=_shown(one.text, *changed[one.line])) if one.line in changed else one for one in found]


def _shown(text: str, line: str, heard: str) -> str:
    """Return what a sentence of a line that is heard otherwise is in the line itself: folders are blanked in their place."""
    at = heard.find(text) if len(heard) == len(line) else -1
    return line[at : at + len(text)] if at >= 0 else line.strip()


#: a line of pip list, pip freeze or conda list, also within the output of collect_env
_LISTED = anchored(
    r"\s*+(?:\[(?:pip3?|conda)\] *+)?([a-z0-9_][\w.-]*+)(?:\[[^\]]*+\])?(?: *+={2,3} *+| @ |\s++)v?\d[\w.!+-]*+(?:\s++\S++){0,2}\s*+",
    re.I | re.A,
)
#: One of these is in every list, and in no table of results.
_ALWAYS = frozenset({"torch", "numpy", "pip", "setuptools", "certifi", "python"})
#: Shorter lists are prose: who names four packages thinks that they matter.
_LISTING = 6
_LONGEST_LISTED = 120


def _without_listings(lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Leave out lists of installed packages: what they name is known to the environment, and nobody speaks of it."""
    if len(lines) < _LISTING:
        return lines
    kept: list[tuple[int, str]] = []
    run: list[tuple[int, str]] = []
    names: set[str] = set()
    for one in [*lines, (0, "")]:
        listed = _LISTED.fullmatch(one[1]) if len(one[1]) < _LONGEST_LISTED else None
        if listed:
            run.append(one)
            names.add(listed[1].lower())
            continue
        if run:
            kept += run if len(run) < _LISTING or names.isdisjoint(_ALWAYS) else []
            run, names = [], set()
        kept.append(one)
    return kept[:-1]
