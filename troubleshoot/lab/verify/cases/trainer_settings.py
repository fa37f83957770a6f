"""Precision settings of trainers: defaults that changed, and names that only newer releases know."""

from __future__ import annotations

from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case


def _after(setting: Setting, configure: Any) -> Program:
    """Configure, and call a small model; nothing is trained."""
    import torch

    model = torch.nn.Linear(8, 4).to(setting.dtype)

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        configure()
        with torch.no_grad():
            return model(**inputs)

    return Program(model, {"input": torch.linspace(-1, 1, 24).reshape(3, 8)}, call)


@case(
    issues=("trl/bf16-default",),
    tier="upstream",
    devices=("cpu",),
    dtypes=("float32",),
    present={"trl": "", "transformers": ">=4.52"},
    installs={"trl": "0.19.1", "transformers": "4.55.0", "accelerate": "1.10.0", "peft": "0.17.0"},
    shows={"trl": ">=0.19"},
    plays=("fp32",),
    unplayable={"fp16": "fp16 needs a GPU here", "decide": "chooses fp16 where there is no GPU"},
    facts={"package.trl": "present"},
    seconds=20.0,
)
def sft_without_precision(setting: Setting) -> Program:
    """SFTConfig is made without a precision where there is no GPU."""

    def configure() -> None:
        from trl import SFTConfig

        more = {} if setting.shows("fp32") else {"bf16": False, "fp16": False}
        SFTConfig(output_dir=str(setting.folder / "run"), report_to=[], **more)

    return _after(setting, configure)


_LIGHTNING: dict[str, Any] = {
    "tier": "upstream", "devices": ("cpu",), "dtypes": ("float32",), "present": {"lightning": ""}, "plays": ("old-name",), "seconds": 15.0,
}  # fmt: skip


def _trainer(setting: Setting, asked: str, known: str) -> Program:
    def configure() -> None:
        from lightning.pytorch import Trainer

        precision: Any = known if setting.variant == "old-name" else asked if setting.faulty else 32
        Trainer(precision=precision, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False)

    return _after(setting, configure)


@case(
    issues=("lightning/mixed-precision-name",), shows={"lightning": "<2.0"},
    installs={"lightning": "1.9.5", "lightning-cloud": "0.5.36", "numpy": "1.26.4"}, **_LIGHTNING,
)  # fmt: skip
def lightning_mixed_by_its_new_name(setting: Setting) -> Program:
    """A Trainer of 1.x is asked for bf16-mixed."""
    return _trainer(setting, "bf16-mixed", "bf16")


@case(
    issues=("lightning/true-half-name",), shows={"lightning": "<2.1"},
    installs={"lightning": "2.0.9", "lightning-cloud": "0.5.42", "numpy": "1.26.4"}, **_LIGHTNING,
)  # fmt: skip
def lightning_true_half(setting: Setting) -> Program:
    """A Trainer older than 2.1 is asked for bf16-true."""
    return _trainer(setting, "bf16-true", "bf16")
