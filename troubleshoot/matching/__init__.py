"""Matching: which known issues can explain a report, and what the evidence says of each."""

from troubleshoot.matching.candidates import Candidate, Matches, find_candidates

__all__ = ["Candidate", "Matches", "find_candidates"]
