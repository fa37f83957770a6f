"""What a fix costs the user's model, and what is not told: the time of a toy."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from troubleshoot import diagnose
from troubleshoot.cli import main
from troubleshoot.engine.fixes.price import Price, price
from troubleshoot.lab.verify import timing
from troubleshoot.lab.verify.outcomes import Before, Case, FixOutcome, Job, Program, RunResult, Timing, Verification
from troubleshoot.lab.verify.pricing import NO_GPU, Prices, count_by_config, prices_of, target, timed
from troubleshoot.lab.verify.runner import verify, verify_diagnosis
from troubleshoot.lab.verify.runs import run_job
from troubleshoot.lab.verify.signals import stoppable
from troubleshoot.lab.verify.verify_page import render_html
from troubleshoot.lab.verify.verify_text import memory_text, render_verification

BLIP2 = "Salesforce/blip2-opt-2.7b"


def blip2(bytes_each: float, memory: float | None) -> Price:
    """Return the price of a model that is in the table."""
    found = price([BLIP2], bytes_each, memory)
    assert found is not None
    return found


@pytest.mark.parametrize(("bytes_each", "memory", "fits"), [(2.0, 16.0, True), (4.0, 16.0, None), (4.0, 12.0, False), (4.0, None, None)])
def test_weights_are_held_against_the_memory(bytes_each: float, memory: float | None, fits: bool | None) -> None:
    """More than the memory: no. Nearly all of it: nothing is left for activations. Unknown memory: unknown."""
    assert blip2(bytes_each, memory).fits is fits


def test_the_price_is_told_in_words() -> None:
    """Bytes per parameter times the model's parameters; "about" where their number is from the name, or the bytes are the case's share."""
    assert memory_text(blip2(2.0, 16.0)) == ", 7.0 GiB of weights for blip2-opt-2.7b, which fits into the GPU's 16 GiB"
    assert memory_text(blip2(4.0, 12.0)).endswith("which does not fit into the GPU's 12 GiB")
    assert memory_text(blip2(4.0, None)) == ", 14.0 GiB of weights for blip2-opt-2.7b"
    assert "about 7.7 GiB" in memory_text(blip2(2.2, None))
    named = price(["meta-llama/Llama-2-7b-hf"], 2.0, None)
    assert named is not None
    assert "about 13.0 GiB" in memory_text(named)
    assert memory_text(None) == ""


def test_the_first_model_that_can_be_counted_counts() -> None:
    """A class name has no number; the table comes before the name."""
    with stoppable() as stop:
        found = target(["Blip2Model", BLIP2], 16.0, stop)
        assert found is not None
        assert (found.model, found.basis, found.parameters) == (BLIP2, "table", 3.745e9)
        assert target(["Blip2Model"], 16.0, stop) is None
        named = target(["meta-llama/Llama-2-7b-hf"], None, stop)
        assert named is not None
        assert (named.basis, named.parameters) == ("name", 7e9)


def test_a_model_that_is_not_here_is_not_counted() -> None:
    """Nothing is downloaded."""
    with stoppable() as stop:
        assert count_by_config("no-such/model", stop) is None


@pytest.mark.slow
@pytest.mark.torch
def test_a_configuration_that_cannot_be_read_is_not_counted(tmp_path: Path) -> None:
    """The child fails, the verification goes on."""
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    with stoppable() as stop:
        assert count_by_config(str(tmp_path), stop) is None


@pytest.mark.slow
@pytest.mark.torch
def test_a_configuration_is_counted_on_the_meta_device(tmp_path: Path) -> None:
    """A model of 26 billion parameters takes no memory to count, and tied weights count once."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    small = transformers.T5Config(vocab_size=64, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2)
    small.architectures = ["T5ForConditionalGeneration"]
    small.save_pretrained(tmp_path / "small")
    large = transformers.LlamaConfig(hidden_size=8192, intermediate_size=28672, num_hidden_layers=30, num_attention_heads=64)
    large.save_pretrained(tmp_path / "large")
    built = transformers.T5ForConditionalGeneration(small)
    with stoppable() as stop:
        assert count_by_config(str(tmp_path / "small"), stop) == sum(one.numel() for one in built.parameters())
        assert (count_by_config(str(tmp_path / "large"), stop) or 0) > 2.6e10
        found = target([str(tmp_path / "small")], None, stop)
        assert found is not None
        assert found.basis == "config"


def test_a_diagnosis_names_what_is_priced() -> None:
    """The models and the GPU of the report."""
    diagnosis = diagnose(f"I run {BLIP2} on a Tesla T4.\nRuntimeError: expected scalar type Float but found Half\n", environment="report")
    prices = prices_of(diagnosis)
    assert BLIP2 in prices.models
    assert prices.memory == 16
    assert not prices.timing


@pytest.mark.slow
@pytest.mark.torch
def test_prices_and_the_refused_timing_are_in_every_output() -> None:
    """On a CPU no time is measured, which is said, and the verdict stays."""
    plain = verify("torch/linear-dtype", device="cpu", fixes=("use-fp32",))
    assert "memory" not in json.dumps(plain.to_dict())
    assert "timing" not in plain.to_dict()
    priced = verify("torch/linear-dtype", device="cpu", fixes=("use-fp32",), prices=Prices((BLIP2,), 12.0, timing=True))
    assert (priced.verdict, priced.exit_code) == (plain.verdict, plain.exit_code)
    data = priced.to_dict()
    assert data["timing"] == {"measured": False, "why": "not measured, needs a GPU"}
    assert data["fixes"][0]["memory"] == {
        "model": BLIP2, "parameters": 3.745e9, "basis": "table", "weights_gib": 13.95, "gpu_memory_gib": 12.0, "fits": False,
    }  # fmt: skip
    text = " ".join(render_verification(priced).split())
    assert "weights: 4 bytes per parameter, 14.0 GiB of weights for blip2-opt-2.7b, which does not fit into the GPU's 12 GiB" in text
    assert f"timing: {NO_GPU}" in text
    page = render_html([priced])
    assert "does not fit into the GPU&#x27;s 12 GiB" in page
    assert NO_GPU in page


@pytest.mark.torch
def test_a_verified_diagnosis_is_priced_for_its_model_and_gpu() -> None:
    """`diagnose --verify` asks for nothing that the report says."""
    text = f"I run {BLIP2} on a Tesla T4.\nRuntimeError: mat1 and mat2 must have the same dtype, but got Float and Half\n"
    diagnosis = diagnose(text, environment="report")
    result = verify_diagnosis(diagnosis, device="cpu", fixes=("use-fp32",))
    assert result is not None
    (fix,) = result.fixes
    assert fix.price is not None
    assert (fix.price.model, fix.price.memory) == (BLIP2, 16.0)


@pytest.mark.torch
def test_the_command_prices_and_refuses(capsys: pytest.CaptureFixture[str]) -> None:
    """The exit status is that of the verification."""
    options = ["--device", "cpu", "--fix", "use-fp32", "--model", BLIP2, "--gpu", "V100-16GB", "--timing"]
    assert main(["verify", "torch/linear-dtype", *options]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "14.0 GiB of weights for blip2-opt-2.7b, which leaves little room in the GPU's 16 GiB" in printed
    assert "timing: not measured, needs a GPU" in printed


@pytest.mark.parametrize(("gpu", "said"), [("sm_86", "its memory is not known"), ("V10", "no GPU is known as")])
def test_a_gpu_without_a_known_memory_is_refused(gpu: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is run."""
    assert main(["verify", "torch/linear-dtype", "--gpu", gpu]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.torch
def test_a_layer_is_timed_per_dtype() -> None:
    """What runs on a GPU, run at a small size on the CPU: seconds, or why there are none. In a process of its own, as it always is."""
    code = (
        "import json, torch; from troubleshoot.lab.verify import timing; "
        "print(json.dumps(timing.measure(torch, 'cpu', ('float32', 'bfloat16', 'int32'), hidden=32, tokens=8, seconds=0.01)))"
    )
    seen = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert list(seen) == ["float32", "bfloat16", "int32"]
    assert all(isinstance(seen[name], float) and 0 < seen[name] < 60 for name in ("float32", "bfloat16"))  # type: ignore[operator]
    assert isinstance(seen["int32"], str)


def test_the_size_that_is_timed_is_a_real_one() -> None:
    """Below it, launching kernels is all that is measured."""
    assert timing.HIDDEN >= 1024
    assert timing.TOKENS >= 1000


def verification(**more: Any) -> Verification:
    """Return one of a GPU."""
    fix = FixOutcome("use-fp32", "use-fp32", "works", "works", "right", 0.0, 4.0, seconds=0.017)
    return Verification("a/b", "one", "distilled", "cuda", {}, Before("reproduced"), (fix,), "verified", **more)


def test_times_are_shown_with_the_size_that_they_are_of() -> None:
    """And a dtype that the device lacks with its error."""
    shown = verification(timing=Timing({"float32": 0.0021, "float16": 0.00052, "bfloat16": "not implemented"}, 2048, 2048))
    text = render_verification(shown)
    assert "timing: forward pass of one transformer layer, 2048 features, 2048 tokens" in text
    assert "float32: 2.1 ms" in text
    assert "float16: 0.52 ms" in text
    assert "bfloat16: not implemented" in text
    assert shown.to_dict()["timing"]["seconds"] == {"float32": 0.0021, "float16": 0.00052, "bfloat16": "not implemented"}


def test_the_time_of_a_toy_is_never_shown() -> None:
    """How long a case took says nothing of the user's model."""
    shown = verification()
    assert "0.017" not in render_verification(shown) + render_html([shown]) + json.dumps(shown.to_dict())


def test_a_timing_that_failed_says_why() -> None:
    """It is no reason to lose the verification."""
    assert timed(RunResult("out-of-memory", "CUDA out of memory")).why == "not measured: CUDA out of memory"


@pytest.mark.slow
@pytest.mark.torch
def test_the_child_times_the_real_size(tmp_path: Path) -> None:
    """The way that a GPU takes, at its size, in one dtype that a CPU computes in."""
    job = Job("timing", "timing", "cpu", "float32", str(tmp_path), "", dtypes=("float32",))
    case = Case("timing", "Timing", (), lambda setting: Program(None, {}))
    with stoppable() as stop:
        from troubleshoot.lab.verify.isolated import this_interpreter

        result = run_job(job, case, this_interpreter(), stop, timeout=300)
    told = timed(result)
    assert told.why == ""
    assert (told.hidden, told.tokens) == (timing.HIDDEN, timing.TOKENS)
    assert isinstance(told.seconds["float32"], float)
