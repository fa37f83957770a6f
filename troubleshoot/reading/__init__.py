"""Reading a report: text, a file, or a live exception, becomes a :class:`Report`."""

from typing import TYPE_CHECKING

from troubleshoot.basics.lazy import lazy_names

if TYPE_CHECKING:
    from troubleshoot.reading.raised import report_from_exception
    from troubleshoot.reading.reader import read_report
    from troubleshoot.reading.report import Failure, Frame, Mention, Place, RaisedException, Report
    from troubleshoot.reading.report_files import read_report_file

#: Lazy, so that an environment can be read where nothing is installed.
_HOMES = {
    "Failure": "report",
    "Frame": "report",
    "Mention": "report",
    "Place": "report",
    "RaisedException": "report",
    "Report": "report",
    "read_report": "reader",
    "read_report_file": "report_files",
    "report_from_exception": "raised",
}

__all__ = ["Failure", "Frame", "Mention", "Place", "RaisedException", "Report", "read_report", "read_report_file", "report_from_exception"]

__getattr__ = lazy_names(__name__, _HOMES)
