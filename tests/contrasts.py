"""How well contrasts are read: precision and recall on the labelled sentences of ``data/contrasts`` (conventions in its README).

python tests/contrasts.py [develop|aside] [--misses]
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from troubleshoot.reading.contrasts import find_contrasts
from troubleshoot.reading.reader import read_report

DATA = Path(__file__).parent / "data" / "contrasts"


def labelled(part: str) -> list[dict[str, Any]]:
    """Return the labelled texts of a half."""
    return [json.loads(line) for line in (DATA / f"{part}.jsonl").read_text(encoding="utf-8").splitlines()]


def fits(found: tuple[str, str], wanted: dict[str, Any]) -> bool:
    """Tell whether an (experiment, outcome) is the one that a label names, or one that it accepts."""
    outcomes = wanted.get("accept_outcome", [])
    outcomes = [outcomes] if isinstance(outcomes, str) else outcomes
    return found[0] in (wanted["experiment"], *wanted.get("accept", ())) and found[1] in (wanted["outcome"], *outcomes)


def judged(text: dict[str, Any]) -> tuple[int, list[tuple[str, str]], list[dict[str, Any]]]:
    """Return how many labels were found, what was told wrongly, and the labels that were missed."""
    found = sorted({(one.experiment, one.outcome) for one in find_contrasts(read_report(text["text"]))})
    missed = [one for one in text["contrasts"] if not any(fits(told, one) for told in found)]
    known = [*text["contrasts"], *text.get("optional", ())]
    wrong = [told for told in found if not any(fits(told, one) for one in known)]
    return len(text["contrasts"]) - len(missed), wrong, missed


def measure(part: str) -> dict[str, float]:
    """Return precision and recall over the labels of a half; a label that stands twice for other values counts each time."""
    counts: Counter[str] = Counter()
    for text in labelled(part):
        right, wrong, missed = judged(text)
        for lang in ("all", text["lang"]):
            counts.update({f"{lang} right": right, f"{lang} wrong": len(wrong), f"{lang} missed": len(missed)})
    figures = {}
    for lang in ("all", "en", "zh"):
        right, wrong, missed = (counts[f"{lang} {what}"] for what in ("right", "wrong", "missed"))
        figures |= {f"{lang} precision": right / max(1, right + wrong), f"{lang} recall": right / max(1, right + missed)}
    return figures


def main(arguments: list[str]) -> None:
    """Print the figures, and with ``--misses`` each text that was read otherwise than labelled."""
    for part in [one for one in arguments if one in ("develop", "aside")] or ["develop", "aside"]:
        print(part, {name: round(value, 3) for name, value in measure(part).items()})
        if "--misses" in arguments:
            for text in labelled(part):
                _, wrong, missed = judged(text)
                if wrong or missed:
                    print(text["id"], repr(text["text"]))
                    print("    wrong", wrong, "missed", [(one["experiment"], one["outcome"]) for one in missed])


if __name__ == "__main__":
    main(sys.argv[1:])
