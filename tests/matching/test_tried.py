"""What experiments came out as weighs causes, read from a report or answered, and one question asks for the next."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from troubleshoot import Diagnosis, diagnose, load_kb
from troubleshoot.basics.errors import InputError
from troubleshoot.engine.diagnosis import examine
from troubleshoot.engine.matching.tried import Tried, chance
from troubleshoot.knowledge import KnowledgeBase
from troubleshoot.knowledge.experiments import Prediction

CAUSES = Path(__file__).parents[2] / "kb" / "causes"

FAMILY = """\
schema: 1
id: torch/frob
title: Frob got two dtypes
status: stable
kind: family
impact: error
causes:
  - {cause: dtype-mismatch/input-vs-weight, weight: 5}
  - {cause: dtype-mismatch/adapter-vs-base, weight: 4}
signature: {message: [{template: "frob expects {expected:dtype} and has {found:dtype}"}]}
explanation: Two dtypes meet.
references: []
"""
EXPERIMENTS = """\
schema: 1
experiments:
  cast-inputs:
    name: {en: cast the inputs, zh: 转换输入}
    tells: {en: whether the inputs are to blame, zh: 输入是否有问题}
    cost: low
    how: {script: x = x.half()}
  no-adapter:
    name: {en: without the adapter, zh: 不用适配器}
    tells: {en: whether the adapter is to blame, zh: 适配器是否有问题}
    cost: medium
    how: {script: leave it out}
  float32:
    name: {en: run it in float32, zh: 用 float32 运行}
    tells: {en: whether 16 bits are to blame, zh: 是否由 16 位引起}
    cost: low
    how: {script: model.float()}
  other-seed:
    name: {en: another seed, zh: 换种子}
    tells: {en: chance, zh: 随机性}
    cost: low
    how: {script: torch.manual_seed(1)}
predictions:
  dtype-mismatch: {float32: gone, other-seed: same}
  dtype-mismatch/input-vs-weight: {cast-inputs: gone, no-adapter: mostly same}
  dtype-mismatch/adapter-vs-base: {cast-inputs: mostly same, no-adapter: gone, other-seed: open}
  none: {float32: same}
"""
ERROR = "RuntimeError: frob expects Float and has Half\n"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    """A family of two causes, and what they say of four experiments."""
    root = tmp_path_factory.mktemp("kb")
    shutil.copytree(CAUSES, root / "causes")
    (root / "torch").mkdir()
    (root / "torch" / "frob.yaml").write_text(FAMILY, encoding="utf-8")
    (root / "experiments.yaml").write_text(EXPERIMENTS, encoding="utf-8")
    return load_kb([root], shipped=False)


def answer(text: str, base: KnowledgeBase, **answers: str) -> Diagnosis:
    """Diagnose with outcomes as answers, by the experiments' names with underscores."""
    given = {f"tried.{name.replace('_', '-')}": value for name, value in answers.items()}
    return diagnose(text, environment="report", kb=base, answers=given)


def cause(text: str, base: KnowledgeBase, **answers: str) -> str:
    """Return the first cause."""
    found = answer(text, base, **answers).first
    return found.cause if found is not None else ""


def test_an_answer_puts_the_cause_that_predicted_it_first(base: KnowledgeBase) -> None:
    """And the opposite answer the other one."""
    assert cause(ERROR, base) == cause(ERROR, base, cast_inputs="gone") == "dtype-mismatch/input-vs-weight"
    assert cause(ERROR, base, cast_inputs="same") == cause(ERROR, base, no_adapter="gone") == "dtype-mismatch/adapter-vs-base"


def test_an_outcome_that_was_read_counts_less_than_an_answer(base: KnowledgeBase) -> None:
    """Readers of prose err: it moves the shares in the same direction, and not as far."""

    def share(text: str, **answers: str) -> float:
        seen = examine(text, kb=base, answers=answers)
        return next(one.share for one in seen.hypotheses if one.cause == "dtype-mismatch/adapter-vs-base")

    story = "It fails. Without the LoRA adapter it works fine.\n\n"
    assert answer(story + ERROR, base).contrasts[0].sure
    assert share(ERROR) < share(story + ERROR) < share(ERROR, **{"tried.no-adapter": "gone"})


def test_an_answer_outranks_what_was_read(base: KnowledgeBase) -> None:
    """The user corrects the reader."""
    story = "It fails. Without the LoRA adapter it works fine.\n\n"
    assert cause(story + ERROR, base, no_adapter="same") == "dtype-mismatch/input-vs-weight"


def test_what_no_cause_of_the_family_predicted_weakens_it(base: KnowledgeBase) -> None:
    """In float32 two dtypes cannot meet: where it stays the same, it may be something else, whatever the message."""
    gone, same = (examine(ERROR, kb=base, answers={"tried.float32": outcome}).hypotheses[0] for outcome in ("gone", "same"))
    assert gone.share == pytest.approx(same.share)
    assert gone.confidence - same.confidence > 0.3


def test_no_outcome_is_no_evidence(base: KnowledgeBase) -> None:
    """Nor is another failure, of which no cause says anything."""
    facts = examine(ERROR, kb=base, answers={"tried.float32": "other", "tried.no-adapter": "unknown"}).facts
    assert Tried(base, facts).odds("dtype-mismatch/input-vs-weight") == 0.0
    assert Tried().odds("dtype-mismatch/input-vs-weight") == 0.0


@pytest.mark.parametrize(
    ("prediction", "gone"),
    [(Prediction("gone", True), 0.95), (Prediction("gone", False), 0.8), (Prediction("same", False), 0.2), (None, 0.5)],
)
def test_what_a_cell_is_worth(prediction: Prediction | None, gone: float) -> None:
    """*Always*, *mostly*, and no cell; an outcome and its opposite are all that can come."""
    assert chance(prediction, "gone") == pytest.approx(gone)
    assert chance(prediction, "same") == pytest.approx(1.0 - gone)


def test_one_question_separates_the_causes_at_the_least_cost(base: KnowledgeBase) -> None:
    """Both experiments tell them apart; casting the inputs is cheaper, and how it is done stands in the question."""
    asked = answer(ERROR, base).questions
    assert [one.about for one in asked] == ["tried.cast-inputs"]
    assert asked[0].answers == ("gone", "same")
    assert "x = x.half()" in asked[0].ask


def test_what_was_tried_or_answered_is_not_asked_for(base: KnowledgeBase) -> None:
    """Nor what the user does not know."""
    assert [one.about for one in answer(ERROR, base, cast_inputs="unknown").questions] == ["tried.no-adapter"]
    story = "I tried it without the LoRA adapter, it is the same.\n\n"
    assert answer(story + ERROR, base, cast_inputs="unknown").questions == ()


def test_nothing_is_asked_that_changes_nothing(base: KnowledgeBase) -> None:
    """Of what both causes predict the same, and of what neither expects to help, no answer would help."""
    assert answer(ERROR, base, cast_inputs="unknown", no_adapter="unknown").questions == ()
    assert answer(ERROR, base, cast_inputs="gone", no_adapter="same").questions == ()


def test_an_outcome_is_one_of_four() -> None:
    """A typing error is no answer."""
    with pytest.raises(InputError, match="no outcome"):
        diagnose(ERROR, environment="report", answers={"tried.float32": "yes"})


def test_nobody_is_asked_for_one_of_a_list_of_models() -> None:
    """Entries about models stand back where none is named; a list of their models helps nobody."""
    text = 'File "/usr/lib/python3.11/site-packages/torch/nn/functional.py", line 2900, in layer_norm\n    return torch.layer_norm(\n'
    found = diagnose(f"Traceback (most recent call last):\n  {text}RuntimeError: expected scalar type Float but found Half\n")
    assert len(found.questions) == 1
    assert found.questions[0].about != "model"


@pytest.mark.parametrize(("language", "says"), [("en", "already tried"), ("zh", "已经试过")])
def test_what_was_tried_in_vain_is_not_recommended(language: str, says: str) -> None:
    """It is named, with its line, and stands among what does not fit."""
    text = "The loss is NaN in fp16 after 200 steps.\nI switched to bf16, with bf16 it is still the same NaN.\n"

    def fit(text: str, **answers: str) -> list[bool | None]:
        found = diagnose(text, environment="report", language=language, gpu="A100", answers=answers).first
        assert found is not None
        return [fix.fits for fix in found.fixes if fix.kind == "use-bf16"]

    told = diagnose(text, environment="report", language=language, gpu="A100")
    assert [(one.experiment, one.line) for one in told.tried] == [("bfloat16", 2)]
    assert says in told.tried[0].text
    assert fit(text) == [False]
    assert fit(text.partition("\n")[0]) == [True]
    assert fit(text.partition("\n")[0], **{"tried.bfloat16": "same"}) == [False]
    assert fit(text, **{"tried.bfloat16": "gone"}) == [True]


@pytest.mark.parametrize(
    ("more", "harmless"),
    [
        ("", True),
        ("In float32 they agree.", True),
        ("With torch.compile disabled it is fine.", False),
        ("The accuracy drops from 0.91 to 0.55.", False),
        ("准确率明显下降。", False),
        ("max abs diff 35.2 on values around 40.", False),
    ],
)
def test_what_does_harm_is_not_to_be_ignored(more: str, harmless: bool) -> None:
    """Nothing is harmless where a measure falls, an error is large, or something repairs it that rounding does not explain."""
    text = f"The outputs of my bfloat16 model differ slightly between batch size 1 and batch size 8, is that normal? {more}\n"
    found = diagnose(text, environment="report").first
    assert found is not None
    fits = [fix.fits for fix in found.fixes if fix.kind == "ignore"]
    assert fits
    assert all(fit is not False for fit in fits) is harmless
