"""Common messages and what to do. Which messages they are stands in docs/site/messages.yaml, which tests/common_messages.py counts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from troubleshoot.curation.publishing.catalogue import Catalogue, entry_page
from troubleshoot.curation.publishing.markup import code, escape, front_matter, page_link, points, prose
from troubleshoot.engine.diagnosis import diagnose
from troubleshoot.engine.fixes.library import without_name

if TYPE_CHECKING:
    from troubleshoot.knowledge.schema import Entry

#: Code that is longer has its place on the issue's page.
_LONGEST = 100
MESSAGES = "messages.md"
LIST = "site/messages.yaml"


def messages_page(catalogue: Catalogue, docs: Path) -> str:
    """Return the page: each message with what it means and what to do first."""
    say = catalogue.say
    listed = yaml.safe_load((docs / LIST).read_text(encoding="utf-8"))
    parts = [front_matter(title=say("messages.title")), f"# {escape(say('messages.title'))}", say("messages.lead", n=len(listed))]
    known: dict[str, list[Entry]] = {}
    for one in listed:
        known.setdefault(one["message"], []).append(catalogue.entries[one["issue"]])
    for message, entries in known.items():
        told = [escape(catalogue.title(entry)) + say("messages.stop") + _first_step(message, entry, catalogue) for entry in entries]
        parts += [f"## {escape(message)}", told[0] if len(told) == 1 else points(told)]
    return "\n\n".join(parts) + "\n"


def _first_step(message: str, entry: Entry, catalogue: Catalogue) -> str:
    """Return what the tool proposes first where nothing but the message is known."""
    say = catalogue.say
    more = page_link(MESSAGES, entry_page(entry.id), escape(say("messages.more-link")))
    diagnosis = diagnose(f"RuntimeError: {message}", kb=catalogue.base, environment="report", language=say.language)
    found = next((one for one in diagnosis.diagnoses if one.issue == entry.id), None)
    fix = next((one for one in found.recommended if one.expected != "fails"), None) if found is not None else None
    if fix is None:
        # The message alone leads elsewhere: what the entry says first, whatever the environment.
        own = next((one for one in entry.fixes if one.expected == "works" and not one.when), None)
        if own is None:
            return more
        translated = (entry.zh.fixes.get(own.id) if entry.zh else None) if say.language == "zh" else None
        return say("messages.step", title=prose(without_name((translated or own).title, say.language)), more=more)
    written = fix.command or fix.code or ""
    colon = "：" if say.language == "zh" else ": "
    shown = f"{colon}{code(written)}" if 0 < len(written) <= _LONGEST and "\n" not in written else ""
    return say("messages.step", title=prose(fix.title) + shown, more=more)
