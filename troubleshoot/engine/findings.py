"""What was found, as keys and values: hypotheses, fixes held against the environment, questions. ``telling.wording`` puts it into words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from troubleshoot.engine.evidence import Fact
from troubleshoot.engine.fixes import HeldFix
from troubleshoot.engine.questions import Asked
from troubleshoot.engine.ranking import Hypothesis
from troubleshoot.engine.result import Consulted, EvidenceItem, Reason, Verdict
from troubleshoot.knowledge import KnowledgeBase
from troubleshoot.knowledge.schema import OutOfScope
from troubleshoot.reading.environment.machine import Environment
from troubleshoot.reading.report import Report


@dataclass(frozen=True)
class Findings:
    """All that a diagnosis says, in no language. ``issues`` are hypotheses with their fixes; ``outside`` names what is out of scope,
    ``tried`` the experiments that changed nothing, with where that is said.
    """

    verdict: Verdict
    reason: Reason | None
    report: Report
    environment: Environment
    base: KnowledgeBase
    issues: tuple[tuple[Hypothesis, tuple[HeldFix, ...]], ...]
    questions: tuple[Asked, ...] = ()
    outside: OutOfScope | None = None
    errors: tuple[str, ...] = ()
    refuted: tuple[tuple[str, EvidenceItem], ...] = ()
    tried: Mapping[str, Fact] = field(default_factory=dict)
    reader: Consulted | None = None
