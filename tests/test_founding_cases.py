"""The five founding cases: the right issue first, with the fixes in the agreed order for each GPU, in every form of the report."""

from __future__ import annotations

import pytest
from founding import ALL, BLIP2, MINICPM, OPEN_CLIP, QWEN2_VL, T5_APEX, Founding

from troubleshoot import Diagnosis, diagnose

FORMS = [
    pytest.param(case, device, whole, language, id=f"{case.issue.rpartition('/')[2]}-{device}-{'whole' if whole else 'cut'}-{language}")
    for case in ALL
    for device in case.messages
    for whole in (True, False)
    for language in ("en", "zh")
]


def answer(case: Founding, gpu: str | None = None, *, have: dict[str, str] | None = None, **form: object) -> Diagnosis:
    """Diagnose a founding report with what is said about the machine."""
    return diagnose(case.report(**form), environment="report", gpu=gpu, have=have)  # type: ignore[arg-type]


def kinds(diagnosis: Diagnosis) -> list[str]:
    """Return the kinds of the fixes that fit or may fit, in order."""
    assert diagnosis.first is not None
    return [fix.kind for fix in diagnosis.first.recommended]


def in_order(wanted: list[str], offered: list[str]) -> bool:
    """Tell whether ``wanted`` is a subsequence of ``offered``."""
    rest = iter(offered)
    return all(one in rest for one in wanted)


@pytest.mark.parametrize(("case", "device", "whole", "language"), FORMS)
def test_the_right_issue_comes_first(case: Founding, device: str, whole: bool, language: str) -> None:
    """CPU and CUDA wordings, whole and cut to the part that still names the model, English and Chinese prose."""
    diagnosis = answer(case, device=device, whole=whole, language=language)
    assert diagnosis.first is not None
    assert diagnosis.first.issue == case.issue
    assert diagnosis.verdict in ("known", "likely")
    if whole:
        assert diagnosis.verdict == "known"


@pytest.mark.parametrize(("case", "device", "whole", "language"), FORMS)
def test_without_versions_it_still_leads(case: Founding, device: str, whole: bool, language: str) -> None:
    """Most reports state no version: the entry leads, and the release is open."""
    if case is T5_APEX and not whole:
        pytest.skip("without frames and versions only the prose names apex")
    diagnosis = answer(case, device=device, whole=whole, language=language, versions=False)
    assert diagnosis.first is not None
    assert diagnosis.first.cause in {"dtype-mismatch/fp32-island", "device-mismatch/module-left-behind", "dtype-mismatch/cast-in-forward",
                                     "numerics/fp16-overflow", "dtype-mismatch/broken-fp32-guard"}  # fmt: skip


ORDERS = [
    (BLIP2, "T4", ["upgrade", "cast-module"]),
    (BLIP2, "V100-16GB", ["upgrade", "cast-module"]),
    (BLIP2, "A100", ["upgrade", "cast-module", "use-fp32"]),
    (BLIP2, "cpu", ["upgrade", "use-fp32"]),
    (BLIP2, None, ["upgrade", "cast-module"]),
    (MINICPM, "T4", ["move-to-device"]),
    (MINICPM, "A100", ["move-to-device"]),
    (MINICPM, None, ["move-to-device"]),
    (T5_APEX, "T4", ["change-backend", "cast-activations", "use-fp32", "use-bf16"]),
    (T5_APEX, "V100", ["change-backend", "cast-activations", "use-fp32", "use-bf16"]),
    (T5_APEX, "A100", ["use-bf16", "change-backend", "cast-activations", "use-fp32"]),
    (T5_APEX, None, ["change-backend", "use-bf16"]),
    (QWEN2_VL, "T4", ["change-backend", "use-fp32", "use-bf16"]),
    (QWEN2_VL, "A100", ["use-bf16", "change-backend", "use-fp32"]),
    (QWEN2_VL, "cpu", ["use-bf16", "use-fp32"]),
    (QWEN2_VL, None, ["change-backend", "use-bf16"]),
]


@pytest.mark.parametrize(("case", "gpu", "wanted"), ORDERS, ids=[f"{case.issue.rpartition('/')[2]}-{gpu}" for case, gpu, _ in ORDERS])
def test_fixes_come_in_the_agreed_order(case: Founding, gpu: str | None, wanted: list[str]) -> None:
    """The table of the order of fixes, by GPU."""
    offered = kinds(answer(case, gpu))
    assert offered[0] == wanted[0]
    assert in_order(wanted, offered), offered


@pytest.mark.parametrize(("gpu", "precision"), [("T4", "fp16"), ("V100", "fp16"), ("A100", "bf16"), ("cpu", "bf16"), (None, "bf16")])
def test_open_clip_gets_its_own_conversion_first(gpu: str | None, precision: str) -> None:
    """open_clip's own precision argument, then the LayerNorms back to float32."""
    diagnosis = answer(OPEN_CLIP, gpu)
    assert diagnosis.first is not None
    first, second = diagnosis.first.recommended[:2]
    assert f'precision="{precision}"' in (first.code or "")
    assert second.kind == "keep-module-fp32"


def test_float32_is_priced_against_the_gpu() -> None:
    """14.0 GiB of weights fit an A100 and crowd a 16 GB card."""
    large = next(fix for fix in answer(BLIP2, "A100-80GB").first.fixes if fix.kind == "use-fp32")  # type: ignore[union-attr]
    small = next(fix for fix in answer(BLIP2, "V100-16GB").first.fixes if fix.kind == "use-fp32")  # type: ignore[union-attr]
    assert large.fits is True
    assert small.fits is None
    assert "GiB" in small.why


@pytest.mark.parametrize("gpu", ["T4", "A100", "cpu", None])
@pytest.mark.parametrize(("case", "kind"), [(BLIP2, "use-bf16"), (MINICPM, "use-bf16"), (OPEN_CLIP, "use-bf16"), (QWEN2_VL, "upgrade")])
def test_popular_advice_that_does_not_help_is_never_offered(case: Founding, kind: str, gpu: str | None) -> None:
    """It appears, as what not to do, or not at all."""
    assert kind not in kinds(answer(case, gpu))


def test_the_upgrade_names_the_smallest_fixed_release() -> None:
    """``>=`` would bring another major release and its dependencies."""
    assert answer(BLIP2).first.recommended[0].command == "pip install 'transformers==4.50.3'"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("version", "leads"),
    [("4.49.0", False), ("4.50.0", True), ("4.50.1", True), ("4.50.2", True), ("4.50.3", False), ("4.51.0", False), ("4.50.1+acme3", True)],
)
def test_another_release_changes_the_answer(version: str, leads: bool) -> None:
    """Outside the affected releases the more general entry answers."""
    diagnosis = answer(BLIP2, versions=False, have={"transformers": version})
    assert (diagnosis.first.issue == BLIP2.issue) is leads  # type: ignore[union-attr]
    assert diagnosis.verdict != "unknown"


def test_apex_decides_the_t5_case() -> None:
    """Absent, it refutes; the family answers."""
    without = Founding(**{**T5_APEX.__dict__, "frames": T5_APEX.frames.split(f'  File "{"/usr/lib"}/python3.11/site-packages/apex')[0]})
    diagnosis = answer(without, versions=False, have={"apex": "absent", "transformers": "4.49.0"})
    assert diagnosis.first.issue != T5_APEX.issue  # type: ignore[union-attr]
    assert T5_APEX.issue in {issue for issue, _ in diagnosis.refuted}


def test_the_qwen2_vl_siblings_are_told_apart_by_the_release() -> None:
    """From 4.53.0 on NaN; before, finite and wrong."""
    assert answer(QWEN2_VL, versions=False, have={"transformers": "4.53.0"}).first.issue == QWEN2_VL.issue  # type: ignore[union-attr]
    assert answer(QWEN2_VL, versions=False, have={"transformers": "4.50.2"}).first.issue != QWEN2_VL.issue  # type: ignore[union-attr]


def test_torch_frames_alone_get_the_family_and_a_question() -> None:
    """Cut to torch's own frames, nothing names the model: the family answers, is no more than likely, and asks."""
    text = (
        'Traceback (most recent call last):\n  File "/usr/lib/python3.11/site-packages/torch/nn/functional.py", line 2900, in layer_norm\n'
        "    return torch.layer_norm(\nRuntimeError: expected scalar type Float but found Half\n"
    )
    diagnosis = diagnose(text, environment="report")
    assert diagnosis.verdict == "likely"
    assert diagnosis.first is not None
    assert diagnosis.first.kind == "family"
    assert diagnosis.questions
