"""Lint: each check finds the entry that it is for, on its line, and leaves the good one beside it alone."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from lint_bases import GOOD, MESSAGE, changed, problems_of, write_base

from troubleshoot.basics import word_tables
from troubleshoot.curation import checks, condition_checks, example_checks, lint
from troubleshoot.curation.checks import english_hash
from troubleshoot.knowledge import base as knowledge_base
from troubleshoot.knowledge.schema import Entry

FAMILY = {"kind": "family", "cause": None}


def condition(**parts: Any) -> dict[str, Any]:
    """Return the change that gives the entry one supporting condition."""
    return {"evidence.supporting": [{name.replace("_", "-"): value for name, value in parts.items()}]}


def affected(*ranges: dict[str, str], **more: str) -> dict[str, Any]:
    """Return the change that limits the entry to releases."""
    return {"affected": [{"package": "acme", "ranges": list(ranges), "basis": "reported", **more}]}


def templates(*texts: str, **more: Any) -> dict[str, Any]:
    """Return the change that gives the entry these templates."""
    return {"signature.message": [{"template": text, **more} for text in texts], "evidence": {}}


def positive(**example: Any) -> dict[str, Any]:
    """Return the change that leaves the entry one positive example."""
    return {"examples.positive": [{"provenance": "constructed", **example}]}


def negative(**example: Any) -> dict[str, Any]:
    """Return the change that leaves the entry one negative example."""
    return {"examples.negative": [{"provenance": "constructed", "text": "ValueError: no frob", **example}]}


#: name -> (changes to the good entry, what lint must say about it)
FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "cause unknown": ({"cause": "dtype-mismatch/nothing"}, "'dtype-mismatch/nothing' is not in causes/"),
    "cause of a fix unknown": ({"fixes.0.causes": ["a/b"]}, "'a/b' is not in causes/"),
    "issue without a cause": ({"cause": None}, "an issue has exactly one cause"),
    "issue with several causes": ({"causes": [{"cause": "dtype-mismatch/double", "weight": 1}]}, "an issue has exactly one cause"),
    "family with a cause of its own": ({"kind": "family"}, "a family lists weighted causes"),
    "family with a weight of nothing": (
        {**FAMILY, "causes": [{"cause": "dtype-mismatch/double", "weight": 0}]},
        "the weight of dtype-mismatch/double must be positive",
    ),
    "likelier without times": (
        {**FAMILY, "causes": [{"cause": "dtype-mismatch/double", "weight": 1, "likelier": [{"text": "lora adapter"}]}]},
        "needs a positive `times`",
    ),
    "command with a name that belongs to another project": (
        {"fixes.0.action": {"upgrade": "apex"}}, "its command names 'apex': the index gives that name to another project"
    ),
    "command with a name outside the table": (
        {"fixes.0.action": {"setting": "pip install -U 'torch>=2.5' whisper   # then again"}},
        "its command names 'whisper': it is not in words/modules.yaml",
    ),
    "refines what does not exist": ({"refines": ["torch/none"]}, "refines[0]: 'torch/none' does not exist"),
    "refines itself": ({"refines": ["acme/faulty"]}, "leads back to the entry itself"),
    "template syntax": (templates("quuxifier cannot take {found operands"), "this { is not closed"),
    "template with an unknown hole": (templates("quuxifier cannot take {found:colour} operands"), "unknown hole type 'colour'"),
    "template with too little text": (templates("quuxifier {x:int}"), "fewer than 12 literal characters"),
    "template with alternatives in brackets": (
        templates("quuxifier cannot take {found:dtype} operands[ of|from] this kind"), "[...] holds no alternatives"
    ),
    "template whose alternative a parenthesis ends": (
        templates("quuxifier cannot (take|take (or give) {found:dtype}) operands of this kind"), "ends the alternatives"
    ),
    "template that is empty": (templates(""), "an empty template would match everywhere"),
    "template with too many text holes": (
        templates("quuxifier {a:text} cannot {b:text} take {c:text} operands"),
        "has more than 2 text holes",
    ),
    "template with an unknown role": (templates("quuxifier cannot take {found:dtype} operands", roles={"given": "input"}), "role 'given'"),
    "template of no device": (templates("quuxifier cannot take {found:dtype} operands", device="gpu0"), "'gpu0' is no device"),
    "template of no torch": (templates("quuxifier cannot take {found:dtype} operands", torch="2.x"), "'2.x' is no version specifier"),
    "template given twice": (
        templates("quuxifier cannot take {found:dtype} operands", "Quuxifier  cannot take {found:dtype} operands"),
        "signature.message[1]: 'Quuxifier  cannot take {found:dtype} operands' is given twice",
    ),
    "no signature": ({"signature": {}, "evidence": {}}, "nothing can reach this entry"),
    "symptom of one term": ({"signature.symptoms": ["nan|inf"]}, "signature.symptoms[0]: 'nan|inf' needs at least two terms"),
    "condition of two kinds": (condition(fact="os", **{"is": "linux"}, text="lora adapter"), "a condition has exactly one of fact"),
    "condition of no kind": (condition(times=2.0), "a condition has exactly one of fact"),
    "condition with two comparisons": (condition(fact="model", **{"is": "blip", "contains": "blip"}), "several comparisons: is, contains"),
    "comparison without a fact": (condition(frame="acme/", contains="x"), "`contains` compares a fact, and there is none"),
    "unknown fact": (condition(fact="gpu.colour", **{"is": "red"}), "'gpu.colour' is not a fact"),
    "nested condition with an unknown fact": (condition(any=[{"none": [{"fact": "mood"}]}]), "'mood' is not a fact"),
    "fact that no hole gives": (condition(fact="dtype.weight", **{"is": "float16"}), "no hole or role of the templates gives dtype.weight"),
    "condition on what is not said": (condition(none=[{"text": "lora adapter"}]), "can never hold: `none` of a text"),
    "condition on what is not said, beside another": (
        condition(all=[{"text": "lora adapter"}, {"none": [{"any": [{"fact": "os", "is": "linux"}, {"text": "nf4"}]}]}]),
        "can never hold: `none` of a text",
    ),
    "dtype in another spelling": (condition(fact="dtype.found", **{"is": "fp16"}), "dtype.found is never 'fp16'; write float16"),
    "no dtype": (condition(fact="dtype.requested", **{"is": "tiny"}), "dtype.requested is never 'tiny'; it is no dtype"),
    "no device": (condition(fact="device.kind", **{"is": "toaster"}), "device.kind is never 'toaster'"),
    "value outside the list": (condition(fact="quantization", **{"is": "bnb-4bit"}), "quantization is never 'bnb-4bit'; its values"),
    "support in another word": (condition(fact="support.bfloat16", **{"is": "full"}), "support.bfloat16 is never 'full'"),
    "unquoted on": (condition(fact="autocast", **{"is": True}), "YAML reads on, off, yes and no as true and false"),
    "capability without its minor number": (condition(fact="gpu.capability", **{"is": 8}), "a capability has a minor number: 8.0"),
    "package in another spelling": (condition(fact="package.flash_attn", **{"is": "present"}), "is called flash-attn"),
    "package compared as a number": (condition(fact="package.torch", at_least=2.0), "is compared with `in`"),
    "package that is neither": (condition(fact="package.apex", **{"is": "missing"}), "present, absent or a release, not 'missing'"),
    "specifier that is none": (condition(fact="package.torch", **{"in": "from 2.0"}), "'from 2.0' is no version specifier"),
    "specifier that holds nothing": (condition(fact="package.torch", **{"in": ">=2.1,<2.1"}), "no release is in '>=2.1,<2.1'"),
    "numbers that hold nothing": (condition(fact="gpu.capability", at_least=8.0, below=7.5), "nothing is at least 8 and below 7.5"),
    "frame with backslashes": (condition(frame="acme\\modeling.py"), "the paths of frames have forward slashes"),
    "required and refuting": (
        {"evidence.required": [{"text": "lora adapter"}], "evidence.refuting": [{"text": "lora adapter"}]},
        "lora adapter is required and refuting",
    ),
    "phrase without a term": (condition(text=" "), "' ': has no term"),
    "phrase with dashes before a word": (condition(text="--fp16|autocast"), "no text holds '--fp16'"),
    "phrase with a mark within a term": (condition(text="~bf16|~autocast rounded"), "no text holds '~autocast'"),
    "phrase that asks for more terms than it has": (condition(text="cpu gpu +2 tensor"), "asks for 2 of 1 terms"),
    "phrase with one word in two terms": (condition(text="no gpu|cpu_only|without gpu"), "'gpu' is in two terms"),
    "phrase with two words meant as one": (
        {
            "evidence.supporting": [{"text": "text_encoder on_gpu"}, {"text": "text_encoder nan"}, {"text": "text encoder|vae"}],
        },
        "write text_encoder",
    ),
    "fix given twice": ({"fixes": [GOOD["fixes"][0], GOOD["fixes"][0]]}, "fixes[1].id: 'cast' is given twice"),
    "fix with a faulty action": ({"fixes.0.action": {"patch": "cast_module", "dtype": "float32"}}, "[0].action: cast: patch needs module"),
    "fix with two actions": ({"fixes.0.action": {"edit": "x", "advice": "y"}}, "needs exactly one of upgrade"),
    "fix to no release": ({"fixes.0.action": {"upgrade": "torch", "to": "newest"}}, "to: 'newest' is not a version (PEP 440), quoted"),
    "fix to an unquoted release": ({"fixes.0.action": {"upgrade": "torch", "to": 4.5}}, "to: 4.5 is not a version (PEP 440), quoted"),
    "fix without a reason": ({"fixes.0.reason": " "}, "fixes[0].reason: cast needs a reason"),
    "range without introduced": (affected({"fixed": "1.4"}), "affected[0]: acme: a range needs `introduced`"),
    "package without a range": (affected(), "affected[0]: acme: has no range"),
    "border that is no version": (affected({"introduced": "1.2", "fixed": "next"}), "acme: 'next' is not a version (PEP 440)"),
    "introduced behind fixed": (affected({"introduced": "1.4", "fixed": "1.4"}), "acme: 1.4 is not before 1.4"),
    "unknown behind fixed": (affected({"unknown-before": "2.0", "fixed": "1.4"}), "unknown before 2.0, but fixed in 1.4"),
    "measured without a record": (affected({"introduced": "1.2"}, basis="measured"), "`basis: measured` needs the record of a run"),
    "case that does not exist": ({"verify": {"case": "linear_input_dtipe"}}, "no case is called 'linear_input_dtipe': did you mean"),
    "install that is no version": (
        {"verify": {"case": "linear_input_dtype", "install": {"acme": "latest"}}},
        "acme: 'latest' is not a version (PEP 440)",
    ),
    "install that is not affected": (
        {**affected({"introduced": "1.2", "fixed": "1.4"}), "verify": {"case": "linear_input_dtype", "install": {"acme": "1.4"}}},
        "acme 1.4 is not among acme 1.2 to before 1.4",
    ),
    "reference that is no address": (
        {"references": [{"kind": "report", "url": "github.com/acme/1"}]},
        "references[0]: 'github.com/acme/1' is not an https",
    ),
    "reference given twice": ({"references": [GOOD["references"][0]] * 2}, "references[1]: https://example.org/acme/1 is given twice"),
    "claim without an address": ({"claims": [{"text": "It works.", "url": "the docs"}]}, "claims[0]: 'the docs' is not an https address"),
    "translation that is stale": ({"zh.of": "00000000"}, "zh.of: the English has changed"),
    "translation of no fix": ({"zh.fixes.other": {"title": "其他"}}, "zh.fixes.other: there is no such fix"),
    "translation without a fix": ({"zh.fixes": {}}, "zh.fixes.cast: is missing"),
    "no positive example": ({"examples.positive": []}, "no example reaches this entry"),
    "example with neither text nor file": (positive(), "an example has either `text` or `file`"),
    "example with both": (positive(text="RuntimeError: quuxifier cannot take Half operands", file="x.txt"), "an example has either"),
    "template that grows faster than its text": (templates("{a:dtype}{b:dtype}{c:int} of the quuxifier"), "put words between its gaps"),
    "example that cannot be read": (positive(file="examples/none.txt"), "examples/none.txt cannot be read as UTF-8"),
    "example with no version": (
        positive(text="RuntimeError: quuxifier cannot take Half operands", environment={"acme": "new"}),
        "environment: acme 'new' is not a version (PEP 440)",
    ),
    "example with a cause of another entry": (
        positive(text="RuntimeError: quuxifier cannot take Half operands", cause="dtype-mismatch/double"),
        "dtype-mismatch/double is no cause of this entry",
    ),
    "negative without a reason": (negative(expect="none"), "needs `because` and `expect`"),
    "negative without an expectation": (negative(because="another error"), "needs `because` and `expect`"),
    "negative that expects what does not exist": (negative(because="x", expect="acme/none"), "expects 'acme/none', which does not exist"),
    "negative that expects another": (negative(because="x", expect="acme/good"), "answered none, not acme/good"),
    "negative answered by the entry": (
        negative(text="RuntimeError: quuxifier cannot take Half operands", because="x", expect="none"),
        "answered by this entry (x)",
    ),
    "positive answered by another": (positive(text=MESSAGE), "answered acme/good"),
    "positive that nothing answers": (positive(text="all is well"), "'all is well': answered none"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_fault_is_found_and_the_good_entry_beside_it_is_not(name: str, tmp_path: Path) -> None:
    """One entry with one fault: lint names the file and the fault, and nothing of the good entry."""
    changes, expected = FAULTS[name]
    found = problems_of(write_base(tmp_path, GOOD, changed(changes)))
    assert any(line.startswith("acme/faulty.yaml:") and expected in line for line in found), found
    assert not any(line.startswith("acme/good.yaml:") for line in found)


def test_the_good_entry_and_its_unfaulty_copy_pass(tmp_path: Path) -> None:
    """What the faults are written into has none itself."""
    assert problems_of(write_base(tmp_path, GOOD, changed({}))) == []


def test_every_check_is_tested() -> None:
    """A new check must be given a fault here: one that no fault reaches is not known to work."""
    tested = {
        "_check_causes", "_check_signs", "_check_names", "_check_refines", "_check_templates", "_check_growth", "check_shapes",
        "check_possible", "check_phrases", "_check_fixes", "_check_versions", "_check_cases", "_check_references", "_check_translations",
        "check_example_files", "check_examples",
        # tests/knowledge/test_experiments.py
        "_check_experiments",
    }  # fmt: skip
    assert {check.__name__ for check in checks.CHECKS} == tested


def test_a_problem_stands_on_its_line(tmp_path: Path) -> None:
    """An editor can jump to the field."""
    root = write_base(tmp_path, changed({"fixes.0.action": {"upgrade": "torch", "to": "newest"}}))
    lines = (root / "acme/faulty.yaml").read_text(encoding="utf-8").splitlines()
    (problem,) = problems_of(root)
    assert lines[int(problem.split(":")[1]) - 1].strip() == "- action:"


@pytest.mark.parametrize(
    "conditions",
    [
        [{"fact": "device.kind", "is": ["rocm", "cpu", "cuda"]}],
        [{"fact": "package.flash-attn", "in": ">=2.0,<3"}, {"fact": "package.apex", "is": "absent"}],
        [{"fact": "gpu.capability", "at-least": 8.0, "below": 9.0}],
        [{"fact": "gpu.capability", "is": 8.6}, {"fact": "gpu.architecture", "is": "turing"}],
        [{"fact": "quantization", "not": "none"}],
        [{"fact": "dtype.weight", "is": "float16", "ask": {"en": "Which dtype?"}}],
        [{"text": "gpu not found|detected"}, {"text": "loss nan|inf"}, {"text": "generat* 乱码|!!!|1e-*|torch.amp"}],
        [{"text": ["np.asarray|ndarray bfloat16", "first_step|at_once nan"]}],
        [{"none": [{"fact": "os", "is": "linux"}]}, {"any": [{"none": [{"text": "nf4"}]}, {"text": "int8"}]}],
        [{"none": [{"all": [{"text": "nf4"}, {"fact": "os", "is": "linux"}]}]}],
    ],
)
def test_conditions_that_can_hold_pass(conditions: list[dict[str, Any]], tmp_path: Path) -> None:
    """The checks of what can never hold do not stand in the way of what can."""
    assert problems_of(write_base(tmp_path, changed({"evidence.supporting": conditions}))) == []


def test_a_cycle_of_two_is_found(tmp_path: Path) -> None:
    """Neither of the two could ever be the more general one."""
    root = write_base(tmp_path, {**GOOD, "refines": ["acme/faulty"]}, changed({"refines": ["acme/good"]}))
    assert sum("leads back to the entry itself" in line for line in problems_of(root)) == 2


def test_two_entries_with_one_alias_are_found(tmp_path: Path) -> None:
    """A former id leads to one entry."""
    root = write_base(tmp_path, {**GOOD, "aliases": ["acme/old"]}, changed({"aliases": ["acme/old"]}))
    assert any("acme/good.yaml" in line and "aliases[0]: 'acme/old' leads to acme/faulty already" in line for line in problems_of(root))


def test_an_alias_that_is_an_entry_is_found(tmp_path: Path) -> None:
    """The entry itself could no longer be shown."""
    root = write_base(tmp_path, GOOD, changed({"aliases": ["acme/good"]}))
    assert any("acme/faulty.yaml" in line and "'acme/good' leads to acme/good already" in line for line in problems_of(root))


def test_an_unquoted_version_is_a_fault_of_the_schema(tmp_path: Path) -> None:
    """YAML reads 4.50 as 4.5: the schema takes texts only."""
    root = write_base(tmp_path, changed(affected({"introduced": 4.5})))  # type: ignore[dict-item]
    assert any("expected `str" in line and "got `float`" in line for line in problems_of(root))


def test_an_id_in_capitals_is_found(tmp_path: Path) -> None:
    """Ids are paths, and file systems differ in how they take capitals."""
    assert any("is not package/slug in small letters" in line for line in problems_of(write_base(tmp_path, {**GOOD, "id": "acme/Good"})))


def test_the_file_of_an_example_is_read(tmp_path: Path) -> None:
    """It lies beside the entry; one that is not UTF-8 is told."""
    root = write_base(tmp_path, changed(positive(file="examples/one.txt")))
    (root / "acme/examples").mkdir()
    (root / "acme/examples/one.txt").write_text("RuntimeError: quuxifier cannot take Half operands", encoding="utf-8")
    assert problems_of(root) == []
    (root / "acme/examples/one.txt").write_bytes(b"RuntimeError: \xff\xfe")
    assert any("cannot be read as UTF-8" in line for line in problems_of(root))


def test_a_family_gives_the_cause_that_its_example_names(tmp_path: Path) -> None:
    """The entry alone is not enough for a family."""
    causes = [{"cause": "dtype-mismatch/double", "weight": 1}, {"cause": "dtype-mismatch/input-vs-weight", "weight": 9}]
    example = positive(text="RuntimeError: quuxifier cannot take Half operands", cause="dtype-mismatch/double")
    found = problems_of(write_base(tmp_path, changed({**FAMILY, "causes": causes, **example})))
    assert any("cause dtype-mismatch/input-vs-weight, not dtype-mismatch/double" in line for line in found)


def test_withdrawn_entries_need_no_answer(tmp_path: Path) -> None:
    """They no longer answer, so that their examples cannot be answered by them."""
    assert problems_of(write_base(tmp_path, changed({"status": "withdrawn"}))) == []


def test_innocent_texts_are_not_diagnosed(tmp_path: Path) -> None:
    """A text of the innocent corpus that an entry answers is a fault of the entry."""
    corpus = tmp_path / "innocent"
    corpus.mkdir()
    (corpus / "log.txt").write_text(f"starting\n{MESSAGE}\n", encoding="utf-8")
    (corpus / "well.txt").write_text("epoch 1 loss 0.3\n", encoding="utf-8")
    (corpus / "README.md").write_text(MESSAGE, encoding="utf-8")
    lines = [{"id": "well", "text": "epoch 1"}, {"id": "stop", "text": f"starting\n{MESSAGE}\n"}, {"id": "bare"}]
    (corpus / "logs.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    found = problems_of(write_base(tmp_path / "kb", GOOD), innocent=corpus)
    assert [line for line in found if str(corpus) in line] == [
        f"{corpus}/log.txt:2: is innocent, but answered acme/good",
        f"{corpus}/logs.jsonl:2: stop: is innocent, but answered acme/good (line 2 of the text)",
        f"{corpus}/logs.jsonl:3: is no {{\"id\": ..., \"text\": ...}} ('text')",
    ]


def test_general_fixes_are_checked_too(tmp_path: Path) -> None:
    """Causes hold fixes and conditions as well, each in a file of its own or several in one."""
    causes = """\
schema: 1
causes:
  a/b:
    title: {en: A, zh: A}
    explanation: {en: A, zh: A}
    fixes:
      - {id: x, kind: other, title: X, applicability: manual, action: {patch: melt}, reason: R, when: [{fact: mood, is: bad}]}
  a/c:
    title: {en: A, zh: A}
    explanation: {en: A, zh: A}
"""
    found = problems_of(write_base(tmp_path, causes=causes))
    assert any("causes.yaml:7: causes.a/b.fixes[0].action: x: unknown patch 'melt'" in line for line in found)
    assert any("'mood' is not a fact" in line for line in found)
    assert any("causes.yaml:8: causes.a/c: a/c has no general fix" in line for line in found)
    (tmp_path / "causes.yaml").unlink()
    (tmp_path / "causes" / "a").mkdir(parents=True)
    own = "schema: 1\nid: a/b\ntitle: {en: A, zh: A}\nexplanation: {en: A, zh: A}\n"
    fixes = "fixes:\n" + causes[causes.index("      - ") : causes.index("  a/c")]
    (tmp_path / "causes" / "a" / "b.yaml").write_text(own + fixes, encoding="utf-8")
    (tmp_path / "causes" / "a" / "c.yaml").write_text(own.replace("a/b", "a/c"), encoding="utf-8")
    found = problems_of(tmp_path)
    assert any("causes/a/b.yaml:6: fixes[0].action: x: unknown patch 'melt'" in line for line in found)
    assert any("causes/a/b.yaml" in line and "'mood' is not a fact" in line for line in found)
    assert any("causes/a/c.yaml:1: a/c has no general fix" in line for line in found)


def test_an_issue_without_fixes_needs_general_ones(tmp_path: Path) -> None:
    """An answer without a way out helps nobody."""
    causes = "schema: 1\ncauses:\n  dtype-mismatch/input-vs-weight: {title: {en: A, zh: A}, explanation: {en: A, zh: A}}\n"
    found = problems_of(write_base(tmp_path, changed({"fixes": [], "zh.fixes": {}}), causes=causes))
    assert any("acme/faulty.yaml" in line and "none here, and none in general for" in line for line in found)


def test_a_sign_that_nobody_uses_is_told(tmp_path: Path) -> None:
    """It would be mended in vain."""
    found = problems_of(write_base(tmp_path, signs='schema: 1\nsigns: {odd: {text: "frob|frobbed"}}\n'))
    assert any("signs.yaml:1: signs.odd: no entry uses this sign" in line for line in found)


def test_templates_out_of_scope_are_parsed(tmp_path: Path) -> None:
    """A fault there would silently let the failures through."""
    scope = "schema: 1\ngroups:\n  - {id: shapes, title: {en: shapes, zh: 形状}, message: ['frob {x']}\n"
    found = problems_of(write_base(tmp_path, out_of_scope=scope))
    assert any("out-of-scope.yaml:3: groups[0].message[0]: shapes: this { is not closed" in line for line in found)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"references": []}, "references: needs at least one opened reference"),
        ({"examples.negative": []}, "examples.negative: needs a near miss"),
        ({"zh": None}, "zh: is missing"),
    ],
)
def test_shipped_entries_must_show_more_than_overlays(
    changes: dict[str, Any], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A team's own entry needs no public reference, near miss or translation; a shipped one does."""
    root = write_base(tmp_path, GOOD, changed(changes))
    assert problems_of(root) == []
    monkeypatch.setattr(knowledge_base, "shipped_root", lambda: root)
    found = [str(one) for one in lint()]
    assert any("acme/faulty.yaml" in line and expected in line for line in found)
    assert not any("acme/good.yaml" in line for line in found)


def test_a_case_of_no_entry_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A renamed entry would leave its case behind."""
    root = write_base(tmp_path, GOOD)
    monkeypatch.setattr(knowledge_base, "shipped_root", lambda: root)
    assert any("'torch/linear-dtype' does not exist" in str(one) for one in lint())


def test_a_draft_needs_no_translation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is stable is translated."""
    root = write_base(tmp_path, changed({"zh": None, "status": "testing"}))
    monkeypatch.setattr(knowledge_base, "shipped_root", lambda: root)
    assert not any("acme/faulty" in str(one) for one in lint())


def test_a_fresh_translation_passes(tmp_path: Path) -> None:
    """The hash that lint prints is the one that it takes."""
    import msgspec

    entry = msgspec.convert(changed({}), Entry)
    assert problems_of(write_base(tmp_path, changed({"zh.of": english_hash(entry)}))) == []


def test_faults_of_files_are_among_the_problems(tmp_path: Path) -> None:
    """What cannot be loaded is told with the rest."""
    root = write_base(tmp_path, GOOD)
    (root / "acme" / "broken.yaml").write_text("schema: [", encoding="utf-8")
    assert any("broken.yaml" in line and "not valid YAML" in line for line in problems_of(root))


def test_a_crash_of_the_engine_is_a_problem_of_the_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lint goes on with the next example."""

    def crash(*arguments: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(example_checks, "diagnose_example", crash)
    assert any("ZeroDivisionError: by zero" in line for line in problems_of(write_base(tmp_path, GOOD)))


def test_lint_looks_nothing_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither references nor releases are looked up: it works offline."""

    def refuse(*arguments: object, **options: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert problems_of(write_base(tmp_path, GOOD, changed(affected({"introduced": "999.0"})))) == []


def test_the_lists_of_values_are_those_that_reports_give() -> None:
    """A value that the reader writes and lint does not know would be called impossible."""
    for fact in ("quantization", "attention", "launcher", "phase", "os"):
        assert {value for _, _, value in word_tables.OPTIONS[fact]} == condition_checks.VALUES[fact]


@pytest.mark.slow
def test_the_shipped_base_has_no_problem() -> None:
    """All entries against all examples, and against the innocent corpus."""
    assert [str(one) for one in lint()] == []
