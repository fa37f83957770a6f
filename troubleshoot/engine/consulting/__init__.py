"""A language model reads, the rules decide: what it is asked, what of its answer is believed, and what that changes (docs/reader.md)."""

from troubleshoot.engine.consulting.asking import Question, question_about
from troubleshoot.engine.consulting.believing import Reading, believed
from troubleshoot.engine.consulting.deciding import decided

__all__ = ["Question", "Reading", "believed", "decided", "question_about"]
