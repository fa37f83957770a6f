"""Which entries a model may choose from: those that the report resembles, whether or not their patterns were found."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from weakref import WeakKeyDictionary

from troubleshoot.engine.matching import Matches
from troubleshoot.engine.ranking import Hypothesis
from troubleshoot.knowledge.base import KnowledgeBase
from troubleshoot.knowledge.schema import Entry
from troubleshoot.knowledge.sentences import tokens
from troubleshoot.reading.report import Report

#: Entries that are proposed: so many that were found, and with those that share rare words with the report so many in all.
_FOUND, _MOST = 8, 14
#: Characters of a report whose words count.
_READ = 40_000

#: The words of a base's entries, and in how many entries each stands.
_Words = tuple[dict[str, frozenset[str]], Counter[str]]
_words_of: WeakKeyDictionary[KnowledgeBase, _Words] = WeakKeyDictionary()


def proposed(report: Report, matches: Matches, hypotheses: Iterable[Hypothesis], base: KnowledgeBase) -> tuple[Entry, ...]:
    """Return entries that may describe a report: those of the hypotheses, those that were found and ruled out, and the most alike."""
    found = dict.fromkeys(one.entry.id for one in hypotheses)
    found.update(dict.fromkeys(one.entry.id for one in matches.candidates))
    ids = list(found)[:_FOUND]
    ids += [id_ for id_ in _alike("\n".join(report.lines)[:_READ], base) if id_ not in ids][: _MOST - len(ids)]
    return tuple(base.entry(id_) for id_ in ids)


def _alike(text: str, base: KnowledgeBase) -> list[str]:
    """Return the ids of the entries that share the most telling words with a text, the most alike first."""
    words, counts = _entry_words(base)
    said = tokens(text.lower())
    rarity = {word: math.log(len(words) / count) for word, count in counts.items() if word in said}
    scores = {id_: sum(rarity[word] for word in sorted(own & said)) / math.sqrt(len(own)) for id_, own in words.items() if own & said}
    return sorted(scores, key=lambda id_: (-scores[id_], id_))[:_MOST]


def _entry_words(base: KnowledgeBase) -> _Words:
    known = _words_of.get(base)
    if known is None:
        words = {entry.id: frozenset(tokens(_text(entry).lower())) for entry in map(base.entry, base.ids()) if not entry.fallback}
        known = _words_of[base] = words, Counter(word for own in words.values() for word in own)
    return known


def _text(entry: Entry) -> str:
    messages = (one.template for one in entry.signature.message)
    chinese = (entry.zh.title, entry.zh.explanation) if entry.zh else ()
    return " ".join((entry.id, entry.title, entry.explanation, *entry.models, *messages, *chinese))
