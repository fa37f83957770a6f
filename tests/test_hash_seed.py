"""The same report gives the same answer in every process, however that process hashes texts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from troubleshoot.curation.scoring import load_cases

ROOT = Path(__file__).parents[1]

_CODE = """
import json, sys
import troubleshoot
from troubleshoot.telling import render
for path in sys.argv[1:]:
    diagnosis = troubleshoot.diagnose(open(path, encoding="utf-8").read(), environment="report")
    print(json.dumps(diagnosis.to_dict()))
    print(render(diagnosis), render(diagnosis, full=True))
"""
#: a family with open causes, several failures, ranks in a log, questions, words that tell causes apart
_LABELLED = ("mixed.jsonl", "mixed-g-2/g2-cascade-kaggle")
_EXAMPLE = "docs/examples/blip2-half.txt"
#: Each answer to "Is the model quantized?" leads to another issue.
_TWO_OUTCOMES = """
Traceback (most recent call last):
  File "train.py", line 11, in main
RuntimeError: mat1 and mat2 must have the same dtype, but got Float and Half

During handling of the above exception, another exception occurred:

RuntimeError: indices should be either on cpu or on the same device as the indexed tensor (got 'cpu' and 'cuda:1')
"""


def test_the_answer_does_not_depend_on_the_seed_of_hashes(tmp_path: Path) -> None:
    """Byte for byte, as JSON and as text."""
    own = tmp_path / "report.txt"
    own.write_text(_TWO_OUTCOMES, encoding="utf-8")
    labelled = tmp_path / "labelled.txt"
    rounds = {name: text for name, _, text in load_cases(ROOT / "tests" / "data" / "labelled" / _LABELLED[0])}
    labelled.write_text(rounds[_LABELLED[1]], encoding="utf-8")
    paths = [str(labelled), str(ROOT / _EXAMPLE), str(own)]
    told = set()
    for seed in ("1", "2", "3", "4", "5"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "COLUMNS": "100", "PYTHONIOENCODING": "utf-8"}
        done = subprocess.run([sys.executable, "-c", _CODE, *paths], capture_output=True, env=environment, check=False, timeout=120)
        assert done.returncode == 0, done.stderr.decode()
        told.add(done.stdout)
    assert len(told) == 1
