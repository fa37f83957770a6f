"""Edited sources in place of files: the program sees its own paths, data and neighbours, and nothing is written."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType


class _Loader(SourceFileLoader):
    """Loads a module from bytes; what was compiled from its file before does not count."""

    def __init__(self, name: str, path: str, source: bytes) -> None:
        super().__init__(name, path)
        self._source = source

    def get_data(self, path: str | bytes) -> bytes:
        """Return the edited source."""
        return self._source

    def get_code(self, fullname: str) -> CodeType:
        """Compile the edited source."""
        return compile(self._source, self.path, "exec", dont_inherit=True)


class _Finder:
    def __init__(self, sources: Mapping[str, bytes]) -> None:
        self._sources = sources

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Find a module as usual, and load it from its edited source where it has one."""
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.origin is None:
            return None
        source = self._sources.get(os.path.realpath(spec.origin))
        if source is None:
            return None
        spec.loader = _Loader(name, spec.origin, source)
        spec.cached = None
        return spec


def stand_in(sources: Mapping[str, bytes]) -> None:
    """Let the process import these sources, by real path, in place of the files. The main script is the caller's matter."""
    import io
    import linecache
    import tokenize

    sys.meta_path.insert(0, _Finder(sources))
    for path, source in sources.items():
        # As the tokenizer sees its lines: with \r alone, readline() would take the whole source for the first.
        source = source.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
        lines = io.TextIOWrapper(io.BytesIO(source), encoding=encoding).readlines()
        # Without a modification time linecache keeps what it is given.
        linecache.cache[path] = (len(source), None, lines, path)
