"""Findings in words: text, JSON and one HTML page, in English and Chinese."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from troubleshoot.basics.errors import InputError
from troubleshoot.lab.checking.check_findings import Finding
from troubleshoot.lab.checking.words import INSTEAD, LABELS, SEEN

_LANGUAGES = ("en", "zh")
_SHARES = ("share", "mass", "came", "stuck", "noise", "error")
_MOST = 12


class _Numbers(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return "?"


def shown(key: str, value: Any) -> str:
    """Return a number as it is shown."""
    if isinstance(value, float):
        if key in _SHARES:
            return f"{value:.0%}" if value < 10 else f"{value:.3g}"
        return f"{value:.6g}"
    return str(value)


def seen(finding: Mapping[str, Any], language: str) -> str:
    """Say what was seen."""
    numbers = _Numbers({key: shown(key, value) for key, value in finding["numbers"].items()})
    numbers.update(op=finding["op"], dtype=finding["dtype"])
    return SEEN[finding["rule"]][_LANGUAGES.index(language)].format_map(numbers)


def told(finding: Finding) -> dict[str, Any]:
    """Return a finding as plain values, with its texts."""
    found = finding.to_dict()
    found["text"] = {language: seen(found, language) for language in _LANGUAGES}
    instead = INSTEAD.get(finding.rule)
    found["instead"] = dict(zip(_LANGUAGES, instead, strict=True)) if instead is not None else None
    return found


def render(result: Mapping[str, Any], format: str, language: str) -> str:
    """Return a result as ``text``, ``json`` or ``html``. Raises InputError for another format."""
    if format == "json":
        return json.dumps(result, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    if format == "text":
        return "\n".join(lines(result, language)) + "\n"
    if format == "html":
        body = "\n".join(lines(result, language))
        return (
            '<!doctype html><html lang="' + language + '"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            """<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">"""
            "<title>troubleshoot check</title><style>"
            ":root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;"
            "max-width:1100px;padding:0 1rem}pre{overflow:auto;white-space:pre-wrap}</style></head><body><h1>troubleshoot check</h1><pre>"
            + escape(body)
            + "</pre></body></html>\n"
        )
    raise InputError(f"format {format!r}: choose text, json or html")


def lines(result: Mapping[str, Any], language: str) -> list[str]:
    """Return the report for the terminal."""
    at = _LANGUAGES.index(language)

    def label(key: str, **values: Any) -> str:
        return LABELS[key][at].format(**values)

    findings = result["findings"]
    out: list[str] = []
    for one in findings[:_MOST]:
        where = f"{Path(one['file']).name}:{one['line']}" if one["line"] else "?"
        out.append(f"{where}   {one['code']}")
        out.append(f"  {one['text'][language]}      {one['cause']}")
        more = []
        if one["module"]:
            more.append(one["module"])
        if one["times"] > 1 or one["step"]:
            more.append(label("times", times=one["times"], step=one["step"]))
        also = [f"{Path(other['file']).name}:{other['line']}" for other in one["also"] if other["line"]]
        if also:
            more.append(label("also", lines=", ".join(also)))
        if more:
            out.append("  " + " · ".join(more))
        if one.get("instead"):
            out.append(f"  {label('instead')}{one['instead'][language]}")
        out.append("")
    if not findings:
        out.append(label("none", operations=result.get("operations", 0), steps=result.get("steps", 0)))
    out += _compared(result.get("compared"), label)
    if result.get("raised"):
        out.append(label("raised", error=result["raised"].splitlines()[0]))
    if result.get("uncompiled"):
        out.append(label("uncompiled"))
    if result.get("error"):
        out.append(label("error", error=result["error"]))
    return out + _fixed(result.get("fix"), label)


def _fixed(fix: Mapping[str, Any] | None, label: Any) -> list[str]:
    """Return what --fix found: the diff, or what was tried."""
    if fix is None or fix["works"] is None:
        return []
    if fix["works"]:
        written = [label("applied", **one) for one in fix["applied"]]
        return ["", label("fixed"), *fix["diff"].rstrip("\n").split("\n"), *written]
    return ["", label("not-fixed", why=fix["why"]), *("  " + label("tried", **one) for one in fix["tried"])]


def _compared(compared: Mapping[str, Any] | None, label: Any) -> list[str]:
    if compared is None:
        return []
    if compared["outcome"] == "same":
        return [label("agree")]
    if compared["outcome"] == "other":
        return [label("differ"), *(f"  {one['here']}   ({label('float32')}: {one['float32']})" for one in compared["lines"][:4])]
    return [label("not-compared", why=compared["why"])]
