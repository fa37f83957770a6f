"""What the shell completes."""

from __future__ import annotations


def issues(incomplete: str) -> list[str]:
    """Return the ids of known issues and the codes of causes that begin so; never raises, since a shell waits."""
    try:
        from troubleshoot.knowledge import load_kb

        base = load_kb()
        names = [*base.ids(), *base.causes.causes]
        return sorted(name for name in names if name.startswith(incomplete))
    except Exception:
        return []
