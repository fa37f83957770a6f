"""The tutorials' code runs as it stands there, and their commands exist."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest
import typer

from troubleshoot.commands.app import app

TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorials"


def blocks(name: str, kind: str) -> list[str]:
    """Return the code blocks of a page."""
    text = (TUTORIALS / name).read_text(encoding="utf-8")
    return [body for found, body in re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL) if found == kind]


def test_the_chat_answers() -> None:
    """With the title, a fix and a question; what it cannot know it says."""
    (example,) = blocks("chat.md", "python")
    namespace: dict[str, object] = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(example, "chat.md", "exec"), namespace)
    assert "(likely, " in printed.getvalue()
    assert "Try: " in printed.getvalue()
    answer = namespace["answer"]
    assert callable(answer)
    assert "No failure" in answer("hello")
    assert "一" not in answer("RuntimeError: expected scalar type Float but found Half")
    assert re.search(r"[\u4e00-\u9fff]", answer("RuntimeError: expected scalar type Float but found Half", "zh"))


@pytest.mark.torch
def test_the_handler_names_the_culprit() -> None:
    """The first example, on a model with one layer left in float32."""
    pytest.importorskip("torch")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(blocks("exceptions.md", "python")[0], "exceptions.md", "exec"), {})
    assert printed.getvalue().splitlines()[-1] == "1 model[1].to(torch.float16)"


@pytest.mark.parametrize("name", ["command.md", "exceptions.md", "chat.md"])
def test_every_command_of_the_tutorials_exists(name: str) -> None:
    """With the options that they use."""
    text = (TUTORIALS / name).read_text(encoding="utf-8")
    group = typer.main.get_command(app)
    for line in re.findall(r"troubleshoot ((?:diagnose|explain|verify|run|env|kb)\b[^\n`|]*)", text):
        command = group.commands[line.split()[0]]  # type: ignore[attr-defined]
        known = {option for parameter in command.params for option in parameter.opts}
        if line.split()[0] != "run":
            assert set(re.findall(r"(?<!\S)--?[a-z][a-z-]*", line)) <= known, line
