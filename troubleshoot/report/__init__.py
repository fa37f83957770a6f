"""Reading a report: text, or a live exception, becomes a :class:`Report`."""

from troubleshoot.report.model import Failure, Frame, Mention, Place, RaisedException, Report

__all__ = ["Failure", "Frame", "Mention", "Place", "RaisedException", "Report"]
