"""The commands where the extra is not installed, and the options that need no server."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("command", ["serve", "mcp"])
def test_without_the_extra_it_says_what_to_install(command: str) -> None:
    """One line with the command to run, and the exit code of an error in use."""
    program = f"import sys; sys.modules['uvicorn'] = None; from troubleshoot.cli import main; sys.exit(main([{command!r}]))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 2
    assert "pip install 'troubleshoot[serve]'" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("options", [["--host", "0.0.0.0"], ["--host", ""], ["--host", "localhost.example.com"], ["--host", "::"]])
def test_other_machines_need_a_token(options: list[str]) -> None:
    """Refused before anything of the extra is imported."""
    done = subprocess.run([sys.executable, "-m", "troubleshoot", "serve", *options], capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 2
    assert "--token-file" in done.stderr and "--no-auth" in done.stderr
