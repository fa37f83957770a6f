"""Lines of numbers that a training program prints: ``epoch 3: loss = nan, acc 0.1``, ``step 10 | loss nan | lr 1e-4``.

Their words are the keys of numbers, and nobody speaks in them: "epoch" and "lr" in such a line do not tell that somebody asks about
epochs and learning rates.
"""

from __future__ import annotations

import re

from troubleshoot.basics.patterns import anchored, searched

#: A longer line is no line of metrics.
_LONGEST = 1_000
_PAIR = searched(
    r"(?<![\w.])(?P<name>[a-z_][\w./@]{0,40}+(?: [a-z_][\w./]{0,40}+)?)['\"]?(?P<sign>\s{0,4}[:=]\s{0,4}|\s{1,4})"
    r"(?:(?P<lost>nan|[-+]?inf(?:inity)?)|[\[(]?[-+]?\d[\d.e+-]{0,30}+(?:/\d{1,12})?[%\])]?)(?![\w.])",
    re.IGNORECASE,
)
#: What a loss is called, whatever stands before or after it: train_loss, loss/total, losses.
_LOSS = searched(r"(?:^|[_./ ])loss(?:es)?(?:$|[_./])|(?:^|[_./ ])\w{1,20}loss$", re.IGNORECASE)
#: What counts the steps or sets their size: chosen or counted, and no result.
_COUNTERS = frozenset({
    "epoch", "epochs", "step", "steps", "global_step", "iter", "iters", "iteration", "iterations", "it", "batch", "lr", "learning_rate",
    "time", "eta", "elapsed", "progress",
})  # fmt: skip
_WORDS = searched(r"[^\W\d_]{3,}")
_PREFIX = anchored(r".{0,80}[:\]|>)]\s{0,4}[\[{('\"]{0,2}$")


def lost_loss(line: str) -> str:
    """Return what a line of metrics says in words where a loss in it is NaN or infinite: "train loss is nan, acc 0.1"; else ""."""
    low = line.lower()
    if "loss" not in low or ("nan" not in low and "inf" not in low) or len(line) > _LONGEST:
        return ""
    told: list[str] = []
    rest: list[str] = []
    at = 0
    lost = False
    for pair in _PAIR.finditer(line):
        name = pair["name"]
        is_loss = _LOSS.search(name) is not None
        if pair["sign"].isspace() and pair["lost"] and not is_loss:
            # "improved from inf": prose. After a name and a blank, only a loss's own value is one.
            return ""
        gap = line[at : pair.start()]
        rest.append("" if not at and _PREFIX.match(gap) else gap)
        at = pair.end()
        if pair["lost"]:
            lost = lost or is_loss
            told.append(f"{name} is {pair['lost']}")
        elif name.rpartition(" ")[2].lower() not in _COUNTERS:
            told.append(pair[0])
    if not lost or _WORDS.search(" ".join((*rest, line[at:]))):
        return ""
    return ", ".join(told)
