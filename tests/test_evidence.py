"""Facts: what a report says about the environment, and what it only mentions."""

from __future__ import annotations

import pytest

from troubleshoot.engine.evidence import collect_facts, environment_of
from troubleshoot.reading import read_report


def gpus(text: str) -> list[str]:
    """Return the names of the GPUs that a report is taken to run on."""
    return [one.name for one in environment_of(read_report(text)).accelerators]


@pytest.mark.parametrize(
    "text",
    [
        "ValueError: bf16 is only supported on A100+ GPUs",
        "RuntimeError: fp8 needs a GPU such as the H100",
        "RuntimeError: torch._scaled_mm is only supported on CUDA devices with compute capability >= 9.0 or 8.9, or ROCm MI300+",
        "RuntimeError: this kernel requires an A100 or newer",
    ],
)
def test_a_gpu_that_would_do_is_not_the_users(text: str) -> None:
    """Fixes must not be ordered for a machine that the message only wishes for."""
    assert gpus(text) == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("I run it on a Tesla T4", "T4"),
        ("GPU 0: NVIDIA A100-SXM4-80GB", "A100"),
        ("Your Tesla T4 GPU has compute capability 7.5", "T4"),
        ("2x V100 16GB", "V100"),
    ],
)
def test_a_gpu_that_is_there_is_known(text: str, name: str) -> None:
    """From prose, listings and messages."""
    assert any(name in one for one in gpus(text))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("It works on an A100 but fails on a T4.", "T4"),
        ("The same code is fine on 8xA100; on the T4 I get an error.", "T4"),
        ("在 A100 上没问题，在 T4 上报错", "T4"),
        ("I trained on an A100 and run inference on a T4.", "T4"),
        ("It runs on a T4, and the loss is nan.", "T4"),
    ],
)
def test_the_gpu_on_which_it_works_is_not_where_it_fails(text: str, name: str) -> None:
    """Where only one card is named it is that one, whatever is said of it."""
    assert [one for one in gpus(text) if name not in one] == []
    assert gpus(text)


def test_packages_in_frames_are_present_without_a_version() -> None:
    """A frame proves that the package is there."""
    text = (
        'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    x()\n'
        '  File "/usr/lib/python3.11/site-packages/apex/normalization/fused_layer_norm.py", line 1, in forward\n    y()\nRuntimeError: x\n'
    )
    package = environment_of(read_report(text)).package("apex")
    assert package is not None
    assert (package.version, package.source) == ("", "inferred")


def test_a_stated_version_outranks_a_package_seen_in_frames() -> None:
    """The frame proves presence, the statement says which."""
    text = 'apex==0.1\nTraceback (most recent call last):\n  File "/x/site-packages/apex/a.py", line 1, in f\nRuntimeError: x\n'
    assert environment_of(read_report(text)).package("apex").version == "0.1"  # type: ignore[union-attr]


def test_an_answer_replaces_what_the_report_says() -> None:
    """A stated dtype is corrected by the user."""
    report = read_report("I load it with torch_dtype=torch.float16\nRuntimeError: x")
    facts = collect_facts(report, environment_of(report), {"dtype.requested": "bfloat16"})
    assert [fact.value for fact in facts.get("dtype.requested")] == ["bfloat16"]


@pytest.mark.parametrize(
    ("text", "there"), [("It runs on a T4.", True), ("on my M2.", True), ("see l4.py", False), ("version A10.5", False)]
)
def test_a_gpu_may_end_a_sentence(text: str, there: bool) -> None:
    """A full stop is no part of a name, a point within one is."""
    assert bool(gpus(text)) is there
