"""A release told by the lines of a traceback, on tracebacks of known releases (tests/data/lines)."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from troubleshoot import diagnose
from troubleshoot.engine.evidence import environment_of
from troubleshoot.engine.lines import infer_releases
from troubleshoot.engine.lines.inferring import FILE, FOLDERS, _shipped_table
from troubleshoot.engine.lines.table import LineTable, read_table
from troubleshoot.knowledge.base import shipped_root
from troubleshoot.reading import read_report
from troubleshoot.reading.environment.machine import Environment, Package
from troubleshoot.telling import render

RECORDED = Path(__file__).resolve().parents[1] / "data" / "lines"
LLAMA = (RECORDED / "llama_generates_transformers-4.50.2_torch-2.13.0+cpu.txt").read_text(encoding="utf-8")
NEWER = (RECORDED / "llama_generates_transformers-4.57.1_torch-2.13.0+cpu.txt").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def table() -> LineTable:
    """The shipped table."""
    found = read_table(shipped_root() / FILE)
    assert found is not None
    return found


def inferred(text: str) -> dict[str, Package]:
    """Return the packages whose release the lines tell."""
    report = read_report(text)
    return {one.name: one for one in infer_releases(environment_of(report), report).packages if one.source == "lines"}


def releases_in(name: str) -> dict[str, str]:
    """Return the releases that a recording's name tells."""
    return dict(re.findall(r"_([a-z]+)-(\d[\d.]*\d)", name))


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*.txt")), ids=lambda path: path.stem)
def test_recorded_tracebacks_are_from_the_releases_that_are_told(path: Path) -> None:
    """Real errors of released packages: the true release of every package is among those told, which are few."""
    told = inferred(path.read_text(encoding="utf-8"))
    true = releases_in(path.name)
    assert len(true) >= 2
    for name, version in true.items():
        among = (told[name].version,) if told[name].version else told[name].releases.versions  # type: ignore[union-attr]
        assert version in among
        assert len(among) <= 15, (name, among)


def test_the_recordings_are_of_many_releases() -> None:
    """A table that knew one release only would not pass."""
    seen = {(name, version) for path in RECORDED.glob("*.txt") for name, version in releases_in(path.name).items()}
    assert {name for name, _ in seen} == {"accelerate", "diffusers", "peft", "torch", "transformers"}
    assert len(seen) >= 16


def test_the_shipped_table_is_of_the_packages_that_are_looked_for(table: LineTable) -> None:
    """And small enough to lie in every wheel."""
    assert {one.folder for one in table.index.packages.values()} == FOLDERS
    assert (shipped_root() / FILE).stat().st_size < 1_000_000
    assert len(table.index.packages["transformers"].releases) > 150


def test_a_stated_version_wins() -> None:
    """Whatever the lines say: the table is not even read."""
    _shipped_table.cache_clear()
    stated = diagnose(f"transformers 4.49.0, torch 2.6.0\n{LLAMA}", environment="report").environment
    for name, version in (("transformers", "4.49.0"), ("torch", "2.6.0")):
        known = stated.package(name)
        assert known is not None
        assert (known.version, known.source, known.releases) == (version, "report", None)
    assert _shipped_table.cache_info().currsize == 0


def test_an_answer_wins() -> None:
    """What the user says when asked."""
    known = diagnose(LLAMA, environment="report", have={"transformers": "4.50.3"}).environment.package("transformers")
    assert known is not None
    assert (known.version, known.source, known.releases) == ("4.50.3", "answer", None)


def test_an_answer_that_it_is_there_takes_nothing_away() -> None:
    """The range stays."""
    known = diagnose(LLAMA, environment="report", answers={"package.transformers": "present"}).environment.package("transformers")
    assert known is not None
    assert str(known.releases) == "4.50.0 to 4.50.3"


def test_no_frame_of_the_table_reads_no_table() -> None:
    """Reports of other programs pay nothing: not even the module is imported."""
    program = (
        "import sys; from troubleshoot import diagnose; "
        "diagnose('RuntimeError: expected scalar type Float but found Half', environment='report'); "
        "sys.exit('troubleshoot.engine.lines' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=60).returncode == 0


def test_frames_of_two_releases_tell_nothing() -> None:
    """An installation that is none of both."""
    assert {"transformers", "torch"} <= inferred(LLAMA).keys()
    assert "transformers" not in inferred(f"{LLAMA}\n{NEWER}")


def test_a_changed_file_tells_nothing() -> None:
    """With a line added above, code stands where no release has it."""
    changed = re.sub(r'(modeling_llama\.py", line )(\d+)', lambda match: f"{match[1]}{int(match[2]) + 1}", LLAMA)
    assert changed != LLAMA
    assert "transformers" not in inferred(changed)


def test_a_checkout_tells_nothing() -> None:
    """It may be at any commit."""
    assert "transformers" not in inferred(
        LLAMA.replace("/home/user/venv/lib/python3.11/site-packages/transformers", "/home/user/src/transformers")
    )


def test_a_line_number_without_its_code_tells_nothing() -> None:
    """It stands in nearly every release."""
    bare = "\n".join(line for line in LLAMA.splitlines() if not line.startswith("    "))
    assert read_report(bare).failures[0].frames
    assert inferred(bare) == {}


def test_paths_of_windows_are_read_too() -> None:
    """With backslashes."""
    text = re.sub(
        r'File "/home/user/venv/lib/python3\.11/([^"]+)"', lambda match: 'File "C:\\venv\\Lib\\' + match[1].replace("/", "\\") + '"', LLAMA
    )
    assert "C:\\venv\\Lib\\site-packages\\transformers" in text
    assert inferred(text)["transformers"].releases is not None


def test_a_package_that_is_known_to_be_absent_stays_absent() -> None:
    """The user says so, and the frames are of another machine."""
    environment = Environment((Package("transformers", None, "answer"),), source="report")
    known = infer_releases(environment, read_report(LLAMA)).package("transformers")
    assert known is not None
    assert known.absent


def test_a_damaged_table_is_as_good_as_none(tmp_path: Path) -> None:
    """A diagnosis does not fail for it."""
    damaged = tmp_path / FILE
    damaged.write_bytes(b"nothing of the kind")
    assert read_table(damaged) is None
    assert read_table(tmp_path / "missing") is None


def test_the_release_is_evidence_and_is_shown() -> None:
    """It decides about entries with affected releases, and the reader sees where it is from."""
    diagnosis = diagnose(LLAMA, environment="report")
    told = diagnosis.to_dict()["environment"]["packages"]["transformers"]
    assert told == {"version": "", "source": "lines", "range": [["4.50.0", "4.50.3"]]}
    assert "transformers 4.50.0 to 4.50.3 (from line numbers)" in " ".join(render(diagnosis, full=True).split())
    chinese = diagnose(LLAMA, environment="report", language="zh")
    assert "transformers 4.50.0 至 4.50.3" in render(chinese, full=True)


def test_without_a_stated_version_the_lines_of_a_founding_case_say_where_to_look() -> None:
    """BLIP-2 on 4.50.2: the lines leave 4.49.0 to 4.50.2, the entry is about 4.50.0 to 4.50.2, so the rest is asked."""
    example = shipped_root() / "transformers" / "examples" / "blip2-query-tokens-fp32.cpu.txt"
    text = example.read_text(encoding="utf-8").replace("transformers 4.50.2 and ", "")
    diagnosis = diagnose(text, environment="report")
    assert diagnosis.to_dict()["environment"]["packages"]["transformers"]["range"] == [["4.49.0", "4.50.2"]]
    assert diagnosis.first is not None and diagnosis.first.issue == "transformers/blip2-query-tokens-fp32"
    assert [one.about for one in diagnosis.questions] == ["package.transformers"]


def test_a_package_without_a_range_is_told_as_before() -> None:
    """The member is there only where lines tell a range: readers of schema 1 find what they knew."""
    told = diagnose(f"transformers 4.50.2\n{LLAMA}", environment="report").to_dict()["environment"]["packages"]
    assert told["transformers"] == {"version": "4.50.2", "source": "report"}
