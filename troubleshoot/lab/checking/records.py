"""Where tensors come from: one record for each storage, with the operation that wrote it last."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import torch

from troubleshoot.lab.checking.check_findings import Place

#: Records whose parents are kept; older ones are cut off, so that a long program does not keep its whole history.
_KEPT = 40_000
#: Ancestors of a record that are looked at.
_MOST = 400
_STRIDED = torch.strided


class Record:
    """An operation's result: what made it, where, from what, and what is known of its values."""

    __slots__ = (
        "backward",
        "bad",
        "birth",
        "coarse",
        "deliberate",
        "dtype",
        "lost",
        "mask",
        "number",
        "op",
        "parents",
        "place",
        "rounded",
        "scaled",
        "unread",
    )  # fmt: skip

    def __init__(self, number: int, op: str, place: Place, dtype: str, parents: tuple[Record, ...], backward: bool) -> None:
        self.number = number
        self.op = op
        self.place = place
        self.dtype = dtype
        self.parents = parents
        self.backward = backward
        #: "", "inf" or "nan"
        self.bad = ""
        self.birth: Birth | None = None
        #: it holds inf or NaN because the program says so
        self.deliberate = False
        self.lost: Lost | None = None
        #: made of truth values only: a mask, or a count of one
        self.mask = False
        #: the GradScaler that multiplied it
        self.scaled: Any = None
        #: integers that the dtype has changed
        self.rounded = False
        #: how far rounding or clamping to integers is off, relative to the whole
        self.coarse = 0.0
        #: memory that nobody has written yet
        self.unread = False


@dataclass
class Lost:
    """Values that became zero though the same operation in float32 gives none: their share of all, and of the Euclidean norm."""

    share: float
    mass: float
    largest: float
    scalar: float | None = None


@dataclass
class Birth:
    """inf or NaN that came from finite values, and what became of it."""

    kind: str
    record: Record
    op: str
    module: str
    dtype: str
    cause: str
    rule: str
    place: Place
    step: int
    numbers: dict[str, Any]
    backward: bool
    #: float32 gives the same: no matter of the dtype
    singular: bool
    scaled: bool = False
    sunk: str = ""
    sunk_at: Place = field(default_factory=Place)
    absorbed: bool = False
    also: list[Place] = field(default_factory=list)


class Records:
    """The record of every storage, by its address."""

    def __init__(self) -> None:
        self.number = 0
        self._by_key: dict[int, Record] = {}
        self._order: deque[Record] = deque()

    def new(self, op: str, place: Place, dtype: str, parents: tuple[Record, ...], backward: bool) -> Record:
        """Make a record."""
        self.number += 1
        record = Record(self.number, op, place, dtype, parents, backward)
        self._order.append(record)
        if len(self._order) > _KEPT:
            self._order.popleft().parents = ()
        return record

    def of(self, tensor: Any) -> Record | None:
        """Return the record of a tensor's storage."""
        return self._by_key.get(key_of(tensor)) if tensor.layout == _STRIDED else None

    def put(self, tensor: Any, record: Record) -> None:
        """Let a record be that of a tensor's storage."""
        self._by_key[key_of(tensor)] = record


def key_of(tensor: Any) -> int:
    """Return the address of a tensor's storage."""
    return int(tensor.untyped_storage()._cdata)


def ancestors(record: Record, depth: int, through: frozenset[str] | None = None) -> list[tuple[Record, int]]:
    """Return the records that a record was made from, nearest first, with their distance; only ``through`` these operations, if given."""
    found: list[tuple[Record, int]] = []
    seen = {id(record)}
    level = [record]
    for distance in range(1, depth + 1):
        following = []
        for record in level:
            for one in record.parents if through is None or record.op in through else ():
                if id(one) not in seen:
                    seen.add(id(one))
                    following.append(one)
        level = following
        found += [(one, distance) for one in level]
        if not level or len(found) > _MOST:
            break
    return found
