"""A verification as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from troubleshoot.engine.fixes.price import Price
from troubleshoot.lab.verify.outcomes import FixOutcome, Timing, Verification

_MARK = {"works": "✓", "fails": "✗", "skipped": "–"}


def render_verification(result: Verification, *, width: int = 80) -> str:
    """Return what was seen before and after each fix, and whether that is what the knowledge base says."""
    from textwrap import wrap

    lines = [f"{result.issue}: {result.verdict}", f"  {where(result)}"]
    if result.stand_in:
        lines += _wrapped(f"Stand-in: {result.stand_in}", width, wrap)
    before = result.before
    lines += ["", f"  before: {before.outcome}"]
    if before.error:
        lines += _wrapped(before.error.splitlines()[0], width, wrap, 4)
    if before.diagnosed_as:
        lines += _wrapped(f"diagnosed as {before.diagnosed_as}", width, wrap, 4)
    if before.why:
        lines += _wrapped(before.why, width, wrap, 4)
    for one in result.fixes:
        lines += ["", f"  {_MARK[one.outcome]} {one.id} ({one.kind}): {_verdict(one)}"]
        lines += _wrapped(one.why, width, wrap, 4)
        if one.outcome == "works" and one.weights_bytes_per_parameter is not None:
            lines += _wrapped(f"weights: {one.weights_bytes_per_parameter:g} bytes per parameter{memory_text(one.price)}", width, wrap, 4)
    if result.timing is not None:
        lines += ["", f"  timing: {timing_text(result.timing)}"]
        lines += [f"    {name}: {value}" for name, value in timing_rows(result.timing)]
    if result.device != "cuda":
        lines += ["", "  not yet run on CUDA here: nothing is claimed for a GPU"]
    return "\n".join(lines) + "\n"


def memory_text(price: Price | None) -> str:
    """Return what the user's model takes, after "2 bytes per parameter"; "" where no model is known."""
    if price is None:
        return ""
    text = f", {price.needs}"
    if price.memory is None:
        return text
    fits = {True: "which fits into", False: "which does not fit into", None: "which leaves little room in"}[price.fits]
    return f"{text}, {fits} the GPU's {price.memory:g} GiB"


def timing_text(timing: Timing) -> str:
    """Return what was timed, or why nothing was."""
    return timing.why or f"forward pass of one transformer layer, {timing.hidden} features, {timing.tokens} tokens"


def timing_rows(timing: Timing) -> list[tuple[str, str]]:
    """Return (dtype, time) of what was timed."""
    return [(name, value if isinstance(value, str) else f"{1000 * value:.3g} ms") for name, value in timing.seconds.items()]


def _verdict(one: FixOutcome) -> str:
    if one.outcome == "skipped":
        return "skipped"
    if one.ruled_out:
        return "fails here"
    if not one.surprising:
        return one.outcome if one.expected == "works" else "fails, as the knowledge base says"
    return f"{one.outcome}, but the knowledge base says it {'works' if one.expected == 'works' else 'fails'}"


def where(result: Verification) -> str:
    """Return the case, its dtype, the device and the versions."""
    packages = result.environment.get("packages")
    listed = ", ".join(f"{name} {version}" for name, version in packages.items()) if isinstance(packages, dict) else ""
    gpu = result.environment.get("device_name")
    device = f"{gpu} (compute capability {result.environment.get('capability')})" if gpu else result.device
    return f"case {result.case} ({result.tier}), {result.dtype} on {device}; {listed}"


def _wrapped(text: str, width: int, wrap: object, indent: int = 2) -> list[str]:
    found = wrap(text, max(40, width - indent), break_long_words=False)  # type: ignore[operator]
    return [" " * indent + line for line in found]


def render_summary(results: Sequence[Verification]) -> str:
    """Return one line per verification, and the counts."""
    lines = []
    for one in results:
        tried = [fix for fix in one.fixes if fix.outcome != "skipped"]
        why = one.before.why if one.verdict in ("cannot-run", "not-reproduced") else f"{len(tried)} of {len(one.fixes)} fixes tried"
        surprising = ", ".join(fix.id for fix in one.fixes if fix.surprising)
        lines.append(f"{one.verdict:<15} {one.issue} [{one.case}]  {why}{'; unexpected: ' + surprising if surprising else ''}")
    counts: dict[str, int] = {}
    for one in results:
        counts[one.verdict] = counts.get(one.verdict, 0) + 1
    lines.append(", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
    return "\n".join(lines) + "\n"
