"""Anchors are tied to the reader of reports and to the knowledge base: what those find, a scan finds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scan_logs import LINEAR, ROOT, healthy

from troubleshoot import load_kb
from troubleshoot.knowledge.index import SCOPE_OWNER
from troubleshoot.knowledge.templates import Literal, parse_template
from troubleshoot.reading import read_report
from troubleshoot.scale.scanning import scan
from troubleshoot.scale.scanning.anchors import SHORTEST, anchors_of, is_log_symptom, message_texts, symptom_texts
from troubleshoot.scale.scanning.examine import HEAD, Examiner
from troubleshoot.scale.scanning.finders import PythonFinder, open_finder
from troubleshoot.scale.scanning.stretch import Stretch

BASE = load_kb()
ANCHORS = anchors_of(BASE)
FINDER = open_finder(ANCHORS)
TEXTS = sorted([*(ROOT / "tests" / "data" / "reports").glob("*.txt"), *(ROOT / "kb").rglob("*.txt")])


def rows_of(data: bytes) -> dict[str, tuple[int, int]]:
    """Return (count, first line) of each failure that a scan finds, by fingerprint."""
    data = data if data.endswith(b"\n") else data + b"\n"
    stretch = Stretch(FINDER, ANCHORS, Examiner(BASE, data[:HEAD]))
    stretch.feed(data, len(data))
    return {key: (row.count, row.first.line) for key, row in stretch.close_tally().rows.items() if row.told["kind"] == "failure"}


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_what_the_reader_finds_a_scan_finds(path: Path) -> None:
    """Every recorded format, every example of the knowledge base: the same failures, counts and lines, though little is parsed."""
    data = path.read_bytes()
    expected = {one.fingerprint: (one.count, one.line) for one in read_report(data).failures}
    assert rows_of(data) == expected


@pytest.mark.parametrize("path", TEXTS[::5], ids=lambda path: path.name)
def test_failures_are_found_deep_in_a_log(path: Path) -> None:
    """Far from the beginning, with healthy lines on both sides, they are the same failures, that many lines further down."""
    before = healthy(600) + b"\n"
    data = path.read_bytes()
    expected = {one.fingerprint for one in read_report(data).failures}
    assert set(rows_of(before + data + b"\n\n" + healthy(300))) >= expected


def test_templates_have_anchors() -> None:
    """All but the shortest templates of entries can be found without their exception."""
    texts = set(message_texts(BASE))
    without = []
    for kind, pattern, owners in BASE.index.patterns:
        if kind != "t" or all(owner.startswith(SCOPE_OWNER) for owner in owners):
            continue
        literals = [node.text.strip() for node in parse_template(pattern) if isinstance(node, Literal)]
        if not any(text in literals for text in texts):
            without.append(pattern)
            assert max(map(len, literals), default=0) < SHORTEST
    total = sum(1 for kind, _, owners in BASE.index.patterns if kind == "t" and not all(one.startswith(SCOPE_OWNER) for one in owners))
    assert len(without) <= total // 10


@pytest.mark.parametrize(
    "issue", ["numerics/nan-loss", "numerics/skipped-steps", "numerics/loss-scale-exhausted", "numerics/fp16-overflow"]
)
def test_symptoms_of_numbers_are_looked_for(issue: str) -> None:
    """Each of these entries has phrases that logs print, and their words are among the anchors."""
    phrases = [text for kind, text, owners in BASE.index.patterns if kind == "p" and issue in owners and is_log_symptom(text)]
    assert phrases
    assert any(one.kind == "symptom" and one.text == b" nan" and one.whole for one in ANCHORS)
    assert {"overflow", "loss scale"} <= {text for text, _ in symptom_texts(BASE)}


def test_a_new_entry_is_found_without_a_change_here(tmp_path: Path) -> None:
    """An overlay's template becomes an anchor by being there."""
    entry = tmp_path / "acme" / "quux.yaml"
    entry.parent.mkdir()
    entry.write_text(
        "schema: 1\nid: acme/quux\ntitle: The quux wants float32\nstatus: stable\nkind: issue\nimpact: error\n"
        "cause: dtype-mismatch/input-vs-weight\n"
        "signature: {message: [{template: 'the quux of this frobnicator refuses {found:dtype}'}]}\n"
        "explanation: It computes in float32.\nfixes:\n  - {id: cast, kind: cast-inputs, title: Cast it, applicability: safe, "
        "action: {edit: 'x = x.float()'}, reason: One dtype.}\nevidence: {}\nreferences: []\n",
        encoding="utf-8",
    )
    log = tmp_path / "train.log"
    log.write_bytes(healthy(200) + b"W the quux of this frobnicator refuses Half today\n" + healthy(200))
    result = scan([log], overlays=[str(tmp_path)])
    assert [(one.issue, one.first.line) for one in result.problems] == [("acme/quux", 201)]


def test_both_engines_find_the_same() -> None:
    """What runs decides about the time alone."""
    pytest.importorskip("hyperscan")
    fast, plain = open_finder(ANCHORS, "hyperscan"), PythonFinder(ANCHORS)
    for path in TEXTS:
        data = healthy(50) + path.read_bytes() + b"\nloss nan, inf infer nano INF=inf\n"
        assert fast.find(data, len(data)) == plain.find(data, len(data))
        part = len(data) // 2
        assert fast.find(bytearray(data), part) == plain.find(bytearray(data), part)


def test_healthy_lines_cost_no_parsing() -> None:
    """Words that begin as anchors do (info, nanogpt, infer) are no hits."""
    data = healthy(2000)
    assert FINDER.find(data, len(data)) == []
    assert PythonFinder(ANCHORS).find(LINEAR, len(LINEAR)) != []


def test_the_innocent_corpus_has_no_symptom(tmp_path: Path) -> None:
    """Healthy logs and unrelated failures give no diagnosis, whatever words they hold."""
    with (ROOT / "tests" / "data" / "innocent" / "logs.jsonl").open(encoding="utf-8") as lines:
        for one in map(json.loads, lines):
            (tmp_path / f"{one['id']}.log").write_text(one["text"], encoding="utf-8")
    found = scan([tmp_path]).problems
    assert any(tmp_path.iterdir())
    assert [(one.issue, one.message, one.first) for one in found if one.verdict != "unknown"] == []
