"""Reading a report: text, or a live exception, becomes a :class:`Report`."""

from troubleshoot.report.model import Failure, Frame, Mention, Place, RaisedException, Report
from troubleshoot.report.reader import read_report

__all__ = ["Failure", "Frame", "Mention", "Place", "RaisedException", "Report", "read_report"]
