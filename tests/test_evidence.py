"""Facts: what a report says about the environment, and what it only mentions."""

from __future__ import annotations

import pytest

from troubleshoot import diagnose
from troubleshoot.engine.evidence import FailureFacts, collect_facts, environment_of
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


@pytest.mark.parametrize(
    "text",
    [
        "V100 32G", "V100(32G)", "V100 (32 GB)", "V100, 32G", "32G V100", "GPU: V100*4, 32G", "V100 with 32GB of memory", "V100 显存32G",
        "V100-SXM2-32GB",
    ],
)
def test_the_memory_beside_a_card_is_its_own(text: str) -> None:
    """However it is put, where cards of that name are made with so much."""
    (card,) = environment_of(read_report(f"I train on {text}.")).accelerators
    assert card.memory == 32


@pytest.mark.parametrize("text", ["V100, 64 GB RAM", "V100 and 32 GB of RAM", "a V100, it needs 12 GB", "V100 跑 10 步"])
def test_another_memory_is_not_the_cards(text: str) -> None:
    """The host's, or what no such card has."""
    (card,) = environment_of(read_report(f"I train on {text}.")).accelerators
    assert card.memory is None


def test_folders_of_the_reporter_are_no_mentions() -> None:
    """What somebody calls his folders decides no cause and names no model."""
    frames = (
        'Traceback (most recent call last):\n  File "/home/me/{}/train.py", line 3, in <module>\n    out = net(x)\n'
        '  File "/opt/conda/lib/python3.10/site-packages/torch/nn/modules/linear.py", line 114, in forward\n'
        "    return F.linear(input, self.weight, self.bias)\n"
        "RuntimeError: mat1 and mat2 must have the same dtype, but got Float and Half\n"
    )
    answers = set()
    for folder in ("work", "controlnet", "projects/ControlNet", "gptq/llama", "pulid"):
        found = diagnose(f"$ python /home/me/{folder}/train.py\n" + frames.format(folder), environment="report")
        assert found.first is not None
        answers.add((found.first.issue, found.first.cause, found.first.confidence, *(fix.id for fix in found.first.fixes)))
        assert [one for one in found.report.mentions if one.kind in ("model", "quantization")] == []
    assert len(answers) == 1


def test_a_folder_within_the_program_still_tells() -> None:
    """Below the folder that all files share, a name says what takes part; so does the folder of a plug-in."""
    frame = '  File "/home/me/controlnet/{}", line 3, in run\n    out = net(x)\n'
    text = "Traceback (most recent call last):\n" + frame.format("train.py") + frame.format("controlnet/model.py")
    own = FailureFacts(read_report(text + "RuntimeError: x\n").failures[0])
    assert own.names == ("train.py", "controlnet/model.py")
    plugin = "/ui/extensions/sd-webui-controlnet/scripts/hook.py"
    report = read_report(f'Traceback (most recent call last):\n  File "{plugin}", line 3, in run\n    f()\nRuntimeError: x\n')
    alone = FailureFacts(report.failures[0])
    assert alone.names == ("extensions/sd-webui-controlnet/scripts/hook.py",)
