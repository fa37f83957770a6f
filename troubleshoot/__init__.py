"""Diagnose precision, dtype and device failures of PyTorch models.

>>> import troubleshoot
>>> diagnosis = troubleshoot.diagnose("RuntimeError: expected scalar type Float but found Half", environment="report")
>>> diagnosis.verdict
'likely'
"""

from typing import TYPE_CHECKING, Any

from troubleshoot.basics.lazy import lazy_names
from troubleshoot.version import __version__

if TYPE_CHECKING:
    from troubleshoot.basics.errors import InputError, KnowledgeError, TroubleshootError, UnknownIssueError
    from troubleshoot.batch import diagnose_many
    from troubleshoot.engine.diagnosis import diagnose
    from troubleshoot.engine.result import Diagnosis
    from troubleshoot.handlers.guards import DiagnosisHandler, explain, guard
    from troubleshoot.handlers.hooks import install, reload, uninstall
    from troubleshoot.knowledge import KnowledgeBase, load_kb
    from troubleshoot.lab.auditing import audit, audit_checkpoint
    from troubleshoot.lab.checking import check
    from troubleshoot.lab.verify import verify, verify_diagnosis
    from troubleshoot.lab.verify.patches import apply
    from troubleshoot.lab.watching import keep_float32, loss_scales, watch
    from troubleshoot.reader import Reader
    from troubleshoot.reading.environment.machine import Environment
    from troubleshoot.scale.scanning import scan
    from troubleshoot.telling import render

#: Where each public name is defined; it is imported when it is first used, so that ``import troubleshoot`` costs nothing.
_HOMES = {
    "diagnose": "engine.diagnosis",
    "diagnose_many": "batch",
    "Diagnosis": "engine.result",
    "DiagnosisHandler": "handlers.guards",
    "Environment": "reading.environment.machine",
    "InputError": "basics.errors",
    "KnowledgeBase": "knowledge",
    "KnowledgeError": "basics.errors",
    "TroubleshootError": "basics.errors",
    "Reader": "reader",
    "UnknownIssueError": "basics.errors",
    "apply": "lab.verify.patches",
    "audit": "lab.auditing",
    "audit_checkpoint": "lab.auditing",
    "check": "lab.checking",
    "explain": "handlers.guards",
    "guard": "handlers.guards",
    "install": "handlers.hooks",
    "keep_float32": "lab.watching",
    "load_kb": "knowledge",
    "loss_scales": "lab.watching",
    "reload": "handlers.hooks",
    "render": "telling",
    "scan": "scale.scanning",
    "uninstall": "handlers.hooks",
    "verify": "lab.verify",
    "verify_diagnosis": "lab.verify",
    "watch": "lab.watching",
}

__all__ = [
    "Diagnosis",
    "DiagnosisHandler",
    "Environment",
    "InputError",
    "KnowledgeBase",
    "KnowledgeError",
    "Reader",
    "TroubleshootError",
    "UnknownIssueError",
    "__version__",
    "apply",
    "audit",
    "audit_checkpoint",
    "check",
    "diagnose",
    "diagnose_many",
    "explain",
    "guard",
    "install",
    "keep_float32",
    "load_kb",
    "loss_scales",
    "reload",
    "render",
    "scan",
    "uninstall",
    "verify",
    "verify_diagnosis",
    "watch",
]

__getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext troubleshoot``: diagnose what cells raise."""
    from troubleshoot.handlers.notebook import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """``%unload_ext troubleshoot``."""
    from troubleshoot.handlers.notebook import unload

    unload(shell)
