"""Finding, reading and writing compiled bases. The shipped one lies in the wheel; that of a checkout or of overlays in the user's cache."""

from __future__ import annotations

import os
import stat
import sys
import time
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from troubleshoot.basics.errors import KnowledgeError
from troubleshoot.knowledge.base import KnowledgeBase, overlay_roots, shipped_root
from troubleshoot.knowledge.files import read_regular

COMPILED = "compiled.json"

_loaded: dict[tuple[str, ...], KnowledgeBase] = {}

#: The base of :func:`current_kb`: when its files were looked at, for which setting of the environment, and the base.
_current: tuple[float, str | None, KnowledgeBase] | None = None
#: Seconds for which files are not looked at again: in a checkout there are hundreds, and looking at all costs more than a diagnosis.
_FRESH = 1.0


def current_kb() -> KnowledgeBase:
    """Return the base of :func:`load_kb`, whose files are looked at once a second at most.

    Raises:
        KnowledgeError: there is no knowledge base to read.
    """
    global _current
    setting = os.environ.get("TROUBLESHOOT_KB")
    known = _current
    now = time.monotonic()
    if known is not None and known[1] == setting and now - known[0] < _FRESH:
        return known[2]
    base = load_kb()
    _current = (now, setting, base)
    return base


def load_kb(paths: Sequence[os.PathLike[str] | str] = (), *, shipped: bool = True) -> KnowledgeBase:
    """Load the knowledge base with overlays and keep it for reuse.

    ``paths`` are overlay folders, the last one winning; ``TROUBLESHOOT_KB`` and installed packages come before them. Without ``shipped``
    only ``paths`` count. Faulty overlay files are skipped: see ``.warnings``.

    Raises:
        KnowledgeError: there is no knowledge base to read.
    """
    root = shipped_root()
    roots = ((root, *overlay_roots(paths)) if shipped else tuple(Path(path) for path in paths)) or (root,)
    key = tuple(str(one) for one in roots)
    known = _loaded.get(key)
    if known is not None and not _stale(known):
        return known
    global _current
    base = _load(roots)
    _loaded[key] = base
    # What was kept for a second may be older than what was just read.
    _current = None
    return base


def _load(roots: tuple[Path, ...]) -> KnowledgeBase:
    in_wheel = roots[0] / COMPILED
    if len(roots) == 1 and in_wheel.is_file():
        with suppress(KnowledgeError, OSError):
            return KnowledgeBase(in_wheel.read_bytes(), roots)
    cached = _cache_file(roots)
    if cached is not None:
        kept = _kept(cached)
        if kept is not None:
            with suppress(KnowledgeError):
                base = KnowledgeBase(kept, roots)
                if not _stale(base):
                    return base
    compiled = compile_roots(roots)
    if cached is not None:
        write_atomically(cached, compiled + _seal(compiled))
    return KnowledgeBase(compiled, roots)


#: What stands behind a compiled base in the cache: it tells that the file is whole and nothing in it has changed. The faster checksum is
#: enough, since nobody but its owner may have written the file.
_SEAL = b"crc32 %08x\n"
_SEAL_LENGTH = len(_SEAL % 0)
#: A file in the cache that is larger was not written by us.
_MOST_BYTES = 1 << 30


def _seal(compiled: bytes | memoryview) -> bytes:
    return _SEAL % zlib.crc32(compiled)


def _kept(cached: Path) -> bytes | None:
    """Return what the cache holds; None where it is missing, damaged, or may be somebody else's. Either way it is then made anew."""
    try:
        status = cached.stat()
        if hasattr(os, "getuid") and (status.st_uid not in (os.getuid(), 0) or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
            return None
        content = read_regular(cached, _MOST_BYTES)
    except OSError:
        return None
    whole = memoryview(content)[:-_SEAL_LENGTH]
    return content if content.endswith(_seal(whole)) else None


def compile_roots(roots: Sequence[Path]) -> bytes:
    """Compile the bases below ``roots`` from their YAML files."""
    from troubleshoot.knowledge.collect import collect
    from troubleshoot.knowledge.compiled import compile_base
    from troubleshoot.knowledge.files import stamps

    # Before the files are read: what is changed meanwhile counts as changed.
    before = stamps(roots)
    return compile_base(collect(roots), before)


def _stale(base: KnowledgeBase) -> bool:
    """Tell whether a file was added, removed or changed since the base was compiled; one from a wheel has no stamps and never is."""
    if not base.index.stamps:
        return not (base.roots and (base.roots[0] / COMPILED).is_file())
    from troubleshoot.knowledge.files import stamps

    with suppress(OSError):
        return [tuple(one) for one in stamps(base.roots)] != base.index.stamps
    return True


def _cache_file(roots: Sequence[Path]) -> Path | None:
    """Return where the compiled form of these roots is kept, or None where no cache folder can be named."""
    import hashlib

    if sys.platform == "win32":
        parent = os.environ.get("LOCALAPPDATA")
    elif sys.platform == "darwin":
        parent = str(Path("~/Library/Caches").expanduser())
    else:
        parent = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    if not parent or parent.startswith("~"):
        return None
    try:
        # A loop of links, or a working folder that was deleted: the roots have no name to be kept under.
        names = [os.path.realpath(root) for root in roots]
    except OSError:
        return None
    name = hashlib.sha256("\n".join(names).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return Path(parent) / "troubleshoot" / f"kb-{name}.json"


def write_atomically(path: Path, content: bytes) -> bool:
    """Write a file so that a reader sees the old or the new content, never a part; tell whether it could be written.

    A read-only home or a full disk only costs time at the next start, so that nothing is raised.
    """
    import tempfile

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".tmp")
    except OSError:
        return False
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(temporary).replace(path)
    except BaseException as error:
        with suppress(OSError):
            Path(temporary).unlink()
        if isinstance(error, OSError):
            return False
        raise
    return True
