"""The callback for transformers' Trainer, with a real Trainer."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("accelerate")
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from troubleshoot.handlers.trainer import TroubleshootCallback  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.slow]


class Regression(torch.nn.Module):  # type: ignore[misc,name-defined]
    """The smallest model that Trainer trains."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(4, 4)
        self.second = torch.nn.Linear(4, 1)

    def forward(self, x: Any, labels: Any) -> dict[str, Any]:
        output = self.second(self.first(x))
        return {"loss": ((output - labels) ** 2).mean(), "logits": output}


def trainer(folder: Path, model: Any, callback: TroubleshootCallback) -> Any:
    """Return a Trainer for one step on the CPU."""
    data = [{"x": torch.ones(4), "labels": torch.ones(1)}] * 4
    arguments = transformers.TrainingArguments(str(folder), max_steps=1, report_to=[], use_cpu=True, disable_tqdm=True)
    return transformers.Trainer(model, arguments, train_dataset=data, callbacks=[callback])


def test_a_failing_run_is_diagnosed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the exception ends the program; the previous hook is called first."""
    monkeypatch.setattr(sys, "excepthook", lambda *_: None)
    callback = TroubleshootCallback(lambda diagnosis: None)
    model = Regression()
    model.second.bfloat16()
    with pytest.raises(RuntimeError) as caught:
        trainer(tmp_path, model, callback).train()
    sys.excepthook(caught.type, caught.value, caught.tb)
    assert callback.diagnosis is not None
    assert callback.diagnosis.culprit is not None
    assert callback.diagnosis.culprit.module == "second"


def test_a_run_that_ends_well_leaves_no_hook(tmp_path: Path) -> None:
    """The hook is there only while it trains."""
    before = sys.excepthook
    trainer(tmp_path, Regression(), TroubleshootCallback()).train()
    assert sys.excepthook is before
