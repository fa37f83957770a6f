"""Bytes to text, and telling text from binary data."""

from __future__ import annotations

from troubleshoot.basics.patterns import searched

_MAGIC = (
    b"PK\x03\x04",
    b"\x89PNG",
    b"\x1f\x8b",
    b"%PDF-",
    b"\x7fELF",
    b"\x80\x02",
    b"\x80\x04",
    b"GIF8",
    b"\xff\xd8\xff",
    b"BZh",
    b"\xfd7zXZ",
)
_SAMPLE = 1 << 16


def decode(data: bytes) -> str:
    """Return the text in ``data``; never raises.

    A byte order mark decides; without one UTF-8 is tried, then UTF-16 where every other byte is zero (a redirect in
    PowerShell), then GB18030 (Chinese Windows), then Latin-1. UTF-8 with a few broken bytes, as a cut log has, stays UTF-8.
    """
    if data.startswith((b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")):
        return data.decode("utf-32", "replace")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    wide = _wide_guess(data[:_SAMPLE])
    if wide:
        return data.decode(wide, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    text = data.decode("utf-8", "replace")
    if text.count("\ufffd") * 50 <= len(text) - _ascii(data) or text.count("\ufffd") <= 3:
        return text
    try:
        return data.decode("gb18030")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def encodable(text: str) -> str:
    """Return a text that UTF-8 can hold: a lone surrogate, half a character, becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def is_binary(data: bytes) -> bool:
    """Tell whether ``data`` begins as a well-known binary format does."""
    return data.startswith(_MAGIC)


def looks_binary(text: str) -> bool:
    """Tell whether a text is really binary data: mostly control characters or undecodable ones."""
    if "\x00" not in text and "\ufffd" not in text and "\x01" not in text:
        return False
    sample = text[:_SAMPLE].replace("\x00", "")
    odd = len(searched("[\x01-\x07\x0e-\x1a\x1c-\x1f\x7f-\x9f\ufffd]").findall(sample))
    # Logs that were truncated while written hold long runs of zeros; what remains decides.
    return odd * 10 > len(sample) or not sample.strip()


def _ascii(data: bytes) -> int:
    return len(data.translate(None, bytes(range(128, 256))))


def _wide_guess(data: bytes) -> str | None:
    if data.count(0) * 3 < len(data) or len(data) < 8:
        return None
    odd, even = data[1::2].count(0), data[::2].count(0)
    if odd > 4 * even:
        return "utf-16-le"
    if even > 4 * odd:
        return "utf-16-be"
    return None


def wide_encoding(data: bytes) -> str | None:
    """Return the UTF-16 or UTF-32 encoding of a long file by its beginning, or None."""
    if data.startswith((b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")):
        return "utf-32"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    return _wide_guess(data[:_SAMPLE])
