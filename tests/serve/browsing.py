"""A real server and a real Chromium for the tests of the page."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

#: Where systems keep it; CHROMIUM names another one.
_PLACES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_OPTIONS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync"
)


def chromium_path() -> str | None:
    """Return the path of a Chromium on this machine, or None."""
    return os.environ.get("CHROMIUM") or next((path for name in _PLACES if (path := shutil.which(name))), None)


# Not for the whole session: while it runs, Playwright keeps an event loop in this thread, and asyncio.run refuses.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A Chromium without a window; the test is skipped where there is none."""
    pytest.importorskip("playwright", reason="needs the extra clients")
    path = chromium_path()
    if path is None:
        pytest.skip("there is no Chromium on this machine: apt-get install chromium, or name one in CHROMIUM")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=_OPTIONS.split())
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def site(request: pytest.FixtureRequest) -> str:
    """The address of a server with its defaults, which takes feedback."""
    pytest.importorskip("fastapi", reason="needs the extra serve")
    return str(request.getfixturevalue("server").url)


class Running:
    """An ASGI application behind uvicorn on a free port of this machine, until ``stop()``."""

    def __init__(self, app: Any, port: int = 0) -> None:
        import uvicorn

        self._server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error", timeout_graceful_shutdown=1))
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        while not self._server.started:
            if not self._thread.is_alive():
                raise RuntimeError("the server did not start")
            time.sleep(0.01)
        self.port: int = self._server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def stop(self) -> None:
        """Shut it down and wait for it."""
        self._server.should_exit = True
        self._thread.join(20)


@contextlib.contextmanager
def running(app: Any) -> Iterator[Running]:
    """Run an application while the block lasts."""
    server = Running(app)
    try:
        yield server
    finally:
        server.stop()


class Visitor:
    """A tab in a context of its own. Whatever the console complains about is kept in ``complaints``."""

    def __init__(self, browser: Any, url: str, *, language: str = "en", **context: Any) -> None:
        context.setdefault("viewport", {"width": 1360, "height": 900})
        self.context = browser.new_context(locale="zh-CN" if language == "zh" else "en-US", **context)
        self.tab = self.context.new_page()
        self.complaints: list[str] = []
        self.tab.on("console", lambda message: self.complaints.append(message.text) if message.type in ("error", "warning") else None)
        self.tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.tab.on("dialog", lambda dialog: (self.complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        self.url = url
        self.tab.goto(url)

    def paste(self, report: str) -> None:
        """Put a report into the text area and press the button; wait for the verdict."""
        if self.tab.locator("#edit").is_visible():
            self.tab.click("#edit")
        self.tab.fill("#text", report)
        self.send()

    def open_details(self) -> None:
        """Open what stands below the short answer."""
        self.tab.click("article > details > summary")

    def send(self) -> None:
        """Press the button and wait for the answer."""
        with self.tab.expect_response("**/page/diagnose"):
            self.tab.click("#send")
        self.settled()

    def settled(self) -> None:
        """Wait until what was found is shown, and is not being fetched again."""
        self.tab.wait_for_selector("#found:not(.stale) article")

    def text(self, selector: str) -> str:
        """Return the visible text of the first element."""
        return str(self.tab.locator(selector).first.inner_text())

    @property
    def focused(self) -> str:
        """The id, class or text of the element that has the focus."""
        return str(self.tab.evaluate("(e => e.id || e.className || e.textContent)(document.activeElement)"))


@pytest.fixture
def visit(chromium: Any, site: str) -> Iterator[Callable[..., Visitor]]:
    """Open the page: ``visit(language="zh", color_scheme="dark")``. At the end no tab may have complained."""
    opened: list[Visitor] = []

    def open_page(url: str = "", **context: Any) -> Visitor:
        visitor = Visitor(chromium, url if url.startswith("http") else site + (url or "/"), **context)
        opened.append(visitor)
        return visitor

    yield open_page
    complaints = [text for visitor in opened for text in visitor.complaints]
    for visitor in opened:
        visitor.context.close()
    assert complaints == []
