"""Tools for those who write entries: lint, score, new."""

from troubleshoot.curation.checks import lint
from troubleshoot.curation.scoring import score
from troubleshoot.curation.skeleton import new_entry

__all__ = ["lint", "new_entry", "score"]
