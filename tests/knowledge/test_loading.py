"""Loading: errors with file and line, overlays, the compiled index and its cache."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import troubleshoot
from troubleshoot import diagnose, load_kb
from troubleshoot.basics.errors import KnowledgeError, UnknownIssueError
from troubleshoot.knowledge import cache
from troubleshoot.knowledge.base import KnowledgeBase
from troubleshoot.knowledge.cache import compile_roots, write_atomically
from troubleshoot.knowledge.collect import collect
from troubleshoot.knowledge.schema import Entry
from troubleshoot.knowledge.source import convert, read_yaml

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
MESSAGE = "RuntimeError: frobnicator cannot take Half operands"


def overlay(tmp_path: Path, **files: str) -> Path:
    """Write an overlay folder; keys are paths with ``__`` for the slash."""
    for name, text in files.items():
        path = tmp_path / (name.replace("__", "/") + ".yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def problems(tmp_path: Path, text: str) -> list[str]:
    """Return the faults of one entry's text, without the folder."""
    path = tmp_path / "entry.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(KnowledgeError) as caught:
        data, node = read_yaml(path)
        convert(data, node, Entry, path)
    return [str(problem).replace(str(path), "entry.yaml") for problem in caught.value.problems]


def test_all_faults_of_a_file_are_told_with_their_lines(tmp_path: Path) -> None:
    """Not only the first one."""
    text = (
        ENTRY.replace("status: stable", "status: stabel")
        .replace("kind: cast-inputs", "kind: cast-input")
        .replace("title: The", "titel: The")
    )
    found = problems(tmp_path, text)
    assert any(line.startswith("entry.yaml:4: status:") for line in found)
    assert any(line.startswith("entry.yaml:13: fixes[0].kind:") for line in found)
    assert any("entry.yaml:3: titel: is not a field: did you mean 'title'" in line for line in found)


def test_a_key_given_twice_is_an_error(tmp_path: Path) -> None:
    """YAML would silently take the last one."""
    assert problems(tmp_path, ENTRY + "title: again\n") == ["entry.yaml:15: title: is given twice: keep one"]


@pytest.mark.parametrize(
    ("text", "told"),
    [("", "is empty"), ("a: [b", "not valid YAML"), ("!!python/object:os.system {}", "not valid YAML"), ("- a\n", "is not a mapping")],
)
def test_files_that_are_no_entries(tmp_path: Path, text: str, told: str) -> None:
    """Data only: a tag that would build an object is refused."""
    assert told in problems(tmp_path, text)[0]


def test_an_overlay_adds_an_entry(tmp_path: Path) -> None:
    """A team's own knowledge answers beside the shipped one."""
    base = load_kb([overlay(tmp_path, acme__frobnicate=ENTRY)])
    diagnosis = diagnose(MESSAGE, kb=base, environment="report")
    assert diagnosis.first is not None
    assert diagnosis.first.issue == "acme/frobnicate"
    assert len(base.ids()) == len(load_kb().ids()) + 1


def test_the_id_must_be_the_path(tmp_path: Path) -> None:
    """A renamed file with the old id inside would shadow another entry."""
    base = load_kb([overlay(tmp_path, acme__other=ENTRY)], shipped=False)
    assert base.ids() == ()
    assert "the path says 'acme/other'" in base.warnings[0]


def test_a_faulty_overlay_file_is_skipped_with_a_warning(tmp_path: Path) -> None:
    """A mistake in one file takes neither the others nor the tool away."""
    base = load_kb([overlay(tmp_path, acme__frobnicate=ENTRY, acme__broken="schema: [")], shipped=False)
    assert base.ids() == ("acme/frobnicate",)
    assert "broken.yaml" in base.warnings[0]


@pytest.mark.slow
def test_an_overlay_withdraws_an_entry(tmp_path: Path) -> None:
    """The entry stays readable and no longer answers."""
    first, second = tmp_path / "a", tmp_path / "b"
    overlay(first, acme__frobnicate=ENTRY)
    overlay(second, off="schema: 1\nextends: acme/frobnicate\nwithdraw: true\nreason: our build is fixed\n")
    base = load_kb([first, second])
    assert base.entry("acme/frobnicate").status == "withdrawn"
    assert diagnose(MESSAGE, kb=base, environment="report").verdict == "unknown"


@pytest.mark.slow
def test_an_overlay_replaces_and_withdraws_single_fixes(tmp_path: Path) -> None:
    """The last overlay wins, fix by fix."""
    first, second = tmp_path / "a", tmp_path / "b"
    overlay(first, acme__frobnicate=ENTRY)
    fix = "{id: ours, kind: other, title: Use our fork, applicability: safe, action: {install: acme-fork}, reason: It takes half.}"
    overlay(second, change=f"schema: 1\nextends: acme/frobnicate\nwithdraw-fixes: [cast]\nfixes:\n  - {fix}\n")
    diagnosis = diagnose(MESSAGE, kb=load_kb([first, second]), environment="report")
    assert diagnosis.first is not None
    assert [one.id for one in diagnosis.first.fixes] == ["ours"]
    assert diagnosis.first.fixes[0].command == "pip install acme-fork"


def test_an_overlay_names_what_does_not_exist(tmp_path: Path) -> None:
    """A typo in ``extends`` is told."""
    base = load_kb([overlay(tmp_path, x="schema: 1\nextends: acme/none\n")])
    assert any("acme/none" in warning for warning in base.warnings)


@pytest.mark.slow
def test_a_missing_overlay_folder_is_a_warning(tmp_path: Path) -> None:
    """The shipped base still answers."""
    assert any("is not a folder" in warning for warning in load_kb([tmp_path / "nothing"]).warnings)


@pytest.mark.slow
def test_the_environment_variable_names_overlays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``TROUBLESHOOT_KB`` holds folders, separated as in PATH."""
    monkeypatch.setenv("TROUBLESHOOT_KB", str(overlay(tmp_path, acme__frobnicate=ENTRY)))
    assert "acme/frobnicate" in load_kb().ids()


@pytest.mark.slow
def test_an_installed_package_brings_an_overlay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry-point group ``troubleshoot.kb`` names a package whose folder holds entries."""
    overlay(tmp_path / "acme_kb" / "kb", acme__frobnicate=ENTRY)
    (tmp_path / "acme_kb" / "__init__.py").write_text("", encoding="utf-8")
    info = tmp_path / "acme_kb-1.0.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_text("[console_scripts]\nx = y:z\n\n[troubleshoot.kb]\nacme = acme_kb:kb\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "acme/frobnicate" in load_kb().ids()


def test_an_edited_file_is_seen(tmp_path: Path) -> None:
    """The kept base is compiled again when a file changes."""
    folder = overlay(tmp_path, acme__frobnicate=ENTRY)
    assert load_kb([folder], shipped=False).entry("acme/frobnicate").title.startswith("The")
    overlay(tmp_path, acme__frobnicate=ENTRY.replace("The frobnicator", "A frobnicator that"))
    assert load_kb([folder], shipped=False).entry("acme/frobnicate").title.startswith("A frob")


def test_aliases_lead_to_the_entry(tmp_path: Path) -> None:
    """A renamed entry keeps its former id."""
    base = load_kb([overlay(tmp_path, acme__frobnicate=ENTRY + "aliases: [acme/old-name]\n")], shipped=False)
    assert base.entry("acme/old-name").id == "acme/frobnicate"


@pytest.mark.slow
def test_an_unknown_id_suggests_the_nearest() -> None:
    """A typo in an id is answered with what was meant."""
    with pytest.raises(UnknownIssueError) as caught:
        load_kb().entry("torch/expected-scaler-type")
    assert "torch/expected-scalar-type" in caught.value.suggestions


def test_the_compiled_base_is_json_and_says_its_version(tmp_path: Path) -> None:
    """Never pickle: the first line is the index, and its version is a hash of the content."""
    compiled = compile_roots([overlay(tmp_path, acme__frobnicate=ENTRY)])
    first, second = compiled.split(b"\n")[:2]
    assert json.loads(first)["version"] == KnowledgeBase(compiled).version
    assert json.loads(second)["id"] == "acme/frobnicate"


def test_a_damaged_cache_is_told(tmp_path: Path) -> None:
    """Anything but a compiled base is refused."""
    with pytest.raises(KnowledgeError):
        KnowledgeBase(b"garbage\n")
    with pytest.raises(KnowledgeError, match="format"):
        KnowledgeBase(compile_roots([overlay(tmp_path, acme__frobnicate=ENTRY)]).replace(b'"format":', b'"format":9', 1))


def test_writing_to_an_unwritable_place_only_says_no(tmp_path: Path) -> None:
    """A read-only home costs time at the next start, nothing else."""
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    assert write_atomically(blocked / "below" / "x.json", b"x") is False
    assert write_atomically(tmp_path / "new" / "x.json", b"x") is True
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["x.json"]


def test_collect_reports_instead_of_raising(tmp_path: Path) -> None:
    """Faults of all files come together."""
    collected = collect([overlay(tmp_path, a__x="1", a__y="schema: 1")])
    assert len({problem.file for problem in collected.problems}) == 2


@pytest.mark.slow
def test_diagnose_keeps_the_base_for_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of files are not looked at for each report; another setting, and a second later a changed file, are seen."""
    folder = overlay(tmp_path, acme__frobnicate=ENTRY)
    clock = [100.0]
    monkeypatch.setattr(cache.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(cache, "_current", None)
    assert diagnose(MESSAGE, environment="report").verdict == "unknown"
    monkeypatch.setenv("TROUBLESHOOT_KB", str(folder))
    first = diagnose(MESSAGE, environment="report").first
    assert first is not None and first.issue == "acme/frobnicate"
    assert cache.current_kb() is cache.current_kb()
    (folder / "acme" / "frobnicate.yaml").write_text(ENTRY.replace("wants float32", "wants double"), encoding="utf-8")
    assert "double" not in cache.current_kb().entry("acme/frobnicate").title
    clock[0] += 2
    assert "double" in cache.current_kb().entry("acme/frobnicate").title


@pytest.mark.slow
def test_what_is_loaded_anew_is_what_diagnose_uses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``reload()`` need not wait for the second to pass."""
    folder = overlay(tmp_path, acme__frobnicate=ENTRY)
    monkeypatch.setenv("TROUBLESHOOT_KB", str(folder))
    monkeypatch.setattr(cache.time, "monotonic", lambda: 100.0)
    monkeypatch.setattr(cache, "_current", None)
    assert diagnose(MESSAGE, environment="report").first is not None
    (folder / "acme" / "frobnicate.yaml").unlink()
    troubleshoot.reload()
    assert diagnose(MESSAGE, environment="report").first is None


CAUSE = """\
title: {en: Ours, zh: 我们的}
explanation: {en: A, zh: A}
fixes: [{id: call-us, kind: other, title: Call us, applicability: manual, action: {steps: [call]}, reason: We know it.}]
"""


def test_an_overlay_replaces_and_adds_causes(tmp_path: Path) -> None:
    """In files of their own, or several in one; the others stay as they are."""
    shipped = load_kb().causes.causes
    head = "schema: 1\nid: "
    own = overlay(tmp_path / "own", causes__amp__config=f"{head}amp/config\n{CAUSE}", causes__acme__gone=f"{head}acme/gone\n{CAUSE}")
    indented = CAUSE.replace("\n", "\n    ")
    several = overlay(tmp_path / "several", causes=f"schema: 1\ncauses:\n  amp/config:\n    {indented}\n  acme/gone:\n    {indented}\n")
    for root in (own, several):
        base = load_kb([root])
        assert base.warnings == ()
        found = base.causes.causes
        assert (found["amp/config"].title.en, found["acme/gone"].fixes[0].id) == ("Ours", "call-us")
        assert {**found, "amp/config": shipped["amp/config"]} == {**shipped, "acme/gone": found["acme/gone"]}


def test_the_id_of_a_cause_is_its_path(tmp_path: Path) -> None:
    """One that is copied and not renamed would replace another."""
    base = load_kb([overlay(tmp_path, causes__acme__gone="schema: 1\nid: amp/config\n" + CAUSE)])
    assert base.warnings == (f"{tmp_path.name}/causes/acme/gone.yaml:2: id: is 'amp/config', but the path says 'acme/gone'",)
    assert "acme/gone" not in base.causes.causes
