"""``troubleshoot batch``: its arguments, and what it does."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from troubleshoot.basics.errors import InputError
from troubleshoot.commands import process
from troubleshoot.commands.diagnose import load
from troubleshoot.commands.options import Overlays

EXAMPLES = (
    "troubleshoot batch reports/ --out problems/ --jobs 0",
    "troubleshoot batch reports.parquet --out problems/ --page problems.html",
    "troubleshoot batch s3://bucket/reports --engine ray --out s3://bucket/problems",
    "troubleshoot batch --out problems/ --page problems.html",
)
AFTER = "Exit status: 0 everything was diagnosed or drawn, 2 an error in use or input."


def batch(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="[PATH|URI]...", help="Reports: files, folders, Parquet files with a column of texts.")
    ] = None,
    out: Annotated[str, typer.Option("--out", metavar="DIR|URI", help="The folder of results; what is there is not done again.")] = ...,  # type: ignore[assignment]
    page: Annotated[
        str | None, typer.Option("--page", metavar="FILE", help="Draw the results as an HTML page.", show_default=False)
    ] = None,
    jobs: Annotated[str, typer.Option("--jobs", "-j", metavar="N", help="Processes; 0: one per core.")] = "1",
    column: Annotated[str, typer.Option("--column", metavar="NAME", help="The Parquet column that holds the text.")] = "text",
    engine: Annotated[
        str, typer.Option("--engine", metavar="local|ray", help="Where the work is done; ray comes with troubleshoot[ray].")
    ] = "local",
    ray_address: Annotated[
        str | None,
        typer.Option("--ray-address", metavar="ADDRESS", help="A running Ray cluster; else one is started here.", show_default=False),
    ] = None,
    kb: Overlays = None,
) -> int:
    """Diagnose many reports: every file, and every row of a Parquet file, is one.

    The results are Parquet files, one for each block of reports. An interrupted run goes on where it ended. Without a path, the results of
    an earlier run are drawn.
    """
    if engine not in ("local", "ray"):
        raise InputError(f"--engine {engine}: choose local or ray")
    if ray_address is not None and engine != "ray":
        raise InputError("--ray-address goes with --engine ray")
    if not paths and page is None:
        raise InputError("name the reports, or the --page to draw from earlier results. See: troubleshoot batch --help")
    if paths:
        from troubleshoot.scale.fleets.fleet import run_fleet

        # What is skipped in an overlay is told.
        load(tuple(kb or ()))
        done = run_fleet(
            paths, out, engine=engine, address=ray_address, column=column, overlays=tuple(kb or ()), jobs=process.number_of_jobs(jobs),
            tell=_tell if sys.stderr.isatty() else None,
        )  # fmt: skip
        process.write(done.text(), None)
    if page is not None:
        from troubleshoot.scale.fleets.charts import fleet_page

        process.write(fleet_page(out), page)
    return 0


def _tell(text: str) -> None:
    print(text, file=sys.stderr)
