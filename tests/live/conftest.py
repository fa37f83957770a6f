"""Shared by the tests of live exceptions."""

from __future__ import annotations

import pytest


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look as long as it takes: what is found is tested, not how fast, and a busy machine takes longer than the limit."""
    monkeypatch.setattr("troubleshoot.engine.live.looking.LIMIT", 10.0)
