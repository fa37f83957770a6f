"""``troubleshoot check``: a sanitizer for precision. Every operation is seen; rules say which line loses numbers, and why."""

from troubleshoot.basics.lazy import lazy_names

__all__ = ["Check", "check"]

__getattr__ = lazy_names(__name__, {"Check": "session", "check": "session"})
