"""Where the pages of entries are published, for links in reports: one setting, ``TROUBLESHOOT_SITE``."""

from __future__ import annotations

import os

#: The address of the documentation site: of its home page, with or without a slash at the end.
SITE = "TROUBLESHOOT_SITE"


def entry_address(issue: str, language: str = "en", kind: str = "issues") -> str | None:
    """Return the address of an entry's page, or of a cause's (``kind`` "causes"); None where no site is set, or what is set is no address.

    >>> os.environ[SITE] = "https://docs.example.org/troubleshoot"
    >>> entry_address("torch/linear-dtype")
    'https://docs.example.org/troubleshoot/issues/torch/linear-dtype/'
    """
    site = os.environ.get(SITE, "").strip().rstrip("/")
    if not site.startswith(("https://", "http://")):
        return None
    return f"{site}/{'zh/' if language == 'zh' else ''}{kind}/{issue}/"
