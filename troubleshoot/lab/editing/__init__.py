"""Source edits: from a fix to a unified diff of the user's own program or configuration."""

from troubleshoot.basics.lazy import lazy_names

__all__ = ["Failure", "Plan", "Refusal", "plans_for"]

__getattr__ = lazy_names(
    __name__, {"Failure": "failure", "Plan": "plans", "Refusal": "plans", "plans_for": "planning"}
)
