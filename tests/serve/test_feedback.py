"""Feedback where the file cannot be written: it is told, nothing of it is stored, and the server goes on."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from founding import BLIP2

pytest.importorskip("fastapi", reason="needs the extra serve")

from starlette.testclient import TestClient

from troubleshoot.serve import Settings, create_app
from troubleshoot.serve import feedback as module
from troubleshoot.serve.errors import RequestError
from troubleshoot.serve.feedback import Feedback, counts

NOTE = {"issue": BLIP2.issue, "fix": "upgrade", "worked": True}


def told(response: Any) -> str:
    assert response.status_code == 507
    error = response.json()["error"]
    assert (error["type"], error["code"]) == ("server_error", "not_stored")
    return str(error["message"])


def test_a_file_that_is_locked_damaged_or_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is told as what it is; once it is mended, feedback is stored again, without a restart."""
    path = tmp_path / "feedback.db"
    monkeypatch.setattr(module, "_PATIENCE", 0.1)
    with TestClient(create_app(Settings(feedback=path, engines=1)), base_url="http://127.0.0.1") as client:
        assert client.post("/v1/feedback", json=NOTE).status_code == 201
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("begin exclusive")
        assert "locked" in told(client.post("/v1/feedback", json=NOTE))
        other.execute("rollback")
        other.close()
        assert client.post("/v1/feedback", json=NOTE).status_code == 201
        assert counts(path)[0]["worked"] == 2
        kept = path.read_bytes()
        path.write_bytes(b"garbage!" * 1000)
        assert "damaged" in told(client.post("/v1/feedback", json=NOTE))
        path.unlink()
        path.mkdir()
        assert "cannot be written" in told(client.post("/v1/feedback", json=NOTE))
        path.rmdir()
        path.write_bytes(kept)
        assert client.post("/v1/feedback", json=NOTE).status_code == 201
        assert counts(path)[0]["worked"] == 3
        assert client.get("/healthz").status_code == 200


_PROGRAM = """
import json, resource, sys
from pathlib import Path
from starlette.testclient import TestClient
from troubleshoot.serve import Settings, create_app
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
note = json.loads(sys.argv[2])
with TestClient(create_app(Settings(feedback=Path(sys.argv[1]), store_reports=True, engines=1)), base_url="http://127.0.0.1") as client:
    statuses = [client.post("/v1/feedback", json={**note, "report": "x" * 20_000}).status_code for _ in range(8)]
    diagnosed = client.post("/v1/diagnose", content="RuntimeError: x", headers={"content-type": "text/plain"}).status_code
    print(json.dumps([statuses, diagnosed]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits are another system's")
def test_no_room_for_more(tmp_path: Path) -> None:
    """What was stored before stays whole; what finds no room leaves no half of a row; reports are diagnosed all the same."""
    path = tmp_path / "feedback.db"
    done = subprocess.run([sys.executable, "-c", _PROGRAM, path, json.dumps(NOTE)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    statuses, diagnosed = json.loads(done.stdout)
    stored = statuses.count(201)
    assert diagnosed == 200
    assert statuses == [201] * stored + [507] * (8 - stored) and 0 < stored < 8
    connection = sqlite3.connect(path)
    assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]
    assert connection.execute("select count(*), min(length(report)) from feedback").fetchall() == [(stored, 20_000)]
    connection.close()


def test_what_comes_too_late_is_not_stored(tmp_path: Path) -> None:
    """The client was told to try again: it would be counted twice."""
    path = tmp_path / "feedback.db"
    feedback = Feedback(path)
    with pytest.raises(RequestError) as late:
        feedback.add("acme/wrong", None, True, until=time.monotonic())
    assert late.value.status == 503
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("begin exclusive")
        began = time.monotonic()
        with pytest.raises(RequestError):
            feedback.add("acme/wrong", None, True, until=time.monotonic() + 0.2)
        assert time.monotonic() - began < 4
    assert counts(path) == []
    feedback.add("acme/wrong", None, True)
    assert counts(path)[0]["worked"] == 1
