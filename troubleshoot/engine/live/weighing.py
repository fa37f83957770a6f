"""What was seen, held against the candidates: a family's causes are weighed anew, an entry that claims another cause is refuted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from troubleshoot.basics.lazy import lazy_attribute
from troubleshoot.engine.live.seen import Seen
from troubleshoot.engine.matching.candidates import Candidate, Matches
from troubleshoot.engine.result import EvidenceItem
from troubleshoot.knowledge.schema import WeightedCause

#: The causes between which tensors and modules decide.
DECIDED = frozenset({
    "dtype-mismatch/input-vs-weight", "dtype-mismatch/fp32-island", "dtype-mismatch/broken-fp32-guard", "dtype-mismatch/adapter-vs-base",
    "dtype-mismatch/cast-in-forward", "dtype-mismatch/autocast-boundary", "dtype-mismatch/buffer-write", "dtype-mismatch/attention-mask",
    "dtype-mismatch/double", "device-mismatch/module-left-behind", "device-mismatch/inputs-left-behind",
    "device-mismatch/constant-left-behind", "device-mismatch/sharded",
})  # fmt: skip

#: How much likelier the cause becomes that the tensors show.
_TIMES = 60.0


class Weighed(Candidate, frozen=True, dict=True, eq=False):
    """A candidate held against what was seen."""

    told: str = ""
    why: str = ""

    @lazy_attribute
    def cause_shares(self) -> list[tuple[WeightedCause, float]]:
        """A family's causes, the one that was seen made likelier."""
        shares = super().cause_shares
        weights = [(one, share * (_TIMES if one.cause == self.told else 1.0)) for one, share in shares]
        total = sum(weight for _, weight in weights)
        return sorted(((one, weight / total) for one, weight in weights), key=lambda item: -item[1]) if total > 0 else []

    @lazy_attribute
    def contradicted_by(self) -> EvidenceItem | None:
        """The seen cause, where the entry claims another one and nothing but its place speaks for it."""
        found = super().contradicted_by
        claims = self.entry.cause if self.entry.kind == "issue" else None
        if found is None and claims in DECIDED and claims != self.told and not self._known:
            return EvidenceItem("refutes", "culprit", self.why)
        return found

    @property
    def _known(self) -> bool:
        """A model or a release is stronger than a rule about tensors: such an entry was measured."""
        return bool(self.model.state or (self.entry.affected and self.affected.state))


def weigh(matches: Matches, seen: Seen | None) -> Matches:
    """Return the matches, weighed by what was seen; unchanged where nothing was."""
    if seen is None or seen.blame is None or seen.blame.cause not in DECIDED:
        return matches
    return replace(matches, candidates=tuple(_weighed(matches.candidates, seen.blame.cause, seen.blame.why)))


def _weighed(candidates: Iterable[Candidate], cause: str, why: str) -> Iterable[Candidate]:
    for one in candidates:
        known = {name: getattr(one, name) for name in Candidate.__struct_fields__}
        yield Weighed(**known, told=cause, why=why)
