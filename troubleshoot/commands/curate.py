"""``troubleshoot kb why``, ``gaps``, ``stale``, ``weigh``, ``learn`` and ``stats``: what those who write entries ask the knowledge base."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from troubleshoot.basics.errors import InputError
from troubleshoot.basics.json_text import json_text
from troubleshoot.commands import process
from troubleshoot.commands.diagnose import load, pairs, read_source


def run_why(
    report: str,
    issue: str,
    *,
    format: str,
    kb: Sequence[str],
    answers: Sequence[str],
    gpu: str | None,
    have: Sequence[str],
    output: str | None,
) -> int:
    """Explain an entry's place in the diagnosis of a report. Return 0 where it comes first, else 1."""
    process.check_format(format, ("text", "json"))
    known = pairs("--answer", answers, "package.apex=absent")
    versions = pairs("--have", have, "transformers=4.50.1", bare="")
    from troubleshoot.basics.redact import redact_data, redact_text
    from troubleshoot.curation import why

    result = why(read_source(report), issue.strip(), kb=load(kb), answers=known or None, gpu=gpu, have=versions or None)
    if format == "json":
        process.write(process.json_text(redact_data(result.to_dict(), personal=False)), output)
    else:
        from troubleshoot.curation.text import why_text

        process.write(process.shown(redact_text(why_text(result))), output)
    return 0 if result.outcome == "first" else 1


def run_gaps(paths: Sequence[str], *, format: str, kb: Sequence[str], output: str | None) -> int:
    """Cluster the reports that have no diagnosis. Return 0 where there is none, else 1."""
    process.check_format(format, ("text", "json"))
    from troubleshoot.curation import gaps

    with process.progress("reading") as say:
        result = gaps(paths, kb=load(kb), progress=say)
    if format == "json":
        process.write(process.json_text(result.to_dict()), output)
    else:
        from troubleshoot.curation.text import gaps_text

        process.write(process.shown(gaps_text(result)), output)
    return 1 if result.gaps else 0


def run_stale(*, months: str, offline: bool, format: str, kb: Sequence[str], output: str | None) -> int:
    """List the entries that need another look. Return 0 where there is none, else 1."""
    process.check_format(format, ("text", "json"))
    if not months.isdecimal() or not 1 <= int(months) <= 1200:
        raise InputError(f"--months {months}: give a number of months, 1 or more")
    from troubleshoot.curation import stale

    with process.progress("asking the package index for") as say:
        result = stale(load(kb), months=int(months), offline=offline, say=say)
    if format == "json":
        found = [{"issue": one.issue, "kind": one.kind, "text": one.text} for one in result.found]
        data = {"schema": 1, "found": found, "unasked": list(result.unasked)}
        process.write(json_text(data, indent=2) + "\n", output)
    else:
        from troubleshoot.curation.text import stale_text

        process.write(stale_text(result), output)
    return 1 if result.found else 0


def run_weigh(folder: str, *, pull: str, least: str, write: bool, format: str, kb: Sequence[str], output: str | None) -> int:
    """Fit the weights of families' causes to labelled reports, and with ``write`` put them into the files. Return 0."""
    process.check_format(format, ("text", "json"))
    if not least.isdecimal() or int(least) < 1:
        raise InputError(f"--least {least}: give a number of reports, 1 or more")
    from troubleshoot.curation import weigh
    from troubleshoot.curation.text import weighing_text

    # Before the work: where there is nothing to write to, it would be lost.
    root = _to_write(kb) if write else None
    with process.progress("reading") as say:
        result = weigh(Path(folder), kb=load(kb), pull=_pull(pull), least=int(least), progress=say)
    changed: Sequence[Path] = ()
    if root is not None:
        from troubleshoot.curation.weight_files import write_weights

        changed = write_weights(result, root)
    if format == "json":
        data = result.to_dict() | {"written": [str(path) for path in changed]}
        process.write(json_text(data, indent=2) + "\n", output)
    else:
        process.write(weighing_text(result, changed), output)
    return 0


def run_learn(folder: str, *, kb: Sequence[str], output: str | None) -> int:
    """Fit the words of labelled reports to their causes and write the table. Return 0."""
    from troubleshoot.curation import learn
    from troubleshoot.curation.outcome_fit import fit_outcomes, read_outcomes
    from troubleshoot.curation.word_fit import write_word_odds
    from troubleshoot.engine.matching.tried import READ
    from troubleshoot.knowledge.files import WORD_ODDS_FILE

    path = Path(output) if output else _to_write(kb) / WORD_ODDS_FILE
    with process.progress("reading") as say:
        table = learn(Path(folder), progress=say)
    write_word_odds(table, path)
    process.write(f"{path}: {len(table.words)} words of {table.reports} reports, {len(table.causes)} causes\n", None)
    with process.progress("reading what was tried") as say:
        fit = fit_outcomes(read_outcomes(folder, progress=say), kb=load(kb))
    now = f"(READ of engine/matching/tried.py: {READ:g})"
    process.write(f"outcomes of experiments: {fit.outcomes}, best trusted to {fit.trust:g} {now}\n", None)
    for name, (agree, against, silent) in fit.counts.items():
        process.write(f"  {name}: {agree} as the cause predicted, {against} against it, {silent} of which it says nothing\n", None)
    return 0


def _to_write(kb: Sequence[str]) -> Path:
    """Return the folder of entries to change: the last overlay, else a checkout's own."""
    from troubleshoot.knowledge.base import checkout_root

    return Path(kb[-1]) if kb else checkout_root("Name a folder of your own: --kb DIR")


def _pull(given: str) -> float:
    try:
        pull = float(given)
    except ValueError:
        pull = 0.0
    if not 0.0 < pull < float("inf"):
        raise InputError(f"--pull {given}: give a number above 0; the larger, the nearer the weights stay to what the entries say")
    return pull


def run_stats(*, feedback: str | None, format: str, kb: Sequence[str], output: str | None) -> int:
    """Print the counts, and with ``feedback`` what users said of the fixes."""
    process.check_format(format, ("text", "json"))
    from troubleshoot.curation import stats

    result = stats(load(kb))
    said = _feedback(Path(feedback)) if feedback else None
    if format == "json":
        data = result.to_dict()
        if said is not None:
            data["feedback"] = said
        process.write(json_text(data, indent=2) + "\n", output)
        return 0
    from troubleshoot.curation.text import stats_text

    text = stats_text(result)
    if said is not None:
        text += "\nfeedback\n" + ("".join(f"  {_row(one)}\n" for one in said) or "  none yet\n")
    process.write(text, output)
    return 0


def _feedback(path: Path) -> list[dict[str, Any]]:
    """Return what the server's feedback file says: ``{"issue", "fix", "worked", "failed"}`` for every issue and fix."""
    if not path.is_file():
        raise InputError(f"--feedback {path}: no such file. It is the one that `troubleshoot serve --feedback FILE` writes")
    from importlib import import_module

    try:
        counts = import_module("troubleshoot.serve.feedback").counts
    except ImportError as error:
        raise InputError(f"--feedback reads what the server of troubleshoot writes, and this installation has none ({error})") from error
    return list(counts(path))


def _row(said: Mapping[str, Any]) -> str:
    about = f"{said['issue']} {said['fix']}" if said["fix"] else str(said["issue"])
    return f"{about}: worked {said['worked']}, failed {said['failed']}"
