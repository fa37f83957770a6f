"""The form of answers: their length, and the line of facts that is read back."""

from __future__ import annotations

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from troubleshoot.serve.chat.facts_line import Note, read_line, write_line
from troubleshoot.serve.chat.length import cut, fitted
from troubleshoot.serve.chat.replies import Block
from troubleshoot.serve.engine import Engine
from troubleshoot.serve.settings import Settings

PROSE = st.text(alphabet=string.ascii_letters + " .`[]()\n。，是", min_size=1, max_size=400)
BLOCKS = st.lists(
    st.one_of(
        st.builds(Block, PROSE.filter(lambda text: "```" not in text), st.integers(1, 9)),
        st.builds(lambda text, rank: Block(f"```sh\n{text}\n```", rank), st.text(alphabet="abc \n", max_size=600), st.integers(1, 9)),
    ),
    max_size=12,
)


@given(BLOCKS, st.integers(400, 2000))
def test_no_answer_is_too_long_and_no_code_is_cut(blocks: list[Block], limit: int) -> None:
    """Whatever the blocks: within the limit, fences whole, the last line last."""
    text = fitted(blocks, "`facts: gpu=T4`", limit, "(see the page)")
    assert len(text) <= limit
    assert text.count("```") % 2 == 0
    assert text.endswith("`facts: gpu=T4`")
    whole = {block.text for block in blocks if block.text.startswith("```")}
    assert all(any(code in one for one in whole) for code in re.findall(r"```sh\n.*?\n```", text, re.DOTALL))


@given(PROSE, st.integers(0, 500))
def test_cut_keeps_the_beginning(text: str, room: int) -> None:
    """What is left is the beginning of the text, and not longer than the room."""
    short = cut(text, room)
    assert len(short) <= max(room, 0)
    assert text.startswith(short.removesuffix("…"))


def test_what_matters_least_goes_first() -> None:
    """Blocks of a low rank are left out before others are shortened."""
    blocks = [Block("a" * 100), Block("b" * 300, 2), Block("c" * 100, 8)]
    assert fitted(blocks, "`facts: none`", 400, "") == f"{'a' * 100}\n\n{'c' * 100}\n\n`facts: none`"


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine(Settings())


NAMES = st.sampled_from(["package.torch", "package.flash-attn", "gpu", "dtype.requested", "model", "attention", "phase"])


@given(
    st.dictionaries(NAMES, st.sampled_from(["2.3.0", "4.50.1", "absent", "present"]), max_size=5),
    st.sampled_from(["en", "zh"]),
    st.sampled_from([None, "alice", "user-1_x"]),
    st.lists(st.sampled_from(["upgrade", "cast-model", "use-fp32"]), unique=True, max_size=3),
)
def test_a_line_is_read_back_as_it_was_written(
    engine: Engine, answers: dict[str, str], language: str, speaker: str | None, tried: list[str]
) -> None:
    """Writing and reading are inverse for everything that the program says."""
    issue = "transformers/blip2-query-tokens-fp32"
    rejected = ("torch/linear-dtype",)
    note = Note(
        language, answers, issue, "dtype-mismatch/fp32-island", "gpu", tuple(tried), "upgrade", ("package.apex",), rejected, speaker
    )
    line = write_line(note)
    assert "\n" not in line
    for decoration in (line, line.strip("`"), f"*{line}*", f"> {line}", f"text\n\n{line}\n"):
        assert read_line(decoration, engine.base) == note


@given(st.text(max_size=300))
def test_nothing_else_is_read(engine: Engine, text: str) -> None:
    """An arbitrary text gives no issue that does not exist and no value that cannot be written."""
    for line in (text, f"facts: {text}", f"facts: issue={text}; gpu={text}; tried={text}; for={text}"):
        note = read_line(line, engine.base)
        if note is not None:
            assert note.issue is None or note.issue in engine.base.index.ids
            assert all(value.isprintable() and ";" not in value for value in note.answers.values())
