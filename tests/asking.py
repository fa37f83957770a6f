"""How far questions lead: the share of reports whose first cause is right after 0, 1, 2 and 3 of them.

    python tests/asking.py [FOLDER ...]        (tests/data/unseen where none is named)

The user is simulated. Asked for an experiment, he answers what the label's cause predicts (kb/experiments.yaml), and that he does not know
where it predicts nothing. Asked for a fact (a GPU, a release), he does not know: a label does not tell. So the curve is that of a user who
makes every experiment properly, whose problem follows the table, and who knows nothing else.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from troubleshoot import diagnose, load_kb
from troubleshoot.curation.scoring import Scored, load_cases
from troubleshoot.engine.answers import UNKNOWN
from troubleshoot.engine.evidence import TRIED
from troubleshoot.knowledge import KnowledgeBase

DATA = Path(__file__).parent / "data"
#: Questions that are asked of one report.
MOST = 3


def answered(about: str, cause: str, base: KnowledgeBase) -> str:
    """Return what somebody with this cause answers."""
    prediction = base.predicted(cause).get(about.removeprefix(TRIED)) if about.startswith(TRIED) else None
    return prediction.outcome if prediction is not None else UNKNOWN


def told(name: str, label: dict[str, Any], text: str, base: KnowledgeBase) -> tuple[list[bool], int]:
    """Return whether the answer is right after 0, 1, ... questions, and how many were asked. An abstention is right where nothing is."""
    answers: dict[str, str] = {}
    right: list[bool] = []
    for _ in range(MOST + 1):
        scored = Scored(name, label, diagnose(text, environment="report", kb=base, answers=answers))
        right.append(scored.right if scored.positive else not scored.causes)
        if len(right) > MOST or not scored.diagnosis.questions:
            break
        about = scored.diagnosis.questions[0].about
        answers[about] = answered(about, label["cause"], base)
    return [*right, *right[-1:] * (MOST + 1 - len(right))], len(answers)


def curve(path: Path, base: KnowledgeBase) -> dict[str, Any]:
    """Return the shares of reports that are right after 0, 1, ... questions, problems and near misses apart, and questions for each."""
    rows = [(label["cause"] != "none", *told(name, label, text, base)) for name, label, text in load_cases(path)]
    found: dict[str, Any] = {}
    for kind, wanted in (("problems", True), ("near misses", False)):
        mine = [(right, asked) for positive, right, asked in rows if positive is wanted]
        shares = [round(sum(right[at] for right, _ in mine) / max(1, len(mine)), 4) for at in range(MOST + 1)]
        found[kind] = {"reports": len(mine), "right": shares, "questions": round(sum(asked for _, asked in mine) / max(1, len(mine)), 2)}
    return found


def main(arguments: list[str]) -> None:
    """Print the curve of each folder."""
    base = load_kb()
    for path in [Path(one) for one in arguments] or [DATA / "unseen"]:
        for kind, row in curve(path, base).items():
            asked = f"{row['questions']} asked of each"
            print(f"{path.name}: {kind} ({row['reports']}), right after 0 to {MOST} questions: {row['right']}, {asked}")


if __name__ == "__main__":
    main(sys.argv[1:])
