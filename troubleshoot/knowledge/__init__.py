"""The knowledge base: schema, loading with file and line in every error, overlays, the compiled index."""

from troubleshoot.knowledge.base import KnowledgeBase
from troubleshoot.knowledge.cache import load_kb

__all__ = ["KnowledgeBase", "load_kb"]
