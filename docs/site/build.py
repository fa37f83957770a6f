"""Build the documentation site, both languages, and check every link and anchor of what was built.

    python docs/site/build.py [FOLDER]        (by default: site)
    python docs/site/build.py --serve [PORT]  (build, then show it at http://127.0.0.1:8008)

Needs ``pip install -c constraints.txt -e '.[docs]'``. The exit status is 0 where the site is whole.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

HERE = Path(__file__).resolve().parent


def build(folder: Path) -> list[str]:
    """Build into ``folder`` and return every broken link; a warning of MkDocs ends it."""
    site = os.environ.get("TROUBLESHOOT_SITE", "").rstrip("/")
    settings = {"TROUBLESHOOT_SITE_ZH": f"{site}/zh/" if site else "", "NO_MKDOCS_2_WARNING": "1"}
    # The Chinese tree lies inside the English one, which MkDocs empties first.
    for name, target in (("mkdocs.yml", folder), ("mkdocs.zh.yml", folder / "zh")):
        command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-f", str(HERE / name), "-d", str(target.resolve())]
        subprocess.run(command, check=True, env={**os.environ, **settings})
    # A web server shows the one at its root for every address that it does not know.
    (folder / "zh" / "404.html").unlink()
    from troubleshoot.curation.publishing.links import broken_links

    return broken_links(folder, prefix=urlsplit(site).path)


def main() -> int:
    """Build, tell what is broken, and serve where that is asked for."""
    parser = argparse.ArgumentParser(description="Build the documentation site in both languages and check its links.")
    parser.add_argument("folder", nargs="?", default="site", type=Path, help="where to build it (default: site)")
    parser.add_argument("--serve", nargs="?", const=8008, type=int, metavar="PORT", help="show it on this machine when it is built")
    options = parser.parse_args()
    try:
        broken = build(options.folder)
    except subprocess.CalledProcessError as error:
        return error.returncode
    for one in broken:
        print(one, file=sys.stderr)
    print(f"{options.folder}: {sum(1 for _ in options.folder.rglob('*.html'))} pages, {len(broken)} broken links")
    if options.serve is not None:
        print(f"http://127.0.0.1:{options.serve}  (Ctrl-C ends it)")
        handler = partial(SimpleHTTPRequestHandler, directory=str(options.folder))
        try:
            ThreadingHTTPServer(("127.0.0.1", options.serve), handler).serve_forever()
        except KeyboardInterrupt:
            return 0
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
