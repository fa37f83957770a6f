"""No text takes long: the time grows linearly with the length, whatever is pasted."""

from __future__ import annotations

import random

import pytest

pytest.importorskip("resource", reason="limits of processor time are POSIX's")

from hostile.generators import GENERATORS, Generator, all_generators
from hostile.measure import FACES, KB, MB, NEGLIGIBLE, WORST_RATIO, Growth, measure

#: How many of the generators the quick test tries, and how many of the knowledge base's patterns.
_DRAWN, _DRAWN_ENTRIES = 50, 10

#: Each took seconds for a few kilobytes, or grew with the square of the length, before the code that reads it was changed.
_ONCE_SLOW = (
    "boxes/tops-far", "clean/json-wide", "clean/split-blanks@4000", "clean/unescape-quotes@190000", "dumps/gpu-blanks@190000",
    "failures/roots", "failures/volatile-letters", "listings/command-prompts@180000", "mentions/torch-gap@100", "prefixes/ranks",
    "prefixes/superscript@40", "scan/failures-bare", "search/announce", "search/yaml", "smi/memory-digits@190000", "smi/row-blanks@190000",
)  # fmt: skip


def _faults(
    generators: dict[str, Generator], sizes: tuple[int, ...], face: str = "diagnose", limit: float = 8.0, negligible: float = NEGLIGIBLE
) -> list[str]:
    """Return those at fault, twice: a busy machine makes one measurement wrong, hardly the same one again.

    The second time a longer text is tried too: a cost that begins at some length, and is paid once, does not grow on.
    """
    chosen = generators
    for lengths in (sizes, (*sizes, 4 * max(sizes))):
        faulty = {
            one.name: f"{one.name}: {fault} ({one.seconds})"
            for one in measure(chosen, lengths, face=face, jobs=2, limit=limit)
            if (fault := one.fault(None, negligible))
        }
        chosen = {name: generators[name] for name in faulty}
    return list(faulty.values())


def _drawn(generators: dict[str, Generator], count: int) -> dict[str, Generator]:
    names = random.Random(20261123).sample(sorted(generators), count)
    return {name: generators[name] for name in names}


@pytest.mark.slow
def test_a_sample_of_hostile_texts_takes_linear_time() -> None:
    entries = {name: make for name, make in all_generators().items() if name not in GENERATORS}
    known = {name: GENERATORS[name] for name in _ONCE_SLOW}
    drawn = {**known, **_drawn(GENERATORS, _DRAWN), **_drawn(entries, _DRAWN_ENTRIES)}
    assert _faults(drawn, (16 * KB, 64 * KB), limit=3.0, negligible=2 * NEGLIGIBLE) == []


def test_the_generators_make_texts_of_the_length_that_is_asked_for() -> None:
    lengths = {name: len(make(30_000)) for name, make in _drawn(GENERATORS, 400).items()}
    # The lists of all words of the base are longer; a frame with a long path may be the only one.
    assert {name: length for name, length in lengths.items() if not 15_000 <= length <= 130_000} == {}


def test_growth_is_told_by_the_last_two_lengths() -> None:
    quadratic = Growth("x", {16 * KB: 0.1, 64 * KB: 1.6})
    assert quadratic.ratio == pytest.approx(16)
    assert quadratic.per_megabyte == pytest.approx(1.6 * 256)
    assert "16.0-fold" in quadratic.fault()
    assert Growth("x", {256 * KB: 0.2, MB: 0.8}).fault() == ""
    assert Growth("x", {256 * KB: 0.3, MB: 1.2}).fault() == "1.20 s for a megabyte"
    assert Growth("x", {256 * KB: 0.0001, MB: NEGLIGIBLE / 2}).fault() == ""
    assert WORST_RATIO < 16


def test_a_text_that_hangs_is_ended_and_told() -> None:
    def act(text: str) -> None:
        while text.startswith("x"):
            pass

    FACES["hang"] = act
    try:
        (found,) = measure({"a": lambda n: "x" * n}, (KB, 4 * KB), face="hang", limit=1.0)
    finally:
        del FACES["hang"]
    assert found.fault() == "ended by its limit of processor time at 1 KB"


@pytest.mark.slow
def test_a_larger_sample_of_hostile_texts_takes_linear_time() -> None:
    """All of them, up to a megabyte and for other faces: ``python -m tests.hostile.measure``, the better part of an hour."""
    assert _faults(_drawn(GENERATORS, 150), (16 * KB, 64 * KB, 256 * KB)) == []
