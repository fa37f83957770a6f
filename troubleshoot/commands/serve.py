"""``troubleshoot serve`` and ``troubleshoot mcp``: their arguments, and what they do."""

from __future__ import annotations

from typing import Annotated

import typer

from troubleshoot.errors import InputError

EXAMPLES = ("troubleshoot serve",)
AFTER = "Exit status: 0 stopped by a signal, 2 an error in use."
_EXTRA = "this command needs packages that are not installed. Run: pip install 'troubleshoot[serve]'"


def serve(
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[str, typer.Option("--port", metavar="N", help="The port to listen on.")] = "8000",
) -> int:
    """Serve diagnoses over HTTP: REST, OpenAI-compatible chat, MCP and a web page."""
    if not port.isdecimal() or int(port) > 65535:
        raise InputError(f"--port {port}: give a number from 0 to 65535")
    try:
        import uvicorn

        from troubleshoot.serve.app import create_app
    except ImportError as error:
        raise InputError(f"{_EXTRA} ({error})") from None
    uvicorn.run(create_app(), host=host, port=int(port))
    return 0
