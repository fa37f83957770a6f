"""The knowledge base as the engine uses it: an index in memory, entries decoded when they are needed."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from troubleshoot.basics.errors import InputError, KnowledgeError, KnowledgeProblem, UnknownIssueError
from troubleshoot.knowledge.experiments import Experiments, Prediction
from troubleshoot.knowledge.index import FORMAT, GRAM, Index
from troubleshoot.knowledge.schema import Causes, Entry, Fix, OutOfScope
from troubleshoot.knowledge.word_odds import WordOdds

_INDEX = msgspec.json.Decoder(Index)
_ENTRY = msgspec.json.Decoder(Entry)


#: Templates that a message is compared with.
_MOST_SIMILAR = 40


class KnowledgeBase:
    """Known issues, the taxonomy with its general advice, and what is out of scope. Immutable; safe to share between threads."""

    def __init__(self, compiled: bytes, roots: tuple[Path, ...] = ()) -> None:
        """Read a compiled base (see :mod:`troubleshoot.knowledge.compiled`).

        Raises:
            KnowledgeError: the bytes are no compiled base, or one of another format.
        """
        end = compiled.find(b"\n") + 1
        try:
            self.index = _INDEX.decode(compiled[:end])
        except msgspec.DecodeError as error:
            raise KnowledgeError((KnowledgeProblem("compiled knowledge base", 1, "", f"cannot be read: {error}"),)) from error
        if self.index.format != FORMAT:
            raise KnowledgeError((KnowledgeProblem("compiled knowledge base", 1, "", f"has format {self.index.format}, not {FORMAT}"),))
        self._body = compiled
        self._start = end
        self._entries: dict[str, Entry] = {}
        self.roots = roots
        self._shapes: dict[str, tuple[str, ...]] | None = None
        #: the compiled conditions, kept here by matching/ because they are valid exactly as long as the entries
        self.programs: Any = None
        #: all that an entry refines, directly or not, by id
        self.ancestors: dict[str, frozenset[str]] = {}
        #: the fixes of an entry for one of its causes, by both, with the entry that they are of; kept here by fixes/
        self.fixes: dict[tuple[str, str], tuple[Entry, tuple[Fix, ...]]] = {}
        self._predicted: dict[str, dict[str, Prediction]] = {}

    def __repr__(self) -> str:
        return f"<KnowledgeBase {self.version}: {len(self.index.ids)} entries>"

    @property
    def version(self) -> str:
        """A hash of the content."""
        return self.index.version

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was skipped while loading, each with file and line."""
        return tuple(self.index.warnings)

    def ids(self) -> tuple[str, ...]:
        """Return the ids of all entries, sorted."""
        return tuple(self.index.ids)

    def entry(self, issue: str) -> Entry:
        """Return an entry by its id or a former id.

        Raises:
            UnknownIssueError: with the ids that are spelled most alike.
        """
        issue = self.index.aliases.get(issue, issue)
        entry = self._entries.get(issue)
        if entry is None:
            place = self.index.ids.get(issue)
            if place is None:
                raise UnknownIssueError(issue, self.similar(issue))
            entry = _ENTRY.decode(self._line(place))
            self._entries[issue] = entry
        return entry

    def similar(self, issue: str) -> tuple[str, ...]:
        """Return up to three ids that are spelled like ``issue``."""
        import difflib

        tails: dict[str, list[str]] = {}
        for id_ in self.index.ids:
            tails.setdefault(id_.rpartition("/")[2], []).append(id_)
        close = difflib.get_close_matches(issue, self.index.ids, n=3, cutoff=0.5)
        close += [id_ for tail in difflib.get_close_matches(issue.rpartition("/")[2], tails, n=3, cutoff=0.6) for id_ in tails[tail]]
        return tuple(dict.fromkeys(close))[:3]

    @cached_property
    def causes(self) -> Causes:
        """The taxonomy."""
        return msgspec.json.decode(self._line(self.index.causes), type=Causes)

    @cached_property
    def out_of_scope(self) -> dict[str, OutOfScope]:
        """The groups of failures that the tool does not explain, by id."""
        return {group.id: group for group in msgspec.json.decode(self._line(self.index.scope), type=list[OutOfScope])}

    @cached_property
    def word_odds(self) -> WordOdds:
        """How much words speak for causes."""
        return msgspec.json.decode(self._line(self.index.word_odds), type=WordOdds)

    @cached_property
    def experiments(self) -> Experiments:
        """What users can change in a run, and what each cause says of it."""
        return msgspec.json.decode(self._line(self.index.experiments), type=Experiments)

    def predicted(self, cause: str) -> dict[str, Prediction]:
        """Return what a cause says of the experiments."""
        known = self._predicted.get(cause)
        if known is None:
            known = self._predicted[cause] = self.experiments.predicted(cause)
        return known

    def candidates(self, words: set[str]) -> list[int]:
        """Return the numbers of the templates that a text with these words may match, in order, and of all without words."""
        return self._filed(self.index.keys, self._key_words, words)

    def general(self, words: set[str]) -> list[int]:
        """Return the numbers of the general wordings that a message with these words may match, and of patterns without words."""
        return self._filed(self.index.general, self._general_words, words)

    def phrases(self, words: set[str]) -> list[int]:
        """Return the numbers of the phrases that sentences with these words may hold, in order, and of patterns without words."""
        return self._filed(self.index.spoken, self._spoken_words, words)

    def _filed(self, keys: dict[str, list[int]], key_words: frozenset[str], words: set[str]) -> list[int]:
        needs = self.index.needs
        found = set(self.index.always)
        for word in words & key_words:
            found.update(keys[word])
        return sorted(number for number in found if words.issuperset(needs[number]))

    @cached_property
    def _recall(self) -> dict[str, list[int]]:
        return msgspec.json.decode(self._line(self.index.recall), type=dict[str, list[int]])

    def similar_templates(self, words: set[str]) -> list[int]:
        """Return the numbers of the templates that share a rare word with a message, those that share more of them first."""
        counts: dict[int, int] = {}
        for word in words & self._recall.keys():
            for number in self._recall[word]:
                counts[number] = counts.get(number, 0) + 1
        return sorted(counts, key=lambda number: (-counts[number], number))[:_MOST_SIMILAR]

    def names_package(self, name: str) -> bool:
        """Tell whether an entry has releases or a condition of a package."""
        return f'"package":"{name}"'.encode() in self._body or f'"package.{name}"'.encode() in self._body

    def rare_shapes(self, shape: Callable[[str], str]) -> dict[str, tuple[str, ...]]:
        """Return the rare words of templates by what they look like; ``shape`` is always the same function."""
        if self._shapes is None:
            found: dict[str, tuple[str, ...]] = {}
            for word in self._recall:
                looks = shape(word)
                found[looks] = (*found.get(looks, ()), word)
            self._shapes = found
        return self._shapes

    @cached_property
    def _key_words(self) -> frozenset[str]:
        return frozenset(self.index.keys)

    @cached_property
    def _general_words(self) -> frozenset[str]:
        return frozenset(self.index.general)

    @cached_property
    def _spoken_words(self) -> frozenset[str]:
        return frozenset(self.index.spoken)

    @cached_property
    def _words(self) -> dict[int, list[str]]:
        words: dict[int, list[str]] = {}
        for word, numbers in self.index.keys.items():
            for number in numbers:
                words.setdefault(number, []).append(word)
        return words

    def words_of(self, pattern: int) -> list[str]:
        """Return the index words of a template; empty for one that has none."""
        return self._words.get(pattern, [])

    def joined_candidates(self, joined: str) -> list[int]:
        """Return the numbers of the templates that may match a lowered text without blanks."""
        grams = self.index.grams
        found: set[int] = set()
        for gram in {joined[index : index + GRAM] for index in range(len(joined) - GRAM + 1)} & grams.keys():
            found.update(grams[gram])
        return sorted(found)

    def _line(self, place: tuple[int, int]) -> memoryview:
        start = self._start + place[0]
        return memoryview(self._body)[start : start + place[1]]


def shipped_root() -> Path:
    """Return the folder of the shipped base: the checkout's ``kb/`` where this is an editable checkout, else the wheel's copy."""
    package = Path(__file__).resolve().parent.parent
    checkout = package.parent / "kb"
    if (checkout / "causes").is_dir() and (package.parent / "pyproject.toml").is_file():
        return checkout
    return package / "_kb"


def checkout_root(instead: str) -> Path:
    """Return the folder of the shipped base for writing, which a checkout alone has.

    Raises:
        InputError: the base is installed; ``instead`` says what to give.
    """
    root = shipped_root()
    if root.name != "kb":
        raise InputError(f"the installed knowledge base is not to be changed. {instead}")
    return root


def overlay_roots(paths: Sequence[os.PathLike[str] | str] = ()) -> tuple[Path, ...]:
    """Return the overlay folders in order of precedence, the weakest first: installed packages, ``TROUBLESHOOT_KB``, then ``paths``."""
    from troubleshoot.knowledge.plugins import plugin_roots

    named = [Path(part) for part in os.environ.get("TROUBLESHOOT_KB", "").split(os.pathsep) if part]
    return (*plugin_roots(), *named, *(Path(path) for path in paths))
