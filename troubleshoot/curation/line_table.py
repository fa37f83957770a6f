"""Making the table of released lines (:mod:`troubleshoot.engine.lines.table`) from the sources of released packages, and checking it."""

from __future__ import annotations

import ast
import random
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from troubleshoot.curation.released_sources import Kept, Release, read_releases
from troubleshoot.curation.traced_files import TRACED, files_named, patterns
from troubleshoot.engine.lines.table import LineTable, TracedPackage, code_hash, encode_table
from troubleshoot.knowledge.base import KnowledgeBase

#: What can raise where it stands: the frames of a traceback stand at such lines.
_RAISING = (ast.Call, ast.BinOp, ast.AugAssign, ast.Raise, ast.Assert, ast.Subscript)


@dataclass(frozen=True)
class Sources:
    """The releases that were read, by package, and where their sources are kept."""

    kept: Kept
    releases: dict[str, tuple[Release, ...]]
    left_out: dict[str, tuple[str, ...]]


def gather(base: KnowledgeBase, folder: Path, only: Sequence[str], say: Callable[[str, int, int], None]) -> Sources:
    """Read the releases of all packages, or of ``only`` those, into a folder.

    Raises:
        InputError: the package index is out of reach.
    """
    kept = Kept(folder)
    named = files_named(base)
    releases: dict[str, tuple[Release, ...]] = {}
    left_out: dict[str, tuple[str, ...]] = {}
    for package in only or sorted(TRACED):
        place, oldest, _ = TRACED[package]
        found, missing = read_releases(package, place, oldest, patterns(package, named), kept, say)
        releases[package], left_out[package] = tuple(found), tuple(missing)
    return Sources(kept, releases, left_out)


def make_table(sources: Sources, say: Callable[[str, int, int], None]) -> bytes:
    """Return the table of what was gathered. The same releases give the same bytes."""
    packages: dict[str, TracedPackage] = {}
    files: dict[str, Sequence[Sequence[tuple[int, bytes]] | None]] = {}
    for package, releases in sorted(sources.releases.items()):
        packages[package] = TracedPackage(TRACED[package][0], [one.version for one in releases], list(sources.left_out[package]))
        names = sorted({name for one in releases for name in one.files})
        for number, name in enumerate(names):
            say(name, number, len(names))
            digests = [one.files.get(name) for one in releases]
            traced = _trace(sources.kept, {digest for digest in digests if digest is not None})
            files[name] = [traced[digest] if digest is not None else None for digest in digests]
    made = max(one.uploaded for releases in sources.releases.values() for one in releases)
    return encode_table(packages, files, made)


def _trace(kept: Kept, digests: Iterable[str]) -> dict[str, list[tuple[int, bytes]]]:
    """Return for each revision of a file the lines whose text is traced in any of them, as (number, hash)."""
    split = {digest: lines_of(kept.source(digest)) for digest in digests}
    texts = {_squeezed(lines[number - 1]) for digest, lines in split.items() for number in kept.raising(digest, raising_lines)}
    return {
        digest: [(number, code_hash(line)) for number, line in enumerate(lines, 1) if _squeezed(line) in texts]
        for digest, lines in split.items()
    }


def lines_of(source: str) -> list[str]:
    """Return the lines of a source file as tracebacks count them."""
    return source.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def raising_lines(source: str) -> set[int]:
    """Return the lines within functions at which something can raise. A source that this Python cannot parse has none of its own."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except SyntaxError:
        return set()
    found: set[int] = set()
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, inside = waiting.pop()
        if inside:
            found.update(_lines(node))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            waiting += [(statement, True) for statement in node.body]
        else:
            waiting += [(child, inside) for child in ast.iter_child_nodes(node)]
    return found


def _lines(node: ast.AST) -> Iterable[int]:
    if isinstance(node, _RAISING):
        yield node.lineno
    # A call in a chain of calls is shown at the line of its name since Python 3.12.
    if isinstance(node, ast.Call) and node.func.end_lineno is not None:
        yield node.func.end_lineno


def _squeezed(line: str) -> str:
    return "".join(line.split())


def wrong_lines(table: LineTable, sources: Sources, frames: int, seed: int = 0) -> list[str]:
    """Draw frames from the sources and return those for which the table rules out the release that they are from."""
    draw = random.Random(seed)
    wrong: list[str] = []
    places = [
        (package, number, name)
        for package, releases in sorted(sources.releases.items())
        for number, one in enumerate(releases)
        for name in one.files
    ]
    for package, number, name in draw.choices(places, k=frames):
        release = sources.releases[package][number]
        digest = release.files[name]
        raising = sorted(sources.kept.raising(digest, raising_lines))
        if not raising:
            continue
        line = draw.choice(raising)
        bits = table.releases_with(name, line, lines_of(sources.kept.source(digest))[line - 1])
        if bits is None or not bits >> number & 1:
            wrong.append(f"{package} {release.version}: {name}:{line}")
    return wrong
