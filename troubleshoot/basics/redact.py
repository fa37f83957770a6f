"""Secrets and personal details taken out of text: one place for every face.

Two levels. Secrets (tokens, keys, passwords in URLs) are always masked in what is quoted from a report. What names a person or a
machine (home directories, e-mail addresses, IP addresses) is masked as well where the output is meant to be shared.

A secret shows by its form (``hf_...``), by its place (a URL's password, the key after ``wandb login``) or by the name of what it is given
to (``"db_password": "..."``). The tables are in :mod:`~troubleshoot.basics.secret_rules`; they are applied here in linear time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeVar

from troubleshoot.basics import secret_rules as rules
from troubleshoot.basics.invisible import INVISIBLE

T = TypeVar("T")

#: What the masks look like; the kind is kept, since "a token was here" helps whoever reads the report.
MASK = "[redacted:{}]"

#: Keys of an object under which releases stand.
_RELEASES = ("version", "range", "versions", "packages")

#: A text without such a run holds no token that has a form of its own: the least length of every prefix and what follows it.
_RUN_OF_TOKEN = "[A-Za-z0-9_.~+=-]{15}"


def redact_text(text: str, *, personal: bool = False) -> str:
    """Return the text without secrets and, with ``personal``, without home directories, e-mail and IP addresses. Never raises.

    Where invisible characters tear a secret apart that looks whole, all of them go.
    """
    clean = _redacted(text, personal)
    if text.isascii() and "\x7f" not in text:
        return clean
    invisible = _compiled(f"\x7f|{INVISIBLE}")
    whole = invisible.sub("", text)
    if whole == text:
        return clean
    masked = _redacted(whole, personal)
    return clean if invisible.sub("", clean) == masked else masked


def _redacted(text: str, personal: bool) -> str:
    lowered = _lowered(text)
    clean = _patterns(rules.PATTERNS, text, lowered)
    clean = _tokens(clean, lowered)
    if " -" in lowered:
        clean = _options(clean, lowered)
    if _holds(lowered, rules.HINTS):
        clean = _named(clean)
        if "kind" in lowered and "data" in lowered:
            clean = _kubernetes(clean)
    return _personal(clean, lowered) if personal else clean


def redacted_start(text: str, most: int, *, personal: bool = False) -> str:
    """Return the first ``most`` characters of a text after redaction: a secret that is cut in two first shows no more what it is."""
    return redact_text(text[: most + _MOST], personal=personal)[:most]


def redact_lines(lines: Sequence[str], *, personal: bool = False) -> list[str]:
    """Return neighbouring lines without secrets, those that go over the end of a line included; as many lines as were given."""
    masked = redact_text("\n".join(lines), personal=personal).split("\n")
    if len(masked) == len(lines):
        return masked
    # A key of several lines became one mask: what is not in the result as it was, was part of it.
    kept = set(masked)
    return [line if line in kept else MASK.format("secret") for line in lines]


def redact_data(data: T, *, personal: bool = True) -> T:
    """Return a JSON-like object with every text in it redacted, keys too: a text under a name such as ``password`` goes as a whole."""
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
            return {walk(key): under(key, value) for key, value in node.items()}
        if isinstance(node, list | tuple):
            return type(node)(map(walk, node))
        return node

    def under(key: Any, value: Any) -> Any:
        if isinstance(key, str) and isinstance(value, str):
            told = _item(key, value)
            if told and redact_text(told) != told:
                return MASK.format("secret")
        # A release of four parts is no address.
        return redact_data(value, personal=False) if key in _RELEASES else walk(value)

    return walk(data)  # type: ignore[no-any-return]


def _collect(node: Any, texts: list[str]) -> None:
    if isinstance(node, str):
        texts.append(node)
    elif isinstance(node, dict):
        for key, value in node.items():
            _collect(key, texts)
            told = _item(key, value) if isinstance(key, str) and isinstance(value, str) else ""
            texts.append(told) if told else _collect(value, texts)
    elif isinstance(node, list | tuple):
        for value in node:
            _collect(value, texts)


def _item(key: str, value: str) -> str:
    """Return an item of an object as text, or "" where its name says nothing of a secret."""
    lowered = key.lower()
    return f'"{key}": "{value}"' if _holds(lowered, rules.HINTS) else ""


def _lowered(text: str) -> str:
    # The one letter whose small form is longer would shift every place after it.
    return text.replace("\u0130", "i").lower()


def _holds(text: str, words: tuple[str, ...]) -> bool:
    for word in words:  # noqa: SIM110 - a generator takes three times as long, and this runs for every text
        if word in text:
            return True
    return False


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _patterns(table: tuple[tuple[tuple[str, ...], str, str], ...], text: str, lowered: str) -> str:
    for hints, pattern, replacement in table:
        for hint in hints:
            # Not _holds(): this runs for every rule and every text.
            if hint in lowered:
                text = _compiled(pattern).sub(replacement, text)
                break
    return text


def _tokens(text: str, lowered: str) -> str:
    """Mask the tokens that have a form of their own."""
    if _compiled(_RUN_OF_TOKEN).search(text) is None:
        return text
    for table, anywhere in ((rules.TOKENS, True), (rules.NAME_LIKE, False)):
        for what, characters, least, prefixes in table:
            for prefix in prefixes:
                if prefix.lower() in lowered and prefix in text:
                    text = _compiled(_form(prefix, characters, least, anywhere)).sub(MASK.format(what), text)
    return text


@lru_cache(maxsize=512)
def _form(prefix: str, characters: str, least: int, anywhere: bool) -> str:
    """Return the pattern of a token: the prefix at the beginning of a word, or anywhere before so much that no word goes on like that."""
    it = re.escape(prefix)
    begins = rf"(?<![A-Za-z0-9_-]{it})|(?<=\\[nrtbf]{it})|(?<=[\s\"'=]-[A-Za-z]{it})|(?<=\A-[A-Za-z]{it})|(?<=%[0-9A-Fa-f][0-9A-Fa-f]{it})"
    if anywhere:
        return rf"{it}(?:{begins}|(?={characters}{{30}})){characters}{{{least},}}"
    return rf"{it}(?:{begins})(?=[A-Za-z_.-]{{0,60}}[0-9]){characters}{{{least},}}"


def _options(text: str, lowered: str) -> str:
    """Mask what commands take with an option of one letter, which means something else to other commands."""
    for hints, commands, pattern in rules.OPTIONS:
        if not (_holds(lowered, commands) and _holds(lowered, hints)):
            continue
        low = _lowered(text)

        def after(match: re.Match[str], low: str = low, commands: tuple[str, ...] = commands) -> str:
            at = match.start()
            near = low[max(0, at - 300) : at + 1]
            return match[1] + MASK.format("password") if _holds(near, commands) else match[0]

        text = _compiled(pattern).sub(after, text)
    return text


# -- values that are given to a name ------------------------------------------------------------------------------------------------------

#: A quote as HTML, URLs and JSON write it.
_ENCODED = r"&quot;|&#3[49];|%2[27]|\\{1,7}u002[27]"
#: On the lowered text: a word that names a secret, what may end a name, what may stand between it and its value, and the value's quote.
_NAME = (
    rf"(?P<word>{rules.PASSWORDS}|(?P<secret>{rules.SECRETS})|(?P<other>{rules.OTHERS}))"
    r"s?(?:[_-]?(?:id|value|string|str|b64|base64|read|write|ro|rw|prod|dev|test|new|old|main|default|base|bedrock|[0-9]{1,3}))?"
    rf"(?P<close>[\\\"'`\])*]{{0,6}}(?:{_ENCODED})?)"
    r"(?P<given>[ \t\u3000\xa0]{0,8}+"
    r"(?:(?::=|=>|->|={1,3}|!=|:|：|＝|%3d|%3a|>)"
    # **password:** in Markdown
    r"(?:\*\*)?"
    # token: str = "..."
    r"(?:[ \t\u3000\xa0]{0,8}(?:(?:optional\[|final\[)?(?:str|bytes|secretstr)\]?(?:[ \t]?\|[ \t]?none)?[ \t]{0,3}=))?"
    r"|,?[ \t\r\n]{0,40}+(?:\\n[ ]{0,20})?-?[ \t]{0,3}\\{0,3}[\"']?value\\{0,3}[\"']?[ \t]{0,3}[:=]"
    r"|,(?=[ \t]{0,3}[bru]?[\\\"'])|\||(?:is|was)(?=[ \t:\"'`])|[为為是])[:：]?"
    r"[ \t\u3000\xa0]{0,8}|[ \t]{1,8}(?=[^\s=:]{0,39}[0-9]|[\\\"'`]))"
    r"(?:\\\r?\n[ \t]{0,20}|[|>][+-]?(?:\r?\n|\\n)[ \t]{0,20}|\(?\r?\n[ \t]{0,40}(?=[\"'(])|\r?\n[ \t]{1,40}(?=[^\s=:]{0,39}[0-9]))?"
    r"(?:[a-z_][a-z0-9_.]{0,30}\([ \t]{0,3}(?:value=)?(?=[bfru]{0,2}\\{0,3}[\"']))?"
    r"(?:[(\[{](?!redacted:)|[“‘「『])?(?:[bfru]{1,2}(?=\\{0,3}[\"']))?"
    rf"(?P<quote>\\{{0,7}}(?:\"\"\"|'''|[\"'`])|{_ENCODED})?"
)
#: What a name is made of.
_NAME_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789_-."
#: Nothing, the name of a variable, a place to fill in, what a program looks up.
_PLACEHOLDER = (
    r"(?i)(?:none|true|false|null|nil|undefined|\[redacted:.*|\$[a-z_]+|\$[{(].*|%[a-z_]+%|%\(.*|[{][{%a-z_].*|<[^<>\n]*>?|([*x.•…_?-])\1*|"
    r"(?:os|sys|self|args|cfg|config|settings|process|env|secrets|userdata|st|hparams|opt|flags|tokenizer|processor|torch|np|tf|jax)\b[.\[(].*)\Z"
)
#: A name of a program, or what a program calls or indexes.
_EXPRESSION = r"([A-Za-z_][A-Za-z_0-9]{0,60}(?:\.[A-Za-z_][A-Za-z_0-9]{0,60}){0,6})(?:[(\[]|\Z)"
#: Words with numbers at their ends: layer_12, Llama-2-7b-hf, v4.50.1, bfloat16, 2026-11-24.
_WORDS = r"(?:[a-z]+[0-9]{0,3}|[0-9]{1,4}[a-z]{0,2})?(?:[-_./:+](?:[a-z]+[0-9]{0,3}|[0-9]{1,4}[a-z]{0,2})?)*\Z"
#: A value without quotes.
_RUN = r"[^\s\"'`,;)}\]\\<>|&”’」』，；。]+"
#: ... in a shell or a file of settings, where only a blank or a quote ends it, and a backslash before what JSON escapes.
_WIDE_RUN = r"(?:[^\s\"'`\\”’」』]|\\(?![nrt\"'\\/]))+"
#: What may stand before a name that begins a line.
_LINE_BEGINS = r"[ \t]*(?:-[ \t])?(?:export[ \t]+|set[ \t]+|env[ \t]+|\$env:|(?:docker[ \t].*[ \t])?-e[ \t]+|declare[ \t]+-x[ \t]+)?\Z"
#: The most characters of a value that is quoted, of one that is judged, and of a name.
_MOST, _JUDGED, _NAME_LENGTH = 4096, 200, 40
#: So many names of secrets in one text are nobody's report. After them, all the rest of a line that names one is masked, which is quicker.
_MOST_JUDGED = 2000


def _named(text: str) -> str:
    """Mask the values of names that say that they are secret: ``tokenizer=`` and ``pad_token=`` say nothing of the kind."""
    lowered = _lowered(text)
    parts: list[str] = []
    done = judged = 0
    search = _compiled(_NAME).search
    match = search(lowered)
    while match is not None:
        judged += 1
        span = _value(match, text, lowered) if judged <= _MOST_JUDGED else (match.end(), _line_end(text, match.end()))
        if span is not None:
            kind = "password" if match["secret"] is None and match["other"] is None else "secret"
            parts += (text[done : span[0]], MASK.format(kind))
            done = span[1]
        match = search(lowered, max(done, match.end()))
    return "".join((*parts, text[done:])) if parts else text


def _value(match: re.Match[str], text: str, lowered: str) -> tuple[int, int] | None:
    """Return where the value of a name begins and ends, or None where it is no secret."""
    strength = _strength(match, text, lowered)
    if strength is None:
        return None
    named, at, quote = match.start(), match.end(), match["quote"]
    end = _closing(text, at, quote) if quote else -1
    quoted = end >= 0
    if not quoted:
        run = _compiled(_WIDE_RUN if strength == "password" else _RUN).match(text, at, at + _JUDGED)
        if run is None:
            return None
        end = run.end()
    value = text[at : min(end, at + _JUDGED)]
    given = match["given"].strip(" \t\u3000\xa0")
    # "=" without blanks after a name in capitals is the environment's, where nothing is an expression.
    exported = match["given"] == "=" and text[named : match.end("word")].isupper()
    option = lowered[named - 1 : named] == "-" or bool(_compiled(r"-[a-z0-9_.-]*\Z").search(lowered, max(0, named - _NAME_LENGTH), named))
    option = option and not given and not match["close"].strip("\"'")
    if not _is_secret(value, strength, given, quoted=quoted, option=option, sure=quoted or exported or option):
        return None
    if quoted:
        return at, end
    line = text.rfind("\n", max(0, named - _JUDGED), named) + 1 or max(0, named - _JUDGED)
    begins = given in ("=", ":", "：") and not quote and _begins_line(text[line:named])
    if strength == "password" and begins:
        return at, max(end, at + len(text[at : _line_end(text, at)].partition(" #")[0].rstrip()))
    if strength == "password" or begins or exported:
        rest = _compiled(_WIDE_RUN).match(text, at)
        return at, max(end, at + len(rest[0].rstrip(",;)]}>|&"))) if rest is not None else end
    rest = _compiled(_RUN).match(text, at)
    return at, rest.end() if rest is not None else end


def _strength(match: re.Match[str], text: str, lowered: str) -> str | None:
    """Return how much a name says: "password" (whatever is given to it), "secret", "token" or "key" (by its value), None (no secret)."""
    start, word = match.start(), match["word"]
    head = lowered[max(0, start - _NAME_LENGTH) : start]
    if "]" not in head.rpartition("[redacted:")[2] and "[redacted:" in head:
        return None
    owner = head[len(head.rstrip(_NAME_CHARACTERS)) :]
    if not owner and head.endswith(" "):
        # "the API key is ..."
        owner = head[:-1].rpartition(" ")[2] + "-"
        owner = owner if owner[:-1] in rules.QUALIFIERS else ""
    attached = owner[-1:].isalnum()
    last = owner.rstrip("_-.")
    last = last[max(map(last.rfind, "_-.")) + 1 :]
    camel = attached and text[start].isupper()
    if word in ("pass", "pw"):
        alone = not owner and bool(match["close"].strip("\\)]*"))
        owned = last in rules.OWNERS and (not attached or camel or last in ("key", "store", "db", "user"))
        return "password" if owned or alone or owner.strip("-") == "" != owner else None
    if match["other"] is None:
        return "password" if match["secret"] is None else "secret"
    if not word.isascii():
        return "secret"
    if word not in ("token", "key"):
        return "token" if not attached or camel or word in ("credential", "jwt") else None
    if last in rules.QUALIFIERS or (attached and last.endswith(_qualifiers())):
        return "secret"
    if word == "token":
        return None if last in rules.NO_SECRET or (attached and last.endswith(tuple(rules.NO_SECRET))) else "token"
    return "key" if not attached or camel else None


@lru_cache(maxsize=1)
def _qualifiers() -> tuple[str, ...]:
    return tuple(one for one in rules.QUALIFIERS if len(one) > 3)


def _is_secret(value: str, strength: str, given: str, *, quoted: bool, option: bool, sure: bool) -> bool:
    """Tell whether a value is a secret. ``sure``: it stands in quotes, in the environment or after an option, so it is a value at all."""
    if len(value) < 3 or _compiled(_PLACEHOLDER).match(value) or (not quoted and not value[0].isascii()):
        return False
    letters = value.replace("-", "").replace("_", "").isalnum()
    numbers = sum(map(str.isdigit, value))
    digits = numbers > 0
    wordy = _compiled(_WORDS).match(value.lower()) is not None
    random = digits and not wordy and len(value) >= 8 and not value.isdecimal() and not value.startswith(("0x", "0X"))
    if not sure:
        expression = _compiled(_EXPRESSION).match(value)
        # An expression, or a variable that is called what it holds
        named = expression is not None and (expression.end() < len(value) or _holds(value.lower(), rules.HINTS))
        if named and not random:
            return False
    if given in ("", ",", "|", "is", "was") and not option:
        # In prose and in lists, names of secrets stand beside other words: beside layer names ("key") and settings ("token") most of all.
        if strength in ("key", "token"):
            return strength == "token" and random and len(value) >= 12 and numbers >= 3 and letters
        if " " in value and given != ",":
            return False
        if given in ("is", "was") and strength == "password":
            return digits and len(value) >= 5
        return random or (digits and not wordy and strength == "password") or (given == "," and strength == "secret" and digits)
    if strength == "password":
        is_path = _compiled(r"(?:[~.]?/|~\Z|[A-Za-z]:[\\/])").match(value) is not None
        return not is_path and (quoted or len(value) >= 4)
    if strength == "secret":
        if quoted and " " in value and not digits:
            return False
        return random or (len(value) >= 6 and digits and sure) or (len(value) >= 16 and sure and value.isalnum())
    if strength == "token":
        plain = not any(one in value for one in " \t,;()[]{}<>")
        return plain and (
            (random and numbers > 1)
            or (sure and not quoted and len(value) >= 6 and digits and not value.isdecimal())
            or (option and len(value) >= 16)
            or (sure and len(value) >= 24 and value.isalnum())
        )
    return sure and random and len(value) >= 20 and letters


def _closing(text: str, at: int, quote: str) -> int:
    """Return where a quote closes, or -1: on the same line, and not far off."""
    end = text.find(quote, at, at + _MOST)
    while end > at and text[end - 1] == "\\" and quote[0] != "\\":
        end = text.find(quote, end + 1, at + _MOST)
    return end if end >= 0 and ("\n" not in text[at:end] or len(quote) == 3) else -1


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return end if end >= 0 else len(text)


def _begins_line(before: str) -> bool:
    """Tell whether only a dash, `export`, `-e` or the name's own first words stand before a name on its line."""
    return _compiled(_LINE_BEGINS).match(before.rstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.")) is not None


# -- secrets of Kubernetes ----------------------------------------------------------------------------------------------------------------

_KIND = r"(?i)kind\\?[\"']?[ \t]{0,3}:[ \t]{0,3}\\?[\"']?secret\b"
_DATA = r"(?:string)?data\\?[\"']?[ \t]{0,3}:[ \t]{0,3}(?:\{|\r?\n)"
_PAIR = (
    r"([\s,{]{0,60}\\?[\"']?[A-Za-z0-9_.-]{1,80}\\?[\"']?:[ \t]{0,3}\\?[\"']?)(?!\[redacted)([A-Za-z0-9+/=_.-]{4,})(\\?[\"']?(?=[\s,}]|\Z))"
)
_AROUND = 4000


def _kubernetes(text: str) -> str:
    """Mask what is in the data of a Secret, whose keys may be called anything. It stands before or after its kind."""
    kinds = [match.start() for match in _compiled(_KIND).finditer(text)]
    if not kinds:
        return text
    parts: list[str] = []
    done = near = 0
    for data in _compiled(_DATA).finditer(text):
        while near < len(kinds) and kinds[near] < data.start() - _AROUND:
            near += 1
        if data.start() < done or near == len(kinds) or kinds[near] > data.start() + _AROUND:
            continue
        at = data.end()
        pair = _compiled(_PAIR).match(text, at)
        while pair is not None:
            parts += (text[done : pair.start(2)], MASK.format("secret"))
            done, at = pair.end(2), pair.end()
            pair = _compiled(_PAIR).match(text, at)
    return "".join((*parts, text[done:])) if parts else text


# -- people and machines ------------------------------------------------------------------------------------------------------------------


def _personal(text: str, lowered: str) -> str:
    text = _patterns(rules.PERSONAL, text, lowered)
    if text.count(".") >= 3:
        text = _compiled(rules.IPV4).sub(_ipv4, text)
    if "::" in text or text.count(":") >= 7:
        text = _compiled(rules.IPV6).sub(_ipv6, text)
    home = _home()
    return text.replace(home, "~") if home else text


def _ipv4(match: re.Match[str]) -> str:
    before = match.string[max(0, match.start() - _NAME_LENGTH) : match.start()]
    if _compiled(rules.BEFORE_A_RELEASE).search(before):
        return match[0]
    parts = [int(part) for part in match[0].split(".")]
    # Below 10, a driver's or library's version is likelier; 127.x and 0.0.0.0 tell nobody anything.
    is_address = all(part <= 255 for part in parts) and parts[0] >= 10 and parts[0] != 127
    return MASK.format("ip") if is_address else match[0]


def _ipv6(match: re.Match[str]) -> str:
    halves = [half.split(":") if half else [] for half in match[0].split("::")]
    groups = [group for half in halves for group in half]
    whole = len(groups) == 8 if len(halves) == 1 else len(halves) == 2 and len(groups) < 8
    # Two numbers may be the ends of a slice: [2000::2].
    tells = len(groups) > 2 or any(one.isalpha() for one in match[0])
    return MASK.format("ip") if whole and tells and all(0 < len(group) < 5 for group in groups) else match[0]


@lru_cache(maxsize=1)
def _home() -> str:
    """Return the running user's home; "" where it is too short to name anybody ("/", "/root")."""
    import os

    home = os.path.expanduser("~").rstrip("/\\")  # noqa: PTH111 - pathlib raises where no home can be found
    return home if len(home) > 5 else ""
