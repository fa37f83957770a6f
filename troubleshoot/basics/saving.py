"""Writing a file whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

#: Streams of the process that have paths: where one leads to a file, others write to it too.
_STREAMS = ("/dev/std", "/dev/fd/", "/proc/")


def save(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file so that whoever reads it sees the old content or the new one, also where the disk is full or the process is killed.

    A link stays one: the file that it leads to is replaced. A file keeps its rights. What is no regular file (a pipe, a terminal,
    ``/dev/null``) is written to as it is, and so is a file in a folder in which nothing may be made.

    Raises:
        OSError: it cannot be written; what was there before is as it was, unless it had to be written in place.
    """
    target = os.path.realpath(path)
    try:
        known: os.stat_result | None = os.stat(path)  # noqa: PTH116  (also of what is no path of ours, such as /dev/stdout)
    except FileNotFoundError:
        known = None
    stream = os.path.abspath(path).startswith(_STREAMS)  # noqa: PTH100  (resolving it would lead to what the stream is open on)
    if stream or (known is not None and not stat.S_ISREG(known.st_mode)):
        _write_in_place(path, content)
        return
    if known is not None and not os.access(target, os.W_OK):
        # Replacing it would get round its rights.
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(path))
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name[:200]}.{os.getpid()}-{os.urandom(4).hex()}.part")  # noqa: PTH118
    mode = stat.S_IMODE(known.st_mode) if known is not None else 0o666
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
    except PermissionError:
        if known is None or not _same(target, known):
            raise
        _write_in_place(path, content)
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            # Some file systems tell only now that they are full; and the name must not be there before the content.
            _sync(handle)
        if known is not None:
            with suppress(OSError):
                os.chmod(temporary, mode)  # noqa: PTH101
            with suppress(OSError, AttributeError):
                os.chown(temporary, known.st_uid, known.st_gid)
        os.replace(temporary, target)  # noqa: PTH105
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108
        raise


def _sync(handle: int) -> None:
    try:
        os.fsync(handle)
    except OSError as error:
        # Some file systems of networks and of users know no such call.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS):
            raise


def _same(target: str, known: os.stat_result) -> bool:
    with suppress(OSError):
        return os.path.samestat(os.stat(target), known)  # noqa: PTH116
    return False


def _write_in_place(path: str | os.PathLike[str], content: bytes) -> None:
    with open(path, "wb") as file:  # noqa: PTH123
        file.write(content)
