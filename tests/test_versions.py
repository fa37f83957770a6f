"""Version ranges: half-open, ordered as PEP 440 says, unknown where a build near a border may be either."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from troubleshoot.basics.versions import VersionRange, in_range, in_ranges, parse_version


@pytest.mark.parametrize(
    ("version", "introduced", "fixed", "answer"),
    [
        ("4.50.0", "4.50.0", "4.50.3", True),
        ("4.50.3", "4.50.0", "4.50.3", False),
        ("4.49.0", "4.50.0", "4.50.3", False),
        ("4.50", "4.50.0", "4.50.3", True),
        ("v4.50.1", "4.50.0", "4.50.3", True),
        ("4.50.2+cu121", "4.50.0", "4.50.3", True),
        ("4.50.3+cu121", "4.50.0", "4.50.3", False),
        ("4.50.0+cu121", "4.50.0", "4.50.3", True),
        ("0.1", "0", "4.50.3", True),
        ("9.0", "4.50.0", None, True),
        ("4.50.3rc1", "4.50.0", "4.50.3", True),
        ("4.50.3.post1", "4.50.0", "4.50.3", False),
        ("4.50.3.dev0", "4.50.0", "4.50.3", None),
        ("4.51.0.dev0", "4.50.0", "4.50.3", False),
        ("4.49.1.dev0", "4.50.0", "4.50.3", False),
        ("2.3.0a0+git1234", "2.3.0", None, None),
        ("2.3.0a0+6ddf5cf85e.nv24.04", "2.0", "2.3", None),
        ("2.2.0a0+git1234", "2.3.0", None, False),
        ("latest", "2.3.0", None, None),
        ("", "0", None, None),
    ],
)
def test_a_version_lies_in_a_range_or_does_not_or_may(version: str, introduced: str, fixed: str | None, answer: bool | None) -> None:
    """Introduced counts, fixed does not; snapshots of the border's release may hold the change."""
    assert in_range(version, VersionRange(introduced, fixed)) is answer


def test_a_border_may_be_a_local_version() -> None:
    """A vendor's patch level has ranges of its own."""
    patched = VersionRange("4.50.1", "4.50.1+acme3")
    assert in_range("4.50.1", patched) is True
    assert in_range("4.50.1+acme2", patched) is True
    assert in_range("4.50.1+acme3", patched) is False


def test_several_ranges_are_one_question() -> None:
    """In any is in; unknown only where none is certain."""
    ranges = (VersionRange("1.0", "1.2"), VersionRange("2.0", "2.2"))
    assert in_ranges("2.1", ranges) is True
    assert in_ranges("1.5", ranges) is False
    assert in_ranges("2.2.0.dev1", ranges) is None
    assert in_ranges("1.1", ()) is False


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (VersionRange("0"), "every release"),
        (VersionRange("0", "2.0"), "before 2.0"),
        (VersionRange("1.0"), "1.0 and later"),
        (VersionRange("1.0", "2.0"), "1.0 to before 2.0"),
    ],
)
def test_a_range_reads_as_people_say_it(one: VersionRange, text: str) -> None:
    """In words, without operators."""
    assert str(one) == text


@given(st.text(max_size=20))
def test_any_text_is_a_version_or_none(text: str) -> None:
    """Nothing that is pasted raises."""
    assert parse_version(text) is None or isinstance(parse_version(text), Version)
    assert in_range(text, VersionRange("1.0", "2.0")) in (True, False, None)


_RELEASES = st.lists(st.integers(0, 30), min_size=1, max_size=4).map(lambda parts: ".".join(map(str, parts)))


@given(_RELEASES, _RELEASES, _RELEASES)
def test_released_versions_are_never_unknown(version: str, introduced: str, fixed: str) -> None:
    """They are in the range exactly as PEP 440 orders them, with or without trailing zeros and local part."""
    wanted = VersionRange(introduced, fixed)
    expected = Version(introduced) <= Version(version) < Version(fixed)
    assert in_range(version, wanted) is expected
    assert in_range(version + ".0", wanted) is expected
    assert in_range(version + "+cu121", wanted) is expected
