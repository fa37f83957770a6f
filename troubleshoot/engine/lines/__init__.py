"""The release of a package, told by the lines of code that a traceback shows (docs/line-numbers.md)."""

from troubleshoot.engine.lines.inferring import infer_releases

__all__ = ["infer_releases"]
