"""Fixes: which ones fit this environment, why the others do not, and the commands and code to show."""

from troubleshoot.engine.fixes.select import fixes_for

__all__ = ["fixes_for"]
