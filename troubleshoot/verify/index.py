"""What a package index tells of a project: the files of its releases, their sizes, and the day each was published (PEP 691, PEP 700)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.error import URLError
from urllib.parse import unquote, urlsplit
from urllib.request import Request, urlopen

from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, canonicalize_name, parse_sdist_filename, parse_wheel_filename

_JSON = "application/vnd.pypi.simple.v1+json"


@dataclass(frozen=True)
class File:
    """One file of a release. ``size`` and ``published`` are None where the index does not tell."""

    name: str
    version: str
    size: int | None
    published: datetime | None


def index_url() -> str:
    """Return the package index in use: the one that pip is told of by its environment variable, or PyPI."""
    return (os.environ.get("PIP_INDEX_URL") or "https://pypi.org/simple").rstrip("/")


def files_of(project: str, *, timeout: float = 60.0) -> tuple[File, ...]:
    """Return the files of a project.

    Raises:
        OSError: the index is out of reach, has no such project, or does not speak JSON.
    """
    address = f"{index_url()}/{canonicalize_name(project)}/"
    if urlsplit(address).scheme not in ("https", "http"):
        raise OSError(f"{address}: not an index that can be asked")
    try:
        with urlopen(Request(address, headers={"Accept": _JSON}), timeout=timeout) as answer:
            data = json.load(answer)
        return tuple(one for one in (_file(raw) for raw in data["files"]) if one is not None)
    except (ValueError, KeyError, TypeError) as error:
        raise OSError(f"{address}: the index does not answer in JSON ({error})") from None
    except URLError as error:
        raise OSError(f"{address}: {error.reason}") from None


def _file(raw: Mapping[str, Any]) -> File | None:
    name = str(raw["filename"])
    try:
        version = parse_wheel_filename(name)[1] if name.endswith(".whl") else parse_sdist_filename(name)[1]
    except (InvalidWheelFilename, InvalidSdistFilename):
        return None
    told = raw.get("upload-time")
    size = raw.get("size")
    published = datetime.fromisoformat(str(told).replace("Z", "+00:00")) if told else None
    return File(name, str(version), int(size) if size is not None else None, published)


def published_on(project: str) -> dict[str, datetime]:
    """Return when each release of a project was published: the day of its first file. Empty where the index does not tell.

    Raises:
        OSError: see :func:`files_of`.
    """
    found: dict[str, datetime] = {}
    for one in files_of(project):
        if one.published is not None:
            found[one.version] = min(found.get(one.version, one.published), one.published)
    return found


def sizes_of(addresses: Iterable[str]) -> dict[str, int]:
    """Return the sizes in bytes of files, given by their addresses, by file name; those of which the index does not tell are missing.

    Raises:
        OSError: see :func:`files_of`.
    """
    names = {unquote(urlsplit(one).path.rpartition("/")[2]) for one in addresses}
    found: dict[str, int] = {}
    for project in sorted({canonicalize_name(name.split("-", 1)[0]) for name in names}):
        for one in files_of(project):
            if one.name in names and one.size is not None:
                found[one.name] = one.size
    return found
