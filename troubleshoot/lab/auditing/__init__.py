"""``troubleshoot.audit(model)``: what will go wrong with dtypes and devices. The name is not ``audit``, which is the function."""

from troubleshoot.lab.auditing.audit import audit
from troubleshoot.lab.auditing.checkpoint import audit_checkpoint
from troubleshoot.lab.auditing.findings import Audit, Finding

__all__ = ["Audit", "Finding", "audit", "audit_checkpoint"]
