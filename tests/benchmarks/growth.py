"""How a diagnosis grows with the knowledge base: synthetic bases of 300 to 10,000 plausible entries, reports that match and that do not."""

from __future__ import annotations

import sys
from html import escape
from math import log10
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from budgets import four_kilobytes, unknown_message
from measuring import Figures, Section, in_turn, ratio
from synthetic import synthetic_base

from troubleshoot import diagnose, load_kb

SIZES = (300, 1_000, 3_000, 10_000)
Curve = dict[str, dict[int, Figures]]


def measure(runs: int, sizes: tuple[int, ...] = SIZES) -> tuple[Section, Curve]:
    """Diagnose the same reports with bases of several sizes, in turn."""
    section = Section("Growth with the knowledge base")
    base = load_kb()
    bases = {size: synthetic_base(size, base) for size in sizes}
    curve: Curve = {}
    for name, text in (("a template fits", four_kilobytes()), ("none fits", unknown_message(four_kilobytes()))):
        calls = [lambda kb=kb, text=text: diagnose(text, environment="report", kb=kb) for kb in bases.values()]  # type: ignore[misc]
        figures = in_turn(runs, *calls)
        curve[name] = dict(zip(sizes, figures, strict=True))
        for size, one in curve[name].items():
            last = size == sizes[-1]
            section.add(f"{size:,} entries, {name}", one.text(), f"{ratio(one, figures[0]):.2f} × {sizes[0]}", "≤ 2 ×" if last else "")
    section.say(f"The {len(base.ids())} shipped entries and generated ones with wordings, frames and fixes of their own (synthetic.py).")
    return section, curve


def drawn(curve: Curve) -> str:
    """Return the curve as SVG: entries (logarithmic) against milliseconds."""
    width, height, left, bottom = 640, 320, 60, 40
    sizes = sorted({size for one in curve.values() for size in one})
    most = 1.15 * max(figures.median for one in curve.values() for figures in one.values())
    low, high = log10(sizes[0]), log10(sizes[-1])

    def x(size: int) -> float:
        return left + (width - left - 150) * (log10(size) - low) / (high - low)

    def y(seconds: float) -> float:
        return height - bottom - (height - bottom - 20) * seconds / most

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="system-ui, sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<path d="M{left} 20V{height - bottom}H{width - 140}" fill="none" stroke="#555"/>',
        f'<text x="{left}" y="14">milliseconds per report of 4 KB</text>',
        f'<text x="{width - 140}" y="{height - 8}" text-anchor="end">entries</text>',
    ]
    for size in sizes:
        out.append(f'<text x="{x(size):.0f}" y="{height - bottom + 16}" text-anchor="middle">{size:,}</text>')
    for part in (0.0, 0.5, 1.0):
        seconds = most * part / 1.15
        out.append(f'<text x="{left - 6}" y="{y(seconds) + 4:.0f}" text-anchor="end">{seconds * 1e3:.2f}</text>')
    for (name, figures), colour in zip(curve.items(), ("#0072b2", "#d55e00"), strict=False):
        points = [(x(size), y(figures[size].median)) for size in sorted(figures)]
        out.append(f'<polyline points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in points)}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>' for a, b in points]
        out.append(f'<text x="{points[-1][0] + 8:.0f}" y="{points[-1][1] + 4:.0f}" fill="{colour}">{escape(name)}</text>')
    return "\n".join([*out, "</svg>\n"])


if __name__ == "__main__":
    measure(30)
