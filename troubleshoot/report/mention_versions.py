"""Versions of packages, Python, CUDA and drivers, and packages that are said to be there or absent."""

from __future__ import annotations

import re

from troubleshoot.report.mention_tables import IMPORTS, PACKAGES
from troubleshoot.report.mentions import Found, compiled

_NUMBER = r"v?(?P<version>\d{1,4}(?:\.\d{1,5}){1,4}(?:\.?(?:a|b|rc|dev|post)\d+)*(?:\+[\w.]+)?)"
#: What may stand between a name and its version: quotes, a remark in brackets, the word "version" in some language, a sign.
_BETWEEN = (
    r"[`\"'*\]]{0,4}\s{0,40}(?:\([^()\n]{0,40}\)|\[[^\]\n]{0,20}\])?[`\"'*]{0,4}\s{0,40}"
    r"(?:versions?|ver\.?|release|的?版本号?|バージョン|версия)?(?:\s{0,3}\([^()\n]{0,40}\))?[`\"'*]{0,4}\s{0,40}"
    r"(?:==|=|:|：|@|is|为|是|-|\|)?\s{0,40}[`\"'*]{0,4}"
)
_PINNED = r"(?<![\w.-])([A-Za-z][\w.-]{1,60}?)(?:\[[\w,-]{0,60}\])?==(\d[\w.+!-]{0,40})"
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
_DIGITS = re.compile(r"\d\.\d")


def versions(found: Found) -> None:
    """Note every version in the text."""
    pattern = _packages(found)
    for start, line in found.lines_with(_DIGITS):
        if pattern:
            for match in pattern.finditer(line):
                name = _known(match["name"])
                if name:
                    found.add("package", name, match["version"].rstrip("."), start + match.start())
        if "==" in line:
            for match in compiled(_PINNED).finditer(line):
                found.add("package", _normal(match[1]), match[2].rstrip("."), start + match.start())
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
    for name in PACKAGES:
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
    return compiled(rf"(?<![\w/\\.-])(?P<name>{spelled})(?![A-Za-z0-9_]){_BETWEEN}{_NUMBER}(?![A-Za-z0-9_%])")


def _known(spelled: str) -> str | None:
    low = spelled.lower()
    return PACKAGES.get(low.replace("_", "-")) or PACKAGES.get(low)


def _imported(module: str) -> str | None:
    return IMPORTS.get(module) or PACKAGES.get(module.replace("_", "-"))


def _normal(name: str) -> str:
    normal = re.sub(r"[-_.]+", "-", name.lower())
    return "torch" if normal == "pytorch" else normal


def _absent(found: Found, spelled: str, at: int) -> None:
    name = _imported(spelled.lower())
    if name:
        found.add("package", name, "absent", at)
