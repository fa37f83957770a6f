"""Failures raised on the spot: ``diagnose(exc)`` names the right cause first and the module to blame, and abstains on what is none."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from live_failures import IDS, INNOCENT, LIVE, PIXELS, Live, Model, Vision  # noqa: E402

from troubleshoot import Diagnosis, diagnose  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("unhurried")]


def diagnosis_of(fail: object) -> Diagnosis:
    """Raise a failure and diagnose it where it is caught."""
    try:
        fail()  # type: ignore[operator]
    except Exception as error:
        return diagnose(error)
    pytest.fail("nothing was raised")


@pytest.mark.parametrize("case", LIVE, ids=lambda case: case.name)
def test_the_right_cause_comes_first(case: Live) -> None:
    """With the tensors in hand, the cause is decided that the message leaves open."""
    diagnosis = diagnosis_of(case.fail)
    assert diagnosis.errors == ()
    assert diagnosis.verdict in ("known", "likely")
    assert diagnosis.first is not None
    assert diagnosis.first.cause in case.causes
    if case.module is not None:
        assert diagnosis.culprit is not None
        assert diagnosis.culprit.module == case.module
        assert any(item.kind == "culprit" and item.state == "supports" for item in diagnosis.first.evidence)
    if case.code is not None:
        assert case.code in (diagnosis.first.recommended[0].code or "")


def test_there_are_thirty_of_them() -> None:
    """The list does not shrink unnoticed."""
    assert len(LIVE) >= 35
    assert len(INNOCENT) >= 10


@pytest.mark.parametrize("fail", [fail for _, fail in INNOCENT], ids=[name for name, _ in INNOCENT])
def test_other_failures_have_no_diagnosis_and_no_culprit(fail: object) -> None:
    """Shapes, keys, memory: half-precision models fail for other reasons too."""
    diagnosis = diagnosis_of(fail)
    assert diagnosis.verdict == "unknown"
    assert diagnosis.culprit is None
    assert diagnosis.errors == ()


def _island() -> dict[str, object]:
    model = Model().bfloat16()
    model.layers[1].down.float()
    return {"model": model, "inputs": IDS}


def _projection() -> dict[str, object]:
    model = Vision().bfloat16()
    model.projection.float()
    return {"model": model, "inputs": PIXELS.bfloat16()}


def _embedding() -> dict[str, object]:
    model = Model().bfloat16()
    model.embed.float()
    return {"model": model, "inputs": IDS}


def _inputs() -> dict[str, object]:
    return {"model": Vision().bfloat16(), "inputs": PIXELS}


@pytest.mark.parametrize("build", [_island, _projection, _embedding, _inputs], ids=lambda build: build.__name__)
def test_the_first_fix_is_code_that_works(build: object) -> None:
    """The line with the module's path is executed, and the call succeeds."""
    namespace = build()  # type: ignore[operator]
    program = compile("outputs = model(inputs)", "train.py", "exec")
    with pytest.raises(RuntimeError) as caught:
        exec(program, namespace)
    diagnosis = diagnose(caught.value)
    assert diagnosis.first is not None
    fix = diagnosis.first.recommended[0]
    assert fix.code is not None
    exec(fix.code, {**namespace, "torch": torch}, namespace)
    exec(program, namespace)


def test_the_culprit_is_in_the_json() -> None:
    """The contract's fields, the class under its plain name."""
    culprit = diagnosis_of(lambda: exec("model(inputs)", _projection())).to_dict()["culprit"]
    assert set(culprit) == {"module", "class", "parameter", "has", "meets", "frame", "why"}
    assert (culprit["module"], culprit["class"], culprit["parameter"]) == ("projection", "Linear", "weight")
    assert (culprit["has"], culprit["meets"]) == ("float32", "bfloat16")


def test_the_culprit_is_in_the_text() -> None:
    """A person sees it too, in both languages."""
    try:
        exec("model(inputs)", _projection())
    except RuntimeError as error:
        assert "projection" in str(diagnose(error))
        assert "projection" in str(diagnose(error, language="zh"))


def test_a_wrapped_exception_is_looked_through() -> None:
    """``raise ... from`` hides nothing: the tensors are in the frames of the first one."""

    def wrapped() -> None:
        try:
            exec("model(inputs)", _projection())
        except RuntimeError as error:
            raise ValueError("step 3 failed") from error

    diagnosis = diagnosis_of(wrapped)
    assert diagnosis.culprit is not None
    assert diagnosis.culprit.module == "projection"


def test_a_model_inside_another_object_is_reached() -> None:
    """A trainer or a pipeline holds the model: the fix says how to reach it."""

    class Trainer:
        def __init__(self) -> None:
            self.network = _projection()["model"]

        def train(self) -> None:
            self.network(PIXELS.bfloat16())  # type: ignore[operator]

    diagnosis = diagnosis_of(lambda: Trainer().train())
    assert diagnosis.first is not None
    assert diagnosis.first.recommended[0].code == "self.network.projection.to(torch.bfloat16)"


def test_autocast_is_seen_in_the_source() -> None:
    """By handler time autocast is off: the block around the failing line tells."""
    query = torch.randn(1, 2, 4, 8)

    def inside() -> None:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            torch.linalg.cholesky(torch.eye(2, dtype=torch.float16))
        assert query is not None

    try:
        inside()
    except RuntimeError as error:
        assert any(fact.name == "autocast" and fact.value == "on" for fact in diagnose(error).report.mentions)


@pytest.mark.parametrize("case", LIVE, ids=lambda case: case.name)
def test_without_positions_of_expressions(case: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.10 does not say which part of a line failed: the whole statement answers."""
    from troubleshoot.engine.live.frames import Spot

    monkeypatch.setattr(Spot, "_position", lambda spot: None)
    diagnosis = diagnosis_of(case.fail)
    assert diagnosis.first is not None
    assert diagnosis.first.cause in case.causes
    if case.module is not None:
        assert diagnosis.culprit is not None
        assert diagnosis.culprit.module == case.module


@pytest.mark.parametrize("case", [one for one in LIVE if one.module], ids=lambda case: case.name)
def test_without_source(case: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an interactive session or a frozen program there are no source lines: arguments answer, and nothing wrong is claimed."""
    import linecache

    monkeypatch.setattr(linecache, "getline", lambda *_: "")
    diagnosis = diagnosis_of(case.fail)
    assert diagnosis.errors == ()
    if diagnosis.culprit is not None:
        assert diagnosis.culprit.module == case.module
