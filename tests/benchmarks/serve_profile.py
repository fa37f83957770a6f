"""Where the time of a request goes: ``python tests/benchmarks/serve_profile.py``. Each stage of ``POST /v1/diagnose`` in milliseconds of
processor time, in one process, the least of several runs over the reports of ``serve.py``; a neighbour can only make it more.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import msgspec
from serve import reports

from troubleshoot.basics.redact import redact_data
from troubleshoot.reading import read_report
from troubleshoot.serve.engine import Engine
from troubleshoot.serve.models import DiagnoseRequest
from troubleshoot.serve.settings import Settings

_RUNS = 30


def least(function: Callable[[Any], object], inputs: list[Any]) -> float:
    """Return the milliseconds of a call: the least of the runs for each input, the mean over the inputs."""
    found = []
    for one in inputs:
        times = []
        for _ in range(_RUNS):
            began = time.process_time_ns()
            function(one)
            times.append(time.process_time_ns() - began)
        found.append(min(times) / 1e6)
    return round(statistics.mean(found), 3)


def main() -> None:
    """Print the stages as JSON."""
    engine = Engine(Settings())
    texts = reports()
    bodies = [json.dumps({"report": text, "language": "en"}).encode() for text in texts]
    read = [read_report(text) for text in texts]
    stated = [(report, engine.environment(report, None)[0]) for report in read]
    found = [engine.diagnose(text, language="en")[0] for text in texts]
    data = [diagnosis.to_dict() for diagnosis in found]
    from troubleshoot.engine.diagnosis import diagnose

    stages = {
        "parse and validate the JSON": least(DiagnoseRequest.model_validate_json, bodies),
        "read the report": least(read_report, texts),
        "collect the environment": least(lambda report: engine.environment(report, None), read),
        "match, rank, fixes, questions": least(lambda pair: diagnose(pair[0], environment=pair[1], kb=engine.base), stated),
        "make the object": least(lambda diagnosis: diagnosis.to_dict(), found),
        "mask secrets": least(lambda one: redact_data(one, personal=False), data),
        "encode it": least(msgspec.json.encode, data),
    }
    print(json.dumps({**stages, "sum": round(sum(stages.values()), 3)}, indent=2))


if __name__ == "__main__":
    main()
