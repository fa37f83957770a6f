"""``troubleshoot.audit(model)``: what will go wrong with dtypes and devices. The name is not ``audit``, which is the function."""

from troubleshoot.auditing.checkpoint import audit_checkpoint
from troubleshoot.auditing.model import Audit, Finding
from troubleshoot.auditing.run import audit

__all__ = ["Audit", "Finding", "audit", "audit_checkpoint"]
