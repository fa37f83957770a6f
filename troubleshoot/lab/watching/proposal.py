"""The smallest set of modules to keep in float32: proposed from what was seen, tried, grown while it is not enough, then shrunk."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from troubleshoot.lab.watching.islands import keep_float32
from troubleshoot.lab.watching.observations import INPUTS, LIMITS, OUTSIDE, Event, Proposal, Range

#: Runs that a verification may take.
MOST_RUNS = 40


def propose(events: Iterable[Event], ranges: Iterable[Range], dtype: str, leaves: frozenset[str]) -> Proposal:
    """Propose modules from the faults of a run in half precision, or from the ranges of a wider one that ``dtype`` could not hold."""
    seen = tuple(dict.fromkeys(one.module for one in events if one.direction == "forward" and one.module not in (INPUTS, OUTSIDE)))
    if seen:
        return Proposal(seen, dtype, "where the first overflow or NaN of a step came from")
    large = [one for one in ranges if one.direction == "forward" and one.headroom(dtype) < 1 and one.module not in (INPUTS, OUTSIDE)]
    chosen = [one.module for one in large if one.module in leaves] or [one.module for one in large]
    limit = LIMITS[dtype][0]
    why = f"what they return exceeds {limit:.5g}" if chosen else f"nothing exceeded {limit:.5g}"
    return Proposal(tuple(dict.fromkeys(chosen)), dtype, why)


@dataclass
class Trial:
    """Runs the model with sets of modules in float32: ``run`` calls it once, ``watch`` is a context that then tells the first fault."""

    model: Any
    run: Callable[[], object]
    watch: Callable[[Any], Any]
    runs: int = 0
    error: str | None = None
    closed: bool = False
    _known: dict[frozenset[str], tuple[Event | None, frozenset[str]]] = field(default_factory=dict)

    def fault(self, modules: Iterable[str]) -> tuple[Event | None, frozenset[str]]:
        """Run with these modules in float32; return the first overflow or NaN (None: all finite) and the layers that cast float32 down.

        Raises RuntimeError and the like where the model cannot run so.
        """
        key = frozenset(modules)
        if key not in self._known:
            self.runs += 1
            with keep_float32(self.model, sorted(key), closed=self.closed) as islands, self.watch(self.model) as watching:
                self.run()
            event = watching.first
            if event is None and watching.error:
                raise RuntimeError(watching.error)
            if event is not None and event.kind == "underflow":
                event = None
            self._known[key] = (event, frozenset(islands.borders))
        return self._known[key]

    def forget(self) -> None:
        """Begin anew, for another kind of border."""
        self._known.clear()


def settle(trial: Trial, proposal: Proposal, parents: Callable[[str], tuple[str, ...]]) -> Proposal:
    """Grow the proposed set until the run stays finite, then shrink it; return it with the outcome.

    ``parents`` returns the arithmetic leaves of a module in the order of their last calls, the latest first.
    """
    chosen: list[str] = list(proposal.modules)
    try:
        event = _grow(trial, chosen)
    except Exception as error:
        if trial.closed:
            first_line = (str(error).splitlines() or [""])[0]
            return _with(proposal, tuple(chosen), False, trial, f"{type(error).__name__}: {first_line}")
        # Some code between the modules refuses float32: give back at each border what came in.
        trial.closed = True
        trial.forget()
        return settle(trial, proposal, parents)
    if event is not None:
        return _with(proposal, tuple(chosen), False, trial, f"{event.kind} in {event.module or 'the model itself'} remains")
    return _with(proposal, tuple(_shrink(trial, chosen, parents)), True, trial, None)


def _with(proposal: Proposal, modules: tuple[str, ...], verified: bool, trial: Trial, error: str | None) -> Proposal:
    return Proposal(modules, proposal.dtype, proposal.why, verified, trial.runs, error, trial.closed)


def _grow(trial: Trial, chosen: list[str]) -> Event | None:
    """Add what is to blame next, until nothing is; return the fault that no module can be blamed for."""
    while True:
        event, borders = trial.fault(chosen)
        if event is None:
            return None
        following = event.module
        if event.before is not None and event.before in borders:
            # Float32 values were too large for the half weights that read them.
            following = event.before
        while following in chosen and following:
            following = following.rpartition(".")[0]
        if following in chosen or following in (INPUTS, OUTSIDE) or event.direction != "forward" or trial.runs >= MOST_RUNS:
            return event
        chosen.append(following)
        _generalise(trial, chosen)


def _generalise(trial: Trial, chosen: list[str]) -> None:
    """Three layers of one kind in different blocks: take that kind in all blocks, and leave it to the shrinking to take it back."""
    kind = _kind(chosen[-1])
    if sum(_kind(one) == kind for one in chosen) == 3:
        chosen += [name for name, _ in trial.model.named_modules() if _kind(name) == kind and name not in chosen]


def _kind(name: str) -> str:
    return re.sub(r"(?<![^.])\d+(?![^.])", "*", name)


def _shrink(trial: Trial, chosen: list[str], parts: Callable[[str], tuple[str, ...]]) -> list[str]:
    """Replace whole blocks by one of their layers, and leave out what is not needed, while the run stays finite."""
    for name in list(chosen):
        for part in parts(name):
            if part != name and trial.runs < MOST_RUNS and _finite(trial, [part if one == name else one for one in chosen]):
                chosen[chosen.index(name)] = part
                break
    chosen = list(dict.fromkeys(chosen))
    for name in sorted(chosen, key=lambda one: -len(one)):
        if len(chosen) > 1 and trial.runs < MOST_RUNS and _finite(trial, [one for one in chosen if one != name]):
            chosen.remove(name)
    return chosen


def _finite(trial: Trial, chosen: list[str]) -> bool:
    try:
        return trial.fault(chosen)[0] is None
    except Exception:
        return False
