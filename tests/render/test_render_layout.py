"""Widths, wrapping and colour."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from troubleshoot.basics.redact import redact_text
from troubleshoot.telling.layout import clip, columns, pad, paint, shorter_path, visible, wrap

TEXT = st.text(st.one_of(st.sampled_from(" 中文，。（）abc`\n\t"), st.characters(codec="utf-8")), max_size=200)


@given(TEXT, st.integers(20, 100))
def test_wrapping_loses_nothing(text: str, width: int) -> None:
    """All but white space is still there, in order."""
    assert "".join("".join(wrap(text, width)).split()) == "".join(text.split())


@given(TEXT, st.integers(20, 100))
def test_a_line_is_too_long_only_where_it_cannot_be_broken(text: str, width: int) -> None:
    """A line over the width has no place to break it."""
    for line in wrap(text, width):
        if columns(line) > width:
            assert len(wrap(line, 16)) <= len(wrap(line, width)) or " " not in line.strip() or "`" in line


def test_chinese_breaks_anywhere_but_before_punctuation() -> None:
    """A full stop does not begin a line; a character takes two columns."""
    lines = wrap("模型的一部分停留在与其余部分不同的类型。", 20)
    assert lines == ["模型的一部分停留在与", "其余部分不同的类", "型。"] or all(not line.startswith("。") for line in lines)
    assert all(columns(line) <= 20 for line in lines)


def test_back_quoted_commands_stay_together() -> None:
    """What is to be copied is not torn apart."""
    assert "`troubleshoot explain torch/x`" in wrap("More about this one: `troubleshoot explain torch/x`", 34)


@given(st.text(max_size=200))
def test_nothing_visible_steers_a_terminal(text: str) -> None:
    """No control character and none that reorders text survives."""
    for char in visible(text).replace("\n", ""):
        assert unicodedata.category(char) != "Cc"
        assert unicodedata.bidirectional(char) not in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")


HIDDEN = "\u00ad\u034f\u115f\u17b4\u180e\u200b\u2060\u2065\u206f\u3164\uffa0\ufffb\U0001d173\U000e0041\U000e0100"


@pytest.mark.parametrize("char", [*HIDDEN, "\u200c", "\u200d", "\ufe0f", "\u2028", "\u202e"])
def test_nothing_hidden_stays_hidden(char: str) -> None:
    """A text that only programs see is shown as escapes, and tears no secret apart."""
    assert visible(f"a{char}b") == f"a{ascii(char)[1:-1]}b"
    if char != "\u2028":
        secret = "hf_" + "a1B2" * 8
        torn = "".join(letter + char for letter in secret)
        assert redact_text(f"token {torn}.") == redact_text(f"token {secret}.")
    smuggled = "👍" + "\ufe0f\ufe01" * 8 + "\u200d\u200c" * 8
    assert len(re.findall(r"[\u200c\u200d\ufe00-\ufe0f]", visible(smuggled))) <= 2


def test_scripts_and_emoji_keep_their_joiners() -> None:
    """They are read otherwise without them."""
    for text in ("👩\u200d💻", "❤\ufe0f\u200d🔥", "می\u200cخواهم", "é"):
        assert visible(text) == text
        assert redact_text(text) == text


def test_visible_text_stays() -> None:
    """Letters of every script, and emoji, are no control characters."""
    assert visible("模型 é 🤗 [rank0] [/b]\n") == "模型 é 🤗 [rank0] [/b]\n"


@pytest.mark.parametrize(("text", "width"), [("abc", 3), ("中文", 4), ("e\u0301", 1), ("\u200b", 0), ("🤗", 2)])
def test_columns(text: str, width: int) -> None:
    """Wide characters count two, combining ones none."""
    assert columns(text) == width


@given(TEXT, st.integers(2, 40))
def test_clipped_text_fits(text: str, width: int) -> None:
    """Clipping never exceeds the width."""
    text = visible(text.replace("\n", " "))
    assert columns(clip(text, width)) <= max(width, 1)


def test_pad_counts_columns() -> None:
    """Chinese labels line up with Latin ones."""
    assert columns(pad("依据", 6)) == columns(pad("Why", 6)) == 6


def test_a_long_path_loses_its_leading_folders() -> None:
    """The file, the line and the function are what one reads."""
    line = '  File "/home/alice/.venv/lib/python3.10/site-packages/transformers/models/t5/modeling_t5.py", line 3, in forward'
    short = shorter_path(line, 70)
    assert columns(short) <= 70
    assert short.endswith('/modeling_t5.py", line 3, in forward')
    assert short.startswith('  File "…/')
    assert shorter_path("x" * 200, 70) == "x" * 200


def test_colour_only_where_asked() -> None:
    """Without colour there is no escape sequence."""
    assert paint("x", "good", False) == "x"
    assert paint("x", "good", True) == "\x1b[32mx\x1b[0m"
    assert paint("", "good", True) == ""
