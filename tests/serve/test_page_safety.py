"""Hostile pastes on the page, and servers that refuse or are gone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from founding import BLIP2

pytestmark = pytest.mark.slow

Visit = Callable[..., Any]

PRIVATE = """\
schema: 1
id: acme/warp-core
title: The warp core wants float32
status: stable
kind: issue
cause: dtype-mismatch/input-vs-weight
impact: error
signature:
  message:
    - {template: "warp core cannot take {found:dtype} antimatter"}
explanation: It was written for float32.
fixes:
  - {id: cast, kind: cast-inputs, title: Cast the inputs, applicability: safe, action: {edit: x = x.float()}, reason: It wants float32.}
references:
  - {kind: report, url: "https://example.org/acme/1"}
"""

EVIL = (
    '<img src=x onerror="window.hit=1;alert(1)">',
    "<script>window.hit=1</script>",
    "</textarea></pre></title><svg/onload=window.hit=1>",
    "[/b][link=javascript:alert(1)]x[/link]",
    "`<b onmouseover=window.hit=1>`",
    'javascript:alert(1)//http://x" onmouseover="window.hit=1',
    "{{settings}} ${window.hit=1} {{constructor.constructor('window.hit=1')()}}",
    "\u202egnp.exe \u2066\u0000\u0007\ufeff",
)


def clean(visitor: Any) -> None:
    """Nothing ran, and no element came out of a text."""
    assert visitor.tab.evaluate("window.hit") is None
    assert visitor.tab.locator("main img, main svg, main script, main iframe, main [onerror], main [onmouseover]").count() == 0
    assert visitor.tab.evaluate("[...document.links].every(a => ['http:', 'https:'].includes(a.protocol))")


@pytest.mark.parametrize("evil", EVIL)
def test_markup_in_a_report_is_text(visit: Visit, evil: str) -> None:
    """In the message, in a model's name, in a path, in a version, in what is quoted as evidence."""
    visitor = visit()
    frames = BLIP2.frames.replace("caption.py", f"{evil}.py")
    report = (
        f"Salesforce/blip2-{evil} with torch_dtype=torch.float16, AutoModel.from_pretrained('{evil}')\ntransformers==4.50.2{evil}\n"
        f"Traceback (most recent call last):\n{frames}RuntimeError: expected scalar type Float but found Half\n{evil}\nValueError: {evil}\n"
    )
    visitor.paste(report)
    clean(visitor)
    visitor.tab.click("article summary >> nth=0")
    clean(visitor)
    # The report itself is shown as it was pasted.
    assert evil[:5] in visitor.tab.locator("#marked").inner_text() or not evil.isascii()


@pytest.mark.parametrize("evil", EVIL)
def test_markup_in_an_unknown_failure_is_text(visit: Visit, evil: str) -> None:
    """Where nothing is known the message itself is quoted, in the heading too."""
    visitor = visit()
    frames = f'Traceback (most recent call last):\n  File "{evil}", line 1, in <module>\n    {evil}\n'
    visitor.paste(f"{frames}{evil}Error: {evil}\nKeyError: {evil}\n")
    clean(visitor)


@pytest.mark.parametrize("evil", EVIL[:6])
def test_markup_in_an_answer_is_text(visit: Visit, evil: str) -> None:
    """Typed into a field it comes back as a chip, or as what could not be used."""
    visitor = visit()
    for field in ("#gpu", "#torch", "#transformers"):
        visitor.tab.fill(field, evil)
    visitor.paste(BLIP2.report())
    clean(visitor)


def test_reordering_characters_are_shown_as_their_codes(visit: Visit) -> None:
    """A report cannot make a line read other than it is."""
    visitor = visit()
    visitor.paste("RuntimeError: expected scalar type Float but found Half\nopen('\u202egnp.exe')\n")
    assert r"\u202egnp.exe" in visitor.tab.locator("#marked").inner_text()


def test_the_policy_lets_nothing_else_run(visit: Visit, site: str) -> None:
    """A script put into the page, an inline handler, a foreign image, a frame: Chromium refuses each because of the header."""
    visitor = visit()
    refused = visitor.tab.evaluate(
        """async () => {
          const refused = [];
          addEventListener("securitypolicyviolation", (event) => refused.push(event.effectiveDirective));
          const put = (html) => document.body.insertAdjacentHTML("beforeend", html);
          const script = document.createElement("script");
          script.textContent = "window.hit = 1";
          document.body.append(script);
          put('<button id="evil" onclick="window.hit = 1">x</button><img src="http://127.0.0.1:9/x.png"><iframe src="http://127.0.0.1:9/"></iframe>');
          put('<p style="color: red">x</p>');
          document.getElementById("evil").click();
          await fetch("http://127.0.0.1:9/").catch(() => 0);
          await new Promise((done) => setTimeout(done, 300));
          return refused;
        }"""
    )
    assert {"script-src-elem", "script-src-attr", "img-src", "frame-src", "style-src-attr", "connect-src"} <= set(refused)
    assert visitor.tab.evaluate("window.hit") is None
    visitor.complaints.clear()  # Each refusal is a complaint in the console.


class Front:
    """A proxy in front of the application that answers some requests itself, as proxies do."""

    def __init__(self, app: Any, status: int, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
        self.app, self.status, self.headers = app, status, headers

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"] == "/page/diagnose" and self.status:
            await send({"type": "http.response.start", "status": self.status, "headers": [(b"content-type", b"text/html"), *self.headers]})
            await send({"type": "http.response.body", "body": b"<html><b onclick=alert(1)>refused</b></html>"})
        else:
            await self.app(scope, receive, send)


@pytest.mark.parametrize(
    ("status", "headers", "told"),
    [
        (413, (), "refused the report as too large"),
        (503, ((b"retry-after", b"7"),), "asks to wait 7 s"),
        (503, (), "The server is busy"),
        (502, (), "The server failed on this request"),
        (500, (), "The server failed on this request"),
        (400, (), "did not accept this"),
    ],
)
def test_a_refusal_is_told_and_nothing_is_lost(visit: Visit, status: int, headers: Any, told: str) -> None:
    """The text stays; once the server is well again the same button succeeds."""
    from browsing import running

    from troubleshoot.serve import create_app

    front = Front(create_app(), status, headers)
    with running(front) as server:
        visitor = visit(server.url)
        visitor.tab.fill("#text", BLIP2.report())
        visitor.tab.click("#send")
        visitor.tab.wait_for_selector(".problem")
        assert told in visitor.text(".problem")
        assert visitor.tab.input_value("#text") == BLIP2.report()
        assert visitor.tab.locator(".problem b").count() == 0
        front.status = 0
        visitor.send()
        assert visitor.text(".sub a") == BLIP2.issue
        assert visitor.tab.locator(".problem").count() == 0
        visitor.complaints.clear()  # The browser itself notes each refused request.


def test_a_server_that_is_gone_is_told_and_nothing_is_lost(visit: Visit) -> None:
    """Report, earlier diagnosis and answers stay; trying again works when it is back."""
    from browsing import Running

    from troubleshoot.serve import create_app

    server = Running(create_app())
    visitor = visit(server.url)
    visitor.paste(BLIP2.report())
    server.stop()
    visitor.tab.click("#edit")
    visitor.tab.fill("#text", BLIP2.report() + "more")
    visitor.tab.click("#send")
    visitor.tab.wait_for_selector(".problem")
    assert "cannot be reached" in visitor.text(".problem")
    assert visitor.tab.input_value("#text") == BLIP2.report() + "more"
    assert visitor.text(".sub a") == BLIP2.issue
    back = Running(create_app(), server.port)
    try:
        visitor.tab.click(".problem button")
        visitor.tab.wait_for_selector(".problem", state="detached")
        visitor.settled()
    finally:
        back.stop()
    visitor.complaints.clear()


def test_below_another_application_it_works_too(visit: Visit) -> None:
    """Mounted, every address of the page begins with where it is mounted."""
    from browsing import running
    from starlette.applications import Starlette
    from starlette.routing import Mount

    from troubleshoot.serve import create_app

    with running(Starlette(routes=[Mount("/help/dtype", create_app())])) as server:
        visitor = visit(f"{server.url}/help/dtype/")
        visitor.paste(BLIP2.report())
        visitor.tab.click(".sub a")
        visitor.tab.wait_for_url(f"{server.url}/help/dtype/issues/{BLIP2.issue}?lang=en")
        assert "BLIP-2" in visitor.text("h1")


def test_a_server_that_wants_a_token_is_given_one(visit: Visit, serve: Any, tmp_path: Path) -> None:
    """The page asks for it, keeps it until it is left, and loses nothing meanwhile."""
    pytest.importorskip("fastapi", reason="needs the extra serve")
    tokens = tmp_path / "tokens.txt"
    tokens.write_text("correct-horse-battery\n")
    visitor = visit(serve("--token-file", str(tokens)).url)
    visitor.tab.fill("#text", BLIP2.report())
    visitor.tab.click("#send")
    visitor.tab.wait_for_selector("#token:focus")
    visitor.tab.fill("#token", "a wrong guess, surely")
    with visitor.tab.expect_response("**/page/diagnose") as refused:
        visitor.tab.press("#token", "Enter")
    assert refused.value.status == 401
    visitor.tab.wait_for_selector("#token:focus")
    assert visitor.tab.locator("#token").count() == 1
    visitor.tab.fill("#token", "correct-horse-battery")
    visitor.tab.press("#token", "Enter")
    visitor.settled()
    assert visitor.text(".sub a") == BLIP2.issue
    assert visitor.tab.locator("#token").count() == 0
    assert visitor.tab.evaluate("JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage)])") == "[[],[]]"
    visitor.complaints.clear()  # The browser itself notes each 401.


def test_private_entries_answer_and_have_no_page(visit: Visit, serve: Any, tmp_path: Path) -> None:
    """What an operator keeps to himself is named in a diagnosis, and leads nowhere unless he shows it."""
    pytest.importorskip("fastapi", reason="needs the extra serve")
    entry = tmp_path / "kb" / "acme" / "warp-core.yaml"
    entry.parent.mkdir(parents=True)
    entry.write_text(PRIVATE, encoding="utf-8")
    for options, pages in (((), 0), (("--show-overlays",), 1)):
        url = serve("--kb", str(tmp_path / "kb"), *options).url
        visitor = visit(url)
        visitor.paste("RuntimeError: warp core cannot take Half antimatter")
        assert visitor.text(".sub").startswith("acme/warp-core")
        assert visitor.tab.locator(".sub a").count() == pages
        page = visit(f"{url}/issues/acme/warp-core")
        assert ("Recognised by" in page.text("main")) is bool(pages)
        page.complaints.clear()  # The browser itself notes the 404.
        visitor.paste(BLIP2.report())
        assert visitor.tab.locator(".sub a").count() == 1
