"""Numbers of a report are held against the dtypes' arithmetic: which dtype explains them, and which cannot."""

from __future__ import annotations

from time import process_time

import pytest
import reading_scores

from troubleshoot import diagnose
from troubleshoot.basics.arithmetic import FORMATS, nearest, spacing
from troubleshoot.reading.magnitudes import reckon
from troubleshoot.reading.quantities import dtypes_in, numbers_in


def told(text: str) -> set[str]:
    return {f"{one.verdict}:{one.of}" for one in reckon(text.split("\n"))}


@pytest.mark.parametrize(
    ("dtype", "value", "kept"),
    [
        ("bfloat16", 515.0, 516.0), ("float16", 65519.0, 65504.0), ("float16", 65520.0, float("inf")), ("float16", 2e-8, 0.0),
        ("float8_e4m3fn", 0.3, 0.3125), ("float8_e4m3fn", 464.0, 448.0), ("float8_e4m3fn", 465.0, float("inf")),
        ("float32", 16777217.0, 16777216.0), ("float16", 1e-5, 1.0013580322265625e-05), ("bfloat16", -0.0, 0.0),
    ],
)  # fmt: skip
def test_casts_are_those_of_torch(dtype: str, value: float, kept: float) -> None:
    assert nearest(dtype, value) == kept


def test_formats_agree_with_torch() -> None:
    torch = pytest.importorskip("torch")
    for name, held in FORMATS.items():
        dtype = getattr(torch, name, None)
        if dtype is None or "float4" in name:
            continue
        info = torch.finfo(dtype)
        assert (held.largest, held.smallest_normal) == (info.max, info.tiny), name
        above = torch.tensor([held.smallest, 1 + spacing(name, 1.0), 1 + spacing(name, 1.0) / 4], dtype=torch.float64).to(dtype).double()
        assert above.tolist() == [held.smallest, 1 + held.epsilon, 1.0], name


@pytest.mark.parametrize(
    ("text", "verdicts"),
    [
        ("position 515 comes back as 516 with bfloat16", {"rounding:bfloat16"}),
        ("时间步 999 在 bf16 下变成 1000", {"rounding:bfloat16"}),
        ("max abs diff 0.03 on values around 50, fp16", {"rounding:float16"}),
        ("The outputs differ by 3 where the values are about 1, in bf16", {"beyond-rounding:bfloat16"}),
        ("The attention mask is filled with -1e9, which is -inf in float16", {"overflow:float16"}),
        ("eps=1e-8 is rounded to zero in half precision", {"underflow:float16"}),
        ("float16 的累加到 2048 就不再增加", {"integer-limit:float16"}),
        ("numel is 2,200,000,000, more than INT_MAX, the index arithmetic in 32-bit overflows", {"integer-limit:int32"}),
        ("70B 的模型权重要 140GB 显存", {"bytes:2"}),
        ("the saved safetensors is 2x larger: 6.4 GB instead of 3.2 GB, fp16", {"bytes:4"}),
        ("The step between float16 numbers at 4096 is 4", {"rounding:float16"}),
        ("first mismatch at position 257: expected 257, got 256", {"integer-limit:bfloat16"}),
        ("step 2047 total 2047.0\nstep 2048 total 2048.0\nstep 2049 total 2048.0", {"integer-limit:float16"}),
        (">>> torch.tensor(1e-46, dtype=torch.float64).to(torch.float32)\ntensor(0.)", {"underflow:float32"}),
        (" x: array([2.001953, 3.5], dtype=float16)\n y: array([2., 3.5])", {"rounding:float16"}),
    ],
)
def test_numbers_tell_their_dtype(text: str, verdicts: set[str]) -> None:
    assert told(text) == verdicts


@pytest.mark.parametrize(
    "text",
    [
        "python -m server --max-model-len 33000 --kv-cache-dtype fp8 --port 8000",
        "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 65536.0",
        "OPT-1.3B in float16, seq len 2048, batch size 256: 23 GB in float32",
        "The loss of step 4097 is 2.3, that of step 4096 was 2.4 (fp32)",
        "The 7B model does not fit my RTX 4090 with 24 GB",
        "It finished in 20 minutes instead of the normal 60, mixed precision fp16",
        "float16 takes my 70000 samples without overflow or nan",
        "mAP 70.7 in fp32, 65.8 in fp16",
    ],
)
def test_counted_and_chosen_numbers_tell_nothing(text: str) -> None:
    assert told(text) == set()


def test_each_fact_has_its_line_its_numbers_and_words() -> None:
    (one,) = reckon(["Loading.", "", "Expected 104.642333984375 but got 104.5. (bfloat16)"])
    assert (one.line, one.numbers) == (3, (104.642333984375, 104.5))
    assert one.text == "104.6423 became 104.5: bfloat16 has steps of 0.5 there"


def test_what_a_coarser_cast_explains_is_not_called_beyond_rounding() -> None:
    lines = ["Max absolute difference: 0.003125", " x: array([1.101562, 2.203125], dtype=float32)", " y: array([1.1, 2.2], dtype=float32)"]
    assert told("\n".join(lines)) == {"rounding:bfloat16"}


def test_numbers_are_read_as_written() -> None:
    values = [(one.value, one.unit) for one in numbers_in("2^-24, 16,777,217 and 1.5e-3 of 14.92 GB at 09:08:47 in v1.2.3, 7B, 512x160")]
    assert values == [(2.0**-24, ""), (16777217.0, ""), (0.0015, ""), (14.92, "gb"), (7.0, "b"), (512.0, "")]


def test_dtypes_are_found_in_words_and_in_identifiers() -> None:
    found = [one.dtype for one in dtypes_in("test_sum_cuda_bfloat16 半精度 fp8 e4m3 half precision, half of them, tf32 np.float32")]
    assert found == ["bfloat16", "float16", "float8_e4m3fn", "float16", "tf32", "float32"]


@pytest.mark.parametrize("half", reading_scores.HALVES)
def test_numbers_are_read_as_well_as_measured(half: str) -> None:
    score = reading_scores.score_numbers(half)
    precision, recall = {"develop": (0.97, 0.95), "aside": (0.92, 0.68)}[half]
    assert score.precision >= precision, score
    assert score.recall >= recall, score


def test_the_json_has_them() -> None:
    found = diagnose("RuntimeError: Expected 515.0 but got 516.0 (bfloat16)", environment="report").to_dict()["numbers"]
    assert [(one["verdict"], one["of"], one["line"], one["numbers"]) for one in found] == [("rounding", "bfloat16", 1, [515.0, 516.0])]


def test_a_long_hostile_text_costs_no_more_than_its_length() -> None:
    pieces = ("max diff fp16 1e-8 inf ", "65504 expected 4097 got 4096 bf16 ", "x = tensor([1., 2., ", "7b 14 gb param ", "0.1+0.1 plus ")
    times = []
    for size in (50_000, 200_000):
        text = "\n".join(piece * (3000 // len(piece)) for piece in pieces)
        lines = (text * (size // len(text) + 1))[:size].split("\n")
        start = process_time()
        reckon(lines)
        times.append(process_time() - start)
    assert times[1] < max(0.5, 8 * times[0]), times
