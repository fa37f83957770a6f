"""``troubleshoot scan``: its arguments, and what it does."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from troubleshoot.basics.errors import InputError
from troubleshoot.commands import process
from troubleshoot.commands.diagnose import load
from troubleshoot.commands.options import Color, Language, Output, Overlays, ReaderModel, ReaderUrl, Redact, chosen_reader

if TYPE_CHECKING:
    from troubleshoot.reading.environment.machine import Environment
    from troubleshoot.scale.scanning.log_scan import Options
    from troubleshoot.scale.scanning.problems import Problem, ScanResult

EXAMPLES = (
    "troubleshoot scan train.log",
    "troubleshoot scan logs/ --jobs 0 --format html -o problems.html",
    "troubleshoot scan slurm-1234.out --last",
    "torchrun train.py 2>&1 | tee train.log | troubleshoot scan - --follow",
    "troubleshoot scan huge.log.zst --state scan.state --format jsonl",
)
AFTER = "Exit status: 0 a problem was diagnosed, 1 none was, 2 an error in use or input."
FORMATS = ("table", "jsonl", "html")
#: Seconds that one stretch of a log may take without --timeout. It takes milliseconds.
LIMIT = 20.0


def scan(
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PATH]...", help="Logs (plain, gzip, xz, bzip2, zstd), folders of logs, or - for standard input."),
    ] = None,
    format: Annotated[str, typer.Option("--format", "-f", metavar="table|jsonl|html", help="The form of the output.")] = "table",
    last: Annotated[bool, typer.Option("--last", help="Only the last failure, reading each log from its end.")] = False,
    follow: Annotated[
        bool, typer.Option("--follow", "-F", help="Go on as the logs grow, through rotation; report problems at once.")
    ] = False,
    jobs: Annotated[str, typer.Option("--jobs", "-j", metavar="N", help="Processes; 0: one per core.")] = "1",
    state: Annotated[
        str | None,
        typer.Option("--state", metavar="FILE", help="Keep what was read: resumes, and reads only what a log grew by.", show_default=False),
    ] = None,
    finder: Annotated[
        str,
        typer.Option("--finder", metavar="auto|hyperscan|python", help="What finds the anchors; hyperscan comes with troubleshoot[scan]."),
    ] = "auto",
    anchors: Annotated[bool, typer.Option("--anchors", help="Print the strings that are looked for, and end.")] = False,
    env: Annotated[
        str, typer.Option("--env", metavar="report|local|FILE", help="Whose versions and GPU, beside what the logs say.")
    ] = "report",
    gpu: Annotated[
        str | None, typer.Option("--gpu", metavar="NAME", help='The GPU it ran on: V100-16GB, "RTX 4090", sm_86.', show_default=False)
    ] = None,
    have: Annotated[
        list[str] | None, typer.Option("--have", metavar="PKG=VERSION", help="A version it ran with; may be repeated.", show_default=False)
    ] = None,
    timeout: Annotated[
        str | None,
        typer.Option(
            "--timeout",
            metavar="SECONDS",
            help="Limit of one stretch of a log (20); what takes longer is left out, and told.",
            show_default=False,
        ),
    ] = None,
    reader: ReaderUrl = None,
    reader_model: ReaderModel = None,
    kb: Overlays = None,
    lang: Language = None,
    redact: Redact = False,
    output: Output = None,
    color: Color = "auto",
) -> int:
    """Find and diagnose every failure and symptom in training logs of any size: one row per distinct problem.

    Each row has the count, the first and the last place (file, line, step, rank) and the diagnosis. Memory stays bounded. Logs of many
    ranks may be interleaved. NaN losses, overflows and exhausted loss scales are counted too.
    """
    from troubleshoot.scale.scanning.log_scan import Options

    language = process.language(lang)
    environment = _environment(env)
    versions = tuple(sorted(_versions(have or []).items()))
    options = Options(finder, tuple(kb or ()), environment, gpu, versions, language, process.seconds_of(timeout) or LIMIT)
    options = replace(options, reader=chosen_reader(reader, reader_model))
    # What is skipped in an overlay is told; the base is kept for what follows.
    load(options.overlays)
    if anchors:
        return _print_anchors(options, output)
    if not paths:
        if sys.stdin.isatty():
            raise InputError("name logs or folders, or pipe a log in. See: troubleshoot scan --help")
        paths = ["-"]
    format = process.check_format(format, FORMATS)
    if follow:
        return _follow(paths, options, format, redact=redact, color=process.use_color(color, output), output=output)
    result = _last(paths, options) if last else _scan(paths, options, process.number_of_jobs(jobs), state)
    process.write(_rendered(result, format, redact, process.use_color(color, output), process.width(output)), output)
    return 0 if any(one.verdict != "unknown" for one in result.problems) else 1


def _versions(have: list[str]) -> dict[str, str]:
    found = {}
    for one in have:
        name, equals, version = one.replace("==", "=").partition("=")
        if not equals or not name or not version:
            raise InputError(f"--have {one}: write PACKAGE=VERSION, for example transformers=4.50.1")
        found[name] = version
    return found


def _environment(choice: str) -> Environment | None:
    if choice == "report":
        return None
    if choice == "local":
        from troubleshoot.reading.environment.local import local_environment

        return local_environment(accelerators=True)
    from troubleshoot.reading.environment.exchange import load_environment

    return load_environment(Path(choice))


def _print_anchors(options: Options, output: str | None) -> int:
    from troubleshoot.knowledge import load_kb
    from troubleshoot.scale.scanning.anchors import anchors_of

    process.write("".join(one.text.decode() + "\n" for one in anchors_of(load_kb(options.overlays))), output)
    return 0


def _scan(paths: list[str], options: Options, jobs: int, state: str | None) -> ScanResult:
    from troubleshoot.scale.scanning.log_scan import scan as scan_logs

    shown = _Progress()
    try:
        return scan_logs(
            paths, jobs=jobs, finder=options.finder, overlays=options.overlays, environment=options.environment, gpu=options.gpu,
            have=dict(options.have), language=options.language, state=state, timeout=options.seconds, reader=options.reader,
            progress=shown.show if shown.wanted else None,
        )  # fmt: skip
    finally:
        shown.clear()


class _Progress:
    """The line on a terminal's stderr; nothing in a pipe."""

    def __init__(self) -> None:
        self.wanted = sys.stderr.isatty()
        self._started = self._shown = time.monotonic()
        self._drawn = False

    def show(self, done: int, total: int, problems: int) -> None:
        """Draw, five times a second at most."""
        now = time.monotonic()
        if now - self._shown < 0.2:
            return
        from troubleshoot.scale.scanning.scan_text import progress_line

        self._shown = now
        self._drawn = True
        sys.stderr.write("\r" + progress_line(done, total, problems, now - self._started, _terminal_width()))
        sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away."""
        if self._drawn:
            sys.stderr.write("\r" + " " * (_terminal_width() - 1) + "\r")
            sys.stderr.flush()


def _terminal_width() -> int:
    import shutil

    return shutil.get_terminal_size().columns


def _last(paths: list[str], options: Options) -> ScanResult:
    from troubleshoot.scale.scanning.last import last_failure
    from troubleshoot.scale.scanning.log_scan import Reader
    from troubleshoot.scale.scanning.problems import ScanResult
    from troubleshoot.scale.scanning.sources import find_files

    files, skipped = find_files(paths)
    reader = Reader(options)
    results, failed = [], list(skipped)
    for file in files:
        try:
            results.append(last_failure(file, reader))
        except InputError as error:
            failed.append(str(error))
    if not results and failed:
        raise InputError("; ".join(failed))
    return ScanResult(
        tuple(one for result in results for one in result.problems), len(results), sum(one.lines for one in results),
        sum(one.bytes for one in results), sum(one.seconds for one in results), reader.finder.name, tuple(failed),
        tuple(dict.fromkeys(note for one in results for note in one.notes)), tuple(part for one in results for part in one.left_out),
    )  # fmt: skip


def _follow(paths: list[str], options: Options, format: str, *, redact: bool, color: bool, output: str | None) -> int:
    if format == "html" or output is not None:
        raise InputError("--follow prints as it goes: use --format table or jsonl, and no --output")
    from troubleshoot.scale.scanning.follow import Follower, follow_files, follow_stdin, result_of
    from troubleshoot.scale.scanning.log_scan import Reader
    from troubleshoot.scale.scanning.scan_text import jsonl_row, problem_lines, summary_line

    width = process.width(None)

    def tell(problem: Problem) -> None:
        text = (
            jsonl_row(problem, personal=redact)
            if format == "jsonl"
            else "\n".join(problem_lines(problem, width, color=color, personal=redact)) + "\n\n"
        )
        process.write(text, None)

    if "-" in paths and len(paths) > 1:
        raise InputError("--follow takes files, or standard input alone")
    for path in paths:
        if path != "-" and not Path(path).exists():
            process.complain(f"{path} is not there yet; waiting for it")
    reader = Reader(options)
    followers = {path: Follower(path, reader, tell) for path in paths}
    started = time.monotonic()
    try:
        if paths == ["-"]:
            follow_stdin(followers["-"])
        else:
            follow_files(followers, lambda: False)
    except KeyboardInterrupt:
        pass
    result = result_of(followers, reader, time.monotonic() - started)
    if format == "jsonl":
        from troubleshoot.basics.json_text import json_text

        process.write(json_text(result.to_dict()) + "\n", None)
    else:
        process.write("\n".join([summary_line(result), *(f"left out: {one}" for one in result.left_out)]) + "\n", None)
    return 0 if any(one.verdict != "unknown" for one in result.problems) else 1


def _rendered(result: ScanResult, format: str, personal: bool, color: bool, width: int) -> str:
    if format == "html":
        from troubleshoot.scale.scanning.scan_page import result_page

        return result_page(result, personal=personal)
    from troubleshoot.scale.scanning.scan_text import to_jsonl, to_table

    return to_jsonl(result, personal=personal) if format == "jsonl" else to_table(result, width, color=color, personal=personal)
