"""Scanning logs of any size: every failure and symptom in them, one row per distinct problem."""

from troubleshoot.basics.lazy import lazy_names

_HOMES = {"scan": "log_scan", "Problem": "problems", "ScanResult": "problems"}

__all__ = ["Problem", "ScanResult", "scan"]

__getattr__ = lazy_names(__name__, _HOMES)
