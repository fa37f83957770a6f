"""The engine over the network: REST, OpenAI-compatible chat, MCP, a page to paste into. Needs the extra ``serve``."""

from typing import TYPE_CHECKING

from troubleshoot.basics.lazy import lazy_names

if TYPE_CHECKING:
    from troubleshoot.serve.app import create_app
    from troubleshoot.serve.settings import Settings

#: Where each name is defined; it is imported when it is first used.
_HOMES = {"create_app": "app", "Settings": "settings"}

__all__ = ["Settings", "create_app"]

__getattr__ = lazy_names(__name__, _HOMES)
