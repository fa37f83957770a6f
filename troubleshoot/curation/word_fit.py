"""``troubleshoot kb learn FOLDER``: fit the words of labelled reports to their causes (:mod:`troubleshoot.knowledge.word_odds`).

A multinomial logistic regression with torch: a report is the vector of its words' rarities, of length 1. Pairs of words added nothing in
a cross-validation over threads, by which the pull towards 0 was chosen as well (of 10 and 30). Every report counts with the label's own
cause; ``none`` is one more, since families have it among theirs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from troubleshoot.basics.errors import InputError
from troubleshoot.basics.saving import save
from troubleshoot.curation.scoring import load_cases
from troubleshoot.engine.matching.search import SearchText
from troubleshoot.knowledge.word_odds import FARTHEST, WordOdds, row_of
from troubleshoot.reading import read_report

#: A word of fewer reports says more about the report than about the cause.
LEAST_REPORTS = 3
#: The inverse of the pull: how much one report counts against the sum of the squared weights.
STRENGTH = 30.0
_ITERATIONS = 100
#: Of the weights, the share that a character can hold; the few beyond are cut off.
_HELD = 0.999


def learn(folder: Path | str, *, progress: Callable[[str], None] = lambda _: None) -> WordOdds:
    """Fit a table to the labelled reports of a folder.

    Raises:
        InputError: the folder, ``labels.yaml`` or a report is missing or malformed; too few causes or words; torch is not installed.
    """
    reports: list[set[str]] = []
    labels: list[str] = []
    for name, label, text in load_cases(Path(folder)):
        reports.append(SearchText(read_report(text)).words)
        labels.append(str(label["cause"]))
        progress(name)
    causes = sorted(set(labels))
    if len(causes) < 2:
        raise InputError(f"{folder}: has labelled reports of {len(causes)} causes; to tell causes apart takes two")
    counts = Counter(word for report in reports for word in report)
    rarity = {word: 1.0 + math.log((1 + len(reports)) / (1 + count)) for word, count in sorted(counts.items()) if count >= LEAST_REPORTS}
    if not rarity:
        raise InputError(f"{folder}: no word occurs in {LEAST_REPORTS} reports; add reports")
    weights = _fit(reports, rarity, [causes.index(one) for one in labels], len(causes))
    magnitudes = sorted(abs(value) for row in weights for value in row)
    unit = max(magnitudes[math.ceil(_HELD * len(magnitudes)) - 1], 1e-6) / FARTHEST
    rows = {word: row_of(rarity[word], (round(value / unit) for value in row)) for word, row in zip(rarity, weights, strict=True)}
    return WordOdds(reports=len(reports), unit=float(f"{unit:.4g}"), causes=tuple(causes), words=rows)


def write_word_odds(table: WordOdds, path: Path) -> None:
    """Write a table, a line for each word, so that a change shows which words moved.

    Raises:
        InputError: the file cannot be written.
    """
    try:
        save(path, msgspec.json.format(msgspec.json.encode(table), indent=1) + b"\n")
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from error


def _fit(reports: Sequence[set[str]], rarity: Mapping[str, float], labels: Sequence[int], causes: int) -> list[list[float]]:
    """Return the weights, words by causes, each for a report of that word alone."""
    try:
        import torch
    except ImportError as error:
        raise InputError("kb learn fits with torch, which is not installed: pip install 'troubleshoot[torch]'") from error
    column = {word: number for number, word in enumerate(rarity)}
    rarities = torch.tensor(list(rarity.values()), dtype=torch.float64)
    features = torch.zeros(len(reports), len(rarity), dtype=torch.float64)
    for row, report in enumerate(reports):
        features[row, [column[word] for word in report if word in column]] = 1.0
    features = torch.nn.functional.normalize(features * rarities)
    target = torch.tensor(labels)
    weight = torch.zeros(len(rarity), causes, dtype=torch.float64, requires_grad=True)
    bias = torch.zeros(causes, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([weight, bias], max_iter=_ITERATIONS, history_size=10, line_search_fn="strong_wolfe")

    def loss() -> Any:
        optimizer.zero_grad()
        missed = torch.nn.functional.cross_entropy(features @ weight + bias, target, reduction="sum")
        total = STRENGTH * missed + weight.square().sum() / 2
        total.backward()  # type: ignore[no-untyped-call]
        return total

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    # What all causes have in common tells none from another. The bias is left out: how frequent causes are, a family's weights say.
    fitted = weight.detach() * rarities.unsqueeze(1)
    rows: list[list[float]] = (fitted - fitted.mean(dim=1, keepdim=True)).tolist()
    return rows
