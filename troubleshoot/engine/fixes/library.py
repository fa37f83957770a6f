"""General advice about the library in which it failed: its name is put into the fix.

Where no library is to blame, a fix whose title needs the name is left out; one whose title does without it is shown without a command.

The library is the distribution, or the plug-in of ComfyUI or a web UI, that holds the deepest frame above torch. Where the user's own code
called torch, a newer release of a library changes nothing.

A path is free text, and so is a listing that was pasted: whoever wrote them could bring a stranger's package into a command. So a command
names a distribution only where it is well known, or where this machine has it; the advice stays, with LIBRARY in words.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from troubleshoot.engine.evidence import FailureFacts
from troubleshoot.engine.fixes.actions import PLACEHOLDER
from troubleshoot.engine.matching.conditions import Context
from troubleshoot.knowledge.schema import Fix
from troubleshoot.reading.environment.package_names import distribution_of
from troubleshoot.reading.places import KNOWN_PACKAGES

#: Distributions whose import name is not their name on the package index.
_DISTRIBUTIONS = {"open_clip": "open_clip_torch"}


#: Names in reports are free text: this many fixes with a name in them are kept.
_MOST_NAMED = 500


#: Distributions of the package index that commands name besides the packages that frames are told apart by.
_WELL_KNOWN = frozenset({
    "autoawq", "captum", "cellpose", "dgl", "fastai", "flash-attn", "gguf", "lycoris-lora", "model2vec", "numpy", "openai-whisper",
    "pytorch-forecasting", "pytorch-lightning", "rwkv", "sageattention", "scikit-learn", "segmentation-models-pytorch", "tabpfn",
    "torchdiffeq", "transformer-engine", "vector-quantize-pytorch",
})  # fmt: skip


@lru_cache(maxsize=1)
def _known() -> frozenset[str]:
    return _WELL_KNOWN.union(map(distribution_of, KNOWN_PACKAGES))


def _is_known(name: str, context: Context) -> bool:
    """Tell whether a command may name a distribution: it is well known, or this machine or the user's own file of facts has it."""
    if name in _known():
        return True
    package = context.facts.package(name)
    return package is not None and not package.absent and package.source in ("local", "file")


def without_name(text: str, language: str = "en") -> str:
    """Return a text of a fix as it reads where no report tells which library it is."""
    return text.replace(PLACEHOLDER, "该库" if language == "zh" else "the library")


def code_without_name(text: str) -> str:
    """Return a command or a line of code likewise: with LIBRARY in place of the name."""
    return text.replace(PLACEHOLDER, "LIBRARY")


def nameless(fix: Fix) -> Fix:
    """Return a fix that has the place of a name as advice without a command; other fixes as they are."""
    if PLACEHOLDER not in fix.title and PLACEHOLDER not in fix.action.values():
        return fix
    title = without_name(fix.title)
    return msgspec.structs.replace(fix, title=title, action={"advice": title})


def name_library(fix: Fix, context: Context) -> Fix | None:
    """Return the fix with the library's name in its placeholders; None where its title has one and no library is to blame."""
    titled = PLACEHOLDER in fix.title
    if not titled and PLACEHOLDER not in fix.action.values():
        return fix
    failure = context.failure
    owner = (failure.called_by or failure.plugin) if failure is not None else None
    if owner is None and titled:
        return None
    if failure is not None and failure.called_by is not None and not _is_known(distribution_of(failure.called_by), context):
        return nameless(fix)
    # A server sees many reports about few libraries.
    named: dict[tuple[int, str | None], tuple[Fix, Fix]] = context.programs.named
    known = named.get((id(fix), owner))
    if known is None or known[0] is not fix:
        if len(named) >= _MOST_NAMED:
            named.clear()
        known = named[(id(fix), owner)] = (fix, _of_owner(fix, failure))
    return known[1]


def _of_owner(fix: Fix, failure: FailureFacts | None) -> Fix:
    if failure is not None and failure.called_by is not None:
        return _named(fix, _DISTRIBUTIONS.get(failure.called_by, failure.called_by.replace("_", "-")))
    if failure is not None and failure.plugin is not None:
        return _of_plugin(fix, failure.plugin)
    return nameless(fix)


def _of_plugin(fix: Fix, folder: str) -> Fix:
    """A plug-in is a checkout in the program's own folder: no installer knows it."""
    named = _named(fix, folder.rpartition("/")[2])
    return msgspec.structs.replace(named, action={"setting": f"git -C {folder} pull"}) if "upgrade" in fix.action else named


def _named(fix: Fix, name: str) -> Fix:
    action = {key: value.replace(PLACEHOLDER, name) if isinstance(value, str) else value for key, value in fix.action.items()}
    zh = msgspec.structs.replace(fix.zh, title=fix.zh.title.replace(PLACEHOLDER, name)) if fix.zh else None
    return msgspec.structs.replace(fix, title=fix.title.replace(PLACEHOLDER, name), action=action, zh=zh)
