"""Secrets and personal details taken out of text: one place for every face.

Two levels. Secrets (tokens, keys, passwords in URLs) are always masked in what is quoted from a report. What names a person or a
machine (home directories, e-mail addresses, IP addresses) is masked as well where the output is meant to be shared.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, TypeVar

T = TypeVar("T")

#: What the masks look like; the kind is kept, since "a token was here" helps whoever reads the report.
MASK = "[redacted:{}]"

#: (hints, pattern, replacement) in order. A pattern is compiled and tried only where the lowered text holds one of its hints: most
#: texts hold none, and start-up must not pay. Forms of tokens are the prefixes that the vendors document.
_BEFORE = r"(?<![A-Za-z0-9_-])"
_SECRETS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("hf_", "api_org_"), _BEFORE + "(?:hf_|api_org_)[A-Za-z0-9]{16,}", "[redacted:hugging face token]"),
    (("sk-",), _BEFORE + "sk-[A-Za-z0-9_-]{16,}", "[redacted:api key]"),
    (("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), _BEFORE + "gh[pousr]_[A-Za-z0-9_]{16,}", "[redacted:github token]"),
    (("github_pat_",), _BEFORE + "github_pat_[A-Za-z0-9_]{16,}", "[redacted:github token]"),
    (("glpat-",), _BEFORE + "glpat-[A-Za-z0-9_-]{16,}", "[redacted:gitlab token]"),
    (("akia", "asia"), _BEFORE + "(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Z0-9])", "[redacted:aws key]"),
    (("aiza",), _BEFORE + "AIza[A-Za-z0-9_-]{30,}", "[redacted:google key]"),
    (("xox",), _BEFORE + "xox[abeoprs]-[A-Za-z0-9-]{10,}", "[redacted:slack token]"),
    (("npm_",), _BEFORE + "npm_[A-Za-z0-9]{30,}", "[redacted:npm token]"),
    (("pypi-",), _BEFORE + "pypi-[A-Za-z0-9_-]{40,}", "[redacted:pypi token]"),
    (("r8_", "gsk_", "nvapi-", "dop_v1_"), _BEFORE + "(?:r8_|gsk_|nvapi-|dop_v1_)[A-Za-z0-9_-]{20,}", "[redacted:api key]"),
    (("eyj",), _BEFORE + r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{4,})?", "[redacted:jwt]"),
    (
        ("private key-",),
        r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]{0,20000}(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?",
        "[redacted:private key]",
    ),
    # user:password@host, and a token alone before the @, which is rarer in reports than an address.
    (("@",), r"(?i)\b([a-z][a-z0-9+.-]{1,20}://)([^\s/@:'\"]{1,200}):([^\s/@'\"]{1,400})@", r"\1\2:[redacted:password]@"),
    (("@",), r"(?i)\b(https?://)([^\s/@:'\"]{12,400})@", r"\1[redacted:token]@"),
    (
        ("?", "&"),
        r"(?i)([?&][a-z_-]{0,30}(?:token|key|secret|signature|sig|password|credential)=)[^\s&'\"#]{6,}",
        r"\1[redacted:parameter]",
    ),
    (
        ("authorization",),
        r"(?i)\b(authorization['\"]?\s{0,3}[:=]\s{0,3}['\"]?(?:bearer|basic|token)\s{1,3})[^\s'\",}]{6,}",
        r"\1[redacted:token]",
    ),
    (
        ("passw", "passphrase"),
        r"(?i)((?:password|passwd|passphrase)['\"]?\s{0,3}[:=]\s{0,3}(['\"]))(?!\[redacted)[^'\"\n]{3,200}(?=\2)",
        r"\1[redacted:password]",
    ),
    (("bearer",), r"(?i)\b(bearer\s{1,3})[A-Za-z0-9_.~+/=-]{12,}", r"\1[redacted:token]"),
)  # fmt: skip

#: NAME=value and "name": "value", where the name says that it is a secret. ``tokenizer=`` and ``pad_token=`` name none.
_NAMED = (
    r"(?i)((?<![A-Za-z0-9])(?:[A-Za-z0-9]{1,30}[_-]){0,4}"
    r"(?:api[_-]?key|secret(?:[_-]?(?:access)?[_-]?key)?|access[_-]?key|private[_-]?key|passw(?:or)?d|passphrase|pwd|token|credentials?)"
    r"['\"]?\s{0,3}[:=]\s{0,3}['\"]?)(?!\[redacted|None\b|True\b|False\b|null\b|\*{3})([^\s'\",;)}\]]{8,})"
)
_NAMES = ("key", "secret", "passw", "passphrase", "pwd", "token", "credential")
_SPECIAL_TOKENS = ("pad", "eos", "bos", "unk", "sep", "cls", "mask", "image", "video", "audio", "special", "stop", "per", "next", "max")

_PERSONAL: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("@",), r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}", "[redacted:e-mail]"),
    # user@host, in a shell's prompt or an scp target
    (("@",), r"(?<![A-Za-z0-9._%+/@-])[a-z_][a-z0-9_-]{0,31}@[A-Za-z][A-Za-z0-9-]{1,62}(?=[:\s~$#])", "[redacted:user]"),
    (("/home/",), r"(/home/)(?!\[)[^/\s'\":,;)]{1,64}", r"\1[user]"),
    (("/users/",), r"(?<![A-Za-z0-9])(/Users/)(?!Shared\b|\[)[^/\s'\":,;)]{1,64}", r"\1[user]"),
    (
        ("users\\", "users/", "settings\\"),
        r"(?i)\b([a-z]:[\\/]{1,2}(?:users|documents and settings)[\\/]{1,2})(?!public\b|\[)[^\\/\s'\":,;)]{1,64}",
        r"\1[user]",
    ),
)
#: Not after an operator or a letter: `cuda==12.8.0.38` is a version of four parts.
_ADDRESS = r"(?<![\w.=<>~!+-])(?:\d{1,3}\.){3}\d{1,3}(?![\w.+-])"


def redact_text(text: str, *, personal: bool = False) -> str:
    """Return the text without secrets and, with ``personal``, without home directories, e-mail and IP addresses. Never raises."""
    text = _apply(_SECRETS, text)
    if _assigns(text.lower()):
        text = _compiled(_NAMED).sub(_named, text)
    if personal:
        text = _apply(_PERSONAL, text)
        if text.count(".") >= 3:
            text = _compiled(_ADDRESS).sub(_address, text)
        home = _home()
        if home:
            text = text.replace(home, "~")
    return text


def redact_data(data: T, *, personal: bool = True) -> T:
    """Return a JSON-like object with every text in it redacted, keys excepted."""
    texts: list[str] = []
    _collect(data, texts)
    # Most objects hold nothing to mask, and one look at all their texts together tells so. A newline is a border for every rule.
    joined = "\n".join(texts)
    if redact_text(joined, personal=personal) == joined:
        return data

    def walk(node: Any) -> Any:
        if isinstance(node, str):
            return redact_text(node, personal=personal)
        if isinstance(node, dict):
            return {key: walk(value) for key, value in node.items()}
        if isinstance(node, list | tuple):
            return type(node)(map(walk, node))
        return node

    return walk(data)  # type: ignore[no-any-return]


def _collect(node: Any, texts: list[str]) -> None:
    if isinstance(node, str):
        texts.append(node)
    elif isinstance(node, dict):
        for value in node.values():
            _collect(value, texts)
    elif isinstance(node, list | tuple):
        for value in node:
            _collect(value, texts)


def _apply(rules: tuple[tuple[tuple[str, ...], str, str], ...], text: str) -> str:
    lowered = text.lower()
    for hints, pattern, replacement in rules:
        if any(hint in lowered for hint in hints):
            text = _compiled(pattern).sub(replacement, text)
    return text


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _assigns(lowered: str) -> bool:
    """Tell whether a value is given to something whose name may be a secret's; prose about "query tokens" gives none."""
    for name in _NAMES:
        at = lowered.find(name)
        while at >= 0:
            after = lowered[at + len(name) : at + len(name) + 16]
            if "=" in after or ":" in after:
                return True
            at = lowered.find(name, at + 1)
    return False


def _named(match: re.Match[str]) -> str:
    name, value = match[1].lower(), match[2]
    if "token" in name and name.lstrip("'\"").startswith(_SPECIAL_TOKENS):
        return match[0]
    if "passw" not in name and "secret" not in name and "pwd" not in name:
        # A word of prose, an expression and a number of tokens are no secrets: those mix letters with digits.
        if value.isalpha() or value.replace(",", "").replace(".", "").isdigit() or value[0] in "<$%[{":
            return match[0]
        if re.match(r"[A-Za-z_]\w*[.(\[]", value):
            return match[0]
    return match[1] + MASK.format("secret")


def _address(match: re.Match[str]) -> str:
    parts = [int(part) for part in match[0].split(".")]
    # Below 10, a driver's or library's version is likelier; 127.x and 0.0.0.0 tell nobody anything.
    is_address = all(part <= 255 for part in parts) and parts[0] >= 10 and parts[0] != 127
    return MASK.format("ip") if is_address else match[0]


@lru_cache(maxsize=1)
def _home() -> str:
    """Return the running user's home; "" where it is too short to name anybody ("/", "/root")."""
    import os

    home = os.path.expanduser("~").rstrip("/\\")  # noqa: PTH111 - pathlib raises where no home can be found
    return home if len(home) > 5 else ""
