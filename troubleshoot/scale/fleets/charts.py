"""The results of a fleet drawn: problems by cause, model, version, GPU and week, as one HTML page with inline SVG."""

from __future__ import annotations

import json
from collections import Counter
from html import escape
from typing import Any

from troubleshoot.basics.errors import InputError
from troubleshoot.scale.fleets.blocks import PART, filesystem_of, need_arrow, read_part
from troubleshoot.scale.fleets.fleet import MANIFEST
from troubleshoot.telling.layout import visible

_MOST_BARS = 15
_MOST_COLOURS = 7
#: Colours that are told apart by people who see red and green alike (Okabe and Ito, https://jfly.uni-koeln.de/color/).
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#f0e442", "#999999")
_STYLE = """
:root { color-scheme: light dark; } body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .3rem; } svg { width: 100%; height: auto; }
svg text { font: 13px system-ui, sans-serif; fill: currentColor; } p { color: #60646c; margin: .2rem 0; }
@media (prefers-color-scheme: dark) { p { color: #9aa0a8; } }
"""
_COLUMNS = ("verdict", "issue", "cause", "model", "torch", "transformers", "gpu", "week")


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
    parts = [
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{total:,} reports</title><style>{_STYLE}</style></head><body>",
        f"<h1>{total:,} reports, {share} of them diagnosed</h1>",
        f"<p>{escape(note)}</p>" if note else "",
        bars("Verdicts", counts["verdict"]),
        bars("Causes", counts["cause"]),
        stacked("Causes by week", weeks),
        bars("Known issues", counts["issue"]),
        bars("Models", counts["model"]),
        bars("torch", counts["torch"]),
        bars("transformers", counts["transformers"]),
        bars("GPUs", counts["gpu"]),
        "</body></html>\n",
    ]
    return "\n".join(part for part in parts if part)


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


def bars(title: str, counts: Counter[str]) -> str:
    """Return a chart of horizontal bars, the longest first; nothing where nothing was counted."""
    if not counts:
        return ""
    rows = counts.most_common(_MOST_BARS)
    rest = sum(counts.values()) - sum(count for _, count in rows)
    if rest:
        rows.append((f"{len(counts) - len(rows)} others", rest))
    most = max(count for _, count in rows)
    height = 24 * len(rows)
    out = [f"<h2>{escape(title)}</h2>", f'<svg viewBox="0 0 900 {height}" role="img" aria-label="{escape(title, quote=True)}">']
    for row, (name, count) in enumerate(rows):
        y = 24 * row
        width = max(1.0, 440 * count / most)
        out.append(
            f'<text x="370" y="{y + 16}" text-anchor="end">{escape(visible(_short(name)))}</text>'
            f'<rect x="380" y="{y + 4}" width="{width:.1f}" height="16" fill="{_COLOURS[0]}"/>'
            f'<text x="{386 + width:.1f}" y="{y + 16}">{count:,}</text>'
        )
    return "\n".join([*out, "</svg>"])


def stacked(title: str, counts: Counter[tuple[str, str]]) -> str:
    """Return a chart of one column per week, stacked by cause; nothing where no report has a date."""
    if not counts:
        return ""
    weeks = sorted({week for week, _ in counts})[-52:]
    totals: Counter[str] = Counter()
    for (week, cause), count in counts.items():
        if week in weeks:
            totals[cause] += count
    causes = [cause for cause, _ in totals.most_common(_MOST_COLOURS)]
    most = max(sum(count for (week, _), count in counts.items() if week == one) for one in weeks)
    step = min(60.0, 860 / len(weeks))
    height = 250 + 22 * (len(causes) + (len(totals) > len(causes)))
    out = [f"<h2>{escape(title)}</h2>", f'<svg viewBox="0 0 900 {height}" role="img" aria-label="{escape(title, quote=True)}">']
    out.append(f'<text x="0" y="12">{most:,}</text><line x1="30" x2="890" y1="220" y2="220" stroke="currentColor"/>')
    for column, week in enumerate(weeks):
        x, y = 30 + column * step, 220.0
        others = sum(count for (one, cause), count in counts.items() if one == week and cause not in causes)
        for colour, count in enumerate([counts[week, cause] for cause in causes] + [others] * (len(totals) > len(causes))):
            if count:
                tall = 200 * count / most
                y -= tall
                out.append(
                    f'<rect x="{x:.1f}" y="{y:.1f}" width="{step * 0.8:.1f}" height="{tall:.1f}" fill="{_COLOURS[colour]}">'
                    f"<title>{escape(week)}: {count:,}</title></rect>"
                )
        if column % max(1, len(weeks) // 12) == 0:
            out.append(f'<text x="{x:.1f}" y="238">{escape(week)}</text>')
    names = [*causes, *(["others"] if len(totals) > len(causes) else [])]
    for row, name in enumerate(names):
        y = 254 + 22 * row
        out.append(f'<rect x="30" y="{y}" width="14" height="14" fill="{_COLOURS[row]}"/><text x="52" y="{y + 12}">{escape(name)}</text>')
    return "\n".join([*out, "</svg>"])


def _short(name: str) -> str:
    return name if len(name) <= 52 else name[:51] + "…"
