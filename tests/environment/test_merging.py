"""Several sources, one environment; and whether a report is from this machine."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from troubleshoot.reading.environment import Accelerator, Environment, Package, accelerator_from_text, is_local, merge
from troubleshoot.reading.environment.machine import SOURCES


def environment(source: str, *, closed: bool = False, accelerators: tuple[Accelerator, ...] = (), **packages: str | None) -> Environment:
    return Environment(
        tuple(Package(name, version, source) for name, version in packages.items()), accelerators, closed_packages=closed, source=source
    )


def test_the_stronger_source_wins_and_the_contradiction_is_told() -> None:
    """A file outranks the report; the user should know that they differ."""
    merged = merge(environment("report", torch="2.2.0"), environment("file", torch="2.3.0"))
    torch = merged.package("torch")
    assert torch is not None
    assert (torch.version, torch.source) == ("2.3.0", "file")
    assert merged.warnings == ("torch is 2.3.0 (file) but 2.2.0 (report): 2.3.0 (file) is used",)


def test_the_same_release_spelled_twice_is_no_contradiction() -> None:
    """4.50 is 4.50.0, and 2.3.0+cu121 is a build of 2.3.0."""
    merged = merge(environment("report", torch="2.3", numpy="1.26.4"), environment("file", torch="2.3.0+cu121", numpy="1.26.4"))
    assert merged.warnings == ()


def test_a_version_is_kept_where_the_stronger_source_knows_only_the_presence() -> None:
    """``-e .`` says that it is there, the report which release."""
    merged = merge(environment("file", transformers=""), environment("report", transformers="4.50.1"))
    found = merged.package("transformers")
    assert found is not None
    assert found.version == "4.50.1"


def test_an_answer_may_say_absent() -> None:
    """``--answer package.apex=absent`` outranks a guess from a frame."""
    merged = merge(environment("inferred", apex=""), environment("answer", apex=None))
    apex = merged.package("apex")
    assert apex is not None
    assert apex.absent


def test_a_complete_list_overrules_a_weaker_claim() -> None:
    """What pip's list does not name is not installed, whatever the report says."""
    merged = merge(environment("report", apex="0.1"), environment("file", closed=True, torch="2.3.0"))
    apex = merged.package("apex")
    assert apex is not None
    assert apex.absent
    assert "apex" in merged.warnings[0]


def test_a_complete_list_does_not_overrule_a_stronger_one() -> None:
    """The answer to a question stands."""
    merged = merge(environment("file", closed=True, torch="2.3.0"), environment("answer", apex="0.1"))
    apex = merged.package("apex")
    assert apex is not None
    assert apex.version == "0.1"
    assert merged.closed_packages


def test_accelerators_come_from_one_source() -> None:
    """A login node's GPUs and those of the report are not added up; what only one knows of the same device is kept."""
    named = accelerator_from_text("V100", "report")
    local = accelerator_from_text("A100-80GB", "local")
    sized = accelerator_from_text("V100-16GB", "file")
    assert named is not None
    assert local is not None
    assert sized is not None
    assert merge(environment("report", accelerators=(named,)), environment("local", accelerators=(local,))).accelerators == (local,)
    (both,) = merge(
        environment("answer", accelerators=(replace(named, source="answer"),)), environment("file", accelerators=(sized,))
    ).accelerators
    assert (both.source, both.memory) == ("answer", 16.0)


def test_an_answer_that_there_is_no_gpu_stands() -> None:
    """A closed empty list of a stronger source hides the others."""
    named = accelerator_from_text("V100", "report")
    assert named is not None
    none = Environment(closed_accelerators=True, source="answer")
    merged = merge(environment("report", accelerators=(named,)), none)
    assert merged.accelerators == ()
    assert merged.closed_accelerators


def test_nothing_merges_to_nothing() -> None:
    """And one environment to itself."""
    assert merge() == Environment()
    one = environment("file", torch="2.3.0")
    assert merge(one) == one


_PACKAGES = st.dictionaries(st.sampled_from(["torch", "numpy", "apex"]), st.sampled_from(["1.0", "2.0", "", None]))


@given(st.lists(st.tuples(st.sampled_from(SOURCES), _PACKAGES, st.booleans()), min_size=1, max_size=4, unique_by=lambda one: one[0]))
def test_the_order_of_sources_does_not_matter(parts: list[tuple[str, dict[str, str | None], bool]]) -> None:
    """Only their strength does."""
    given_ = [environment(source, closed=closed, **packages) for source, packages, closed in parts]
    forwards, backwards = merge(*given_), merge(*reversed(given_))
    assert sorted(forwards.packages, key=lambda one: one.name) == sorted(backwards.packages, key=lambda one: one.name)
    assert (forwards.closed_packages, forwards.source) == (backwards.closed_packages, backwards.source)


def _installed_frame(number: int = 10) -> tuple[str, int, str]:
    import packaging.version

    file = packaging.version.__file__
    lines = Path(file).read_text().splitlines()
    number = next(index for index, line in enumerate(lines, 1) if index >= number and len(line.strip()) > 20)
    return file, number, lines[number - 1].strip()


def test_a_report_from_this_installation_is_local() -> None:
    """Its paths lie below our site-packages and its lines are the installed ones."""
    file, number, code = _installed_frame()
    assert is_local([("/home/someone/train.py", 3, "main()"), (file, number, code)])
    assert is_local([(file, number, None)])


def test_another_version_or_place_is_not_local() -> None:
    """Another line at that number, another prefix, or no library frame at all."""
    file, number, code = _installed_frame()
    assert not is_local([(file, number, "raise SomethingElse(entirely)")])
    assert not is_local([(file, 10**6, code)])
    assert not is_local([("/opt/conda/lib/python3.10/site-packages/packaging/version.py", number, code)])
    assert not is_local([(file, number, code), ("/opt/conda/lib/python3.10/site-packages/torch/nn/modules/linear.py", 114, None)])
    assert not is_local([("train.py", 3, "main()")])
    assert not is_local([])


def test_a_file_that_is_not_installed_here_is_not_local() -> None:
    """The path alone could be any machine's: everyone has /usr/lib/python3/dist-packages."""
    home = next(entry for entry in sys.path if entry.endswith("site-packages"))
    assert not is_local([(f"{home}/no_such_package/file.py", 3, "x = 1")])


@pytest.mark.parametrize("inside", ["../../../../etc/passwd", "packaging/../../../etc/hostname"])
def test_a_path_that_climbs_out_is_not_opened(tmp_path: Path, inside: str) -> None:
    """Pasted paths never decide which file is read outside our site-packages."""
    secret = tmp_path / "secret.py"
    secret.write_text("password = 1\n")
    home = tmp_path / "site-packages"
    home.mkdir()
    assert not is_local([(f"{home}/../secret.py", 1, "password = 1")], prefix=str(tmp_path), site_packages=[str(home)])
    assert not is_local([(f"{home}/{inside}", 1, None)], prefix=str(tmp_path), site_packages=[str(home)])


def test_backslashes_are_compared_as_slashes(tmp_path: Path) -> None:
    """Reports from Windows spell paths with either."""
    home = tmp_path / "Lib" / "site-packages"
    (home / "pkg").mkdir(parents=True)
    (home / "pkg" / "a.py").write_text("value = compute(\n    1,\n)\n")
    spelled = str(home / "pkg" / "a.py").replace("/", "\\")
    assert is_local([(spelled, 1, "value = compute(")], prefix=str(tmp_path), site_packages=[str(home)])
