"""Finding borders: every change of behaviour between neighbours that the grid of releases shows, with both sides run."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from troubleshoot.verify.bisect import CANNOT, find_borders, state_of
from troubleshoot.verify.model import RunResult

BLIP2 = ["4.48.0", "4.48.3", "4.49.0", "4.50.0", "4.50.1", "4.50.2", "4.50.3", "4.51.0", "4.51.1", "4.51.3", "4.52.0"]


def test_both_borders_of_an_island_within_a_series_are_found() -> None:
    """4.50.0 to 4.50.2 fail, 4.50.3 is right: two borders, though 4.49 and 4.51 are right."""
    run: list[str] = []

    def state(version: str) -> str:
        run.append(version)
        return "fails" if version in ("4.50.0", "4.50.1", "4.50.2") else "right"

    borders = find_borders(BLIP2, state)
    assert [(one.before, one.after, one.to_state) for one in borders] == [("4.49.0", "4.50.0", "fails"), ("4.50.2", "4.50.3", "right")]
    assert {"4.49.0", "4.50.0", "4.50.2", "4.50.3"} <= set(run), "both sides of each were run"


def test_releases_that_cannot_run_make_no_border() -> None:
    """Where the older releases do not install, the first that runs is no change of behaviour."""
    assert find_borders(BLIP2, lambda version: CANNOT if version < "4.49.0" else "right") == ()


def test_no_releases_no_borders() -> None:
    """Nothing to run is no error."""
    assert find_borders([], lambda version: "right") == ()
    assert find_borders(["1.0"], lambda version: "right") == ()


@given(st.lists(st.integers(1, 6), min_size=1, max_size=8), st.data())
def test_a_single_change_is_always_found(patches: list[int], data: st.DataObject) -> None:
    """Wherever one change lies, it is found, between neighbours."""
    releases = [f"1.{minor}.{patch}" for minor, count in enumerate(patches) for patch in range(count)]
    first_new = data.draw(st.integers(0, len(releases)))
    borders = find_borders(releases, lambda version: "new" if releases.index(version) >= first_new else "old")
    wanted = [(releases[first_new - 1], releases[first_new])] if 0 < first_new < len(releases) else []
    assert [(one.before, one.after) for one in borders] == wanted


def test_states_do_not_depend_on_numbers_in_messages() -> None:
    """A message with another size or address is the same behaviour; another message is not."""
    one = state_of(RunResult("raised", error="RuntimeError: size 12 at 0x3.5"))
    assert one == state_of(RunResult("raised", error="RuntimeError: size 99 at 0x7.1"))
    assert one != state_of(RunResult("raised", error="RuntimeError: other"))
    assert state_of(RunResult("wrong", relative_error=None)) == "NaN or inf"
    assert state_of(RunResult("wrong", relative_error=0.9)) == "wrong result"
    assert state_of(RunResult("import-error")) == CANNOT
