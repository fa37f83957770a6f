"""``troubleshoot audit``: its arguments, and what it does. The module stands apart from ``app.py`` only because that is long enough."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from troubleshoot.basics.errors import InputError
from troubleshoot.commands import process

if TYPE_CHECKING:
    from troubleshoot.lab.auditing.findings import Audit

EXAMPLES = (
    "troubleshoot audit my_package.models:build",
    "troubleshoot audit my_package.models:build --meta --dtype bfloat16 --gpu T4",
    "troubleshoot audit --checkpoint path/to/checkpoint",
    "troubleshoot audit --checkpoint model.safetensors --format json",
)
AFTER = "Exit status: 0 nothing worse than a note, 1 errors or warnings were found, 2 an error in use."


def audit(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[MODULE:FACTORY]",
            help="What builds the model: a function without arguments that returns it, (model, inputs), or a mapping with model, inputs, "
            "optimizer, scaler.",
        ),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option("--checkpoint", metavar="DIR|FILE", help="Look into safetensors files; no model is loaded.", show_default=False),
    ] = None,
    dtype: Annotated[
        str | None, typer.Option("--dtype", metavar="NAME", help="The dtype that the model is about to be cast to.", show_default=False)
    ] = None,
    gpu: Annotated[str | None, typer.Option("--gpu", metavar="NAME", help="Where it will run: T4, A100, cpu.", show_default=False)] = None,
    meta: Annotated[bool, typer.Option("--meta", help="Build the model on the meta device: without memory for its weights.")] = False,
    format: Annotated[str, typer.Option("--format", "-f", metavar="text|json", help="The form of the output.")] = "text",
    output: Annotated[str | None, typer.Option("--output", "-o", metavar="FILE", help="Write to this file.", show_default=False)] = None,
) -> int:
    """Check a model, or a checkpoint on disk, for what will go wrong with dtypes and devices, before the first step.

    Dtypes and devices of every module, float32 guards that a cast broke, parts left behind, adapters, quantized layers, constants that do
    not fit, inputs, optimizer and GradScaler, what the GPU has natively. The factory is called; nothing else is run or changed.
    """
    return run(target, checkpoint=checkpoint, dtype=dtype, gpu=gpu, meta=meta, format=format, output=output)


def run(
    target: str | None, *, checkpoint: str | None, dtype: str | None, gpu: str | None, meta: bool, format: str, output: str | None
) -> int:
    """Audit a model or a checkpoint; return 1 where something worse than a note was found."""
    format = process.check_format(format, ("text", "json"))
    if (target is None) == (checkpoint is None):
        raise InputError("name what builds the model (package.module:factory), or --checkpoint DIR")
    if checkpoint is not None:
        if dtype or gpu or meta:
            raise InputError("--dtype, --gpu and --meta are for models; a checkpoint is looked at as it is stored")
        from troubleshoot.lab.auditing.checkpoint import audit_checkpoint

        result = audit_checkpoint(checkpoint)
    else:
        result = _audit_model(str(target), dtype, gpu, meta)
    from troubleshoot.basics.json_text import json_text

    text = json_text(result.to_dict(), indent=2) + "\n" if format == "json" else str(result)
    process.write(text, output)
    return 1 if result.worst in ("error", "warning") else 0


def _audit_model(target: str, dtype: str | None, gpu: str | None, meta: bool) -> Audit:
    try:
        import torch
    except ImportError:
        raise InputError("auditing a model needs torch in this environment; --checkpoint does not") from None
    from contextlib import nullcontext

    from troubleshoot.lab.auditing.model_audit import audit as audit_model

    factory = _imported(target)
    if isinstance(factory, torch.nn.Module):
        built: Any = factory
    elif callable(factory):
        try:
            with torch.device("meta") if meta else nullcontext():
                built = factory()
        except Exception as error:
            raise InputError(f"{target} raised {type(error).__name__}: {error}") from error
    else:
        raise InputError(f"{target} is a {type(factory).__name__}: give a function that returns the model")
    given: dict[str, Any] = {}
    if isinstance(built, tuple) and built:
        given = dict(zip(("model", "inputs"), built, strict=False))
    elif isinstance(built, dict):
        given = {name: built[name] for name in ("model", "inputs", "optimizer", "scaler") if name in built}
    else:
        given = {"model": built}
    if not isinstance(given.get("model"), torch.nn.Module):
        what = "it should be a torch.nn.Module, (model, inputs), or a mapping with model"
        raise InputError(f"{target} returned {type(built).__name__}: {what}")
    return audit_model(given.pop("model"), given.pop("inputs", None), dtype=dtype, gpu=gpu, **given)


def _imported(target: str) -> Any:
    """Import ``package.module:name``; the current folder comes first, as with ``python -m``."""
    import importlib
    import sys

    module, _, name = target.partition(":")
    if not module or not name:
        raise InputError(f"{target!r}: write package.module:factory")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found: Any = importlib.import_module(module)
    except Exception as error:
        raise InputError(f"{module} cannot be imported: {type(error).__name__}: {error}") from error
    for part in name.split("."):
        if not hasattr(found, part):
            raise InputError(f"{module} has no {name}")
        found = getattr(found, part)
    return found
