"""What a refusal accepts, refuses and got is read as sets, and held against cards."""

from __future__ import annotations

from time import process_time

import pytest
import reading_scores

from troubleshoot import diagnose
from troubleshoot.engine.evidence import collect_facts, environment_of
from troubleshoot.reading.environment.machine import Accelerator, Environment
from troubleshoot.reading.reader import read_report
from troubleshoot.reading.requirements import Arch, Requirement, fits, holds, read_requirements


def told(text: str) -> str:
    """Accepted, refused and met in one line; empty where nothing is required."""
    found = read_requirements(text.split("\n"))
    if not found:
        return ""
    one = found[0]
    sides = ((one.accepts_arch, one.accepts_dtypes), (one.refuses_arch, one.refuses_dtypes), (one.got_arch, one.got_dtypes))
    return " | ".join(", ".join([*map(str, archs), *dtypes]) for archs, dtypes in sides)


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        ("requires compute capability >= 8.9", "sm_89 or newer |  | "),
        ("AssertionError: Only GPUs with major >= 9 are supported", "sm_90 or newer |  | "),
        ("only sm_80, sm_86 and sm_89 are supported", "sm_80, sm_86, sm_89 |  | "),
        ("FP8 attention is not supported on gfx1030", " | gfx1030 | "),
        ("TypeError: dtype must be one of (torch.float32, torch.float64), got torch.int32", "float32, float64 |  | int32"),
        ("This kernel only supports Hopper GPUs (sm90a).", "sm_90 |  | "),
        ("FP8 cannot be enabled on pre-Hopper hardware", "sm_90 or newer |  | "),
        ("CUDA capability sm_120 is not compatible with the current PyTorch installation.", " | sm_120 | "),
        ("It only supports architectures in the range [sm80, sm90]. Attempting to run on a sm 7.5 gpu.", "sm_80 to sm_90 |  | sm_75"),
        ("Minimum required compute capability is 8.0, found 7.5", "sm_80 or newer |  | sm_75"),
        ("该显卡算力为 7.5，FlashAttention2 需要 8.0 及以上", "sm_80 or newer |  | sm_75"),
        ("此算子仅支持 float16 和 bfloat16，传入的是 float32", "float16, bfloat16 |  | float32"),
        ("V100 不支持 bfloat16", " | bfloat16 | "),
        ("weights must be int8 but are float16", "int8 |  | float16"),
        ("mat1 and mat2 must have the same dtype, but got Half and BFloat16", "same |  | float16, bfloat16"),
        ("NVFP4 requires Blackwell (SM100 or SM120), your GPU is SM89", "sm_100, sm_120 |  | sm_89"),
        ("CUTLASS 3.x kernels need sm_90a; device is sm_120", "sm_90a |  | sm_120"),
        ("cards older than sm_75 are no longer supported", "sm_75 or newer |  | "),
    ],
)
def test_a_refusal_is_read_whatever_its_words(text: str, sets: str) -> None:
    assert told(text) == sets


@pytest.mark.parametrize(
    "text",
    [
        'export TORCH_CUDA_ARCH_LIST="8.0;8.6;9.0"',
        "Device 0: NVIDIA A100-SXM4-80GB, compute capability 8.0",
        "FP8 runs on Hopper, Ada, and Blackwell GPUs",
        "Only bf16 fails, in fp32 all is well.",
        "My card supports bf16.",
        "nn.MultiheadAttention does not work after .half()",
        "I expected float16 to be faster.",
        "The installation needs CUDA 12.8 and torch 2.7",
        "TypeError: unsupported operand type(s) for -: 'float' and 'NoneType'",
        "Please use torch.float16 instead.",
    ],
)
def test_what_requires_nothing_is_no_requirement(text: str) -> None:
    assert told(text) == ""


def test_lines_beside_it_tell_what_was_there() -> None:
    lines = ["    Found GPU0 NVIDIA GB10 which is of cuda capability 12.1.",
             "    Minimum and Maximum cuda capability supported by this version of PyTorch is", "    (8.0) - (12.0)"]  # fmt: skip
    (one,) = read_requirements(lines)
    assert (one.line, one.accepts_arch, one.got_arch) == (2, (Arch(min="sm_80", max="sm_120"),), (Arch(exact="sm_121"),))
    assert one.got_device == "NVIDIA GB10"


def card(capability: tuple[int, int] | None = None, name: str = "card", kind: str = "cuda", architecture: str | None = None) -> Accelerator:
    return Accelerator(name=name, kind=kind, source="report", capability=capability, architecture=architecture)


@pytest.mark.parametrize(
    ("arch", "capability", "answer"),
    [
        (Arch(min="sm_80"), (8, 6), True), (Arch(min="sm_80"), (7, 5), False), (Arch(min="sm_80"), (12, 0), True),
        # Newer is not always more: Hopper's own kernels run nowhere else, and a list holds what is in it.
        (Arch(exact="sm_90a"), (12, 0), False), (Arch(min="sm_90a"), (12, 0), False), (Arch(exact="sm_90a"), (9, 0), True),
        (Arch(exact="sm_80"), (8, 6), False), (Arch(exact="sm_8x"), (8, 9), True), (Arch(exact="sm_100f"), (10, 3), True),
        (Arch(min="sm_80", max="sm_120"), (12, 1), False), (Arch(max="sm_75"), (7, 0), True), (Arch(below="sm_100"), (10, 0), False),
        (Arch(exact="sm_80"), None, None),
    ],
)  # fmt: skip
def test_a_card_is_held_against_an_architecture(arch: Arch, capability: tuple[int, int] | None, answer: bool | None) -> None:
    assert holds(arch, card(capability)) is answer


def test_generations_and_targets_of_amd_are_held_too() -> None:
    assert holds(Arch(exact="ampere"), card((8, 6), architecture="ampere")) is True
    # The data centre's Blackwell and the consumer's share the name alone.
    assert holds(Arch(exact="blackwell"), card((12, 0), architecture="blackwell")) is None
    assert holds(Arch(exact="gfx90a"), card(kind="rocm", architecture="cdna2")) is True
    assert holds(Arch(exact="gfx90a"), card(kind="rocm", architecture="rdna3")) is False
    assert holds(Arch(exact="gfx1100"), card(kind="rocm", architecture="rdna3")) is None
    assert holds(Arch(exact="gfx90a"), card((8, 0))) is False
    assert holds(Arch(min="MI300"), card(name="AMD Instinct MI250X", kind="rocm")) is False
    assert holds(Arch(min="MI300"), card(name="AMD Instinct MI325X", kind="rocm")) is True


def test_a_requirement_fits_or_not() -> None:
    known = Environment(accelerators=(card((7, 5)),), source="report")
    either = Requirement(1, "", accepts_arch=(Arch(min="sm_80"), Arch(exact="sm_75")), accepts_dtypes=("float16",))
    assert fits(either, known) is True
    assert fits(either, known, "bfloat16") is False
    assert fits(either, Environment(source="report")) is None
    assert fits(Requirement(1, "", refuses_arch=(Arch(exact="sm_75"),)), known) is False
    assert fits(Requirement(1, "", refuses_arch=(Arch(exact="sm_70"),)), known) is None
    assert fits(Requirement(1, "", accepts_dtypes=("same",)), known, "float16") is None


@pytest.mark.parametrize("half", reading_scores.HALVES)
def test_requirements_are_read_as_well_as_measured(half: str) -> None:
    score = reading_scores.score_requirements(half)
    precision, recall = {"develop": (0.97, 0.94), "aside": (0.8, 0.64)}[half]
    assert score.precision >= precision, score
    assert score.recall >= recall, score


REFUSAL = (
    "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. "
    "Your Tesla T4 GPU has compute capability 7.5."
)


def test_conditions_can_ask_for_them() -> None:
    report = read_report(REFUSAL + "\nposition 515 comes back as 516 with bfloat16\n")
    facts = collect_facts(report, environment_of(report))
    assert not {"reckoned", "requirements"} & set(vars(report)), "nothing is read before a condition asks"
    values = {name: [fact.value for fact in facts.get(name)] for name in ("requires.capability_min", "got.arch", "got.dtype", "got.device")}
    assert values == {
        "requires.capability_min": ["8.0"], "got.arch": ["sm_75"], "got.dtype": ["bfloat16"], "got.device": ["Tesla T4"],
    }  # fmt: skip
    assert [(fact.value, fact.line) for fact in facts.get("numbers.explained_by")] == [("bfloat16", 2)]
    assert facts.get("accepts.arch")[0].value == "sm_80 or newer"
    assert facts.get("accepts.dtype") == ()


def test_an_answer_outranks_them() -> None:
    report = read_report(REFUSAL)
    assert collect_facts(report, environment_of(report), {"got.dtype": "float16"}).get("got.dtype")[0].value == "float16"


def test_the_json_has_them() -> None:
    (one,) = diagnose(REFUSAL, environment="report").to_dict()["requirements"]
    assert one["accepts"] == {"arch": ["sm_80 or newer"], "dtypes": []}
    assert (one["got"], one["line"]) == ({"arch": ["sm_75"], "dtypes": ["bfloat16"], "device": "Tesla T4"}, 1)


def test_a_long_hostile_text_costs_no_more_than_its_length() -> None:
    pieces = ("only fp16 sm_80 or ", "requires compute capability 8.0 but ", "must be Half, Float, ", "not supported on gfx90a ")
    times = []
    for size in (50_000, 200_000):
        text = "\n".join(piece * (3000 // len(piece)) for piece in pieces)
        lines = (text * (size // len(text) + 1))[:size].split("\n")
        start = process_time()
        read_requirements(lines)
        times.append(process_time() - start)
    assert times[1] < max(0.5, 8 * times[0]), times
