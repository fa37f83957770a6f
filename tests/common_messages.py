"""Count which messages people paste most, one for each known issue, over the labelled reports.

python tests/common_messages.py > docs/site/messages.yaml
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import yaml

from troubleshoot import diagnose, load_kb
from troubleshoot.basics.redact import redact_text
from troubleshoot.curation.scoring import load_cases

_MOST, _LONGEST = 40, 110


def counted(folder: Path) -> list[dict[str, str | int]]:
    """Return the messages of the labelled reports in a folder, one for each known issue that explains them, the most frequent first."""
    base = load_kb()
    found: dict[str, Counter[str]] = {}
    for _, _, text in load_cases(folder):
        diagnosis = diagnose(text, kb=base, environment="report")
        first, failure = diagnosis.first, diagnosis.report.cause
        if diagnosis.verdict == "unknown" or first is None or failure is None or first.failure is None:
            continue
        root = diagnosis.report.failures[first.failure].root
        line = redact_text(" ".join(root.message.partition("\n")[0].split()), personal=True)
        if line and len(line) <= _LONGEST:
            found.setdefault(first.issue, Counter())[line] += 1
    most = sorted(found.items(), key=lambda item: (-item[1].total(), item[0]))[:_MOST]
    return [
        {"message": max(lines.items(), key=lambda one: (one[1], one[0]))[0], "issue": issue, "reports": lines.total()}
        for issue, lines in most
    ]


if __name__ == "__main__":
    sys.stdout.write("# Made by python tests/common_messages.py; edit nothing here.\n")
    listed = counted(Path(__file__).parent / "data" / "labelled")
    sys.stdout.write(yaml.safe_dump(listed, allow_unicode=True, sort_keys=False, width=200))
