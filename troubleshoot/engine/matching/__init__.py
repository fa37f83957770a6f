"""Matching: which known issues can explain a report, and what the evidence says of each."""

from troubleshoot.engine.matching.candidates import Candidate, Matches, find_candidates, recalled
from troubleshoot.engine.matching.search import Search

__all__ = ["Candidate", "Matches", "Search", "find_candidates", "recalled"]
