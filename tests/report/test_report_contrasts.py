"""What users already tried: contrasts read from prose, lists and tables, in both languages."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from troubleshoot import diagnose
from troubleshoot.reading import read_report
from troubleshoot.reading.contrasts import find_contrasts

sys.path.insert(0, str(Path(__file__).parents[1]))

from contrasts import fits, judged, labelled, measure


def read(text: str) -> set[str]:
    """Return experiment=outcome of every contrast."""
    return {f"{one.experiment}={one.outcome}" for one in find_contrasts(read_report(text))}


@pytest.mark.parametrize(("part", "precision", "recall"), [("develop", 0.95, 0.85), ("aside", 0.74, 0.43)])
def test_figures_hold(part: str, precision: float, recall: float) -> None:
    """Floors somewhat below the measured figures, in tests/data/contrasts/README.md's way of counting."""
    figures = measure(part)
    assert figures["all precision"] >= precision
    assert figures["all recall"] >= recall


def test_halves_share_no_thread() -> None:
    """What is learned from one half must not help with the other."""
    threads = [{text["source"] for text in labelled(part)} for part in ("develop", "aside")]
    assert threads[0].isdisjoint(threads[1])


def test_measure_counts_as_the_readme_says() -> None:
    """Accepted alternatives are right, optional ones neither right nor wrong, anything else is wrong."""
    label = {"experiment": "no-autocast", "outcome": "gone", "accept": ["float32"]}
    assert fits(("float32", "gone"), label)
    assert not fits(("float32", "same"), label)
    text = {"text": "fp16 is NaN, fp32 works.", "contrasts": [label]}
    assert judged(text) == (1, [], [])
    assert judged({**text, "contrasts": []}) == (0, [("float32", "gone")], [])
    assert judged({**text, "contrasts": [], "optional": [label]}) == (0, [], [])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("fp16: NaN, bf16: NaN, fp32: OK", {"bfloat16=same", "float32=gone"}),
        ("Even with torch.compile disabled I see the same behavior.", {"no-compile=same"}),
        ("The error only occurs when using multiple GPUs.", {"one-device=gone"}),
        ("Neither torch 2.1 nor 2.2 changes anything.", {"other-release=same"}),
        ("It used to work, after the update it crashes.", {"other-release=gone"}),
        ("With flash attention the loss is nan; without it, fine.", {"other-attention=gone"}),
        ("TF32 on or off, same mismatch.", {"no-tf32=same"}),
        ("Not just the T4, the A10G too.", {"other-gpu=same"}),
        ("fp16 overflows, bf16 doesn't.", {"bfloat16=gone"}),
        ("the loss is nan unless I train in fp32", {"float32=gone"}),
        ("bf16 crashes. With fp16 it doesn't crash, but the loss is NaN.", {"float16=other"}),
        ("Black images. With float32 I get CUDA out of memory instead.", {"float32=other"}),
        ("The CPU gives a whole sentence, MPS gives exclamation marks.", {"cpu=gone"}),
        ("pipe.to(dtype=torch.float32)  # float16 results in black images", {"float32=gone"}),
        ("fp16 全是 nan，改成 fp32 就正常了。", {"float32=gone"}),
        ("不管是 bf16 还是 fp32，结果都一样是 nan。", {"bfloat16=same", "float32=same"}),
        ("只有多卡才会报错。", {"one-device=gone"}),
        ("把 flash attention 换成 eager 就不出 nan 了。", {"other-attention=gone"}),
        ("以前的版本没有问题，更新之后就开始报错。", {"other-release=gone"}),
    ],
)
def test_constructions(text: str, wanted: set[str]) -> None:
    """Negation, "even with", "only", "neither", before and after, ellipsis, comparison, comments in code."""
    assert read(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "Should I switch to bf16?",
        "I will try fp32 tomorrow and report back.",
        "Maybe it works in fp32.",
        "You can try setting --no-half, then it works.",
        "Someone on Discord said fp32 fixes it.",
        "If you use fp32 it works.",
        "> fp32 resolved it here\nThank you!",
        "- [ ] I have tried disabling custom nodes and the issue persists",
        "I'm using bf16 on an A100 and get NaN loss.",
        "torch 2.4.0, transformers 4.44.0, RTX 3090. The loss is nan.",
        "The checkpoint loads on 4 T4, then inference fails.",
        "是不是 fp16 溢出了？",
        "有人说换成 fp32 就行。",
        "打算换 bf16 试试。",
        "一开始就报错，用的是 8bit 量化。",
    ],
)
def test_no_outcomes(text: str) -> None:
    """Plans, questions, guesses, advice, hearsay and the user's own settings are no experiments."""
    assert read(text) == set()


def test_tables_and_lists() -> None:
    """A cell is a run with the settings of its row and column; what stands below "tried so far:" was tried."""
    table = "| | float16 | float32 |\n|---|---|---|\n| cuda | ok | ok |\n| mps | all embeddings equal | ok |"
    assert read(table) == {"float32=gone", "other-gpu=gone"}
    tried = "NaN loss.\n\nTried so far:\n- [x] bf16 -> still NaN\n- [x] sdpa instead of flash: NaN\n- [x] fp32: works"
    assert read(tried) == {"bfloat16=same", "other-attention=same", "float32=gone"}


def test_line_and_value() -> None:
    """Each contrast has its line in the text as it was pasted, and what was tried as it was written."""
    text = "Garbled output on my V100.\n\nDowngrading transformers to 4.49.0 fixed it.\nOn an RTX 3090 it is fine.\n"
    found = find_contrasts(read_report(text))
    assert [(one.experiment, one.outcome, one.value, one.line) for one in found] == [
        ("other-release", "gone", "transformers 4.49.0", 3),
        ("other-gpu", "gone", "RTX 3090", 4),
    ]


def test_tracebacks_tell_of_no_experiment() -> None:
    """Frames, messages and log lines name dtypes and devices without anybody having tried them."""
    text = (
        'Traceback (most recent call last):\n  File "run.py", line 3, in <module>\n    model(x)  # fp32 works\n'
        "RuntimeError: expected scalar type Half but found Float\n"
        "2024-01-01 WARNING bf16 works, fp16 is broken\n"
    )
    assert read(text) == set()


def test_a_diagnosis_tells_them() -> None:
    """The JSON of a diagnosis has the contrasts, in a field of their own."""
    told = diagnose("Images are black in fp16.\nIn bf16 they are fine.").to_dict()["contrasts"]
    assert told == [{"experiment": "bfloat16", "outcome": "gone", "value": "", "line": 2}]


def test_work_is_bounded() -> None:
    """Of a very long text the beginning is read: what comes behind forty thousand characters is not."""
    told = "fp16 is NaN, fp32 works.\n"
    filler = "".join(f"The weather of day {day} is what it is and nothing else is said here.\n" for day in range(1000))
    assert read(told + filler) == {"float32=gone"}
    assert read(filler + told) == set()
