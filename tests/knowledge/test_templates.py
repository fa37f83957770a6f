"""Message templates: syntax, holes, matching, index keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from troubleshoot.knowledge.sentences import tokens
from troubleshoot.knowledge.templates import (
    TemplateError,
    compile_template,
    facts_of,
    joined_probes,
    key_words,
    literal_length,
    parse_template,
    template_length,
)

try:
    import re._parser as re_parser
except ImportError:  # Python 3.10
    import sre_parse as re_parser  # type: ignore[import-not-found,no-redef]

SCALAR = "expected scalar type {expected:dtype} but found {found:dtype}"
CONV = "Input type ({input:tensor_type}) and (weight|bias) type ({weight:tensor_type}) should be the same"


def caught(template: str, text: str, *, blanks: bool = True, roles: dict[str, str] | None = None) -> dict[str, str] | None:
    """Return the facts a template catches in a text, None where it does not match."""
    if not blanks:
        text = "".join(text.split())
    match = compile_template(template, blanks).search(text.lower(), text)
    return None if match is None else facts_of(match.captured, roles or {})


@pytest.mark.parametrize("spelling", ["Half", "c10::Half", "struct c10::Half", "torch.float16", "fp16"])
def test_a_dtype_hole_takes_every_spelling(spelling: str) -> None:
    """One template serves all builds."""
    assert caught(SCALAR, f"RuntimeError: expected scalar type Float but found {spelling}.") == {
        "dtype.expected": "float32",
        "dtype.found": "float16",
    }


def test_a_hole_refuses_what_is_no_dtype() -> None:
    """The words fit, the content does not."""
    assert caught(SCALAR, "expected scalar type Banana but found Half") is None


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("this kernel only supports torch.bfloat16, got another", "bfloat16"),
        ("this kernel only supports `torch.float`", "float32"),
        ("this kernel only supports [fp16, bf16]", "float16"),
        ("this kernel only supports torch.cuda.HalfTensor", "float16"),
        ("this kernel only supports half of the heads", None),
        ("this kernel only supports int", None),
        ("this kernel only supports float values", None),
    ],
)
def test_a_dtype_name_is_no_other_word(text: str, wanted: str | None) -> None:
    """What is a word of the language or a type of Python as well does not count, unless a namespace stands before it."""
    assert caught("only supports {wanted:dtype_name}", text) == (wanted and {"dtype.wanted": wanted})


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("checkpoint is stored in the older torch.float16", "float16"),
        ("checkpoint is `c10::Half`", "float16"),
        ("checkpoint is a torch.cuda.HalfTensor, not a float one", "float16"),
        ("checkpoint is fp16x2 and printed", None),
        ("checkpoint is broken", None),
    ],
)
def test_text_before_a_dtype_name_goes_on_until_there_is_one(text: str, wanted: str | None) -> None:
    """The first word after a blank is hardly ever the dtype."""
    found = caught("checkpoint is{what:text} {found:dtype_name}", text)
    assert (found or {}).get("dtype.found") == wanted


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("`attn_bias` only supports torch.float16", True),
        ("attn_bias only supports torch.float16", True),
        ("my_attn_bias only supports torch.float16", False),
    ],
)
def test_backticks_may_be_lost(text: str, fits: bool) -> None:
    """A message that was copied from a rendered page has none, and still begins with its first word."""
    assert (caught("`attn_bias` only supports {wanted:dtype}", text) is not None) == fits


def test_a_dtype_name_counts_as_literal_text() -> None:
    """It tells about as much as a word."""
    assert template_length("only supports {wanted:dtype_name}") == template_length("only supports {wanted:dtype}") + 6


def test_tensor_types_give_dtype_and_device() -> None:
    """``torch.HalfTensor`` lives on the CPU."""
    assert caught(CONV, "Input type (torch.cuda.HalfTensor) and weight type (torch.HalfTensor) should be the same") == {
        "dtype.input": "float16", "device.input": "cuda", "dtype.weight": "float16", "device.weight": "cpu",
    }  # fmt: skip


def test_a_tensor_type_hole_takes_plain_dtypes_without_a_device() -> None:
    """The newer wording of the same message names no device."""
    assert caught(CONV, "Input type (float) and bias type (c10::Half) should be the same") == {
        "dtype.input": "float32",
        "dtype.weight": "float16",
    }


def test_roles_rename_what_holes_caught() -> None:
    """What ``expected`` means differs per operation: it is data of the template."""
    facts = caught(SCALAR, "expected scalar type Half but found Float", roles={"expected": "weight"})
    assert facts is not None
    assert facts["dtype.weight"] == "float16"


def test_text_without_blanks_matches_the_second_form() -> None:
    """Terminals wrap inside words."""
    assert caught(SCALAR, "expected scalar ty\npe Float but fou\nnd struct c10::Half\nThe above", blanks=False) == {
        "dtype.expected": "float32", "dtype.found": "float16",
    }  # fmt: skip


def test_doubled_brackets_and_braces_are_literal() -> None:
    """``[[``, ``]]``, ``{{`` and ``}}`` stand for themselves, also inside an optional part."""
    assert caught("tensor [[{n:int}]] has {{no}} grad[ at [[{m:int}]]]", "tensor [3] has {no} grad at [5]") == {
        "number.n": "3",
        "number.m": "5",
    }


def test_optional_tails_and_choices() -> None:
    """A missing tail leaves its holes unknown."""
    template = "found at least two devices, {a:device} (and|or) {b:device}![ (argument {argument:name})]"
    assert caught(template, "found at least two devices, cuda:1 and cpu!") == {"device.a": "cuda", "number.a": "1", "device.b": "cpu"}
    assert caught(template, "found at least two devices, cuda:0 or cpu! (argument mat1)")["name.argument"] == "mat1"


def test_parentheses_without_a_bar_are_literal() -> None:
    """Messages are full of parentheses."""
    assert caught("mixed dtype (CPU): expect parameter", "mixed dtype (CPU): expect parameter") == {}
    assert caught("mixed dtype (CPU): expect parameter", "mixed dtype CPU: expect parameter") is None


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("a {b", "not closed"),
        ("a {b:nope}", "unknown hole type"),
        ("a {:dtype}", "name:type"),
        ("a [b", "not closed"),
        ("a {1x:int}", "name:type"),
    ],
)
def test_syntax_errors_show_the_place(template: str, problem: str) -> None:
    """A curator sees a caret below the fault."""
    with pytest.raises(TemplateError, match="(?s)" + problem) as caught_error:
        parse_template(template)
    assert "^" in str(caught_error.value)


def test_words_do_not_match_inside_other_words() -> None:
    """``expected`` is not ``unexpected``."""
    assert caught("expected scalar type", "unexpected scalar type") is None


def test_key_words_leave_out_words_that_touch_a_hole() -> None:
    """``float{n:int}`` never shows the word ``float`` on its own."""
    assert key_words(parse_template("float{n:int} is not supported")) == (("not",), ("supported",))


@given(st.sampled_from(["Half", "c10::BFloat16", "torch.float32"]), st.sampled_from(["Float", "Double", "fp16"]), st.text(max_size=40))
def test_every_match_has_the_key_words(expected: str, found: str, tail: str) -> None:
    """The index may lead past a template only where it cannot match."""
    text = f"expected scalar type {expected} but found {found} {tail}".lower()
    if compile_template(SCALAR).search(text, text):
        words = tokens(text)
        assert all(any(word in words for word in group) for group in key_words(parse_template(SCALAR)))


@given(st.text(alphabet="expectdscalrtyfloabun {}()|[]:", max_size=60))
def test_parsing_any_text_gives_nodes_or_a_template_error(text: str) -> None:
    """No other error escapes, whatever is written."""
    try:
        nodes = parse_template(text)
    except TemplateError:
        return
    assert literal_length(nodes) >= 0


def repeats(parsed: Any, inside: bool = False) -> Iterator[tuple[int, bool]]:
    """Yield (upper bound, lies in another repeat) of every repeat in a parsed pattern."""
    for operator, argument in parsed:
        if str(operator) in ("MAX_REPEAT", "MIN_REPEAT"):
            _, most, body = argument
            yield int(most), inside
            yield from repeats(body, inside or int(most) > 1)
        elif str(operator) == "SUBPATTERN":
            yield from repeats(argument[3], inside)
        elif str(operator) == "BRANCH":
            for branch in argument[1]:
                yield from repeats(branch, inside)


@pytest.mark.parametrize(
    "template", [SCALAR, CONV, "a value {a:text} cannot {b:text}[ at {p:path}]", "{n:int} {f:float} {v:version} {d:device} {x:name}"]
)
@pytest.mark.parametrize("blanks", [True, False])
def test_patterns_are_linear(template: str, blanks: bool) -> None:
    """Every repetition is bounded, and none lies within another one: no text can make matching explode."""
    found = list(repeats(re_parser.parse(compile_template(template, blanks).pattern.pattern)))
    assert found
    assert all(most <= 200 for most, _ in found)
    assert all(most <= 20 for most, inside in found if inside)


def test_probes_for_text_without_blanks() -> None:
    """The longest literal, or one for each branch."""
    assert joined_probes(SCALAR) == ("expectedscalartype",)


@pytest.mark.parametrize(
    ("template", "pairs"),
    [
        ("expected scalar type {a:dtype} but found {b:dtype}", {("expected", "scalar"), ("scalar", "type"), ("but", "found")}),
        ("mat1 and{a:text}mat2 must match", {("must", "match")}),
        ("a_b g[ or c d] e f", {("a", "b"), ("e", "f")}),
        ("(x y|z) w", set()),
    ],
)
def test_pairs_of_words_that_every_match_holds(template: str, pairs: set[tuple[str, str]]) -> None:
    """What touches a hole may be a part of a longer word; optional parts and alternatives need not be there."""
    assert compile_template(template).pairs == pairs
