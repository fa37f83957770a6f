"""The results of a fleet drawn: problems by cause, model, version, GPU and week, as one HTML page."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from troubleshoot.basics.errors import InputError
from troubleshoot.scale.fleets.blocks import PART, filesystem_of, need_arrow, read_part
from troubleshoot.scale.fleets.fleet import MANIFEST
from troubleshoot.telling import render_documents
from troubleshoot.telling.document import Bar, Chart, Document, Section

_MOST_BARS = 15
_MOST_CAUSES = 7
_MOST_WEEKS = 52
_COLUMNS = ("verdict", "issue", "cause", "model", "torch", "transformers", "gpu", "week")
#: What is drawn, in this order; the weeks come after the causes.
_CHARTS = {
    "Verdicts": "verdict", "Causes": "cause", "Causes by week": "week", "Known issues": "issue", "Models": "model", "torch": "torch",
    "transformers": "transformers", "GPUs": "gpu",
}  # fmt: skip


def fleet_page(out: str) -> str:
    """Return the page for the results at ``out``.

    Raises:
        InputError: there are no results.
    """
    need_arrow()
    files, folder = filesystem_of(out)
    keys, note = _keys(files, folder, out)
    counts: dict[str, Counter[str]] = {name: Counter() for name in _COLUMNS}
    weeks: Counter[tuple[str, str]] = Counter()
    total = 0
    for key in keys:
        total += _count(files, f"{folder}/{PART}{key}.parquet", counts, weeks)
    diagnosed = counts["verdict"]["known"] + counts["verdict"]["likely"]
    share = f"{diagnosed / total:.0%}" if total else "none"
    charts = {name: stacked(name, weeks) if column == "week" else bars(name, counts[column]) for name, column in _CHARTS.items()}
    sections = tuple(Section(name, (chart,), wide=True) for name, chart in charts.items() if chart.bars)
    page = Document("", f"{total:,} reports, {share} of them diagnosed", subtitle=note, sections=sections)
    return render_documents((page,), "html")


def _keys(files: Any, folder: str, out: str) -> tuple[list[str], str]:
    from pyarrow import fs

    if files.get_file_info(folder).type != fs.FileType.Directory:
        raise InputError(f"{out}: there is no such folder. It is the --out of troubleshoot batch.")
    if files.get_file_info(f"{folder}/{MANIFEST}").type == fs.FileType.File:
        try:
            with files.open_input_stream(f"{folder}/{MANIFEST}") as stream:
                return [str(key) for key in json.loads(stream.read())["blocks"]], ""
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{out}/{MANIFEST} is damaged ({error}). The same troubleshoot batch makes it anew.") from None
    names = sorted(info.base_name for info in files.get_file_info(fs.FileSelector(folder)))
    found = [name[len(PART) : -len(".parquet")] for name in names if name.startswith(PART) and name.endswith(".parquet")]
    if not found:
        raise InputError(f"{out}: there are no results. Make them with: troubleshoot batch PATH --out {out}")
    return found, "The run has not ended: these are the blocks that are done."


def _count(files: Any, path: str, counts: dict[str, Counter[str]], weeks: Counter[tuple[str, str]]) -> int:
    table = read_part(files, path, list(_COLUMNS))
    for name in _COLUMNS:
        for one in table.column(name).value_counts().to_pylist():
            if one["values"]:
                counts[name][one["values"]] += one["counts"]
    pairs = table.group_by(["week", "cause"]).aggregate([([], "count_all")])
    for row in pairs.to_pylist():
        if row["week"] and row["cause"]:
            weeks[row["week"], row["cause"]] += row["count_all"]
    return int(table.num_rows)


def bars(title: str, counts: Counter[str]) -> Chart:
    """Return a chart of what was counted, the longest bar first."""
    rows = counts.most_common(_MOST_BARS)
    rest = sum(counts.values()) - sum(count for _, count in rows)
    if rest:
        rows.append((f"{len(counts) - len(rows)} others", rest))
    most = max((count for _, count in rows), default=1)
    return Chart(title, tuple(Bar(name, ((count / most, "c0"),), f"{count:,}", name) for name, count in rows))


def stacked(title: str, counts: Counter[tuple[str, str]]) -> Chart:
    """Return a chart of the last weeks, a bar each, divided by cause."""
    weeks: dict[str, Counter[str]] = {week: Counter() for week in sorted({week for week, _ in counts})[-_MOST_WEEKS:]}
    totals: Counter[str] = Counter()
    for (week, cause), count in counts.items():
        if week in weeks:
            weeks[week][cause] += count
            totals[cause] += count
    tones = {cause: f"c{number}" for number, (cause, _) in enumerate(totals.most_common(_MOST_CAUSES))}
    most = max((sum(one.values()) for one in weeks.values()), default=1)
    drawn = []
    for week, one in weeks.items():
        parts = Counter({tone: one[cause] for cause, tone in tones.items()})
        parts["c7"] = sum(one.values()) - sum(parts.values())
        about = ", ".join(f"{cause} {count:,}" for cause, count in one.most_common())
        drawn.append(Bar(week, tuple((n / most, tone) for tone, n in parts.items() if n), f"{sum(one.values()):,}", about))
    legend = (*tones.items(), *((("others", "c7"),) if len(totals) > len(tones) else ()))
    return Chart(title, tuple(drawn), legend=legend)
