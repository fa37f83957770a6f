"""The index in both of its forms, from a real server."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from troubleshoot.lab.verify import index

_JSON = {
    "meta": {"api-version": "1.1"},
    "files": [
        {"filename": "thing-1.0-py3-none-any.whl", "url": "x", "upload-time": "2023-05-02T10:00:00.123Z"},
        {"filename": "thing-1.0.tar.gz", "url": "y", "upload-time": "2023-05-01T10:00:00Z"},
        {"filename": "thing-1.1.tar.gz", "url": "z"},
        {"filename": "no version", "url": "z", "upload-time": "2023-05-01T10:00:00Z"},
    ],
}
_PAGE = """<!DOCTYPE html><html><body>
<a href="../../f/thing-2.0-py3-none-any.whl#sha256=0" data-upload-time="2024-01-02T03:04:05Z">thing</a>
<a href="../../f/thing-2.1.tar.gz">thing</a></body></html>"""


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        page = self.path.startswith("/pages/")
        body = (_PAGE if page else json.dumps(_JSON)).encode()
        if "missing" in self.path:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if page else "application/vnd.pypi.simple.v1+json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1234")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture
def server() -> Iterator[str]:
    """A package index on this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()


def test_days_come_from_json_and_from_pages(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first file of a release counts; files without a day or a version are left out."""
    monkeypatch.setenv("PIP_INDEX_URL", f"{server}/json/")
    found = index.published_on("Thing")
    assert {version: when.date().isoformat() for version, when in found.items()} == {"1.0": "2023-05-01"}
    monkeypatch.setenv("PIP_INDEX_URL", f"{server}/pages/")
    assert index.published_on("thing") == {"2.0": datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)}


def test_an_index_out_of_reach_is_an_oserror(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No project, no server, no web address."""
    for address in (f"{server}/missing", "http://127.0.0.1:9/simple", "file:///nowhere"):
        monkeypatch.setenv("PIP_INDEX_URL", address)
        with pytest.raises(OSError):
            index.published_on("thing")


def test_sizes_are_asked_for_without_loading(server: str, tmp_path: Path) -> None:
    """Files on servers and on disk; other schemes are left out."""
    (tmp_path / "a b.whl").write_bytes(b"12345")
    addresses = [f"{server}/f/x.whl", (tmp_path / "a b.whl").as_uri(), "git+https://example.org/x"]
    assert index.sizes_of(addresses) == {addresses[0]: 1234, addresses[1]: 5}
