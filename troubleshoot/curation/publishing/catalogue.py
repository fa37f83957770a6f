"""The knowledge base as the site needs it: entries, their relations, the addresses of their pages, what was run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from troubleshoot.curation.kept import Kept, kept
from troubleshoot.curation.publishing.markup import code, escape, page_link
from troubleshoot.curation.publishing.words import Say
from troubleshoot.knowledge import KnowledgeBase
from troubleshoot.knowledge.schema import NO_CAUSE, Entry


@dataclass(frozen=True)
class Catalogue:
    """A knowledge base in one language."""

    base: KnowledgeBase
    language: str

    @cached_property
    def say(self) -> Say:
        """The site's words."""
        return Say(self.language)

    @cached_property
    def entries(self) -> dict[str, Entry]:
        """All entries by id; withdrawn ones have a page too, since reports link to it."""
        return {id_: self.base.entry(id_) for id_ in self.base.ids()}

    @cached_property
    def records(self) -> Kept:
        """What was run."""
        return kept(self.base)

    @cached_property
    def special_cases(self) -> dict[str, tuple[str, ...]]:
        """The entries that refine each entry."""
        found: dict[str, tuple[str, ...]] = {}
        for entry in self.entries.values():
            for parent in entry.refines:
                found[parent] = (*found.get(parent, ()), entry.id)
        return found

    @cached_property
    def by_cause(self) -> dict[str, tuple[Entry, ...]]:
        """The entries of each cause: those that have it, then the families that may."""
        found: dict[str, tuple[Entry, ...]] = dict.fromkeys(self.base.causes.causes, ())
        for entry in self.entries.values():
            for cause in (entry.cause, *(one.cause for one in entry.causes)):
                if cause in found and entry.status != "withdrawn":
                    found[cause] = (*found[cause], entry)
        return found

    def title(self, entry: Entry) -> str:
        """Return the title of an entry in the language, as plain text."""
        return entry.zh.title if self.language == "zh" and entry.zh else entry.title

    def cause_title(self, cause: str) -> str:
        """Return the title of a cause, as plain text."""
        known = self.base.causes.causes.get(cause)
        return cause if known is None else known.title.zh if self.language == "zh" else known.title.en

    def group_title(self, group: str) -> str:
        """Return the title of a group of causes."""
        return self.say(f"group.{group}") if self.say.knows(f"group.{group}") else group

    def entry_link(self, source: str, issue: str) -> str:
        """Return a link from a page to the page of an entry, by its title; an id without an entry stays code."""
        entry = self.entries.get(issue)
        return code(issue) if entry is None else page_link(source, entry_page(issue), escape(self.title(entry)))

    def cause_link(self, source: str, cause: str) -> str:
        """Return a link from a page to the page of a cause, by its title; that it is no problem of ours has no page."""
        if cause == NO_CAUSE:
            return escape(self.say("no-problem"))
        known = cause in self.base.causes.causes
        return page_link(source, cause_page(cause), escape(self.cause_title(cause))) if known else code(cause)


def entry_page(issue: str) -> str:
    """Return the Markdown file of an entry's page: its address is the id."""
    return f"issues/{issue}.md"


def cause_page(cause: str) -> str:
    """Return the Markdown file of a cause's page."""
    return f"causes/{cause}.md"
