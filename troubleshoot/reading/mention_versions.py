"""Versions of packages, Python, CUDA and drivers, and packages that are said to be there or absent."""

from __future__ import annotations

import re

from troubleshoot.basics import word_tables
from troubleshoot.basics.patterns import anchored, composed, searched
from troubleshoot.reading.elsewhere import is_bound, works_there
from troubleshoot.reading.mentions import Found, compiled

_RELEASE = r"\d{1,4}(?:\.\d{1,5}){1,4}(?:\.?(?:a|b|rc|dev|post)\d+)*(?:\+[\w.]+)?"
_NUMBER = rf"v?(?P<version>{_RELEASE})"
#: What may stand between a name and its version: quotes, a remark in brackets, the word "version" in some language, a sign.
_BETWEEN = (
    r"[`\"'*\]]{0,4}+\s{0,40}+(?:\([^()\n]{0,40}\)|\[[^\]\n]{0,20}\])?[`\"'*]{0,4}+\s{0,40}+"
    r"(?:versions?|ver\.?|release|的?版本号?|バージョン|версия)?(?:\s{0,3}\([^()\n]{0,40}\))?[`\"'*]{0,4}+\s{0,40}+"
    r"(?:==|=|:|：|@|is|为|是|-|\|)?\s{0,40}+[`\"'*]{0,4}+"
)
_PINNED = r"(?<![\w.-])([A-Za-z][\w.-]{1,60}?)(?:\[[\w,-]{0,60}\])?==(?P<version>\d[\w.+!-]{0,40})"
_PYTHON = r"(?<![\w-])python(?:\s{1,10}version)?\s{0,10}(?:==|=|:|：|版本)?\s{0,10}v?(\d\.\d{1,2}(?:\.\d{1,2})?)(?![\d.]{0,6}[/\\]|\d)"
_PYTHON_PATH = r"python(3\.\d{1,2})/(?:site|dist)-packages"
_CUDA = (
    r"(?<!\w)(cuda|rocm|hip|driver)(?:[\s-]{0,3}(?:toolkit|runtime|used to build pytorch|version|ver|版本)){0,4}"
    r"\s{0,10}(?:==|=|:|：|is|-|为|是)?\s{0,20}v?(\d{1,3}\.\d{1,3}(?:\.\d{1,5}){0,3})"
)
_CAPABILITY = r"(?:compute[ _]capability|capability)\s{0,10}(?:is|=|:|of)?\s{0,10}\(?(\d{1,2})(?:\.|,\s?)(\d)\)?"
_ABSENT = (
    r"(?<![\w/.-])([a-z][\w-]{1,30})[`'\"*]{0,3}(?:\s{0,3}\([^()\n]{0,20}\))?(?:\s{1,3}version)?[`'\"*]{0,3}\s{0,3}(?::|=|：|is|are)?\s{0,20}"
    r"(?:not (?:yet )?(?:installed|found|available)|n/a\b|未安装|没有安装)"
)
#: Only of these does "no xformers" mean that the package is not there.
_OPTIONAL = frozenset(("xformers", "apex", "flash-attn", "bitsandbytes", "deepspeed", "triton", "accelerate", "peft"))
_DIGITS = searched(r"\d\.\d")
#: "from transformers 4.46 to 4.49": the second one is there now.
_MOVED = (
    r"\s{0,3}(?:to|->|=>|→|到|升级到|升到)\s{0,3}(?:version\s{1,3})?(?:[A-Za-z][\w-]{1,30}(?:==|\s{1,3}))?[`'\"*]{0,3}"
    rf"v?(?P<now>{_RELEASE})"
)
_MOVED_BEFORE = r"(?:\bfrom|从|由)\s{0,3}(?:version\s{1,3})?[`'\"*]{0,3}$"
#: A line that says little else: "- PyTorch version: 2.3.0", "torch 2.12.1+cu130".
_LISTED = anchored(r"^[\s>|*`#-]{0,12}$")


def versions(found: Found) -> None:
    """Note every version in the text."""
    pattern = _packages(found)
    stated: list[tuple[str, str, int, bool]] = []

    def note(name: str | None, match: re.Match[str], line: str, start: int) -> None:
        value = _installed(line, match) if name else None
        if name and value:
            is_listed = _LISTED.match(line[: match.start()]) is not None
            stated.append((name, value.rstrip("."), start + match.start(), is_listed))

    for start, line in found.lines_with(_DIGITS):
        if pattern:
            for match in pattern.finditer(line):
                note(_known(match["name"]), match, line, start)
        if "==" in line:
            for match in compiled(_PINNED).finditer(line):
                note(_normal(match[1]), match, line, start)
        low = line.lower()
        if "python" in low:
            for match in compiled(_PYTHON).finditer(line):
                found.add("python", "python", match[1], start + match.start())
            for match in compiled(_PYTHON_PATH).finditer(line):
                found.add("python", "python", match[1], start + match.start())
        if "cuda" in low or "rocm" in low or "driver" in low or "hip" in low:
            for match in compiled(_CUDA).finditer(line):
                what = match[1].lower()
                found.add("cuda", "rocm" if what == "hip" else what, match[2], start + match.start())
        if "capability" in low:
            for match in compiled(_CAPABILITY).finditer(line):
                found.add("capability", "capability", f"{match[1]}.{match[2]}", start + match.start())
    # A list of versions is what is installed; prose may tell of others as well.
    listed = {name for name, _, _, is_listed in stated if is_listed}
    for name, value, at, is_listed in stated:
        if is_listed or name not in listed:
            found.add("package", name, value, at)


def _installed(line: str, match: re.Match[str]) -> str | None:
    """Return the version that a match says is installed; None where it is a bound, or another release than the one that fails."""
    before, after = line[max(0, match.start() - 60) : match.start()], line[match.end() : match.end() + 80]
    if not before.strip() and not after.strip():
        return str(match["version"])
    moved = anchored(_MOVED, re.IGNORECASE).match(after)
    if moved and compiled(_MOVED_BEFORE).search(before):
        return str(moved["now"])
    return None if is_bound(before, after) or works_there(before, after) else str(match["version"])


def presence(found: Found) -> None:
    """Note packages that code imports, and those that are said to be absent."""
    text, words = found.text, found.words
    if "import" in words:
        for match in compiled(r"^[>\s.]{0,12}(?:from|import)\s{1,4}([a-z_]\w{1,40})", re.MULTILINE).finditer(text):
            name = _imported(match[1])
            if name:
                found.add("package", name, "", match.start())
    if "module" in words and "named" in words:
        for match in compiled(r"no module named ['\"]?([a-z_]\w{1,40})").finditer(text):
            _absent(found, match[1], match.start())
    if "installed" in words or "found" in words or "available" in words or "安装" in text:
        for match in compiled(_ABSENT).finditer(text):
            _absent(found, match[1], match.start())
    if "without" in words or "no" in words:
        for match in compiled(r"\b(?:without|no)\s{1,3}([a-z][\w-]{1,30})\b").finditer(text):
            if match[1].lower().replace("_", "-") in _OPTIONAL:
                _absent(found, match[1], match.start())


def _by_first_word() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in word_tables.PACKAGES:
        found.setdefault(name.replace("-", " ").split(" ", 1)[0], []).append(name)
    return found


_FIRST_WORDS = _by_first_word()


def _packages(found: Found) -> re.Pattern[str] | None:
    """A pattern of the known packages that the text names at all."""
    names = [name for word in found.words & _FIRST_WORDS.keys() for name in _FIRST_WORDS[word]]
    if not names:
        return None
    names.sort(key=lambda name: (-len(name), name))
    spelled = "|".join(re.escape(name).replace(r"\-", "[-_]").replace(r"\ ", "[ -]?") for name in names)
    return composed(rf"(?<![\w/\\.-])(?P<name>{spelled})(?![A-Za-z0-9_]){_BETWEEN}{_NUMBER}(?![A-Za-z0-9_%])", re.IGNORECASE)


def _known(spelled: str) -> str | None:
    low = spelled.lower()
    return word_tables.PACKAGES.get(low.replace("_", "-")) or word_tables.PACKAGES.get(low)


def _imported(module: str) -> str | None:
    known = word_tables.MODULES.get(module)
    return _normal(known) if known else word_tables.PACKAGES.get(module.replace("_", "-"))


def _normal(name: str) -> str:
    normal = searched(r"[-_.]+").sub("-", name.lower())
    return "torch" if normal == "pytorch" else normal


def _absent(found: Found, spelled: str, at: int) -> None:
    name = _imported(spelled.lower())
    if name:
        found.add("package", name, "absent", at)
