"""The table of released lines: what goes in comes out, and no release is ruled out wrongly."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from troubleshoot.basics.errors import InputError
from troubleshoot.basics.versions import Releases
from troubleshoot.engine.lines.table import LineTable, TracedPackage, code_hash, encode_table

CODES = ("x = f(x)", "return self.dropout(x)", "y = x @ w", "raise ValueError(x)")

#: A file of one release: (distance to the line before, code) per traced line; None where the release lacks the file.
REVISION = st.one_of(st.none(), st.lists(st.tuples(st.integers(1, 700), st.sampled_from(CODES)), max_size=12))


def numbered(revision: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return (line, code)."""
    found, line = [], 0
    for way, code in revision:
        line += way
        found.append((line, code))
    return found


def table_of(files: dict[str, list[list[tuple[int, str]] | None]]) -> LineTable:
    """Return the table of a package ``p`` with as many releases as its files have states."""
    count = len(next(iter(files.values())))
    packages = {"p": TracedPackage("p", [f"1.{number}" for number in range(count)])}
    traced = {
        name: [None if one is None else [(line, code_hash(code)) for line, code in one] for one in states] for name, states in files.items()
    }
    return LineTable(encode_table(packages, traced, "2026-01-01"))


@given(st.lists(REVISION, min_size=1, max_size=8))
def test_the_answer_is_that_of_the_sources(states: list[list[tuple[int, str]] | None]) -> None:
    """For every line of every release, exactly the releases that have that code at that line; lines far apart too."""
    files = [None if one is None else numbered(one) for one in states]
    table = table_of({"p/a.py": files})
    for lines in files:
        for line, code in lines or ():
            bits = table.releases_with("p/a.py", line, code)
            expected = sum(1 << number for number, other in enumerate(files) if other is not None and (line, code) in other)
            assert bits == expected


def test_a_text_that_is_not_traced_says_nothing() -> None:
    """The table knows neither comments nor other files: nothing can be concluded from their frames."""
    table = table_of({"p/a.py": [[(3, CODES[0])], [(4, CODES[0])]]})
    assert table.releases_with("p/a.py", 3, "if x is None:") is None
    assert table.releases_with("p/b.py", 3, CODES[0]) is None
    assert table.has("p/a.py")
    assert not table.has("p/b.py")


def test_a_traced_text_at_no_such_line_rules_all_releases_out() -> None:
    """No bit: an installation that was changed, or one that the table does not know."""
    table = table_of({"p/a.py": [[(3, CODES[0])], [(4, CODES[0])]]})
    assert table.releases_with("p/a.py", 5, CODES[0]) == 0


def test_blanks_do_not_count() -> None:
    """Terminals and formatters move them."""
    table = table_of({"p/a.py": [[(3, "x = f( a,  b )")]]})
    assert table.releases_with("p/a.py", 3, "  x=f(a, b)") == 1


@pytest.mark.parametrize(
    ("bits", "text"),
    [
        (0b01100, "1.2 to 1.3"),
        (0b00100, "1.2"),
        (0b01010, "1.1 or 1.3"),
        (0b11000, "1.3 or later"),
        (0b00011, "1.1 or earlier"),
        (0b10000, "1.4 or later"),
        (0b10011, "1.1 or earlier or 1.4 or later"),
    ],
)
def test_releases_are_told_as_spans(bits: int, text: str) -> None:
    """Neighbours together; the code of the oldest or the newest release may be that of releases that nobody looked at."""
    table = table_of({"p/a.py": [[(3, CODES[0])]] * 5})
    assert str(table.releases("p", bits)) == text


def test_all_releases_are_no_news() -> None:
    """Code that never moved tells nothing."""
    table = table_of({"p/a.py": [[(3, CODES[0])]] * 5})
    assert table.releases("p", 0b11111) is None


def test_the_only_release_is_a_version() -> None:
    """Unless its end is open."""
    table = table_of({"p/a.py": [[(3, CODES[0])]] * 5})
    middle, newest = table.releases("p", 0b00100), table.releases("p", 0b10000)
    assert middle is not None and middle.only == "1.2"
    assert newest is not None and newest.only is None


def test_the_same_content_gives_the_same_bytes() -> None:
    """A rebuilt table differs only where the releases do."""
    states = [[(3, CODES[0]), (900, CODES[1])], None, [(4, CODES[0])]]
    traced = {"p/a.py": [None if one is None else [(line, code_hash(code)) for line, code in one] for one in states]}
    packages = {"p": TracedPackage("p", ["1.0", "1.1", "1.2"])}
    assert encode_table(packages, traced, "2026-01-01") == encode_table(packages, dict(reversed(traced.items())), "2026-01-01")


@pytest.mark.parametrize("content", [b"", b"{}\n", b"\x00\xff\n", b'{"format":99,"made":"","packages":{},"files":{}}\n'])
def test_what_is_no_table_is_refused(content: bytes) -> None:
    """With what is wrong."""
    with pytest.raises(InputError, match="table of released lines"):
        LineTable(content)


SPAN = Releases(("4.50.0", "4.50.1", "4.50.2"), (("4.50.0", "4.50.2"),))


@pytest.mark.parametrize(
    ("borders", "wanted"),
    [(("4.50.0", "4.50.3"), True), (("4.50.3", "9"), False), (("4.50.1", "4.50.3"), None)],
)
def test_conditions_are_held_in_three_values(borders: tuple[str, str], wanted: bool | None) -> None:
    """True where all releases satisfy it, False where none does."""
    from troubleshoot.basics.versions import VersionRange, in_range

    assert SPAN.hold(lambda version: in_range(version, VersionRange(*borders))) is wanted


def test_an_open_end_reaches_to_every_later_release() -> None:
    """5.23 or later may be 6.0: a range that ends at 6 is unknown, one without an end is true."""
    from troubleshoot.basics.versions import VersionRange, in_range

    later = Releases(("5.23.0",), (("5.23.0", None),))
    assert later.hold(lambda version: in_range(version, VersionRange("5.0", "6.0"))) is None
    assert later.hold(lambda version: in_range(version, VersionRange("5.0"))) is True
    assert later.hold(lambda version: in_range(version, VersionRange("4.0", "5.0"))) is False
