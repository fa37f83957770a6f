"""``kb new``: the skeleton of an entry loads, answers its own message and lints as a draft."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lint_bases import GOOD, problems_of, write_base

from troubleshoot import diagnose, load_kb
from troubleshoot.basics.errors import InputError
from troubleshoot.curation import new_entry
from troubleshoot.curation.draft import draft_from_report, draft_from_url
from troubleshoot.knowledge.templates import parse_template


def test_a_new_entry_loads_and_answers_its_message(tmp_path: Path) -> None:
    """It is complete from the first minute."""
    path = new_entry("acme/frob", tmp_path, message="frobnicator [7] cannot take {x} \"operands\" C:\\new of type Half")
    base = load_kb([tmp_path])
    assert path == tmp_path / "acme" / "frob.yaml"
    assert base.entry("acme/frob").status == "draft"
    first = diagnose('RuntimeError: frobnicator [7] cannot take {x} "operands" C:\\new of type Half', kb=base, environment="report").first
    assert first is not None
    assert first.issue == "acme/frob"


@pytest.mark.parametrize("message", [None, "frobnicator cannot take operands of type Half"])
def test_a_new_entry_passes_lint_as_an_overlay(message: str | None, tmp_path: Path) -> None:
    """What is still to be written is no fault of a draft."""
    new_entry("acme/frob", write_base(tmp_path), message=message)
    assert problems_of(tmp_path) == []


def test_a_cause_is_written(tmp_path: Path) -> None:
    """Instead of the most usual one."""
    new_entry("acme/frob", tmp_path, cause="numerics/fp16-overflow")
    assert load_kb([tmp_path]).entry("acme/frob").cause == "numerics/fp16-overflow"


@pytest.mark.parametrize("issue", ["frob", "acme/", "/frob", "Acme/frob", "acme/../x", "acme/a b", "acme/x/y", "../frob", "./frob", ""])
def test_a_malformed_id_is_told(issue: str, tmp_path: Path) -> None:
    """Nothing is written."""
    with pytest.raises(InputError, match="is no id"):
        new_entry(issue, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_entry_is_never_overwritten(tmp_path: Path) -> None:
    """What somebody wrote stays."""
    new_entry("acme/frob", tmp_path)
    with pytest.raises(InputError, match="exists"):
        new_entry("acme/frob", tmp_path)


@given(st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=80))
def test_any_message_becomes_a_readable_entry(message: str) -> None:
    """Brackets, braces, quotes and backslashes are written so that they stay literal."""
    import tempfile

    if not message.strip():
        return
    with tempfile.TemporaryDirectory() as folder:
        new_entry("acme/frob", Path(folder), message=message)
        base = load_kb([folder], shipped=False)
        assert base.warnings == ()
        (template,) = base.entry("acme/frob").signature.message
        assert parse_template(template.template)


REPORT = """\
Loading Acme/acme-7b, token hf_abcdefghijklmnopqrstuvwxyzABCDEFGH
acme==2.0
Traceback (most recent call last):
  File "/home/jane/train.py", line 3, in <module>
    model(x)
  File "/opt/venv/lib/python3.10/site-packages/umbrella/layers.py", line 9, in forward
    return whirl(x)
RuntimeError: whirligig of Half cannot spin beside cuda:0
"""


def test_a_report_becomes_an_entry(tmp_path: Path) -> None:
    """Its message as a template, its library's frame, its traceback as the example; the reporter's home and prose stay out."""
    base = load_kb([write_base(tmp_path)], shipped=False)
    draft = draft_from_report(REPORT, base)
    path = new_entry(draft.suggested or "", tmp_path, draft=draft, title="The whirligig spins alone")
    assert path == tmp_path / "umbrella" / "whirligig-cannot-spin-beside.yaml"
    assert problems_of(tmp_path) == []
    entry = load_kb([tmp_path], shipped=False).entry("umbrella/whirligig-cannot-spin-beside")
    assert entry.title == "The whirligig spins alone"
    assert [one.template for one in entry.signature.message] == ["whirligig of {first:dtype} cannot spin beside {device_first:device}"]
    assert [(one.file, one.function) for one in entry.signature.frames] == [("umbrella/layers.py", "forward")]
    text = path.read_text(encoding="utf-8")
    assert "# versions in the report: acme 2.0" in text
    assert "jane" not in text
    assert "hf_abc" not in text


def test_a_long_report_becomes_a_file(tmp_path: Path) -> None:
    """Beside the entry, in examples/."""
    base = load_kb([write_base(tmp_path)], shipped=False)
    frame = '  File "/opt/venv/lib/python3.10/site-packages/umbrella/layers.py", line 9, in forward\n    return whirl(x)\n'
    draft = draft_from_report(REPORT.replace(frame, frame * 9), base)
    new_entry("umbrella/deep", tmp_path, draft=draft)
    assert (tmp_path / "umbrella" / "examples" / "deep.txt").read_text(encoding="utf-8").endswith("cannot spin beside cuda:0\n")
    assert problems_of(tmp_path) == []


def test_what_answers_now_is_refined(tmp_path: Path) -> None:
    """The nearest entry gives the cause, and becomes the parent."""
    base = load_kb([write_base(tmp_path, GOOD)], shipped=False)
    draft = draft_from_report("RuntimeError: frobnicator cannot take Half operands", base)
    assert (draft.answered_by, draft.cause) == ("acme/good", GOOD["cause"])
    new_entry("acme/special", tmp_path, draft=draft, affected=("acme", "1.0", "2.0"))
    entry = load_kb([tmp_path], shipped=False).entry("acme/special")
    assert entry.refines == ("acme/good",)
    assert (entry.affected[0].package, entry.affected[0].ranges[0].fixed, entry.affected[0].basis) == ("acme", "2.0", "reported")


def test_a_report_without_a_failure_is_told(tmp_path: Path) -> None:
    """With what to do instead."""
    with pytest.raises(InputError, match="nothing fails in the report"):
        draft_from_report("all is well", load_kb([write_base(tmp_path)], shipped=False))


@pytest.fixture
def github() -> Iterator[str]:
    """A server that answers as api.github.com does, for one issue; its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = {"/repos/umbrella/layers/issues/7": {"title": "Spins no more", "body": f"It broke.\n```\n{REPORT}```\nHelp"},
                     "/repos/umbrella/layers/issues/8": {"title": "A wish", "body": None}}.get(self.path)  # fmt: skip
            self.send_response(200 if known else 404)
            self.end_headers()
            self.wfile.write(json.dumps(known or {"message": "Not Found"}).encode())

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_an_issue_is_read_and_cited(github: str, tmp_path: Path) -> None:
    """Its traceback becomes the example, as reported; its title is noted."""
    base = load_kb([write_base(tmp_path)], shipped=False)
    draft = draft_from_url("https://github.com/umbrella/layers/issues/7", base, api=github)
    path = new_entry(draft.suggested or "", tmp_path, draft=draft)
    entry = load_kb([tmp_path], shipped=False).entry("umbrella/whirligig-cannot-spin-beside")
    assert [(one.kind, one.url) for one in entry.references] == [("report", "https://github.com/umbrella/layers/issues/7")]
    assert [one.provenance for one in entry.examples.positive] == ["reported"]
    text = path.read_text(encoding="utf-8")
    assert "# upstream calls it: Spins no more" in text
    assert "It broke" not in text


@pytest.mark.parametrize(
    ("url", "kind", "note"),
    [
        ("https://github.com/umbrella/layers/issues/8", "report", "no failure in the first post"),
        ("https://github.com/umbrella/layers/pull/9", "fix", "could not be read (Not Found)"),
        ("https://github.com/umbrella/layers/discussions/3", "discussion", "can only be cited"),
        ("https://umbrella.example/docs/spin", "docs", "can only be cited"),
    ],
)
def test_what_cannot_be_read_is_cited_alone(github: str, url: str, kind: str, note: str, tmp_path: Path) -> None:
    """And it is said that it was not read."""
    draft = draft_from_url(url, load_kb([write_base(tmp_path)], shipped=False), api=github)
    assert draft.references == ((kind, url),)
    assert note in draft.notes[0]
    assert draft.message is None


def test_offline_nothing_is_asked(tmp_path: Path) -> None:
    """Not even a server that is there."""
    base = load_kb([write_base(tmp_path)], shipped=False)
    draft = draft_from_url("https://github.com/umbrella/layers/issues/7", base, offline=True, api="http://127.0.0.1:9")
    assert "was not opened (--offline)" in draft.notes[0]
    with pytest.raises(InputError, match="give the https address"):
        draft_from_url("layers#7", base)
