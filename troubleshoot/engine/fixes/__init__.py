"""Fixes: which ones fit this environment, why the others do not, and the commands and code to show."""

from troubleshoot.engine.fixes.select import HeldFix, fixes_for

__all__ = ["HeldFix", "fixes_for"]
