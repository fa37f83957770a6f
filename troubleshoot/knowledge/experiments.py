"""Experiments (``experiments.yaml`` of a knowledge base): what a user can change in a run, and what every cause says will come of it."""

from __future__ import annotations

from typing import Literal

import msgspec

from troubleshoot.knowledge.schema import Bilingual, FixKind

EXPERIMENTS_FILE = "experiments.yaml"

Setting = Literal["script", "trainer", "lightning", "vllm", "sglang", "comfyui", "webui", "notebook"]
Cell = Literal["gone", "same", "other", "mostly gone", "mostly same", "mostly other", "open"]


class Experiment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One condition of the run changed, all else kept. ``tells`` is what its outcome decides, ``how`` what to write in each setting.
    ``fix`` is the kind of fix that is nothing else: who made the experiment in vain needs no such fix.
    """

    name: Bilingual
    tells: Bilingual
    cost: Literal["low", "medium", "high"]
    how: dict[Setting, str]
    needs: Bilingual | None = None
    fix: FixKind | None = None


class Prediction(msgspec.Struct, frozen=True):
    """What a cause says of an experiment: the outcome, and whether always or only as a rule."""

    outcome: str
    always: bool


class Experiments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """kb/experiments.yaml: the experiments, and a row of predictions for each cause or family of causes."""

    schema: Literal[1] = 1
    experiments: dict[str, Experiment] = {}
    predictions: dict[str, dict[str, Cell]] = {}

    def predicted(self, cause: str) -> dict[str, Prediction]:
        """Return what a cause says of the experiments, in their order; those of which it says nothing are left out."""
        row = {**self.predictions.get(cause.partition("/")[0], {}), **self.predictions.get(cause, {})}
        return {name: _prediction(row[name]) for name in self.experiments if row.get(name, "open") != "open"}

    def merged(self, other: Experiments) -> Experiments:
        """Return these with those of an overlay, whose experiments and rows replace ours of the same name."""
        return Experiments(1, {**self.experiments, **other.experiments}, {**self.predictions, **other.predictions})


def _prediction(cell: Cell) -> Prediction:
    return Prediction(cell.removeprefix("mostly "), not cell.startswith("mostly "))
