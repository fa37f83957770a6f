"""``kb lines``: which lines are traced, how releases are read and kept, and that a table rules out no release of its own."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from troubleshoot.basics.errors import InputError
from troubleshoot.cli import main
from troubleshoot.curation.line_table import Sources, lines_of, make_table, raising_lines, wrong_lines
from troubleshoot.curation.released_sources import Kept, Release, _from_source_archive, read_releases
from troubleshoot.curation.traced_files import TRACED, files_named, patterns, wanted
from troubleshoot.engine.lines.table import LineTable
from troubleshoot.knowledge import load_kb

MODULE = '''\
"""A module."""

LIMIT = compute()


class Layer:
    """Calls at the level of a class are no frames of a failing step."""

    factor = scale(2)

    def forward(self, x):
        """Nothing here raises."""
        weight: int = 3
        y = self.inner(
            x,
            weight,
        )
        if y is None:
            raise ValueError("no output")
        return (
            y.first()
            .second()
        ) @ x[0]

    async def later(self, x):
        x += 1
        assert x
        return x
'''


def silent(_text: str, _done: int, _total: int) -> None:
    """Show no progress."""


def test_lines_are_traced_where_something_can_raise() -> None:
    """Calls, also at the name of a chained one, operators, subscripts, raise and assert; nothing outside functions."""
    lines = lines_of(MODULE)
    traced = {lines[number - 1].strip() for number in raising_lines(MODULE)}
    assert traced == {
        "y = self.inner(", 'raise ValueError("no output")', "return (", "y.first()", ".second()", ") @ x[0]", "x += 1", "assert x",
    }  # fmt: skip


def test_the_lines_that_python_shows_are_traced() -> None:
    """Every frame of a real error stands at a traced line."""
    namespace: dict[str, Callable[..., object]] = {}
    source = "def outer(x):\n    y = 1\n    return inner(\n        x,\n        y,\n    )\n\n\n"
    source += "def inner(x, y):\n    z = (\n        x\n        @ y\n    )\n    return z\n"
    exec(compile(source, "m.py", "exec"), namespace)
    with pytest.raises(TypeError) as caught:
        namespace["outer"]("text")
    shown = [entry.lineno + 1 for entry in caught.traceback if str(entry.path).endswith("m.py")]
    assert len(shown) == 2
    assert set(shown) <= raising_lines(source)


def test_a_source_of_another_python_has_no_lines_of_its_own() -> None:
    """It is still traced where its texts are those of other releases."""
    assert raising_lines("print 'two'\n") == set()


def sources_of(folder: Path, *modules: str | None) -> Sources:
    """Keep modules as the releases of peft, one of which may lack the file."""
    kept = Kept(folder)
    releases = []
    for number, module in enumerate(modules):
        files = {} if module is None else {"peft/a.py": kept.keep(module.encode())}
        releases.append(Release(f"0.{number}.0", f"2026-01-0{number + 1}", files))
    return Sources(kept, {"peft": tuple(releases)}, {"peft": ("0.9.9",)})


def test_a_table_keeps_every_release_for_its_own_lines(tmp_path: Path) -> None:
    """Also for a text that is traced in another release only: in the old one it is part of a longer call."""
    old = "def f(x):\n    return g(\n        x,\n        h(x),\n    )\n"
    new = "def f(x):\n    return g(x)\n\n\n    h(x),\n"
    sources = sources_of(tmp_path, old, None, new, "# moved down\n" + new)
    content = make_table(sources, silent)
    table = LineTable(content)
    assert table.index.made == "2026-01-04"
    assert table.index.packages["peft"].left_out == ["0.9.9"]
    assert wrong_lines(table, sources, 200) == []
    assert table.releases_with("peft/a.py", 2, "return g(x)") == 0b0100
    assert table.releases_with("peft/a.py", 4, "h(x),") == 0b0001
    assert make_table(sources, silent) == content


def test_a_table_that_rules_out_a_release_is_found_out(tmp_path: Path) -> None:
    """The check would be blind without: a table made of other sources."""
    table = LineTable(make_table(sources_of(tmp_path / "one", MODULE, MODULE), silent))
    other = sources_of(tmp_path / "other", MODULE, "# moved down\n" + MODULE)
    assert wrong_lines(table, other, 50)


def test_what_was_read_is_kept(tmp_path: Path) -> None:
    """For the patterns that it was read with, and fewer; not for more."""
    kept = Kept(tmp_path)
    digest = kept.keep(b"x = 1\n")
    kept.note("peft", Release("0.1.0", "2023-01-01", {"peft/a.py": digest, "peft/b.py": digest}), ["a.py", "b.py"])
    assert kept.source(digest) == "x = 1\n"
    again = Kept(tmp_path).release("peft", "0.1.0", "peft", ["a.py", "b.py"])
    assert again is not None and set(again.files) == {"peft/a.py", "peft/b.py"}
    fewer = kept.release("peft", "0.1.0", "peft", ["b.py"])
    assert fewer is not None and set(fewer.files) == {"peft/b.py"}
    assert kept.release("peft", "0.1.0", "peft", ["c.py"]) is None
    assert kept.release("peft", "0.2.0", "peft", ["a.py"]) is None


def test_a_damaged_record_is_read_again(tmp_path: Path) -> None:
    """Half a file, of a program that was killed."""
    kept = Kept(tmp_path)
    kept.note("peft", Release("0.1.0", "2023-01-01", {}), [])
    (tmp_path / "peft" / "0.1.0.json").write_text('{"uploaded": "20', encoding="utf-8")
    assert kept.release("peft", "0.1.0", "peft", []) is None


def test_patterns() -> None:
    """A star passes no slash, unless it stands for all folders."""
    assert wanted("nn/modules/linear.py", ["nn/modules/*.py"])
    assert not wanted("nn/modules/deep/linear.py", ["nn/modules/*.py"])
    assert wanted("models/t5/modeling_t5.py", ["*/modeling_t5.py"])
    assert not wanted("models/t5/modeling_t5.py", ["modeling_t5.py"])


def test_files_that_entries_name_are_traced() -> None:
    """Without a list to keep in step."""
    named = files_named(load_kb())
    assert "torch/nn/functional.py" in named
    assert "accelerate/hooks.py" in named
    for package in TRACED:
        folder = TRACED[package][0]
        among = patterns(package, named)
        assert all(wanted(name.removeprefix(f"{folder}/"), among) for name in named if name.startswith(f"{folder}/"))


def test_a_source_archive_is_read_like_a_wheel() -> None:
    """With src/ and without; tests of the package are not its files."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w:gz") as archive:
        for name in ("peft-0.1.0/src/peft/a.py", "peft-0.1.0/tests/peft/a.py", "peft-0.1.0/setup.py"):
            member = tarfile.TarInfo(name)
            member.size = 6
            archive.addfile(member, io.BytesIO(b"x = 1\n"))
    assert list(_from_source_archive(held.getvalue(), "peft", ["a.py"])) == [("peft/a.py", b"x = 1\n")]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--package", "numpy"], "the packages are accelerate, diffusers"),
        (["--package", "peft"], "name a file for it with --output"),
        (["--check", "none"], "give the number of lines to draw"),
    ],
)
def test_what_cannot_be_used_is_said(options: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is read."""
    assert main(["kb", "lines", *options]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.slow
def test_the_package_index_is_read_and_the_reading_goes_on(tmp_path: Path) -> None:
    """Real releases: wheels that are loaded whole, and torch's, of which only the wanted members are."""
    pytest.importorskip("remotezip", reason="remotezip is not installed")
    kept = Kept(tmp_path)
    try:
        found, _ = read_releases("open-clip-torch", "open_clip", "3.0", ["transformer.py"], kept, silent)
        large, _ = read_releases("torch", "torch", "2.8", ["nn/modules/linear.py"], kept, silent)
    except InputError as error:
        pytest.skip(f"the package index is out of reach: {error}")
    assert {"3.0.0", "3.1.0", "3.2.0"} <= {one.version for one in found}
    assert "2.8.0" in {one.version for one in large}
    assert all("class Linear" in kept.source(one.files["torch/nn/modules/linear.py"]) for one in large)
    told: list[str] = []
    again, _ = read_releases("open-clip-torch", "open_clip", "3.0", ["transformer.py"], kept, lambda text, done, total: told.append(text))
    assert again == found
    assert len(told) == len(found)


@pytest.mark.slow
def test_an_index_that_is_out_of_reach_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to do: what was read is kept."""
    pytest.importorskip("remotezip", reason="remotezip is not installed")
    monkeypatch.setattr("troubleshoot.curation.released_sources.INDEX", "http://127.0.0.1:9/{package}")
    with pytest.raises(InputError, match="goes on where it stopped"):
        read_releases("peft", "peft", "0.1", ["a.py"], Kept(tmp_path), silent)


@pytest.mark.slow
def test_folders_that_cannot_be_written_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The cache's and the table's."""
    pytest.importorskip("remotezip", reason="remotezip is not installed")
    file = tmp_path / "file"
    file.touch()
    options = ["--package", "open-clip-torch", "--cache"]
    if main(["kb", "lines", *options, str(tmp_path / "cache"), "--output", str(tmp_path / "table.bin")]) != 0:
        pytest.skip(f"the package index is out of reach: {capsys.readouterr().err}")
    assert main(["kb", "lines", *options, str(tmp_path / "cache"), "--output", str(file / "table.bin")]) == 2
    assert "name another file with --output" in capsys.readouterr().err
    assert main(["kb", "lines", *options, str(file / "cache"), "--output", str(tmp_path / "table.bin")]) == 2
    assert "Name another folder with --cache" in capsys.readouterr().err
