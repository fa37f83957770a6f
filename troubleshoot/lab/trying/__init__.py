"""The user's own program in fresh processes: as it is, edited, or under a live patch."""

from troubleshoot.basics.lazy import lazy_names

__all__ = ["run_program_fresh", "trials_for", "try_fixes"]

__getattr__ = lazy_names(__name__, {"run_program_fresh": "fresh", "trials_for": "trials", "try_fixes": "session"})
