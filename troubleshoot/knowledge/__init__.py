"""The knowledge base: schema, loading with file and line in every error, overlays, the compiled index."""

from troubleshoot.knowledge.base import KnowledgeBase
from troubleshoot.knowledge.cache import current_kb, load_kb

__all__ = ["KnowledgeBase", "current_kb", "load_kb"]
