"""``troubleshoot.audit(model)``: what will go wrong with dtypes and devices. The name is not ``audit``, which is the function."""

from troubleshoot.lab.auditing.checkpoint import audit_checkpoint
from troubleshoot.lab.auditing.findings import Audit, Finding
from troubleshoot.lab.auditing.model_audit import audit

__all__ = ["Audit", "Finding", "audit", "audit_checkpoint"]
