"""``pytest --troubleshoot``: a section with the diagnosis in the report of each test that failed for a known reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--troubleshoot``."""
    group = parser.getgroup("troubleshoot")
    group.addoption("--troubleshoot", action="store_true", help="Diagnose precision, dtype and device failures of tests.")


def pytest_configure(config: pytest.Config) -> None:
    """Diagnose only where it was asked for."""
    if config.getoption("--troubleshoot"):
        config.pluginmanager.register(_Diagnosing(), "troubleshoot-diagnosing")


class _Diagnosing:
    """The hook that sees a failure with its live exception."""

    def pytest_exception_interact(self, node: Any, call: Any, report: Any) -> None:
        """Add the section; pytest has made its own report of the failure before."""
        from troubleshoot.handlers.explaining import report as diagnose
        from troubleshoot.handlers.options import Options, spoken

        def add(diagnosis: Any) -> None:
            from troubleshoot.telling import render

            report.sections.append(("troubleshoot", render(diagnosis, "text")))

        if call.excinfo is not None and hasattr(report, "sections"):
            diagnose(call.excinfo.value, Options(output=add, language=spoken()))
