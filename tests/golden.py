"""Every answer, held against those kept in ``data/golden.jsonl``: what a change of the engine or the base does to all reports at once.

    python tests/golden.py            compare, print what changed and how the scores moved; exit 1 if anything changed
    python tests/golden.py --write    keep the answers of today (the commit says how many changed, and why)

The texts: all labelled, retold and unseen reports, the examples of the base, the innocent texts, and of one in 25 altered copies (quoted,
wrapped at 80 columns, with a package list below, cut at both ends, with other line ends). For each: verdict, reason, issue, cause, and the
first two fixes with their kinds. It takes about a minute of processor time.
"""

from __future__ import annotations

import json
import os
import sys
import zlib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from troubleshoot import diagnose, load_kb
from troubleshoot.curation.scoring import load_cases

DATA = Path(__file__).parent / "data"
STORED = DATA / "golden.jsonl"
SETS = ("labelled", "unseen", "retold")
#: One in so many, by the hash of its name: a report that comes or goes changes nothing for the others.
EVERY = 25

Answer = list[Any]

_PACKAGES = (
    "accelerate==1.2.0", "certifi==2024.8.30", "diffusers==0.31.0", "numpy==1.26.4", "pip==24.0", "setuptools==70.0", "torch==2.5.1",
    "transformers==4.46.3",
)  # fmt: skip


def texts() -> dict[str, str]:
    """Return id -> text of everything that is answered."""
    found = {f"{part}/{name}": text for part in SETS for name, _, text in load_cases(DATA / part)}
    base = load_kb()
    for entry in map(base.entry, base.ids()):
        for number, example in enumerate([*entry.examples.positive, *entry.examples.negative]):
            if text := getattr(example, "text", None) or getattr(example, "report", None):
                found[f"kb/{entry.id}/{number}"] = text
    for path in sorted((DATA / "innocent").glob("*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            found.update((f"innocent/{path.stem}/{one['id']}.txt", one["text"]) for one in map(json.loads, lines))
    for name in [name for name in sorted(found) if zlib.crc32(name.encode()) % EVERY == 0]:
        found.update((f"{name}@{how}", text) for how, text in altered(found[name]))
    return found


def altered(text: str) -> Iterator[tuple[str, str]]:
    """Yield what happens to a report on its way."""
    lines = text.splitlines()
    yield "quoted", "\n".join(f"> {line}" for line in lines)
    yield "wrapped", "\n".join(piece for line in lines for piece in ([line[at : at + 80] for at in range(0, len(line), 80)] or [""]))
    yield "packages", f"{text}\n\n" + "\n".join(_PACKAGES) + "\n"
    tenth = len(text) // 10
    yield "cut", text[tenth : len(text) - tenth]
    yield "crlf", text.replace("\n", "\r\n")


def answer(text: str) -> Answer:
    """Return what is kept of an answer."""
    found = diagnose(text, environment="report")
    first = found.first
    if first is None:
        return [found.verdict, found.reason]
    return [found.verdict, found.reason, first.issue, first.cause, [[one.id, one.kind] for one in first.recommended[:2]]]


def answers() -> dict[str, Answer]:
    """Return id -> answer, on all processors."""
    asked = texts()
    with ProcessPoolExecutor(os.process_cpu_count() if hasattr(os, "process_cpu_count") else len(os.sched_getaffinity(0))) as pool:
        return dict(zip(asked, pool.map(answer, asked.values(), chunksize=64), strict=True))


def stored() -> dict[str, Answer]:
    """Return the answers that are kept."""
    with STORED.open(encoding="utf-8") as lines:
        return {name: found for name, *found in map(json.loads, lines)}


@dataclass
class Scored:
    """How the answers to a set of reports stand against their labels."""

    problems: int = 0
    right: int = 0
    fixed: int = 0
    misses: int = 0
    alarms: int = 0

    def __str__(self) -> str:
        """Return it for a reader."""
        near = f"near misses answered {self.alarms} of {self.misses}"
        return f"first cause {self.right} of {self.problems}, one of two fixes {self.fixed}, {near}"


def scored(part: str, given: dict[str, Answer], rounds: str = "") -> Scored:
    """Hold answers to one of the sets (or those of its rounds whose names begin so) against the labels."""
    found = Scored()
    for name, label, _ in load_cases(DATA / part):
        if not name.startswith(rounds):
            continue
        verdict, *rest = given.get(f"{part}/{name}") or ["unknown"]
        answered = verdict != "unknown" and len(rest) == 4
        if label["cause"] == "none":
            found.misses += 1
            found.alarms += answered
            continue
        found.problems += 1
        if answered:
            found.right += rest[2] in (label["cause"], *(label.get("also") or ()))
            found.fixed += any(kind in (label.get("fix") or ()) for _, kind in rest[3])
    return found


def main(arguments: list[str]) -> int:
    """Compare, or write."""
    now = answers()
    if arguments == ["--write"]:
        STORED.write_text("".join(f"{json.dumps([name, *now[name]], ensure_ascii=False)}\n" for name in sorted(now)), encoding="utf-8")
        print(f"{len(now):,} answers kept in {STORED}")
        return 0
    if arguments:
        print(__doc__)
        return 2
    before = stored()
    changed = [name for name in sorted(now.keys() | before.keys()) if now.get(name) != before.get(name)]
    for name in changed:
        print(f"{name}\n  - {json.dumps(before.get(name))}\n  + {json.dumps(now.get(name))}")
    for part in SETS:
        old, new = scored(part, before), scored(part, now)
        print(f"{part}: {new}" + (f" (before: {old})" if new != old else ""))
    print(f"{len(changed):,} of {len(now):,} answers changed" + (": python tests/golden.py --write keeps them" if changed else ""))
    return bool(changed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
