"""Source files of released packages, read from the package index and kept, so that an interrupted reading goes on where it stopped.

Nothing is installed and nothing imported. A small wheel is loaded whole, of a large one (torch: up to 900 MB) only the members that are
wanted, by HTTP range requests.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from packaging.version import InvalidVersion, Version

from troubleshoot.basics.errors import InputError
from troubleshoot.curation.traced_files import wanted

INDEX = "https://pypi.org/pypi/{package}/json"

#: Wheels above this are read in parts.
_WHOLE = 30_000_000

_TIMEOUT = 60


@dataclass(frozen=True)
class Release:
    """One release: its files by their path below site-packages, each a hash under which :class:`Kept` has the source."""

    version: str
    uploaded: str
    files: Mapping[str, str]


class Kept:
    """The folder in which sources and what was read of each release are kept. The same source of several releases is kept once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def source(self, digest: str) -> str:
        """Return a source file."""
        return gzip.decompress((self._folder / "sources" / digest[:2] / f"{digest}.gz").read_bytes()).decode("utf-8", "replace")

    def keep(self, content: bytes) -> str:
        """Keep a source file and return its hash."""
        digest = hashlib.sha256(content).hexdigest()
        path = self._folder / "sources" / digest[:2] / f"{digest}.gz"
        if not path.exists():
            _write(path, gzip.compress(content, mtime=0))
        return digest

    def raising(self, digest: str, find: Callable[[str], set[int]]) -> set[int]:
        """Return the lines of a source that ``find`` finds, found once: parsing takes longer than all the rest."""
        path = self._folder / "raising" / digest[:2] / f"{digest}.json"
        try:
            return set(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError):
            found = find(self.source(digest))
            _write(path, json.dumps(sorted(found), separators=(",", ":")).encode())
            return found

    def release(self, package: str, version: str, folder: str, patterns: Sequence[str]) -> Release | None:
        """Return a release as it was read before; None where it was not, or not with all of these patterns."""
        try:
            told = json.loads(self._record(package, version).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if not set(patterns) <= set(told["patterns"]):
            return None
        files = {name: digest for name, digest in told["files"].items() if wanted(name.removeprefix(f"{folder}/"), patterns)}
        return Release(version, told["uploaded"], files)

    def note(self, package: str, release: Release, patterns: Sequence[str]) -> None:
        """Keep what was read of a release, after its sources."""
        told = {"uploaded": release.uploaded, "patterns": list(patterns), "files": dict(release.files)}
        _write(self._record(package, release.version), json.dumps(told, indent=0).encode())

    def _record(self, package: str, version: str) -> Path:
        return self._folder / package / f"{version}.json"


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_bytes(content)
    part.replace(path)


def read_releases(
    package: str, folder: str, oldest: str, patterns: Sequence[str], kept: Kept, say: Callable[[str, int, int], None]
) -> tuple[list[Release], list[str]]:
    """Return the releases of a package from ``oldest`` on, oldest first, and the versions that could not be read.

    ``say`` is told (release, number, how many).

    Raises:
        InputError: the package index is out of reach, or a library is missing.
    """
    try:
        import requests
        from remotezip import RemoteIOError
    except ImportError as error:
        raise InputError(f"{error.name} is not installed. Reading releases needs: pip install 'troubleshoot[lines]'") from None
    found: list[Release] = []
    left_out: list[str] = []
    with requests.Session() as session:
        try:
            published = _published(session, package, oldest)
            for number, (version, archives) in enumerate(published):
                say(f"{package} {version}", number, len(published))
                release = kept.release(package, version, folder, patterns)
                if release is None:
                    release = _read(session, version, archives, folder, patterns, kept)
                    if release is not None:
                        kept.note(package, release, patterns)
                if release is None:
                    left_out.append(version)
                else:
                    found.append(release)
        except (requests.RequestException, RemoteIOError) as error:
            raise InputError(f"reading releases of {package} failed: {error}. Call it again: it goes on where it stopped") from None
    return found, left_out


def _published(session: Any, package: str, oldest: str) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the releases with their archives: one wheel (they do not differ in the files that are read here), or a source archive."""
    answer = session.get(INDEX.format(package=package), timeout=_TIMEOUT)
    answer.raise_for_status()
    found: list[tuple[Version, str, list[dict[str, Any]]]] = []
    for text, files in answer.json()["releases"].items():
        try:
            version = Version(text)
        except InvalidVersion:
            continue
        if version < Version(oldest) or not files:
            continue
        # A mirror may name its files relative to the page.
        archives = [{**one, "url": urljoin(answer.url, one["url"])} for one in files]
        wheels = sorted((one for one in archives if one["filename"].endswith(".whl")), key=lambda one: (one["size"], one["filename"]))
        sources = [one for one in archives if one["filename"].endswith((".tar.gz", ".zip"))]
        found.append((version, text, (wheels or sources)[:1]))
    return [(text, archives) for _, text, archives in sorted(found, key=lambda one: one[0])]


def _read(
    session: Any, version: str, archives: Sequence[dict[str, Any]], folder: str, patterns: Sequence[str], kept: Kept
) -> Release | None:
    for archive in archives:
        files = {path: kept.keep(content) for path, content in _members(session, archive, folder, patterns)}
        if files:
            return Release(version, str(archive["upload_time"])[:10], dict(sorted(files.items())))
    return None


def _members(session: Any, archive: dict[str, Any], folder: str, patterns: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the wanted files of an archive by their path below site-packages."""
    if archive["filename"].endswith(".tar.gz"):
        yield from _from_source_archive(_load(session, archive["url"]), folder, patterns)
        return
    if archive["size"] > _WHOLE:
        from remotezip import RemoteZip

        opened: zipfile.ZipFile = RemoteZip(archive["url"], session=session, timeout=_TIMEOUT)
    else:
        opened = zipfile.ZipFile(io.BytesIO(_load(session, archive["url"])))
    with opened as members:
        for name in members.namelist():
            path = _below(name, folder)
            if path is not None and wanted(path, patterns):
                yield f"{folder}/{path}", members.read(name)


def _from_source_archive(content: bytes, folder: str, patterns: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(content)) as members:
        for member in members:
            path = _below(member.name, folder)
            if path is not None and member.isfile() and wanted(path, patterns):
                opened = members.extractfile(member)
                if opened is not None:
                    yield f"{folder}/{path}", opened.read()


def _below(name: str, folder: str) -> str | None:
    """Return a member's path below the package's folder, which is at the top of a wheel, or below NAME-VERSION/[src/] of a sdist."""
    parts = name.split("/")
    for at in range(min(3, len(parts) - 1)):
        if parts[at] == folder and (at == 0 or parts[at - 1] == "src" or at == 1):
            return "/".join(parts[at + 1 :])
    return None


def _load(session: Any, url: str) -> bytes:
    answer = session.get(url, timeout=_TIMEOUT)
    answer.raise_for_status()
    return bytes(answer.content)
