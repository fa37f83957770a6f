"""Messages that were cut or retyped: recalled by likeness, as suggestions."""

from __future__ import annotations

import pytest

from troubleshoot import diagnose, load_kb
from troubleshoot.engine.matching.recall import recall, reread
from troubleshoot.reading.report import RaisedException


def recalled(message: str) -> list[tuple[str, bool]]:
    """Return the templates that a message resembles, and whether it is their beginning."""
    base = load_kb()
    found = recall(RaisedException("RuntimeError", message, (), 1, 1), base)
    return [(base.index.patterns[number][1], cut) for number, cut in found]


def test_a_cut_message_is_its_templates_beginning() -> None:
    """A paste that ends in the middle of the message."""
    found = recalled("Cannot convert a MPS Tensor to float64 dtype as the MPS framework")
    assert found
    assert found[0][1] is True
    assert "MPS" in found[0][0]


def test_a_cut_message_is_diagnosed() -> None:
    """It says nearly as much as the whole."""
    diagnosis = diagnose("TypeError: Cannot convert a MPS Tensor to float64 dtype as the MPS framework", environment="report")
    assert diagnosis.first is not None
    assert diagnosis.verdict == "likely"
    assert diagnosis.first.issue == "mps/float64"
    assert diagnosis.first.evidence[0].kind == "cut"


def test_the_first_words_alone_are_diagnosed() -> None:
    """The message goes on for long, which nobody copies; a full stop ends it where the template goes on."""
    diagnosis = diagnose("TypeError: Cannot convert a MPS Tensor to float64 dtype.", environment="report")
    assert diagnosis.first is not None
    assert (diagnosis.verdict, diagnosis.first.issue) == ("likely", "mps/float64")
    assert recalled("Cannot convert a MPS") == []


def test_a_retyped_message_is_recalled_and_not_enough() -> None:
    """A typing error or two: a suggestion needs other evidence."""
    found = recalled("attemping to unscale fp16 gradiants, sorry")
    assert [cut for _, cut in found] in ([], [False])
    diagnosis = diagnose("ValueError: Atempting to unscale FP16 gradiets", environment="report")
    assert diagnosis.verdict == "unknown" or diagnosis.first.confidence < 0.8  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "message",
    [
        "too short",
        "the quux of this frobnicator has gone to the moon and will not return before the next full one",
        "our scheduler lost the lease of worker seventeen while half of the floats were in flight",
    ],
)
def test_other_messages_resemble_nothing(message: str) -> None:
    """Likeness is measured in order, over a good part of the message."""
    assert recalled(message) == []


def test_order_matters() -> None:
    """The reverse of a message is not the message."""
    assert recalled("found Half but type scalar expected Float was not what I wanted") == []


@pytest.mark.parametrize(
    ("text", "issue"),
    [
        ("RuntirneError: rnat1 and rnat2 rnust have the sarne dtype, but got Float and Half", "torch/linear-dtype"),
        ("RuntimeError: expected sca1ar type F1oat but found Ha1f", "torch/expected-scalar-type"),
        ("RuntimeError: mat1 and mat2 must have the sarne dtype, but got F1oat and Ha1f", "torch/linear-dtype"),
    ],
)
def test_letters_that_look_alike_are_put_right(text: str, issue: str) -> None:
    """A picture of a traceback that was read by a program: the message is known, with what its holes hold."""
    found = diagnose(text, environment="report")
    assert found.first is not None
    assert (found.verdict, found.first.issue) == ("likely", issue)
    assert found.first.evidence[0].text in text


@pytest.mark.parametrize(
    "message",
    ["", "sarne", "the modern turn of the burner is not learned by the 10 interns of the firm", "rnat1 rnat2 rnust sarne dtype" * 500],
)
def test_other_messages_are_not_put_right(message: str) -> None:
    """Words that only look like others make no message."""
    assert reread(RaisedException("RuntimeError", message, (), 1, 1), load_kb()) == []
