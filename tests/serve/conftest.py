"""The servers and the browser of the tests: see servers and browsing, which have names of their own so that tests can import from them."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from browsing import chromium, site, visit
from servers import serve, server

__all__ = ["chromium", "serve", "server", "site", "visit"]
