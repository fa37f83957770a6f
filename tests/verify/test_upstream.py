"""A founding case on the releases that had it, installed into an environment of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

pytestmark = [pytest.mark.torch, pytest.mark.slow]


def test_blip2_fails_before_its_release_and_its_fixes_work(tmp_path: Path) -> None:
    """Release 4.50.2 of transformers fails as the entry says, the engine names the issue from that real error, and the upgrade helps."""
    pytest.importorskip("transformers")
    command = [sys.executable, "-m", "troubleshoot", "verify", "transformers/blip2-query-tokens-fp32"]
    done = subprocess.run(
        [*command, "--device", "cpu", "--isolated", "--format", "json"],
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path), "LOCALAPPDATA": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    verification = json.loads(done.stdout)
    assert verification["environment"]["isolated"] is True
    assert verification["environment"]["packages"]["transformers"] == "4.50.2"
    assert verification["before"]["outcome"] == "reproduced"
    assert verification["before"]["diagnosed_as"] == "transformers/blip2-query-tokens-fp32"
    outcomes = {fix["id"]: fix["outcome"] for fix in verification["fixes"]}
    assert outcomes["upgrade"] == outcomes["cast-model"] == outcomes["use-fp32"] == "works"
