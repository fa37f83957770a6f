"""One bad file in an overlay is skipped and named, whatever it is; every other entry counts."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from troubleshoot import diagnose, load_kb
from troubleshoot.curation import lint
from troubleshoot.knowledge import cache
from troubleshoot.knowledge.files import UnreadableError, read_regular
from troubleshoot.knowledge.sound import MOST_HOLES, MOST_WAYS
from troubleshoot.knowledge.templates import most_ways, parse_template

ENTRY = """\
schema: 1
id: acme/frobnicate
title: The frobnicator wants float32
status: stable
cause: dtype-mismatch/input-vs-weight
kind: issue
impact: error
signature:
  message:
    - template: "frobnicator cannot take {found:dtype} operands"
explanation: It was written for float32.
fixes:
  - {id: cast, kind: cast-inputs, title: Cast, applicability: safe, action: {edit: "x = x.float()"}, reason: It computes in float32.}
references: []
"""
FAMILY = ENTRY.replace(
    "cause: dtype-mismatch/input-vs-weight\nkind: issue",
    "kind: family\ncauses:\n  - {cause: dtype-mismatch/input-vs-weight, weight: 1}\n  - {cause: numerics/fp16-overflow, weight: 2}",
)
MESSAGE = "RuntimeError: frobnicator cannot take Half operands"
POSIX = pytest.mark.skipif(os.name == "nt", reason="no such files on Windows")


def laughs(width: int, levels: int) -> str:
    """Return a list of aliases of lists of aliases."""
    lines = [f"a0: &a0 [{', '.join('x' * width)}]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * width)}]" for level in range(1, levels)]
    return "\n".join(lines)


def merges(levels: int) -> str:
    """Return mappings that merge the one before nine times."""
    lines = ["a0: &a0 {x: 1, y: 2, z: 3}"]
    lines += [f"a{level}: &a{level} {{<<: [{', '.join([f'*a{level - 1}'] * 9)}]}}" for level in range(1, levels)]
    return "\n".join(lines)


def condition(text: str) -> str:
    """Return the entry with some evidence."""
    return f"{ENTRY}evidence: {{supporting: [{text}]}}\n".replace("acme/frobnicate", "acme/bad")


#: what a file holds -> what is told of it, with its line
TEXTS: dict[str, tuple[str | bytes, str]] = {
    "self alias": ("b: 1\na: &a [*a]", ":2: has the alias *a within what it stands for"),
    "alias bomb": (laughs(9, 9), ": has more than 100,000 values"),
    "merge bomb": (merges(9), ": has more than 100,000 values"),
    "brackets": ("[" * 100_000, ":1: has values within values"),
    "braces": ("{a: " * 100_000, ":1: has values within values"),
    "dashes": ("- " * 50_000 + "x", ":1: has values within values"),
    "nested mappings": ("\n".join(" " * depth + "a:" for depth in range(1000)), ":65: has values within values"),
    "values without end": ("\n".join(f"- {number}" for number in range(200_000)), ": has more than 100,000 values"),
    "sexagesimal number": ("a: 1" + ":1" * 200_000, ":1: has a value of 400,001 characters without quotes"),
    "number of 5,000 digits": ("a: " + "9" * 5_000, "holds a value that cannot be read"),
    "undecodable bytes": (b"schema: 1\nid: \xff\xfe\n", ":2: is not UTF-8"),
    "UTF-16": ("schema: 1".encode("utf-16"), "is not UTF-8"),
    "zero characters": (b"schema: 1\nid: a\0b\n", ":2: holds a zero character"),
    "duplicate key": ("schema: 1\nschema: 1\n", ":2: schema: is given twice"),
    "nothing": ("", "is empty"),
    "keys that are no texts": ("1: 2\n[a]: 3\n", "a"),
    "template with 400 holes": (ENTRY.replace("frobnicator cannot", "{a:text}" * 400), "holes ({)"),
    "template of 50,000 parentheses": (ENTRY.replace("frobnicator cannot", "(" * 50_000), "characters, and at most"),
    "phrase with an enormous class": (
        condition(f"{{text: '{'|'.join(map(str, range(100_000)))}'}}"),
        ":15: evidence.supporting: the phrase has",
    ),
    "phrase without a word": (condition("{text: '|'}"), "has a term without a word"),
    "no phrase": (condition("{text: []}"), "`text` has no phrase"),
    "border that is no version": (
        ENTRY + "affected:\n  - {package: torch, ranges: [{fixed: next}], basis: measured}\n",
        ":16: affected[0]: torch: 'next'",
    ),
    "weight that is no number": (FAMILY.replace("weight: 1", "weight: .nan"), ":7: causes[0].weight: is nan"),
    "mixed keys beside a sign": (condition("{sign: x, 1: 2, ask: 3}"), "a sign stands alone"),
}  # fmt: skip


def good_and_bad(tmp_path: Path, write: Callable[[Path], None]) -> tuple[str, ...]:
    """Return the warnings of an overlay with a good entry and a bad file, after checking that the good one answers."""
    (tmp_path / "o" / "acme").mkdir(parents=True)
    (tmp_path / "o" / "acme" / "frobnicate.yaml").write_text(ENTRY, encoding="utf-8")
    write(tmp_path / "o" / "acme" / "bad.yaml")
    started = time.process_time()
    base = load_kb([tmp_path / "o"], shipped=False)
    assert time.process_time() - started < 5
    diagnosis = diagnose(MESSAGE, kb=base, environment="report")
    assert diagnosis.first is not None
    assert diagnosis.first.issue == "acme/frobnicate"
    return base.warnings


@pytest.mark.parametrize("name", TEXTS)
def test_a_bad_text_is_skipped_and_named(name: str, tmp_path: Path) -> None:
    """Whatever it says: the file, relative to the overlay, its line, and what is wrong."""
    text, told = TEXTS[name]
    content = text if isinstance(text, bytes) else text.replace("id: acme/frobnicate", "id: acme/bad").encode()
    warnings = good_and_bad(tmp_path, lambda path: path.write_bytes(content) and None)  # type: ignore[func-returns-value]
    if told:
        assert any(one.startswith("o/acme/bad.yaml:") and told in one for one in warnings), [one[:200] for one in warnings]


def _huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(4 << 30)


def _unreadable(path: Path) -> None:
    path.write_text(ENTRY, encoding="utf-8")
    path.chmod(0)


def _socket(path: Path) -> None:
    # The path of a socket is at most 100 characters long.
    before = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name)
    finally:
        os.chdir(before)


#: what lies at the path -> what is told of it
KINDS: dict[str, tuple[Callable[[Path], None], str]] = {
    "pipe": (lambda path: os.mkfifo(path), "is a named pipe"),
    "socket": (_socket, "is a socket"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "is a device"),
    "folder": (lambda path: path.mkdir(), "is a folder"),
    "link to a folder": (lambda path: path.symlink_to(path.parent, target_is_directory=True), "is a folder"),
    "loop of links": (lambda path: path.symlink_to(path), "cannot be read"),
    "gigabytes": (_huge, "at most 4,194,304 are read"),
    "lock of Emacs": (lambda path: path.with_name(".#bad.yaml").symlink_to("user@host.123:456"), "is a link to a file that does not exist"),
    "link to the own memory": (lambda path: path.symlink_to("/proc/self/mem"), "cannot be read"),
}  # fmt: skip


@POSIX
@pytest.mark.parametrize("name", KINDS)
def test_what_is_no_file_is_skipped_and_named(name: str, tmp_path: Path) -> None:
    """Opening some of these would wait for ever; reading others never ends."""
    make, told = KINDS[name]
    warnings = good_and_bad(tmp_path, make)
    assert any("bad.yaml" in one and told in one for one in warnings), warnings


@POSIX
@pytest.mark.skipif(hasattr(os, "getuid") and os.getuid() == 0, reason="root may read everything")
def test_a_file_that_may_be_read_at_last_counts(tmp_path: Path) -> None:
    """Its rights changed, not its content."""
    assert any("may not be read" in one for one in good_and_bad(tmp_path, _unreadable))
    (tmp_path / "o" / "acme" / "bad.yaml").chmod(0o600)
    assert "may not be read" not in " ".join(load_kb([tmp_path / "o"], shipped=False).warnings)


@pytest.mark.slow
def test_the_same_problems_are_errors_of_lint(tmp_path: Path) -> None:
    """With the path as it was given, so that an editor opens it."""
    (tmp_path / "bad.yaml").write_text("a: &a [*a]", encoding="utf-8")
    assert f"{tmp_path / 'bad.yaml'}:1: has the alias *a" in str(lint([tmp_path])[0])


def test_a_bad_extension_leaves_the_entry_as_it_was(tmp_path: Path) -> None:
    """An extension is checked as the entry that it makes."""
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme" / "frobnicate.yaml").write_text(ENTRY, encoding="utf-8")
    change = "schema: 1\nextends: acme/frobnicate\naffected: [{package: torch, ranges: [{fixed: next}], basis: measured}]\n"
    (tmp_path / "change.yaml").write_text(change, encoding="utf-8")
    base = load_kb([tmp_path], shipped=False)
    assert "'next' is not a version" in base.warnings[0]
    assert base.entry("acme/frobnicate").affected == ()


def test_other_files_of_an_overlay_may_be_anything(tmp_path: Path) -> None:
    """The signs, the table of words and the index of records are read apart from the entries."""
    for name in ("signs.yaml", "word-odds.json", "causes.yaml", "out-of-scope.yaml"):
        (tmp_path / name).write_bytes(b"\xff[" * 10_000)
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "index.json").write_text('{"schema": 1, "issues": [1]}', encoding="utf-8")
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme" / "frobnicate.yaml").write_text(ENTRY, encoding="utf-8")
    base = load_kb([tmp_path])
    assert len(base.warnings) == 4
    first = diagnose(MESSAGE, kb=base, environment="report").first
    assert first is not None and first.issue == "acme/frobnicate"


def test_a_template_with_as_many_holes_as_allowed_is_taken(tmp_path: Path) -> None:
    """And one with one more is not."""
    for count, entries in ((MOST_HOLES, 1), (MOST_HOLES + 1, 0)):
        text = ENTRY.replace("frobnicator cannot take {found:dtype} operands", "frobnicator " + "{a:int} " * count)
        (tmp_path / str(count) / "acme").mkdir(parents=True)
        (tmp_path / str(count) / "acme" / "frobnicate.yaml").write_text(text, encoding="utf-8")
        assert len(load_kb([tmp_path / str(count)], shipped=False).ids()) == entries


@pytest.mark.parametrize(
    "template",
    [
        "{a:name}(a|){b:name}(a|b|){c:name}(|b){d:name} frobnicator",
        "frob {a:text} {b:text} {c:text} {d:text} frobnicator",
        "frobnicator " + "(a|)" * 30 + " operands",
        "frobnicator " + "[a]" * 30 + " operands",
    ],
)
def test_a_template_whose_gaps_share_a_text_in_many_ways_is_refused(tmp_path: Path, template: str) -> None:
    """A text of a few kilobytes would keep it busy for minutes. kb lint says the same."""
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme" / "frobnicate.yaml").write_text(ENTRY.replace("frobnicator cannot take {found:dtype} operands", template))
    base = load_kb([tmp_path], shipped=False)
    assert base.ids() == ()
    assert "side by side" in base.warnings[0]
    assert any("side by side" in problem.text for problem in lint([tmp_path], shipped=False))


def test_ordinary_gaps_are_no_fault() -> None:
    """Words between gaps tell where they end, and so does a blank for all but a text."""
    assert most_ways(parse_template("expected {a:text} but found {b:text} in {c:text} of it")) <= MOST_WAYS
    assert most_ways(parse_template("shapes {a:int} {b:int} {c:int} {d:int}, {e:name} {f:name} {g:name}")) <= MOST_WAYS


@POSIX
def test_reading_never_waits(tmp_path: Path) -> None:
    """Opening a pipe that nobody writes to would."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnreadableError, match="named pipe"):
        read_regular(tmp_path / "pipe", 10)
    (tmp_path / "file").write_bytes(b"0123456789")
    assert read_regular(tmp_path / "file", 10) == b"0123456789"
    with pytest.raises(UnreadableError, match="at most 9"):
        read_regular(tmp_path / "file", 9)


PLUGINS = {
    "raises": "raise RuntimeError('broken')",
    "exits": "import sys; sys.exit(3)",
    "prints": "print('hello from the plug-in')",
}


@pytest.mark.slow
@pytest.mark.parametrize("does", PLUGINS)
def test_a_package_that_brings_entries_is_never_imported(does: str, tmp_path: Path) -> None:
    """What it does when it is imported does not matter, also where the entries lie below a package of packages."""
    deep = tmp_path / "acme_kb" / "deep"
    (deep / "kb" / "acme").mkdir(parents=True)
    (deep / "kb" / "acme" / "frobnicate.yaml").write_text(ENTRY, encoding="utf-8")
    for folder in (tmp_path / "acme_kb", deep):
        (folder / "__init__.py").write_text(PLUGINS[does], encoding="utf-8")
    _entry_points(tmp_path, "acme = acme_kb.deep:kb\nother = acme_kb.nothing:kb\nrubbish\n%(x)s = [[%\n")
    code = "import troubleshoot as t\nb = t.load_kb()\nprint('acme/frobnicate' in b.ids(), *b.warnings)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("True ")
    assert "acme_kb-1.0.dist-info" in done.stdout and "names no folder of an installed package" in done.stdout
    assert "hello" not in done.stdout


def _entry_points(folder: Path, text: str) -> None:
    info = folder / "acme_kb-1.0.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_text(f"[console_scripts]\nx = y:z\n\n[troubleshoot.kb]\n{text}", encoding="utf-8")


def test_what_is_changed_while_it_is_compiled_counts_as_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise what was there before would be taken for current for ever."""
    (tmp_path / "acme").mkdir()
    path = tmp_path / "acme" / "frobnicate.yaml"
    path.write_text(ENTRY, encoding="utf-8")
    from troubleshoot.knowledge import collect

    read = collect.collect

    def and_then_edit(roots: tuple[Path, ...]) -> collect.Collected:
        found = read(roots)
        path.write_text(ENTRY.replace("wants float32", "wants double precision"), encoding="utf-8")
        return found

    monkeypatch.setattr(collect, "collect", and_then_edit)
    load_kb([tmp_path], shipped=False)
    monkeypatch.undo()
    cache._loaded.clear()
    assert "double" in load_kb([tmp_path], shipped=False).entry("acme/frobnicate").title
