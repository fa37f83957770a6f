"""The documentation site: pages made from the knowledge base and the hardware tables. Nothing here imports MkDocs."""

from troubleshoot.curation.publishing.site import Page, pages

__all__ = ["Page", "pages"]
