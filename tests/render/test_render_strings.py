"""The interface's words in both languages."""

from __future__ import annotations

import ast
import string
from pathlib import Path

import pytest

import troubleshoot.commands
import troubleshoot.telling
from troubleshoot.telling.strings import TABLES
from troubleshoot.telling.words import Words

SOURCES = [path for package in (troubleshoot.telling, troubleshoot.commands) for path in Path(str(package.__file__)).parent.glob("*.py")]


def holes(text: str) -> set[str]:
    """Return the names of a text's holes."""
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_both_tables_have_the_same_keys() -> None:
    """Nothing is left untranslated."""
    assert TABLES["en"].keys() == TABLES["zh"].keys()


@pytest.mark.parametrize("key", TABLES["en"])
def test_both_languages_have_the_same_holes(key: str) -> None:
    """A translation says the same things."""
    assert holes(TABLES["en"][key]) == holes(TABLES["zh"][key])


def test_chinese_is_chinese() -> None:
    """Only what is a name or a number has no Chinese character."""
    same = {key for key, text in TABLES["zh"].items() if text and not any("\u4e00" <= char <= "\u9fff" for char in text)}
    names = {"gpu", "memory", "percent", "or.confidence", "seen.cpu", "seen.capability", "rank", "share.command", "kb.column.id", "Support"}
    names |= {"badge", "named", "named.dtype", "met.dtype", "met.dtype-alone", "dont.why"}
    assert same <= names


def keys_in_code() -> tuple[set[str], set[str]]:
    """Return the keys that code asks for, and the beginnings of those it puts together."""
    whole, beginnings = set(), set()
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("words", "say") and node.args:
                for part in ast.walk(node.args[0]):
                    if isinstance(part, ast.JoinedStr) and isinstance(part.values[0], ast.Constant):
                        beginnings.add(str(part.values[0].value))
                    elif isinstance(part, ast.Constant) and isinstance(part.value, str):
                        whole.add(part.value)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "self":
                whole |= {str(one.value) for one in node.args if isinstance(one, ast.Constant)}
    return whole, beginnings


def test_every_key_is_used_and_every_used_key_exists() -> None:
    """The table holds what the code asks for, and nothing else."""
    whole, beginnings = keys_in_code()
    table = TABLES["en"].keys()
    pieces = {begin for begin in beginnings if not any(key.startswith(begin) for key in table)}
    assert not pieces
    # `KEY@page` is what the page says for KEY.
    used = {key for key in table if key.partition("@")[0] in whole or any(key.startswith(begin) for begin in beginnings)}
    # `words(kind)`, `words(verdict)` and `words(applicability)` take names of the schema.
    used |= {"known", "likely", "unknown", "issue", "family", "safe", "unsafe", "manual", "required", "supporting", "refuting", "percent"}
    assert set(table) - used == set()


def test_a_percentage_never_claims_certainty() -> None:
    """99 % is the most that is said."""
    assert Words("en").percent(1.0) == "99 %"
    assert Words("zh").percent(0.0) == "0%"


def test_an_unknown_language_is_english() -> None:
    """No language makes a face fail."""
    assert Words("fr")("known") == "known"


def test_chinese_paragraphs_have_no_blanks_between_characters() -> None:
    """Folded YAML lines leave blanks that Chinese does not have; those beside Latin words stay."""
    assert Words("zh").flow("半精度的， `half()`\n 参数。 再\n 转换 float32") == "半精度的，`half()` 参数。再转换 float32"
    assert Words("en").flow("two\n  lines") == "two lines"
