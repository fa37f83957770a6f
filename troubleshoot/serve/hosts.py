"""Reading the Host and Origin headers strictly: what is not exactly a host and perhaps a port names nothing."""

from __future__ import annotations

import ipaddress
import re

#: A registered name or an IPv4 address, or an address in brackets; then perhaps a port. https://www.rfc-editor.org/rfc/rfc3986#section-3.2.2
_HOST = re.compile(r"(?:(?P<name>[A-Za-z0-9_-][A-Za-z0-9._-]{0,252})|\[(?P<address>[0-9A-Fa-f:.]{2,45})\])(?::(?P<port>[0-9]{1,5}))?")


def host_name(header: str) -> str | None:
    """Return the name in a Host header in lower case and without its port, an IPv6 address in brackets; None where it is none."""
    match = _HOST.fullmatch(header)
    if match is None or int(match["port"] or 0) > 65535:
        return None
    if match["name"]:
        return match["name"].lower()
    try:
        return f"[{ipaddress.IPv6Address(match['address'])}]"
    except ValueError:
        return None


def same_origin(origin: str, host: str) -> bool:
    """Tell whether an Origin header names the host that a Host header names, its port included."""
    scheme, _, named = origin.partition("://")
    return scheme in ("http", "https") and host_name(named) is not None and named.lower() == host.lower()
