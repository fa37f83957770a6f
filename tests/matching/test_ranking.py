"""Ranking: the refinement tree, families, abstention, failures and symptoms; on small bases made for it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from troubleshoot import Diagnosis, diagnose, load_kb
from troubleshoot.knowledge import KnowledgeBase

CAUSES = Path(__file__).parents[2] / "kb" / "causes"

FAMILY = """\
schema: 1
id: torch/frob
title: Frob got two dtypes
status: stable
kind: family
impact: error
causes:
  - {cause: dtype-mismatch/input-vs-weight, weight: 6}
  - {cause: dtype-mismatch/adapter-vs-base, weight: 3, likelier: [{text: "lora adapter", times: 10}]}
  - {cause: dtype-mismatch/double, weight: 1, needs: [{fact: dtype.found, is: float64}]}
signature: {message: [{template: "frob expects {expected:dtype} and has {found:dtype}"}]}
explanation: Two dtypes meet.
references: []
"""
SPECIAL = """\
schema: 1
id: acme/frob-model
title: Acme's model leaves frob in float32
status: stable
kind: issue
cause: dtype-mismatch/fp32-island
refines: [torch/frob]
impact: error
signature:
  message: [{template: "frob expects {expected:dtype} and has {found:dtype}"}]
  frames: [{file: acme/modeling.py}]
affected: [{package: acme, ranges: [{introduced: "1.2", fixed: "1.4"}], basis: reported}]
models: [acme-large]
explanation: It stays.
fixes:
  - {id: up, kind: upgrade, title: Upgrade, applicability: safe, action: {upgrade: acme, to: "1.4"}, reason: Mended.}
  - {id: bf, kind: use-bf16, title: bfloat16, applicability: unsafe, action: {edit: "model.bfloat16()"}, reason: Range.}
references: []
"""
SYMPTOM = """\
schema: 1
id: acme/green-image
title: The picture turns green
status: stable
kind: issue
cause: numerics/nan-image
impact: wrong-result
signature: {symptoms: ["image|picture green", "图片 变绿", "<fp16> picture green|greenish"]}
explanation: Overflow.
references: []
"""
PLUGIN = """\
schema: 1
id: acme/frob-plugin
title: Acme's plug-in frobs in float32
status: stable
kind: issue
cause: dtype-mismatch/adapter-vs-base
refines: [torch/frob]
impact: error
signature: {message: [{template: "frob expects {expected:dtype} and has {found:dtype}"}]}
evidence: {required: [{text: "acme_plugin|acme_plug_in"}], supporting: [{text: "plugin|extension"}]}
explanation: It stays.
references: []
"""
TOLD = """\
schema: 1
id: torch/frob-told
title: Frob's dtypes, told without the message
status: stable
kind: family
fallback: true
impact: error
causes: [{cause: dtype-mismatch/cast-in-forward, weight: 1}]
signature: {message: [{template: "only handles {wanted:dtype_name}"}], symptoms: ["frob dtype|expects half|float"]}
explanation: Two dtypes meet.
references: []
"""
TINT = """\
schema: 1
id: acme/tint
title: The tint is wrong
status: stable
kind: issue
cause: numerics/bf16-rounding
refines: [torch/frob-told]
impact: wrong-result
signature: {symptoms: ["tint dtype|half"]}
explanation: Rounding.
references: []
"""
SCOPE = """\
schema: 1
groups:
  - {id: keys, title: {en: a missing key, zh: 缺少键}, exception: [KeyError]}
  - {id: shapes, title: {en: shapes, zh: 形状}, message: ["frob shapes cannot be multiplied"]}
"""
FRAMES = """\
Traceback (most recent call last):
  File "run.py", line 1, in <module>
    go()
  File "/usr/lib/python3.11/site-packages/acme/modeling.py", line 7, in forward
    return frob(x)
"""
ERROR = "RuntimeError: frob expects Float and has Half\n"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    """A base of a few entries over the shipped taxonomy."""
    root = tmp_path_factory.mktemp("kb")
    entries = {
        "torch/frob": FAMILY,
        "torch/frob-told": TOLD,
        "acme/frob-model": SPECIAL,
        "acme/frob-plugin": PLUGIN,
        "acme/green-image": SYMPTOM,
        "acme/tint": TINT,
    }
    for name, text in {**entries, "out-of-scope": SCOPE}.items():
        path = root / f"{name}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    shutil.copytree(CAUSES, root / "causes")
    return load_kb([root], shipped=False)


def answer(text: str, base: KnowledgeBase, **options: object) -> Diagnosis:
    """Diagnose with what the report says."""
    return diagnose(text, kb=base, environment="report", **options)  # type: ignore[arg-type]


def first(text: str, base: KnowledgeBase, **options: object) -> tuple[str, str] | None:
    """Return issue and cause of the first diagnosis."""
    found = answer(text, base, **options).first
    return (found.issue, found.cause) if found else None


def test_the_message_alone_gets_the_family(base: KnowledgeBase) -> None:
    """Nothing speaks for the special entry; the family is no more than likely while two causes are open."""
    diagnosis = answer(ERROR, base)
    assert diagnosis.verdict == "likely"
    assert diagnosis.first is not None
    assert (diagnosis.first.issue, diagnosis.first.cause) == ("torch/frob", "dtype-mismatch/input-vs-weight")
    assert diagnosis.first.confidence < 0.8


def test_frames_lead_to_the_special_entry(base: KnowledgeBase) -> None:
    """Something of its own speaks for it."""
    assert first(FRAMES + ERROR, base) == ("acme/frob-model", "dtype-mismatch/fp32-island")


def test_a_model_named_in_prose_leads_there_too(base: KnowledgeBase) -> None:
    """Also without frames."""
    assert first(f'AutoModel.from_pretrained("acme/acme-large") fails\n{ERROR}', base) == ("acme/frob-model", "dtype-mismatch/fp32-island")


def test_a_release_outside_refutes_and_the_parent_answers(base: KnowledgeBase) -> None:
    """Ripple-down rules."""
    diagnosis = answer(FRAMES + ERROR, base, have={"acme": "1.4"})
    assert diagnosis.first is not None
    assert diagnosis.first.issue == "torch/frob"
    assert [issue for issue, _ in diagnosis.refuted] == ["acme/frob-model"]


def test_a_release_alone_does_not_name_a_place(tmp_path: Path) -> None:
    """An entry about one place of a library needs that place: its releases may span years, and its message be a common one."""
    place = SPECIAL.replace("models: [acme-large]\n", "")
    for name, text in {"torch/frob": FAMILY, "acme/frob-model": place}.items():
        path = tmp_path / f"{name}.yaml"
        path.parent.mkdir()
        path.write_text(text, encoding="utf-8")
    shutil.copytree(CAUSES, tmp_path / "causes")
    base = load_kb([tmp_path], shipped=False)
    assert first(ERROR, base, have={"acme": "1.3"}) == ("torch/frob", "dtype-mismatch/input-vs-weight")
    assert first(FRAMES + ERROR, base, have={"acme": "1.3"}) == ("acme/frob-model", "dtype-mismatch/fp32-island")


def test_whole_traceback_without_the_frame_refutes(base: KnowledgeBase) -> None:
    """The place was not passed."""
    elsewhere = FRAMES.replace("acme/modeling.py", "other/modeling.py")
    assert first(f'from_pretrained("acme/acme-large")\n{elsewhere}{ERROR}', base) == ("torch/frob", "dtype-mismatch/input-vs-weight")


def test_likelier_conditions_turn_a_family(base: KnowledgeBase) -> None:
    """Weights are multiplied."""
    assert first(f"I load a LoRA adapter.\n{ERROR}", base) == ("torch/frob", "dtype-mismatch/adapter-vs-base")


def test_a_cause_whose_need_is_refuted_is_not_listed(base: KnowledgeBase) -> None:
    """float64 is nowhere in the message."""
    assert "dtype-mismatch/double" not in {one.cause for one in answer(ERROR, base).diagnoses}
    assert "dtype-mismatch/double" in {one.cause for one in answer(ERROR.replace("Half", "Double"), base).diagnoses}


def test_the_shares_of_a_family_add_up(base: KnowledgeBase) -> None:
    """cause_confidence is a probability."""
    assert 0.5 < sum(one.cause_confidence for one in answer(ERROR, base).diagnoses) <= 1.0


@pytest.mark.parametrize("text", ["the picture is green", "生成的图片变绿了"])
def test_symptoms_answer_without_an_exception(base: KnowledgeBase, text: str) -> None:
    """In both languages."""
    assert first(text, base) == ("acme/green-image", "numerics/nan-image")


@pytest.mark.parametrize(
    "text", ["Feature request: the picture should be green", "希望增加选项，让图片变绿", "A green picture would be nice to have"]
)
def test_a_request_for_a_feature_is_no_symptom(base: KnowledgeBase, text: str) -> None:
    """Nothing has failed; where something has, the failure counts."""
    assert answer(text, base).verdict == "unknown"
    assert first(f"{text}\n{ERROR}", base)[0] == "torch/frob"


def test_a_symptom_is_told_in_two_sentences(base: KnowledgeBase) -> None:
    """What it is stands in the first, what goes wrong in the second; two lines of a log tell nothing together."""
    told = "It works well.\nI upscale a picture with it.\nWith fp16 it turns green, why?"
    assert first(told, base) == ("acme/green-image", "numerics/nan-image")
    assert first("| picture | 4 |\n| led | green |", base) is None


def test_a_phrase_in_a_message_gives_way_to_a_template(base: KnowledgeBase) -> None:
    """Words that happen to stand in the message say less than the message."""
    found = answer(f"{ERROR.rstrip()}: the picture is green\n", base)
    assert [one.issue for one in found.diagnoses][:1] == ["torch/frob"]
    assert first("RuntimeError: the picture is green\n", base) == ("acme/green-image", "numerics/nan-image")


def test_a_symptom_beside_another_failure_is_not_enough(base: KnowledgeBase) -> None:
    """The report has a failure of its own, which nobody knows, or which is out of scope."""
    assert answer("the picture is green\nValueError: quux is not a frobnicator", base).verdict == "unknown"
    scoped = answer("the picture is green\n" + FRAMES + "KeyError: 'x'", base)
    assert (scoped.verdict, scoped.reason) == ("unknown", "out-of-scope")


def test_code_of_the_frames_says_more_than_the_class(base: KnowledgeBase) -> None:
    """A KeyError is out of scope, unless a template fits the line of code that raised it."""
    told = FRAMES + '  File "/usr/lib/python3.11/site-packages/acme/table.py", line 3, in pick\n    {}\nKeyError: 16\n'
    assert answer(told.format("frob expects Float and has Half"), base).diagnoses[0].issue == "acme/frob-model"
    assert answer(told.format("return table[number]"), base).reason == "out-of-scope"


def test_the_more_literal_pattern_decides_the_scope(base: KnowledgeBase) -> None:
    """Out of scope by message, unless an entry knows the message better."""
    assert answer(FRAMES + "RuntimeError: frob shapes cannot be multiplied", base).reason == "out-of-scope"


@pytest.mark.parametrize(("before", "reason"), [("", "out-of-scope"), ("acme_tiles is on\n", None)])
def test_an_entry_that_is_ruled_out_does_not_decide_the_scope(tmp_path: Path, before: str, reason: str | None) -> None:
    """An entry has the longer template, but is about another place: then the failure is out of scope, and so is what stands beside it."""
    tiles = SYMPTOM.replace("acme/green-image", "acme/tiles").replace(
        """signature: {symptoms: ["image|picture green", "图片 变绿", "<fp16> picture green|greenish"]}""",
        """signature: {message: [{template: "frob shapes cannot be multiplied ({a:int} tiles)"}], frames: [{file: acme/tiles.py}]}""",
    )
    tiles += """evidence: {required: [{text: "acme_tiles"}]}\n"""
    for name, text in {"acme/green-image": SYMPTOM, "acme/tiles": tiles, "out-of-scope": SCOPE}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    shutil.copytree(CAUSES, tmp_path / "causes")
    report = f"{before}the picture is green\nRuntimeError: frob shapes cannot be multiplied (3 tiles)\n"
    assert answer(report, load_kb([tmp_path], shipped=False)).reason == reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no-failure"),
        ("how do I train a model?", "no-failure"),
        (FRAMES + "ValueError: quux", "no-entry"),
        ("\0\1\2" * 99, "no-failure"),
    ],
)
def test_abstentions_say_why(base: KnowledgeBase, text: str, reason: str) -> None:
    """An honest answer has a reason."""
    diagnosis = answer(text, base)
    assert (diagnosis.verdict, diagnosis.reason, diagnosis.diagnoses) == ("unknown", reason, ())


def test_the_first_cause_in_time_is_diagnosed_not_the_most_frequent(base: KnowledgeBase) -> None:
    """Later failures follow from it."""
    text = FRAMES + ERROR + ("\n" + FRAMES + "ValueError: later\n") * 5
    diagnosis = answer(text, base)
    assert diagnosis.first is not None
    assert diagnosis.first.issue == "acme/frob-model"


def test_a_wrapped_message_is_found(base: KnowledgeBase) -> None:
    """Also inside a word."""
    assert first("RuntimeError: frob expects Flo\nat and h\nas Half", base) is not None


def test_an_unknown_release_is_part_of_the_claim(base: KnowledgeBase) -> None:
    """The special entry leads, worded "if"."""
    diagnosis = answer(FRAMES + ERROR, base)
    assert "if acme 1.2 to before 1.4" in diagnosis.summary
    assert [question.about for question in diagnosis.questions] == ["package.acme"]


def test_an_answer_that_decides_is_not_asked_again(base: KnowledgeBase) -> None:
    """Once the release is known, nothing is open."""
    assert answer(FRAMES + ERROR, base, answers={"package.acme": "1.3"}).questions == ()


def test_emulated_bfloat16_comes_last_with_a_warning(base: KnowledgeBase) -> None:
    """And native bfloat16 in the entry's place."""
    t4, a100 = (answer(FRAMES + ERROR, base, gpu=gpu, have={"acme": "1.3"}).first for gpu in ("T4", "A100"))
    assert t4 is not None
    assert a100 is not None
    assert [(fix.id, fix.fits) for fix in t4.fixes] == [("up", True), ("bf", True)]
    assert t4.fixes[1].warning
    assert a100.fixes[1].warning is None


def test_who_has_run_bfloat16_can_use_it(base: KnowledgeBase) -> None:
    """Without a GPU's name it is undecided, unless the report says that it works."""
    silent, told = (answer(FRAMES + ERROR + more, base, have={"acme": "1.3"}).first for more in ("", "\nIn bf16 it works."))
    assert silent is not None
    assert told is not None
    assert [fix.fits for fix in silent.fixes if fix.id == "bf"] == [None]
    assert [(fix.fits, fix.why) for fix in told.fixes if fix.id == "bf"] == [(True, "the report says so: In bf16 it works")]


def test_an_upgrade_that_is_there_does_not_fit(base: KnowledgeBase) -> None:
    """The reason names the installed version."""
    special = answer(f'from_pretrained("acme/acme-large")\n{ERROR}', base, have={"acme": "1.4rc1"}).first
    assert special is not None
    assert all(fix.fits is not False or "1.4" in fix.why for fix in special.fixes if fix.kind == "upgrade")


def test_a_fallback_answers_where_no_message_is_known(base: KnowledgeBase) -> None:
    """Its phrases stand in for a message that nobody pasted."""
    assert first("frob breaks: one dtype is half, the other float", base) == ("torch/frob-told", "dtype-mismatch/cast-in-forward")


def test_to_refine_a_fallback_makes_nothing_special(base: KnowledgeBase) -> None:
    """What more of the prose speaks for comes first."""
    told = "The picture is green with fp16.\nfrob breaks on its tint: one dtype is half, the other float"
    assert [one.issue for one in answer(told, base).diagnoses][:2] == ["acme/green-image", "acme/tint"]


@pytest.mark.parametrize("text", [ERROR, f"frob breaks: one dtype is half, the other float, namely {ERROR.removeprefix('RuntimeError: ')}"])
def test_a_fallback_is_silent_where_a_template_fits(text: str, base: KnowledgeBase) -> None:
    """In a failure's message as well as in a loose line."""
    issues = [one.issue for one in answer(text, base).diagnoses]
    assert issues[0] == "torch/frob"
    assert "torch/frob-told" not in issues


def test_the_general_wording_of_a_fallback_is_read_in_messages_alone(base: KnowledgeBase) -> None:
    """Prose uses such words as well."""
    told = answer("ValueError: tinting only handles torch.bfloat16", base)
    assert told.first is not None
    assert (told.first.issue, told.verdict) == ("torch/frob-told", "likely")
    assert answer("My tinting only handles torch.bfloat16, which is fine.", base).verdict == "unknown"


def test_the_general_wording_of_a_fallback_is_read_in_a_line_that_is_announced(base: KnowledgeBase) -> None:
    """Who pastes a message without the name of its exception says that it comes; a question is no message."""
    told = answer("The demo stops with this:\n\ntinting only handles torch.bfloat16\n", base)
    assert told.first is not None
    assert told.first.issue == "torch/frob-told"
    assert answer("The demo stops.\ntinting only handles torch.bfloat16\n", base).verdict == "unknown"


def test_a_fallback_gives_way_to_what_is_said_in_the_message(base: KnowledgeBase) -> None:
    """A phrase of another entry in the same message says more than a general wording."""
    assert first("ValueError: the picture is green, it only handles torch.float32 and not fp16", base)[0] == "acme/green-image"


def test_what_is_demanded_leads_only_where_it_holds(base: KnowledgeBase) -> None:
    """A supporting word does not make up for a fact that nobody stated."""
    assert first(f"I use an extension.\n{ERROR}", base) == ("torch/frob", "dtype-mismatch/input-vs-weight")
    assert first(f"I use the acme_plugin extension.\n{ERROR}", base) == ("acme/frob-plugin", "dtype-mismatch/adapter-vs-base")


def test_a_message_retyped_with_punctuation_of_full_width() -> None:
    """As Chinese keyboards type it; the facts are read all the same."""
    shipped = diagnose(
        "RuntimeError: Input type （torch.cuda.FloatTensor） and weight type （torch.cuda.DoubleTensor） should be the same",
        environment="report",
    )
    assert shipped.first is not None
    assert (shipped.first.issue, shipped.first.cause) == ("torch/conv-input-weight-dtype", "dtype-mismatch/double")


def test_of_two_wordings_in_one_line_the_one_that_catches_more(tmp_path: Path) -> None:
    """A short template must not hide what a longer one reads."""
    path = tmp_path / "torch" / "frob.yaml"
    path.parent.mkdir()
    short = FAMILY.replace("signature: {message: [", 'signature: {message: [{template: "frob expects"}, ')
    path.write_text(
        short.replace("needs: [{fact: dtype.found, is: float64}]", "likelier: [{fact: dtype.found, is: float64, times: 99}]"),
        encoding="utf-8",
    )
    shutil.copytree(CAUSES, tmp_path / "causes")
    found = answer(ERROR.replace("Half", "Double"), load_kb([tmp_path], shipped=False)).first
    assert found is not None
    assert found.cause == "dtype-mismatch/double"
