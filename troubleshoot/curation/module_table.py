"""Makes the end of ``kb/words/modules.yaml``: ``python -m troubleshoot.curation.module_table`` (needs ``pip install '.[lines]'``).

Which modules a distribution brings is read from the list of files of its newest archive on the package index: of a wheel by HTTP range
requests, of a source archive whole. Nothing is installed or imported. A distribution that cannot be read is left out, and told.
"""

from __future__ import annotations

import io
import sys
import tarfile
from collections.abc import Iterable
from typing import Any
from urllib.parse import urljoin

from troubleshoot.basics.errors import InputError
from troubleshoot.basics.saving import save
from troubleshoot.curation.released_sources import INDEX
from troubleshoot.knowledge.base import checkout_root
from troubleshoot.knowledge.files import WORDS_FOLDER
from troubleshoot.knowledge.source import read_yaml

FILE = "modules.yaml"
_MARK = "# Made from the archives"
_TIMEOUT = 60
#: A larger source archive is not loaded.
_LARGEST = 100_000_000
#: What archives hold beside the package, and what many distributions share.
_NO_MODULES = frozenset({
    "asset", "assets", "benchmark", "benchmarks", "build", "ci", "cli", "conf", "configs", "csrc", "data", "dist", "doc", "docker", "docs",
    "example", "examples", "hubconf", "include", "lib", "nvidia", "recipes", "requirements", "resources", "scripts", "setup", "share",
    "src", "test", "tests", "test_ext", "third_party", "tools", "utils", "versioneer", "conftest", "google",
})  # fmt: skip


def modules_in(names: Iterable[str]) -> set[str]:
    """Return the modules at the top of a wheel, by the names of its files."""
    found: set[str] = set()
    for name in names:
        top, slash, rest = name.partition("/")
        if slash and not top.endswith((".dist-info", ".data", ".libs")) and rest.endswith((".py", ".so", ".pyd")):
            found.add(top)
        elif not slash and top.endswith((".py", ".so", ".pyd")):
            found.add(top.partition(".")[0])
    return {one for one in found if one.isidentifier() and one[0] != "_" and one not in _NO_MODULES}


def modules_of_source(names: Iterable[str], top_level: str) -> set[str]:
    """Return the modules of a source archive: those that its ``top_level.txt`` lists and that it holds, else the folders of packages."""
    paths = [name.split("/")[1:] for name in names]
    paths = [parts[1:] if parts[:1] == ["src"] else parts for parts in paths]
    packages = {parts[0] for parts in paths if len(parts) == 2 and parts[1] == "__init__.py"}
    single = {parts[0].removesuffix(".py") for parts in paths if len(parts) == 1 and parts[0].endswith(".py")}
    listed = set(top_level.split())
    found = listed & (packages | single | {parts[0] for parts in paths if len(parts) > 1}) if listed else packages
    return {one for one in found if one.isidentifier() and one[0] != "_" and one not in _NO_MODULES}


def read_modules(session: Any, distribution: str) -> set[str] | None:
    """Return the modules of a distribution's newest release; None where the index does not know it, or nothing can be read."""
    from remotezip import RemoteIOError, RemoteZip

    answer = session.get(INDEX.format(package=distribution), timeout=_TIMEOUT)
    if answer.status_code != 200:
        return None
    archives = [{**one, "url": urljoin(answer.url, one["url"])} for one in answer.json()["urls"]]
    wheels = sorted((one for one in archives if one["filename"].endswith(".whl")), key=lambda one: (one["size"], one["filename"]))
    if wheels:
        try:
            with RemoteZip(wheels[0]["url"], session=session, timeout=_TIMEOUT) as members:
                return modules_in(members.namelist())
        except RemoteIOError:
            return None
    sources = [one for one in archives if one["filename"].endswith((".tar.gz", ".zip")) and one["size"] <= _LARGEST]
    if not sources or not sources[0]["filename"].endswith(".tar.gz"):
        return None
    content = session.get(sources[0]["url"], timeout=_TIMEOUT)
    content.raise_for_status()
    with tarfile.open(fileobj=io.BytesIO(content.content)) as archive:
        names = archive.getnames()
        listed = next((name for name in names if name.endswith(".egg-info/top_level.txt")), None)
        opened = archive.extractfile(listed) if listed else None
        return modules_of_source(names, opened.read().decode() if opened else "")


def module_table(distributions: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """Return module -> distribution, and the distributions that could not be read.

    Raises:
        InputError: a library is missing.
    """
    try:
        import requests
    except ImportError as error:
        raise InputError(f"{error.name} is not installed. Reading the index needs: pip install 'troubleshoot[lines]'") from None
    found: dict[str, str] = {}
    unread: list[str] = []
    with requests.Session() as session:
        for distribution in distributions:
            modules = read_modules(session, distribution)
            if modules is None:
                unread.append(distribution)
            for module in sorted(modules or ()):
                found.setdefault(module, distribution)
    return found, unread


def main() -> int:
    """Read the index and write the table."""
    path = checkout_root("Make the table in a checkout.") / WORDS_FOLDER / FILE
    data, _ = read_yaml(path)
    found, unread = module_table(data["distributions"].split())
    head, mark, _ = path.read_text(encoding="utf-8").partition(_MARK)
    rows = "".join(f"  {module}: {found[module]}\n" for module in sorted(found, key=str.lower))
    end = f"{mark} of the newest releases: do not edit below this line.\nmodules:\n{rows}\n"
    end += f"# Those of the list that could not be read: no command names them.\nnot-read: '{' '.join(unread)}'\n"
    save(path, f"{head}{end}".encode())
    print(f"{len(found)} modules", f"not read: {' '.join(unread) or 'none'}", sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
