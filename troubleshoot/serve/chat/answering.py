"""Messages in, the text of the answer out: what both the protocol's routes and the tests use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from troubleshoot.basics.redact import redact_text
from troubleshoot.serve.chat.conversation import Message, converse, note_of
from troubleshoot.serve.chat.facts_line import write_line
from troubleshoot.serve.chat.length import fitted
from troubleshoot.serve.chat.replies import Replies
from troubleshoot.serve.engine import Engine
from troubleshoot.telling.layout import visible

#: What `troubleshoot-quiet` says nothing to, even about a known issue: small talk.
_SMALL_TALK = ("other", "thanks", "greeting", "image", "reset", "no-such-number", "yes", "no")


def answer(messages: Sequence[Message], engine: Engine, link: Callable[[str], str | None], *, quiet: bool = False) -> str:
    """Return the answer to the last user message; empty where ``quiet`` and nothing is known or likely."""
    turn = converse(messages, engine)
    if quiet and (not turn.answered or turn.state.event in _SMALL_TALK):
        return ""
    language = turn.state.language or engine.settings.language
    speaker = next((one.speaker for one in reversed(messages) if one.role == "user"), None)
    replies = Replies(language, link)
    note = note_of(turn, speaker, replies.words.language, engine)
    # No report may steer what shows the answer, wherever it is quoted.
    blocks = [replace(block, text=visible(redact_text(block.text, personal=True))) for block in replies.blocks(turn)]
    return fitted(blocks, write_line(note, engine.settings.max_chars), engine.settings.max_chars, replies.say("long"))
