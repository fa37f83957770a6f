"""Messages that fit no template because they were cut, retyped or slightly reworded: which template do they resemble?

A suggestion, never a match: what it finds starts with lower odds and needs other evidence. rapidfuzz compares in order
(``token_set_ratio`` would take "expected Float found Half" for its reverse), and only with templates that share one of their rare words
with the message.
"""

from __future__ import annotations

from troubleshoot.knowledge.base import KnowledgeBase
from troubleshoot.knowledge.sentences import tokens
from troubleshoot.knowledge.templates import literal_text
from troubleshoot.reading.report import RaisedException

#: Characters of a message that are compared: what makes it known stands at its beginning.
_LONGEST = 240
#: A shorter message says too little to resemble anything.
_SHORTEST = 24
#: How alike they must be (0 to 100), and which share of the template's literal text the message must reach.
_ALIKE = 86.0
_SHARE = 0.55


#: A message that is the beginning of a template, and at least this long, was cut rather than reworded: however little of it is left.
_CUT = 30


def recall(exception: RaisedException, base: KnowledgeBase) -> list[tuple[int, bool]]:
    """Return the templates that an exception's message resembles most, the best first; mostly none.

    Each comes with whether the message is its beginning, word for word: then it was cut, and says nearly as much as the whole.
    """
    message = " ".join(exception.message[:_LONGEST].lower().split())
    if len(message) < _SHORTEST:
        return []
    numbers = base.similar_templates(tokens(message))
    if not numbers:
        return []
    from rapidfuzz import fuzz

    # Those who cut at the end of a sentence leave a full stop where the template goes on, or dots.
    beginning = message.rstrip(". …") if len(message) >= _CUT else ""
    found: list[tuple[float, int, bool]] = []
    for number in numbers:
        literal = literal_text(base.index.patterns[number][1])
        cut = bool(beginning) and literal.startswith(beginning)
        if not cut and len(message) < _SHARE * len(literal):
            continue
        # A cut message is the beginning of the template; a longer one holds it.
        score = fuzz.partial_ratio(message, literal, score_cutoff=_ALIKE) if len(literal) >= _SHORTEST else 0.0
        if score:
            found.append((-score, number, cut))
    found.sort()
    return [(number, cut) for score, number, cut in found if score <= found[0][0] + 2.0][:3]
