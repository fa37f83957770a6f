"""Lists of packages: pip list, pip freeze, uv pip list, conda list, conda env export, poetry show, pip's JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from troubleshoot.basics import word_tables
from troubleshoot.basics.patterns import anchored, searched
from troubleshoot.reading.environment.gathering import Draft
from troubleshoot.reading.environment.package_names import looks_complete, normalise_name

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_VERSION = r"v?\d[0-9A-Za-z.!+_-]*"


@lru_cache(maxsize=1)
def _patterns() -> dict[str, re.Pattern[str]]:
    """Compiled when the first listing is met: most reports hold none."""
    return {
        "pin": anchored(rf"({_NAME})(?:\[[^\]]*\])?===?({_VERSION})(?:\s*;.*|\s+#.*|\s+--hash.*|\s*\\)?$"),
        "direct": anchored(rf"({_NAME})(?:\[[^\]]*\])? ?@ ?(\S+)"),
        "editable": anchored(r"(?:-e|--editable)[ =](\S+)"),
        "egg": searched(r"[#&]egg=([A-Za-z0-9._-]+)"),
        "comment": anchored(rf"# Editable .*\(({_NAME})==({_VERSION})\)"),
        # The version begins at the first dash before a digit; names of wheels have no dash.
        "file": anchored(r"([A-Za-z0-9][A-Za-z0-9._]*+(?:-[A-Za-z_][A-Za-z0-9._]*+)*+)-(\d[0-9A-Za-z.!+_%]*+)"),
        "columns": anchored(rf"\s*+({_NAME})\s++\(?({_VERSION})\)?(?:\s+\S.*)?\s*$"),
        "conda": anchored(rf"\s*+(_?{_NAME})\s+({_VERSION})(?:\s+(\S+))?(?:\s+(\S+))?\s*$"),
        "conda pin": anchored(rf"\s*+-\s++(?:[\w/.-]+::)?(_?{_NAME})={{1,2}}({_VERSION})(?:=(\S+))?\s*$"),
    }  # fmt: skip


_RULE = anchored(r"\s*+-{3,}+(?:\s++-{3,}+)+\s*$")


def parse_listings(draft: Draft, lines: Sequence[str], numbers: Sequence[int], text: str) -> None:
    """Read every listing of packages in ``lines`` into ``draft``."""
    if "---" in text and ("Package" in text or "package" in text):
        _pip_columns(draft, lines, numbers)
    if "==" in text or " @ " in text or "-e " in text:
        _freeze(draft, lines, numbers)
    if "# packages in environment" in text or "# Name" in text or ("Version" in text and "Build" in text and "Channel" in text):
        _conda_list(draft, lines, numbers)
    if "dependencies:" in text:
        _conda_export(draft, lines, numbers)
    if '"name":' in text and '"version":' in text:
        _json_list(draft, lines, numbers)


def _command_before(lines: Sequence[str], start: int) -> str | None:
    """What follows ``pip list`` or ``pip freeze`` on the command line above a listing, or None where there is no command."""
    for index in range(start - 1, max(-1, start - 4), -1):
        line = lines[index]
        for match in searched(r"(?:pip3?|conda|mamba|micromamba)\s{1,8}(?:list|freeze|env export)").finditer(line):
            if _begins_command(line[: match.start()]):
                return line[match.end() :].lstrip()
    return None


_PYTHON = anchored(r"\S*python[\d.]*")


def _begins_command(before: str) -> bool:
    """Tell whether what stands before ``pip`` or ``conda`` is a prompt and what runs them: ``(base) $ sudo python3 -m``."""
    if before and not before[-1].isspace() and before[-1] not in _PROMPTS:
        return False
    words = before.split()
    while words and (words[-1] in ("uv", "sudo", "-m") or (words[-1][-1] not in _PROMPTS and _PYTHON.fullmatch(words[-1]))):
        words.pop()
    return not words or words[-1][-1] in _PROMPTS


#: The last character of a shell's prompt.
_PROMPTS = "$%#>!"


def _close(draft: Draft, found: dict[str, str | None], rest: str | None) -> None:
    if rest is not None and ("|" in rest or "grep" in rest or "findstr" in rest):
        return
    if looks_complete(found) or (rest is not None and not rest.strip() and len(found) >= 20):
        draft.closed_packages = True


def _pip_columns(draft: Draft, lines: Sequence[str], numbers: Sequence[int]) -> None:
    columns = _patterns()["columns"]
    for index, line in enumerate(lines):
        if not _RULE.match(line) or index == 0 or not anchored(r"\s*+Package\s++Version").match(lines[index - 1]):
            continue
        found: dict[str, str | None] = {}
        for at in range(index + 1, len(lines)):
            match = columns.match(lines[at])
            if not match:
                if lines[at].strip():
                    break
                continue
            draft.package(match[1], match[2], numbers[at])
            found[normalise_name(match[1])] = match[2]
        _close(draft, found, _command_before(lines, index - 1))


def _freeze(draft: Draft, lines: Sequence[str], numbers: Sequence[int]) -> None:
    patterns = _patterns()
    found: dict[str, str | None] = {}
    start = -1
    last = -1
    unnamed = False
    for index in [index for index, line in enumerate(lines) if "==" in line or " @ " in line or "-e " in line]:
        stripped = lines[index].strip()
        pair = _freeze_line(stripped, patterns) if len(lines[index]) < 400 else None
        if pair is None:
            # uv names an editable install by its directory alone, so what is installed there stays unknown.
            unnamed = unnamed or (stripped.startswith("-e ") and not (index and patterns["comment"].match(lines[index - 1].strip())))
            continue
        if last >= 0 and index - last > 3:
            _finish_freeze(draft, found, lines, start, unnamed)
            found, start, unnamed = {}, -1, False
        if start < 0:
            start = index
        last = index
        name, version = pair
        draft.package(name, version, numbers[index])
        found[normalise_name(name)] = version
    _finish_freeze(draft, found, lines, start, unnamed)


def _finish_freeze(draft: Draft, found: dict[str, str | None], lines: Sequence[str], start: int, unnamed: bool) -> None:
    if found and not unnamed:
        _close(draft, found, _command_before(lines, start))


def _freeze_line(line: str, patterns: dict[str, re.Pattern[str]]) -> tuple[str, str] | None:
    pin = patterns["pin"].match(line)
    if pin:
        return pin[1], pin[2].removeprefix("v")
    comment = patterns["comment"].match(line)
    if comment:
        return comment[1], comment[2]
    editable = patterns["editable"].match(line)
    if editable:
        egg = patterns["egg"].search(editable[1])
        return (egg[1], "") if egg else None
    direct = patterns["direct"].match(line)
    if direct and anchored(r"(?:file|https?|git\+|ssh|hg\+|svn\+)").match(direct[2]):
        file = direct[2].partition("#")[0].rpartition("/")[2]
        built = patterns["file"].match(file) if file.endswith((".whl", ".tar.gz", ".zip")) else None
        known = built is not None and normalise_name(built[1]) == normalise_name(direct[1])
        version = built[2].removesuffix(".tar.gz").removesuffix(".zip") if built and known else ""
        return direct[1], version.replace("%2B", "+")
    return None


def _conda_name(draft: Draft, name: str, version: str, build: str | None) -> str:
    name = normalise_name(name)
    if name == "pytorch-cuda":
        draft.detail("torch.cuda", version)
    elif name in ("cudatoolkit", "cuda-runtime", "cuda-version", "cuda-toolkit"):
        draft.detail("cuda", version)
    elif name == "python" and draft.python is None:
        draft.python = version
    elif name in ("pytorch", "torch") and build:
        cuda = searched(r"cuda(\d++\.\d|\d{3,4})").search(build)
        if cuda:
            digits = cuda[1]
            draft.detail("torch.cuda", digits if "." in digits else f"{digits[:-1]}.{digits[-1]}")
        elif "cpu" in build:
            draft.detail("torch.cuda", "cpu")
    return word_tables.CONDA.get(name, name)


def conda_package(draft: Draft, name: str, version: str, build: str | None, line: int) -> str:
    """Record a package under the name that it has on PyPI, and return that name."""
    name = _conda_name(draft, name, version, build)
    draft.package(name, version, line)
    return name


def _conda_list(draft: Draft, lines: Sequence[str], numbers: Sequence[int]) -> None:
    conda = _patterns()["conda"]
    found: dict[str, str | None] = {}
    start = -1
    for index, line in enumerate(lines):
        if anchored(r"\s*+#?\s*+Name\s++Version\s++Build").match(line):
            start = index
            continue
        if start < 0:
            continue
        match = conda.match(line)
        if not match:
            if line.strip() and not set(line.strip()) <= set("-─━ ") and not line.lstrip().startswith("#"):
                break
            continue
        found[conda_package(draft, match[1], match[2], match[3], numbers[index])] = match[2]
    if start >= 0:
        _close(draft, found, _command_before(lines, start))


def _conda_export(draft: Draft, lines: Sequence[str], numbers: Sequence[int]) -> None:
    patterns = _patterns()
    start = next((index for index, line in enumerate(lines) if line.rstrip() == "dependencies:"), None)
    if start is None:
        return
    found: dict[str, str | None] = {}
    complete = False
    for index in range(start + 1, len(lines)):
        line = lines[index].rstrip()
        if not line.lstrip().startswith("- ") and line.strip():
            complete = line.startswith(("prefix:", "name:"))
            break
        match = patterns["conda pin"].match(line)
        if match:
            name = _conda_name(draft, match[1], match[2], match[3])
            # A pin without a build (pytorch=2.1) in a hand-written file is a wish, not what is installed.
            draft.package(name, match[2] if match[3] or "==" in line else "", numbers[index])
            found[name] = match[2]
    if complete:
        _close(draft, found, None)


def _json_list(draft: Draft, lines: Sequence[str], numbers: Sequence[int]) -> None:
    pair = searched(rf'"name":\s*+"({_NAME})"[^{{}}]{{0,200}}?"version":\s*+"({_VERSION})"')
    text = "\n".join(lines)
    found: dict[str, str | None] = {}
    if not searched(r"\[\s*+\{").search(text):
        return
    at = 0
    counted = 0
    for match in pair.finditer(text):
        counted += text.count("\n", at, match.start())
        at = match.start()
        draft.package(match[1], match[2], numbers[counted])
        found[normalise_name(match[1])] = match[2]
    _close(draft, found, None)
