"""Tools for those who write entries: lint, score, stats, new, why, gaps, stale, weigh, learn. Each is imported when it is first used."""

from typing import TYPE_CHECKING

from troubleshoot.basics.lazy import lazy_names

if TYPE_CHECKING:
    from troubleshoot.curation.aging import stale
    from troubleshoot.curation.checks import lint
    from troubleshoot.curation.clusters import gaps
    from troubleshoot.curation.counts import stats
    from troubleshoot.curation.reasons import why
    from troubleshoot.curation.scoring import score
    from troubleshoot.curation.skeleton import new_entry
    from troubleshoot.curation.weights import weigh
    from troubleshoot.curation.word_fit import learn

_HOMES = {
    "gaps": "clusters",
    "learn": "word_fit",
    "lint": "checks",
    "new_entry": "skeleton",
    "score": "scoring",
    "stale": "aging",
    "stats": "counts",
    "weigh": "weights",
    "why": "reasons",
}

__all__ = ["gaps", "learn", "lint", "new_entry", "score", "stale", "stats", "weigh", "why"]

__getattr__ = lazy_names(__name__, _HOMES)
