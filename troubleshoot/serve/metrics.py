"""Counts and durations in Prometheus' format. They are those of one process: with several workers, each tells its own."""

from __future__ import annotations

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest

CONTENT_TYPE = CONTENT_TYPE_LATEST
#: Why a worker ended: processor time, memory, time on the wall, or by itself.
REASONS = ("cpu", "memory", "time", "crash")
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """The metrics of one application."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter("troubleshoot_requests", "Requests served.", ("route", "status"), registry=self.registry)
        self._seconds = Histogram(
            "troubleshoot_request_seconds", "Time to serve a request.", ("route",), buckets=_BUCKETS, registry=self.registry
        )
        self._verdicts = Counter("troubleshoot_diagnoses", "Diagnoses by verdict.", ("verdict",), registry=self.registry)
        self._ended = Counter(
            "troubleshoot_workers_ended", "Workers that a request ended, by reason.", ("reason",), registry=self.registry
        )  # fmt: skip
        for reason in REASONS:
            self._ended.labels(reason)

    def request(self, route: str, status: int, seconds: float) -> None:
        """Count a request; ``route`` is the pattern, never the path that was asked for."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def diagnosis(self, verdict: str) -> None:
        """Count a diagnosis."""
        self._verdicts.labels(verdict).inc()

    def worker_ended(self, reason: str) -> None:
        """Count a worker that a request ended: cpu, memory, time or crash. Called from any thread."""
        self._ended.labels(reason).inc()

    def text(self) -> bytes:
        """Return all of them in Prometheus' text format."""
        return generate_latest(self.registry)
