"""Synthetic knowledge bases of any size: plausible entries with wordings of their own, made by a seeded generator, no copies."""

from __future__ import annotations

import random
from pathlib import Path

from troubleshoot.knowledge.base import KnowledgeBase
from troubleshoot.knowledge.collect import Collected
from troubleshoot.knowledge.compiled import compile_base
from troubleshoot.knowledge.schema import Causes, Entry, Evidence, Fix, FramePattern, MessageTemplate, Signature

_OPERATIONS = [
    "addmm",
    "baddbmm",
    "conv2d",
    "layer_norm",
    "softmax",
    "scatter",
    "gather",
    "index_put",
    "masked_fill",
    "cumsum",
    "einsum",
    "interpolate",
    "grid_sample",
    "cross_entropy",
    "embedding",
    "pixel_shuffle",
    "roll",
    "topk",
    "sort",
    "logsumexp",
]
_SUBJECTS = [
    "tensor",
    "weight",
    "bias",
    "gradient",
    "activation",
    "mask",
    "buffer",
    "scale",
    "query",
    "key",
    "value",
    "output",
    "input",
    "target",
    "index",
    "parameter",
]
_VERBS = ["expects", "requires", "refuses", "received", "produced", "found", "needs", "got"]
_SYLLABLES = ["ba", "co", "di", "fu", "ga", "he", "ki", "lo", "mu", "na", "po", "qua", "re", "si", "tu", "va", "wo", "xe", "yi", "zo"]
_CAUSES = ("dtype-mismatch/input-vs-weight", "unsupported/op-lacks-dtype", "numerics/fp16-overflow", "device-mismatch/sharded")


def _word(rng: random.Random) -> str:
    return "".join(rng.choice(_SYLLABLES) for _ in range(rng.randint(2, 4)))


def _entry(number: int, rng: random.Random) -> Entry:
    library = _word(rng)
    operation = rng.choice(_OPERATIONS)
    subject, other = rng.sample(_SUBJECTS, 2)
    shapes = [
        f"{operation} of {library} {rng.choice(_VERBS)} {subject} of dtype {{expected:dtype}} but {other} {_word(rng)} has {{found:dtype}}",
        f'"{library}_{operation}_kernel" is not available for {{dtype:dtype}} {rng.choice(_SUBJECTS)} in mode {_word(rng)}',
        f"{library}: the {subject} ({{found:dtype}}) and the {other} ({{expected:dtype}}) of {_word(rng)} must agree",
    ]
    frames = (FramePattern(file=f"{library}/models/{_word(rng)}.py"),) if rng.random() < 0.5 else ()
    return Entry(
        schema=1,
        id=f"{library}/{operation}-{number}",
        title=f"{operation} in {library}",
        status="stable",
        kind="issue",
        impact="error",
        cause=rng.choice(_CAUSES),
        signature=Signature(message=(MessageTemplate(template=rng.choice(shapes)),), frames=frames),
        explanation=f"The {operation} of {library} computes in the dtype of its first operand. " * 3,
        evidence=Evidence(),
        references=(),
        models=(f"{library}-*",) if rng.random() < 0.3 else (),
        fixes=(
            Fix(id="cast", kind="cast-inputs", title="Cast", applicability="safe", action={"edit": "x = x.to(dtype)"}, reason="One dtype."),
            Fix(id="bf16", kind="use-bf16", title="bfloat16", applicability="unsafe", action={"edit": "model.bfloat16()"}, reason="Range."),
        ),
    )


def synthetic_base(count: int, base: KnowledgeBase, seed: int = 7) -> KnowledgeBase:
    """Return ``base`` with synthetic entries added until it has ``count``."""
    rng = random.Random(seed)
    entries = {id_: base.entry(id_) for id_ in base.ids()}
    number = 0
    while len(entries) < count:
        entry = _entry(number, rng)
        entries[entry.id] = entry
        number += 1
    kept = dict(list(entries.items())[:count])
    collected = Collected(entries=kept, places=dict.fromkeys(kept, Path("synthetic")), causes=Causes(schema=1, causes=base.causes.causes))
    collected.out_of_scope = dict(base.out_of_scope)
    return KnowledgeBase(compile_base(collected, []))
