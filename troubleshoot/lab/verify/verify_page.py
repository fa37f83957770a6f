"""A verification as one HTML page that needs nothing else: the table of fixes, a chart of their errors, the tracebacks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import log10

from troubleshoot.basics.redact import redact_text
from troubleshoot.lab.verify.outcomes import FixOutcome, Verification
from troubleshoot.lab.verify.verify_text import memory_text, timing_rows, timing_text

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1c1e21; background: #fff; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .4rem .6rem; border-bottom: 1px solid #d0d4da;
vertical-align: top; }
pre { background: #f3f4f6; padding: .8rem; overflow: auto; font-size: 13px; } .works { color: #11632f; } .fails { color: #a01c1c; }
.skipped { color: #5a6270; }
svg text { font: 13px system-ui, sans-serif; fill: currentColor; }
@media (prefers-color-scheme: dark) { body { color: #e6e8eb; background: #16181b; } pre { background: #22262b; } th, td { border-color:
#3a4048; }
 .works { color: #6fcf8f; } .fails { color: #ff8c8c; } .skipped { color: #a3abb6; } }
"""

#: The chart spans relative errors from 1e-7 (float32's rounding) to 10.
_LEAST, _MOST = -7.0, 1.0


def render_html(results: Sequence[Verification]) -> str:
    """Return the page. Home directories and secrets in tracebacks are masked."""
    title = results[0].issue if len(results) == 1 else f"{len(results)} verifications"
    body = "\n".join(_section(one) for one in results)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}: verification</title><style>{_STYLE}</style></head><body>\n{body}\n</body></html>\n"
    )


def _masked(text: str) -> str:
    return redact_text(text, personal=True)


def _section(one: Verification) -> str:
    packages = one.environment.get("packages")
    listed = ", ".join(f"{name} {version}" for name, version in packages.items()) if isinstance(packages, dict) else ""
    gpu = one.environment.get("device_name")
    parts = [
        f"<h1>{escape(one.issue)}: {escape(one.verdict)}</h1>",
        f"<p>Case {escape(one.case)} ({one.tier}), {escape(one.dtype)} on {escape(str(gpu or one.device))}; {escape(listed)}</p>",
    ]
    if one.stand_in:
        parts.append(f"<p>Stand-in: {escape(one.stand_in)}</p>")
    parts.append(f"<h2>Before: {escape(one.before.outcome)}</h2>")
    parts += [f"<p>{escape(_masked(text))}</p>" for text in (one.before.error, one.before.why) if text]
    if one.before.diagnosed_as:
        parts.append(f"<p>Diagnosed as <code>{escape(one.before.diagnosed_as)}</code></p>")
    parts.append(_traceback("Traceback", one.before.traceback))
    if one.fixes:
        parts.append("<h2>Fixes</h2><table><tr><th>Fix</th><th>Outcome</th><th>Why</th><th>Bytes per parameter</th></tr>")
        parts += [_row(fix) for fix in one.fixes]
        parts += ["</table>", _chart(one.fixes)]
        parts += [_traceback(f"Traceback with {fix.id}", fix.traceback) for fix in one.fixes if fix.outcome == "fails"]
    if one.timing is not None:
        parts.append(f"<h2>Timing</h2><p>{escape(_masked(timing_text(one.timing)))}</p>")
        parts += [f"<p><code>{escape(name)}</code>: {escape(_masked(value))}</p>" for name, value in timing_rows(one.timing)]
    if one.device != "cuda":
        parts.append("<p>Not yet run on CUDA: nothing is claimed for a GPU.</p>")
    return "\n".join(part for part in parts if part)


def _row(fix: FixOutcome) -> str:
    expected = "" if fix.outcome == "skipped" or not fix.surprising else f" (expected: {fix.expected})"
    weight = "" if fix.weights_bytes_per_parameter is None else f"{fix.weights_bytes_per_parameter:g}{memory_text(fix.price)}"
    return (
        f"<tr><td>{escape(fix.title or fix.id)}<br><code>{escape(fix.id)}</code></td>"
        f'<td class="{fix.outcome}">{fix.outcome}{expected}</td><td>{escape(_masked(fix.why))}</td><td>{escape(weight)}</td></tr>'
    )


def _traceback(title: str, text: str | None) -> str:
    return f"<details><summary>{escape(title)}</summary><pre>{escape(_masked(text))}</pre></details>" if text else ""


def _chart(fixes: Sequence[FixOutcome]) -> str:
    """Bars of the relative errors on a logarithmic scale."""
    shown = [fix for fix in fixes if fix.relative_error is not None]
    if not shown:
        return ""
    rows = []
    for number, fix in enumerate(shown):
        error = fix.relative_error or 0.0
        share = (min(max(log10(error), _LEAST), _MOST) - _LEAST) / (_MOST - _LEAST) if error > 0 else 0.0
        top = 30 * number
        rows.append(
            f'<text x="0" y="{top + 18}">{escape(fix.id)}</text><rect class="{fix.outcome}" x="220" y="{top + 5}" '
            f'width="{2 + 420 * share:.0f}" height="18" fill="currentColor"/>'
            f'<text x="{228 + 420 * share:.0f}" y="{top + 18}">{error:.2g}</text>'
        )
    height = 30 * len(shown)
    return (
        f'<h2>Relative error against the reference</h2><svg viewBox="0 0 740 {height}" role="img" '
        f'aria-label="relative errors of the fixes, logarithmic">{"".join(rows)}</svg>'
    )
