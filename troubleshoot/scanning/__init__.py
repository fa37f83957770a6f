"""Scanning logs of any size: every failure and symptom in them, one row per distinct problem."""

from troubleshoot.lazy import lazy_names

_HOMES = {"scan": "run", "Problem": "model", "ScanResult": "model"}

__all__ = ["Problem", "ScanResult", "scan"]

__getattr__ = lazy_names(__name__, _HOMES)
