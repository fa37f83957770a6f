"""Files that are edited, and those that never are; writing with a way back."""

from __future__ import annotations

import difflib
import os
import re
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from troubleshoot.basics.errors import InputError

_PACKAGES = re.compile(r"[/\\](?:site|dist)-packages[/\\]")
_REMOTE = re.compile(r"[/\\](?:transformers_modules|datasets_modules|diffusers_modules)[/\\]")
_MOST_BACKUPS = 1000
#: What git and patch read literally in the name of a file; any other name is quoted as C does.
_PLAIN_NAME = re.compile(rb"[^\x00-\x1f\x7f\"\\]+")


def protected(path: str) -> str | None:
    """Return why a file is never edited, or None."""
    name = Path(path).name
    real = os.path.realpath(path)
    if _REMOTE.search(path) or _REMOTE.search(real):
        return (
            f"{name} is a model's remote code in the Hugging Face cache: it is never edited, the next download would undo it. "
            "Use a live patch (`troubleshoot run --try-fixes`, troubleshoot.apply), or pin a revision that is right"
        )
    if _PACKAGES.search(path) or _PACKAGES.search(real):
        return f"{name} belongs to an installed package: it is never edited. Upgrade the package, or use a live patch (troubleshoot.apply)"
    library = os.path.realpath(os.path.dirname(os.__file__))  # noqa: PTH120
    if real.startswith((library + os.sep, os.path.realpath(os.path.join(sys.prefix, "lib")) + os.sep)):  # noqa: PTH118
        return f"{name} belongs to the Python installation: it is never edited"
    return None


def unified_diff(path: str, before: bytes, after: bytes) -> bytes:
    """Return the unified diff of one file, as ``git apply`` and ``patch`` read it: in the file's own bytes, which may be in any encoding.

    Paths are shown from the working folder.
    """
    shown = os.path.relpath(path) if os.path.realpath(path).startswith(os.path.realpath(os.getcwd()) + os.sep) else path  # noqa: PTH109
    name = os.fsencode(shown.replace(os.sep, "/"))
    sides = (name, name) if name.startswith(b"/") else (b"a/" + name, b"b/" + name)
    # Both programs end a line at \n alone.
    old, new = (data.split(b"\n") for data in (before, after))
    old, new = ([line + b"\n" for line in side[:-1]] + ([side[-1]] if side[-1] else []) for side in (old, new))
    lines = []
    for line in difflib.diff_bytes(difflib.unified_diff, old, new, _header(sides[0]), _header(sides[1])):
        lines.append(line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n")
    return b"".join(lines)


def _header(name: bytes) -> bytes:
    if _PLAIN_NAME.fullmatch(name):
        # The name ends at a tab, or else at a blank.
        return name + b"\t" if b" " in name else name
    return b'"' + re.sub(rb'[\x00-\x1f\x7f"\\]', lambda one: b"\\%03o" % ord(one[0]), name) + b'"'


def apply_files(files: Mapping[str, tuple[bytes, bytes]]) -> dict[str, str]:
    """Write new contents, by path (before, after), and return the path of each backup. Either all files are written or none.

    Everything that can fail for want of space or permission is done beside the files first. Then each is compared once more with what was
    read, and replaced in one step. The backup is the old file itself (where the file system has hard links): what another program still
    writes into it is kept.

    Raises:
        InputError: a file has changed since it was read, or cannot be written, or not with its owner, mode and attributes; all are as they
            were.
    """
    made: list[_Replacement] = []
    try:
        for path, (before, after) in files.items():
            made.append(_Replacement(path, before))
            made[-1].prepare(after)
        for one in made:
            one.keep()
        for one in made:
            one.check()
        for one in made:
            one.put()
    except BaseException:
        for one in reversed(made):
            one.undo()
        raise
    return {one.path: one.backup for one in made}


@contextmanager
def _told_of(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}; it is as it was") from error


class _Replacement:
    """One file on the way to its new content."""

    def __init__(self, path: str, before: bytes) -> None:
        self.path = path
        self.backup = ""
        self._before = before
        self._real = os.path.realpath(path)
        self._new = ""
        self._done = False
        self._identity: tuple[int, ...] = ()

    def prepare(self, after: bytes) -> None:
        """Write the new content beside the file, with all that belongs to the file but its content."""
        with _told_of(self.path):
            found = os.stat(self._real)  # noqa: PTH116
            _refuse_special(self.path, self._real, found)
            self._identity = _identity(found)
            self.check()
            handle, self._new = tempfile.mkstemp(dir=os.path.dirname(self._real), prefix=".troubleshoot-", suffix=".part")  # noqa: PTH120
            with os.fdopen(handle, "wb") as file:
                file.write(after)
                file.flush()
                _give(self.path, self._real, self._new, found)
                os.fsync(file.fileno())

    def keep(self) -> None:
        """Keep the old file under the first backup's name that is free: one that is there is never touched."""
        with _told_of(self.path):
            for number in range(_MOST_BACKUPS):
                name = f"{self._real}.orig" if number == 0 else f"{self._real}.orig.{number}"
                if self._keep(name):
                    self.backup = name
                    return
        raise InputError(f"{self._real}.orig to {self._real}.orig.{_MOST_BACKUPS - 1} all exist: remove some")

    def _keep(self, name: str) -> bool:
        try:
            os.link(self._real, name)
            return True
        except FileExistsError:
            return False
        except (OSError, NotImplementedError):
            # No hard links here: a copy.
            try:
                handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
            except FileExistsError:
                return False
            self.backup = name
            with os.fdopen(handle, "wb") as file:
                file.write(self._before)
                file.flush()
                _give(self.path, self._real, name, os.stat(self._real))  # noqa: PTH116
                os.fsync(file.fileno())
            return True

    def check(self) -> None:
        """Raise InputError where the file, or what stood in its place until it was replaced, is not what was read."""
        with _told_of(self.path):
            same = Path(self.backup if self._done else self._real).read_bytes() == self._before
            # Many editors save by renaming: then another file stands there. Asked last, for reading takes a while.
            if not same or (not self._done and _identity(os.stat(self._real)) != self._identity):  # noqa: PTH116
                raise InputError(
                    f"{self.path} has changed since it was read: nothing was written. "
                    "The diff is printed: merge it with patch or git apply, or run the command again"
                )

    def put(self) -> None:
        """Put the new file in the place of the old one. Raises InputError where that was written to until the last moment."""
        with _told_of(self.path):
            self.check()
            os.replace(self._new, self._real)  # noqa: PTH105
            self._done = True
            # The backup is what stood there: an editor may have written into it since the comparison.
            self.check()
            _settle(os.path.dirname(self._real))  # noqa: PTH120

    def undo(self) -> None:
        """Leave the file as it was, and nothing beside it."""
        if self._done:
            with suppress(OSError):
                os.replace(self.backup, self._real)  # noqa: PTH105
            return
        for name in (self._new, self.backup):
            if name:
                with suppress(OSError):
                    os.unlink(name)  # noqa: PTH108


def _identity(found: os.stat_result) -> tuple[int, ...]:
    """Return what tells a file and its state from any other that may stand under its name."""
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size


def _refuse_special(path: str, real: str, found: os.stat_result) -> None:
    """Raise InputError for a file that is not to be replaced."""
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"cannot write {path}: it is no regular file")
    # Root may write to everything; that the file is not to be written is said by its mode all the same.
    if not found.st_mode & 0o222 or not os.access(real, os.W_OK):
        raise InputError(f"cannot write {path}: it is read-only")
    if found.st_nlink > 1:
        raise InputError(
            f"cannot write {path}: the file has {found.st_nlink} names (hard links), of which the others would keep the old content. "
            "Write the diff into it yourself"
        )


def _give(path: str, real: str, new: str, found: os.stat_result) -> None:
    """Give a new file the owner, mode, access lists and attributes of the one that it is to replace. Raises InputError, OSError."""
    mine = os.stat(new)  # noqa: PTH116
    if (mine.st_uid, mine.st_gid) != (found.st_uid, found.st_gid):
        try:
            os.chown(new, found.st_uid, found.st_gid)
        except OSError as error:
            raise InputError(f"cannot write {path}: its owner or group would not be kept ({error.strerror or error})") from error
    if hasattr(os, "listxattr"):
        _give_attributes(path, real, new)
    os.chmod(new, stat.S_IMODE(found.st_mode))  # noqa: PTH101
    flags = getattr(found, "st_flags", 0)
    if flags and hasattr(os, "chflags"):
        os.chflags(new, flags)


def _give_attributes(path: str, real: str, new: str) -> None:
    try:
        wanted = {name: os.getxattr(real, name) for name in os.listxattr(real)}
    except OSError:
        # The file system has none.
        return
    for name in set(os.listxattr(new)) - set(wanted):
        # What the folder gives to each new file.
        os.removexattr(new, name)
    for name, value in wanted.items():
        try:
            # A label that the system gives itself is there already, and may not be set.
            if name not in os.listxattr(new) or os.getxattr(new, name) != value:
                os.setxattr(new, name, value)
        except OSError as error:
            raise InputError(f"cannot write {path}: its attribute {name} would not be kept ({error.strerror or error})") from error


def _settle(folder: str) -> None:
    """Have the new name written to the disk."""
    if os.name == "posix":
        with suppress(OSError):
            handle = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
