"""Numbers of two outputs, and what they say of a fix."""

from __future__ import annotations

from troubleshoot.lab.checking.check_findings import Finding, Place
from troubleshoot.lab.checking.comparing import compare, numbers_of
from troubleshoot.lab.checking.judging import judge, settled


def test_numbers_are_held_against_each_other_within_what_the_dtype_explains() -> None:
    """1 % is rounding in bfloat16, and not in float32."""
    assert compare("loss 1.01\n", "loss 1.00\n", "bfloat16").outcome == "same"
    told = compare("loss 1.01\n", "loss 1.00\n", "float32")
    assert told.outcome == "other"
    assert told.lines == [{"here": "loss 1.01", "float32": "loss 1.00"}]


def test_nan_in_one_run_only_is_a_difference() -> None:
    """In both it is none: the dtype is not what matters."""
    assert compare("loss nan", "loss 0.5", "float16").outcome == "other"
    assert compare("loss nan", "loss nan", "float16").outcome == "same"


def test_times_dtypes_and_words_do_not_count() -> None:
    """float16 is no number, and seconds are others in every run."""
    assert numbers_of("torch.float16 tensor 2.5e-3 of v2") == [0.0025]
    assert compare("took 3.1 s\nx 1.0\n", "took 9.9 s\nx 1.0\n", "float16").outcome == "same"
    assert compare("ready", "ready", "float16").outcome == "unknown"


def test_a_fix_is_right_only_when_its_results_are() -> None:
    """That a program ends shows nothing."""
    same, other = compare("1.5", "1.5", "float16"), compare("1.5", "9.5", "float16")
    stuck = Finding("weights-stuck", "numerics/bf16-rounding", Place("a.py", 3), numbers={"came": 0.0, "stuck": 1.0}, dtype="bfloat16")
    assert judge("ok", None, (), same).right is True
    assert judge("ok", None, (), other).right is False
    assert "9.5" in judge("ok", None, (), other).why
    assert judge("ok", None, (stuck,), same).right is False
    assert "line 3" in judge("ok", None, (stuck,), same).why
    assert judge("raised", "RuntimeError: x", (), None).right is False
    assert judge("ok", None, (), None).right is None


def test_what_rounding_does_in_healthy_programs_too_needs_a_witness() -> None:
    """Without other numbers in float32 it is not told."""
    soft = Finding("cancelled", "numerics/bf16-rounding", Place("a.py", 3), sure=False, score=0.5)
    assert settled([soft], None) == settled([soft], False) == []
    assert settled([soft], True) == [soft]


def test_a_line_that_only_one_run_prints_does_not_shift_the_others() -> None:
    """Warnings differ between the runs."""
    assert compare("a.py:3: UserWarning: low precision\nloss 1.0\nend 2.0\n", "loss 1.0\nend 2.0\n", "float16").outcome == "same"
    assert compare("UserWarning: x\nloss 1.0\n", "loss 3.0\n", "float16").lines == [{"here": "loss 1.0", "float32": "loss 3.0"}]
