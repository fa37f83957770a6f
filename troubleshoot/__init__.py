"""Diagnose precision, dtype and device failures of PyTorch models.

>>> import troubleshoot
>>> diagnosis = troubleshoot.diagnose("RuntimeError: expected scalar type Float but found Half", environment="report")
>>> diagnosis.verdict
'likely'
"""

from typing import TYPE_CHECKING, Any

from troubleshoot.lazy import lazy_names
from troubleshoot.version import __version__

if TYPE_CHECKING:
    from troubleshoot.auditing import audit, audit_checkpoint
    from troubleshoot.batch import diagnose_many
    from troubleshoot.checking import check
    from troubleshoot.diagnosis import diagnose
    from troubleshoot.environment.model import Environment
    from troubleshoot.errors import InputError, KnowledgeError, TroubleshootError, UnknownIssueError
    from troubleshoot.handlers.guards import DiagnosisHandler, explain, guard
    from troubleshoot.handlers.hooks import install, reload, uninstall
    from troubleshoot.knowledge import KnowledgeBase, load_kb
    from troubleshoot.result import Diagnosis
    from troubleshoot.verify.patches import apply
    from troubleshoot.watching import keep_float32, loss_scales, watch

#: Where each public name is defined; it is imported when it is first used, so that ``import troubleshoot`` costs nothing.
_HOMES = {
    "diagnose": "diagnosis",
    "diagnose_many": "batch",
    "Diagnosis": "result",
    "DiagnosisHandler": "handlers.guards",
    "Environment": "environment.model",
    "InputError": "errors",
    "KnowledgeBase": "knowledge",
    "KnowledgeError": "errors",
    "TroubleshootError": "errors",
    "UnknownIssueError": "errors",
    "apply": "verify.patches",
    "audit": "auditing",
    "audit_checkpoint": "auditing",
    "check": "checking",
    "explain": "handlers.guards",
    "guard": "handlers.guards",
    "install": "handlers.hooks",
    "keep_float32": "watching",
    "load_kb": "knowledge",
    "loss_scales": "watching",
    "reload": "handlers.hooks",
    "uninstall": "handlers.hooks",
    "watch": "watching",
}

__all__ = [
    "Diagnosis",
    "DiagnosisHandler",
    "Environment",
    "InputError",
    "KnowledgeBase",
    "KnowledgeError",
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
    "uninstall",
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
