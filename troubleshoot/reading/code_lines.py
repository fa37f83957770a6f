"""Lines of the source files that a live exception's frames name.

A frame's file is whatever a program passed to ``compile``: a pipe, a device or a file without end must not be read.
"""

from __future__ import annotations

import stat
from pathlib import Path

#: Bytes of the longest file that is read. Devices, pipes and what the kernel makes up as it is read have none of their own.
_LARGEST = 16 << 20
#: What linecache keeps of a file that it has read; of one that it only knows, it keeps less.
_READ = 4


def code_line(file: str, number: int) -> str:
    """Return a line of a source file with its end, as :mod:`linecache` knows it; empty where there is none. Raises no Exception."""
    # Imported here: it brings the tokenizer, and reading a pasted text never needs it.
    import linecache

    try:
        if len(linecache.cache.get(file, ())) < _READ and not _is_readable(file):
            return ""
        return linecache.getline(file, number)
    except (Exception, SystemExit, GeneratorExit):
        # A loader of the program's may have been asked.
        return ""


def _is_readable(file: str) -> bool:
    try:
        found = Path(file).stat()
    except (OSError, ValueError):
        # Not there, or relative: linecache looks further.
        return True
    return stat.S_ISREG(found.st_mode) and 0 < found.st_size <= _LARGEST
