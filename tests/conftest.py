"""Shared by all tests: no report is ever diagnosed with a cache or overlays of the person who runs them."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

# The site's tests run without Hypothesis.
with suppress(ImportError):
    from hypothesis import settings

    # No deadline: how long an example takes says how busy the machine is. In CI the same commit gets the same examples, elsewhere new ones.
    settings.register_profile("untimed", deadline=None, derandomize="CI" in os.environ)
    settings.load_profile("untimed")

sys.path.insert(0, str(Path(__file__).parent))

# A shell starts background jobs with interrupts ignored, and children would inherit that: the tests of interrupts would wait forever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep compiled knowledge bases in a folder of this test run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("LOCALAPPDATA", str(tmp_path_factory.mktemp("cache")))
        patch.delenv("TROUBLESHOOT_KB", raising=False)
        patch.delenv("TROUBLESHOOT_LANG", raising=False)
        patch.delenv("TROUBLESHOOT_SITE", raising=False)
        yield
