"""The servers of the tests: see servers, which has a name of its own so that tests can import from it."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from servers import serve, server

__all__ = ["serve", "server"]
