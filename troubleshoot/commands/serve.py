"""``troubleshoot serve`` and ``troubleshoot mcp``: their arguments, and what they do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from troubleshoot.basics.errors import InputError
from troubleshoot.commands.options import Overlays, ReaderModel, ReaderUrl, chosen_reader

if TYPE_CHECKING:
    from troubleshoot.serve.settings import Settings

SERVE_EXAMPLES = (
    "troubleshoot serve",
    "troubleshoot serve --port 8080 --public-url https://help.example.com --max-chars 2000",
    "troubleshoot serve --host 0.0.0.0 --token-file tokens.txt --workers 4 --feedback feedback.db",
    "troubleshoot serve --reader http://localhost:11434/v1 --reader-model qwen3:8b --timeout 40",
    "troubleshoot serve --assume model=Qwen/Qwen2-VL-7B-Instruct --assume gpu=A100 --kb my-kb",
)
MCP_EXAMPLES = ("troubleshoot mcp", "troubleshoot mcp --allow-run", "troubleshoot mcp --kb my-kb")
AFTER = "Exit status: 0 stopped by a signal or its client, 2 an error in use."
_EXTRA = "needs packages that are not installed here. Run: pip install 'troubleshoot[serve]'"
_LEAST_TOKEN = 16

Assume = Annotated[
    list[str] | None,
    typer.Option(
        "--assume", metavar="FACT=VALUE", help="A fact that holds unless a report says otherwise; may be repeated.", show_default=False
    ),
]


def serve(
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[str, typer.Option("--port", metavar="N", help="The port to listen on; 0 takes a free one.")] = "8000",
    workers: Annotated[str, typer.Option("--workers", metavar="N", help="Processes that serve.")] = "1",
    token_file: Annotated[
        str | None,
        typer.Option(
            "--token-file", metavar="FILE", help="Tokens that clients must send, one a line, of at least 16 characters.", show_default=False
        ),
    ] = None,
    no_auth: Annotated[
        bool, typer.Option("--no-auth", help="Serve other machines without a token: everybody who reaches it may use it.")
    ] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host", metavar="NAME", help="Another name by which clients may address it; may be repeated.", show_default=False
        ),
    ] = None,
    public_url: Annotated[
        str | None,
        typer.Option("--public-url", metavar="URL", help="Where people reach it: links in answers lead there.", show_default=False),
    ] = None,
    language: Annotated[str, typer.Option("--lang", metavar="en|zh", help="The language until a user shows another.")] = "en",
    max_chars: Annotated[
        str, typer.Option("--max-chars", metavar="N", help="How long a chat answer may be (Discord: 2000); 0 is any length.")
    ] = "0",
    assume: Assume = None,
    kb: Overlays = None,
    show_overlays: Annotated[
        bool, typer.Option("--show-overlays", help="Show entries of --kb in lists and on pages too; else they only answer.")
    ] = False,
    feedback: Annotated[
        str | None, typer.Option("--feedback", metavar="FILE", help="Take feedback into this SQLite file.", show_default=False)
    ] = None,
    store_reports: Annotated[
        bool, typer.Option("--store-reports", help="Keep the reports that come with feedback, secrets and names masked.")
    ] = False,
    reader: ReaderUrl = None,
    reader_model: ReaderModel = None,
    max_body: Annotated[str, typer.Option("--max-body", metavar="BYTES", help="The longest body of a request.")] = "1048576",
    timeout: Annotated[str, typer.Option("--timeout", metavar="SECONDS", help="The longest time for one request.")] = "10",
    max_requests: Annotated[str, typer.Option("--max-requests", metavar="N", help="Requests at a time, for each worker.")] = "256",
    engines: Annotated[
        str,
        typer.Option(
            "--engines", metavar="N", help="Processes that read requests, for each worker; 0 is one for each processor, between 2 and 4."
        ),
    ] = "0",
    cpu_limit: Annotated[
        str, typer.Option("--cpu-limit", metavar="SECONDS", help="The most processor time that reading one request may take.")
    ] = "3",
    memory_limit: Annotated[
        str, typer.Option("--memory-limit", metavar="MIB", help="The most memory that a process that reads requests may take.")
    ] = "512",
    request_log: Annotated[
        bool, typer.Option("--request-log/--no-request-log", help="Log every request as a line of JSON on stderr, without its content.")
    ] = True,
) -> int:
    """Serve diagnoses over HTTP: REST, chat in OpenAI's protocol, MCP, and a web page. No GPU and no torch are needed.

    Nothing of this machine gets into an answer, nothing of a report is kept, and without --reader nothing is sent on. Rate limits belong
    to the proxy in front (docs/server.md).
    """
    local = _loopback(host)
    if not local and token_file is None and not no_auth:
        raise InputError(
            f"--host {host} is reached from other machines. Give --token-file FILE (for example: openssl rand -hex 32 > FILE), "
            "or --no-auth if everybody there may use it"
        )
    if no_auth and token_file is not None:
        raise InputError("--no-auth and --token-file contradict each other: give one of them")
    if language not in ("en", "zh"):
        raise InputError(f"--lang {language}: choose en or zh")
    if public_url is not None and not public_url.startswith(("http://", "https://")):
        raise InputError(f"--public-url {public_url}: give an address that begins with http:// or https://")
    if store_reports and feedback is None:
        raise InputError("--store-reports keeps the reports that come with feedback: give --feedback FILE too")
    try:
        from troubleshoot.serve.guard import loopback_names
        from troubleshoot.serve.running import run_server
    except ImportError as error:
        raise InputError(f"`troubleshoot serve` {_EXTRA} ({error})") from None
    from troubleshoot.serve.settings import Settings

    # Without a token, a web page elsewhere must not reach this server by giving its own name this address.
    names = loopback_names(public_url) if (local and token_file is None) or allow_host else ()
    settings = Settings(
        language=language,
        overlays=_folders(kb or ()),
        show_overlays=show_overlays,
        assume=_facts(assume or ()),
        public_url=public_url,
        max_chars=_whole("--max-chars", max_chars, 0, 1_000_000, least_but_zero=400),
        tokens=_tokens(token_file),
        allowed_hosts=(*names, *(allow_host or ())),
        max_body=_whole("--max-body", max_body, 1024, 64 * 1024 * 1024),
        timeout=float(_whole("--timeout", timeout, 1, 600)),
        max_requests=_whole("--max-requests", max_requests, 1, 100_000),
        engines=_whole("--engines", engines, 0, 64),
        cpu_limit=float(_whole("--cpu-limit", cpu_limit, 1, 600)),
        memory_limit=_whole("--memory-limit", memory_limit, 256, 1_000_000) * 1024 * 1024,
        feedback=Path(feedback) if feedback else None,
        store_reports=store_reports,
        log_requests=request_log,
        reader=chosen_reader(reader, reader_model),
    )
    run_server(settings, host=host, port=_whole("--port", port, 0, 65535), workers=_whole("--workers", workers, 1, 256))
    return 0


def mcp(
    allow_run: Annotated[bool, typer.Option("--allow-run", help="Offer verify and audit too: they run code on this machine.")] = False,
    assume: Assume = None,
    kb: Overlays = None,
) -> int:
    """Serve the Model Context Protocol on standard input and output: for assistants and editors that start it themselves."""
    try:
        from troubleshoot.serve.running import run_mcp
    except ImportError as error:
        raise InputError(f"`troubleshoot mcp` {_EXTRA} ({error})") from None
    run_mcp(_mcp_settings(assume or (), kb or ()), allow_run=allow_run)
    return 0


def _mcp_settings(assume: Sequence[str], kb: Sequence[str]) -> Settings:
    from troubleshoot.serve.settings import Settings

    # Whoever starts it reads the folders of entries anyway.
    return Settings(overlays=_folders(kb), show_overlays=True, assume=_facts(assume))


def _loopback(host: str) -> bool:
    """Tell whether only this machine reaches an address."""
    import ipaddress

    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _folders(kb: Sequence[str]) -> tuple[Path, ...]:
    for folder in kb:
        if not Path(folder).is_dir():
            raise InputError(f"--kb {folder}: no such folder")
    return tuple(Path(folder) for folder in kb)


def _facts(assume: Sequence[str]) -> dict[str, str]:
    from troubleshoot.commands.diagnose import pairs
    from troubleshoot.engine.evidence import VOCABULARY

    found = pairs("--assume", assume, "model=Qwen/Qwen2-VL-7B-Instruct")
    # A name that is no fact is a package's: --assume torch=2.3.0.
    return {name if name in VOCABULARY or name == "gpu" or "." in name else f"package.{name}": value for name, value in found.items()}


def _whole(option: str, text: str, least: int, most: int, *, least_but_zero: int = 0) -> int:
    value = int(text) if text.isascii() and text.isdecimal() and len(text) < 12 else -1
    if not least <= value <= most or 0 < value < least_but_zero:
        raise InputError(
            f"{option} {text}: give a whole number from {least_but_zero or least} to {most}" + (", or 0" if least_but_zero else "")
        )
    return value


def _tokens(name: str | None) -> tuple[str, ...]:
    """Return the tokens in a file: one a line, # begins a remark."""
    if name is None:
        return ()
    try:
        lines = Path(name).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--token-file {name} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    found = tuple(line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#"))
    if not found:
        raise InputError(f"--token-file {name} holds no token. Write one: openssl rand -hex 32 > {name}")
    if any(len(token) < _LEAST_TOKEN or not token.isascii() or " " in token for token in found):
        raise InputError(
            f"--token-file {name}: a token has at least {_LEAST_TOKEN} characters, and no blanks. Write one: openssl rand -hex 32"
        )
    return found
