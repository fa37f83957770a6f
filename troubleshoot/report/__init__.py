"""Reading a report: text, a file, or a live exception, becomes a :class:`Report`."""

from troubleshoot.report.files import read_report_file
from troubleshoot.report.live import report_from_exception
from troubleshoot.report.model import Failure, Frame, Mention, Place, RaisedException, Report
from troubleshoot.report.reader import read_report

__all__ = ["Failure", "Frame", "Mention", "Place", "RaisedException", "Report", "read_report", "read_report_file", "report_from_exception"]
