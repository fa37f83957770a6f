"""Conditions: true, false or unknown, and what was seen."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from troubleshoot.engine.evidence import FailureFacts, collect_facts
from troubleshoot.engine.matching.conditions import Context, Programs, evaluate, path_contains
from troubleshoot.knowledge.schema import Condition
from troubleshoot.reading import read_report
from troubleshoot.reading.environment.machine import Accelerator, Environment, Package

WHOLE = """\
Traceback (most recent call last):
  File "train.py", line 3, in <module>
    model(x)
  File "/usr/lib/python3.11/site-packages/peft/tuners/lora/layer.py", line 557, in forward
    result = result + lora_B(lora_A(dropout(x))) * scaling
  File "/usr/lib/python3.11/site-packages/torch/nn/modules/linear.py", line 125, in forward
    return F.linear(input, self.weight, self.bias)
RuntimeError: mat1 and mat2 must have the same dtype, but got Float and Half
"""
CUT = WHOLE.split("    model(x)\n")[1]


def context(text: str = WHOLE, environment: Environment | None = None, **bindings: str) -> Context:
    """Return a context for a report's first failure."""
    report = read_report(text)
    facts = collect_facts(report, environment or Environment())
    failure = FailureFacts(report.failures[0]) if report.failures else None
    return Context(facts, Programs(), failure, {name.replace("__", "."): value for name, value in bindings.items()})


def holds(condition: dict[str, object], where: Context) -> bool | None:
    """Return the state of a condition written as in YAML."""
    return evaluate(msgspec.convert(condition, Condition), where).state


def test_a_frame_that_is_there_is_true_with_its_line() -> None:
    """Evidence quotes the report."""
    outcome = evaluate(msgspec.convert({"frame": "peft/tuners/"}, Condition), context())
    assert (outcome.state, outcome.line) == (True, 4)
    assert "layer.py" in outcome.text


def test_a_missing_frame_is_false_in_a_whole_traceback_and_unknown_in_a_cut_one() -> None:
    """What was cut off cannot refute."""
    assert holds({"frame": "bitsandbytes/"}, context(WHOLE)) is False
    assert holds({"frame": "bitsandbytes/"}, context(CUT)) is None


def test_function_and_code_belong_to_the_same_frame() -> None:
    """Blanks in code do not count."""
    assert holds({"frame": "peft/", "function": "forward", "code": "lora_B( lora_A("}, context()) is True
    assert holds({"frame": "train.py", "code": "lora_A("}, context()) is False


@pytest.mark.parametrize(
    ("path", "part", "found"),
    [
        ("/x/peft/a.py", "peft/", True),
        ("/x/mypeft/a.py", "peft/", False),
        ("a/rope_utils.py", "rope", True),
        ("peft/a.py", "peft/a.py", True),
    ],
)
def test_a_part_with_a_slash_begins_at_a_directory(path: str, part: str, found: bool) -> None:
    """``peft/`` is not in ``mypeft/``."""
    assert path_contains(path, part) is found


def test_the_operation_and_the_library_are_facts() -> None:
    """They follow from the innermost frames."""
    assert holds({"fact": "op", "is": "linear"}, context()) is True
    assert holds({"fact": "library", "is": ["peft", "diffusers"]}, context()) is True
    assert holds({"fact": "library", "is": "diffusers"}, context()) is False


def test_bindings_are_facts_of_this_candidate_alone() -> None:
    """What the message's holes caught."""
    assert holds({"fact": "dtype.found", "is": ["float16", "bfloat16"]}, context(dtype__found="float16")) is True
    assert holds({"fact": "dtype.found", "is": "float16"}, context()) is None


def test_packages_are_present_absent_or_unknown() -> None:
    """An open list leaves what it does not name unknown; a closed one makes it absent."""
    known = (Package("torch", "2.3.0", "report"), Package("peft", "", "inferred"))
    open_, closed = context(environment=Environment(known)), context(environment=Environment(known, closed_packages=True))
    assert holds({"fact": "package.apex", "is": "present"}, open_) is None
    assert holds({"fact": "package.apex", "is": "present"}, closed) is False
    assert holds({"fact": "package.apex", "is": "absent"}, closed) is True
    assert holds({"fact": "package.peft", "is": "present"}, open_) is True
    assert holds({"fact": "package.torch", "in": ">=2.0,<2.4"}, open_) is True
    assert holds({"fact": "package.torch", "in": ">=2.4"}, open_) is False
    assert holds({"fact": "package.peft", "in": ">=0.5"}, open_) is None


def test_support_follows_from_the_gpu() -> None:
    """bfloat16 is emulated on a T4 and native on an A100; without a GPU nothing is known."""
    t4 = Environment(accelerators=(Accelerator("Tesla T4", "cuda", "report", (7, 5), "turing"),))
    a100 = Environment(accelerators=(Accelerator("A100", "cuda", "report", (8, 0), "ampere"),))
    assert holds({"fact": "support.bfloat16", "is": "native"}, context(environment=t4)) is False
    assert holds({"fact": "support.bfloat16", "is": "native"}, context(environment=a100)) is True
    assert holds({"fact": "support.bfloat16", "is": "native"}, context()) is None
    assert holds({"fact": "gpu.capability", "at-least": 8.0}, context(environment=a100)) is True
    assert holds({"fact": "gpu.capability", "below": 8.0}, context(environment=a100)) is False


def test_of_several_gpus_one_that_fits_is_enough() -> None:
    """What works on one of them and fails on the other is told of both."""
    a100, v100 = Accelerator("A100", "cuda", "report", (8, 0), "ampere"), Accelerator("V100", "cuda", "report", (7, 0), "volta")
    both = context(environment=Environment(accelerators=(a100, v100)))
    older, newer = {"fact": "gpu.capability", "below": 8.0}, {"fact": "gpu.capability", "at-least": 8.0}
    assert (holds(older, both), holds(newer, both)) == (True, True)
    assert holds({"all": [newer, {"none": [older]}]}, both) is False
    assert holds({"fact": "gpu.capability", "at-least": 9.0}, both) is False



def test_words_that_are_not_said_are_unknown() -> None:
    """Silence is no evidence."""
    assert evaluate(msgspec.convert({"text": "lora"}, Condition), context()).state is None


def test_combinations_in_three_values() -> None:
    """any, all and none, as Kleene's logic has them."""
    yes, no, open_ = {"fact": "op", "is": "linear"}, {"fact": "op", "is": "conv2d"}, {"fact": "attention", "is": "eager"}
    where = context()
    assert [holds({"any": list(pair)}, where) for pair in ((yes, open_), (no, open_), (no, no))] == [True, None, False]
    assert [holds({"all": list(pair)}, where) for pair in ((yes, open_), (no, open_), (yes, yes))] == [None, False, True]
    assert [holds({"none": list(pair)}, where) for pair in ((yes, open_), (no, open_), (no, no))] == [False, None, True]


@given(st.lists(st.sampled_from(["yes", "no", "open"]), min_size=1, max_size=5))
def test_none_is_the_negation_of_any(names: list[str]) -> None:
    """For every mixture of states."""
    parts = {"yes": {"fact": "op", "is": "linear"}, "no": {"fact": "op", "is": "conv2d"}, "open": {"fact": "attention", "is": "eager"}}
    members = [parts[name] for name in names]
    any_, none = holds({"any": members}, context()), holds({"none": members}, context())
    assert none is (None if any_ is None else not any_)
