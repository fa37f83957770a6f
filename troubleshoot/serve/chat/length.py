"""Keeping an answer within a number of characters: what matters least goes first, and no code block is ever cut."""

from __future__ import annotations

from collections.abc import Sequence

from troubleshoot.serve.chat.replies import Block

_CODE = "```"
#: A cut within prose leaves at least this much of it.
_LEAST = 40
_SEPARATOR = "\n\n"


def fitted(blocks: Sequence[Block], last_line: str, limit: int, instead_of_code: str) -> str:
    """Return the blocks and the last line as one text of at most ``limit`` characters (0: any length).

    The blocks of the lowest rank are left out first. Of what must stay, prose is shortened at a sentence, a line or a word, and a code
    block that is too long is replaced by a sentence. The last line always stands.
    """
    kept = list(blocks)
    while limit and _length(kept, last_line) > limit and any(block.rank < 9 for block in kept):
        lowest = min(block.rank for block in kept)
        last = max(at for at, block in enumerate(kept) if block.rank == lowest)
        del kept[last]
    if limit and _length(kept, last_line) > limit:
        kept = _shortened(kept, last_line, limit, instead_of_code)
    return _SEPARATOR.join([*(block.text for block in kept), last_line])


def _length(blocks: Sequence[Block], last_line: str) -> int:
    return sum(len(block.text) + len(_SEPARATOR) for block in blocks) + len(last_line)


def _shortened(blocks: list[Block], last_line: str, limit: int, instead_of_code: str) -> list[Block]:
    """Shorten what must stay, from the first block on, until nothing is left to spend."""
    left = limit - len(last_line)
    kept: list[Block] = []
    for block in blocks:
        room = left - len(_SEPARATOR)
        text = block.text
        if len(text) > room:
            text = instead_of_code if is_code(text) and len(instead_of_code) <= room else "" if is_code(text) else cut(text, room)
        if text:
            kept.append(Block(text, block.rank))
            left -= len(text) + len(_SEPARATOR)
    return kept


def is_code(text: str) -> bool:
    """Tell whether a block is fenced."""
    return text.startswith(_CODE)


def cut(text: str, room: int) -> str:
    """Return the beginning of a paragraph, ended at a line, a sentence or a word; nothing where too little would be left."""
    if len(text) <= room:
        return text
    if room < _LEAST:
        return ""
    part = text[: room - 1]
    for border in ("\n", ". ", "。", "；", "，", " "):
        at = part.rfind(border)
        if at >= room // 2:
            part = part[: at + (border in (". ", "。"))]
            break
    # No half of a link or of inline code.
    if part.count("`") % 2:
        part = part[: part.rfind("`")]
    opening = part.rfind("[")
    if opening >= 0 and ")" not in part[opening:]:
        part = part[:opening]
    return part.rstrip() + "…"
