"""Blocks to results: in this process, on several, or on a Ray cluster."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from troubleshoot.basics.errors import InputError
from troubleshoot.knowledge import load_kb
from troubleshoot.scale.fleets.blocks import PART, Block, do_block, filesystem_of, find_blocks, need_arrow, read_part, version_of

MANIFEST = "_manifest.json"
#: Blocks of a Ray dataset; each is a task, done again where its node dies.
_MOST_TASKS = 20_000


@dataclass(frozen=True)
class FleetResult:
    """What was done: ``blocks`` in all, of which ``before`` were there already."""

    out: str
    reports: int
    blocks: int
    before: int
    seconds: float
    engine: str

    def text(self) -> str:
        """Return it in two lines."""
        rate = f", {self.reports / self.seconds:,.0f} reports/s" if self.seconds > 1 and not self.before else ""
        there = f", {self.before} of them done before" if self.before else ""
        return (
            f"{self.reports:,} reports in {self.blocks} blocks{there}: {self.seconds:.1f} s{rate} ({self.engine})\n"
            f"results in {self.out}; draw them with: troubleshoot batch --out {self.out} --page problems.html\n"
        )


def run_fleet(
    paths: Sequence[str],
    out: str,
    *,
    engine: str = "local",
    address: str | None = None,
    column: str = "text",
    overlays: tuple[str, ...] = (),
    jobs: int = 1,
    tell: Callable[[str], None] | None = None,
) -> FleetResult:
    """Diagnose every report at ``paths`` into Parquet files at ``out``; blocks that are there already are not done again.

    ``engine``: "local" (``jobs`` processes, 0 for one per core) or "ray" (``address`` of a running cluster; without it one is started
    here). ``tell`` is told of progress.

    Raises:
        InputError: a path does not exist, ``out`` cannot be written, or a package is missing.
    """
    need_arrow()
    started = time.monotonic()
    version = version_of(load_kb(overlays), column)
    blocks = list(find_blocks(paths))
    if not blocks:
        raise InputError(f"there are no reports in {', '.join(paths)}")
    files, folder = filesystem_of(out)
    try:
        files.create_dir(folder, recursive=True)
    except OSError as error:
        raise InputError(f"{out} cannot be made: {error}") from None
    keys = [block.key(version) for block in blocks]
    there = _whole_parts(files, folder, set(keys), tell)
    todo = [block for block, key in zip(blocks, keys, strict=True) if key not in there]
    does = _on_ray(todo, out, column, overlays, address) if engine == "ray" else _here(todo, out, column, overlays, jobs)
    shown = time.monotonic()
    for number, _ in enumerate(does, 1):
        if tell is not None and time.monotonic() - shown > 1:
            shown = time.monotonic()
            tell(f"{number} of {len(todo)} blocks")
    reports = _rows(files, folder, keys)
    manifest = {"what": "troubleshoot fleet", "schema": 1, "version": version, "reports": reports, "blocks": sorted(keys)}
    _write_manifest(files, folder, json.dumps(manifest).encode())
    return FleetResult(out, reports, len(blocks), len(blocks) - len(todo), time.monotonic() - started, engine)


def _parts(files: Any, folder: str) -> set[str]:
    from pyarrow import fs

    names = [info.base_name for info in files.get_file_info(fs.FileSelector(folder))]
    return {name[len(PART) : -len(".parquet")] for name in names if name.startswith(PART) and name.endswith(".parquet")}


def _whole_parts(files: Any, folder: str, wanted: set[str], tell: Callable[[str], None] | None) -> set[str]:
    """Return the wanted blocks that are there and whole; a damaged one is told and made anew."""
    whole = set()
    for key in sorted(wanted & _parts(files, folder)):
        try:
            read_part(files, f"{folder}/{PART}{key}.parquet")
            whole.add(key)
        except InputError as error:
            (tell or _warn)(str(error))
    return whole


def _warn(text: str) -> None:
    import warnings

    warnings.warn(text, stacklevel=3)


def _rows(files: Any, folder: str, keys: list[str]) -> int:
    """Count the reports of all blocks; a block without its file is an error, never a gap."""
    import pyarrow.parquet as pq

    rows = 0
    for key in keys:
        with files.open_input_file(f"{folder}/{PART}{key}.parquet") as file:
            rows += pq.ParquetFile(file).metadata.num_rows
    return rows


def _write_manifest(files: Any, folder: str, content: bytes) -> None:
    from pyarrow import fs

    # An object store shows a file when it is whole; elsewhere it is renamed into place.
    local = isinstance(files, fs.LocalFileSystem)
    name = f"{folder}/{MANIFEST}.{os.getpid()}.tmp" if local else f"{folder}/{MANIFEST}"
    with files.open_output_stream(name) as stream:
        stream.write(content)
    if local:
        files.move(name, f"{folder}/{MANIFEST}")


def _here(todo: list[Block], out: str, column: str, overlays: tuple[str, ...], jobs: int) -> Iterator[int]:
    jobs = min(jobs or os.cpu_count() or 1, len(todo))
    if jobs < 2:
        for block in todo:
            yield do_block(block, out, column, overlays)
        return
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import get_context

    # pyarrow has threads, which a forked process would lack.
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        for done in as_completed([pool.submit(do_block, block, out, column, overlays) for block in todo]):
            yield done.result()


def _on_ray(todo: list[Block], out: str, column: str, overlays: tuple[str, ...], address: str | None) -> Iterator[int]:
    try:
        import ray
        import ray.data
    except ImportError:
        raise InputError("ray is not installed. Run: pip install 'troubleshoot[ray]'") from None
    if not todo:
        return
    if "://" not in out:
        out = os.path.abspath(out)  # noqa: PTH100  (a URI of a file system is no path)
    if not ray.is_initialized():
        try:
            ray.init(address=address, logging_level="warning", log_to_driver=False)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise InputError(f"--ray-address {address}: {error}") from None
    ray.data.DataContext.get_current().enable_progress_bars = False
    items = [{"block": json.dumps(asdict(block))} for block in todo]

    def do(row: dict[str, Any]) -> dict[str, Any]:
        given = json.loads(row["block"])
        given["paths"], given["sizes"] = tuple(given["paths"]), tuple(given["sizes"])
        return {"rows": do_block(Block(**given), out, column, overlays)}

    # One block a task: Ray does it again where its node died, and its file then replaces what there was.
    dataset = ray.data.from_items(items, override_num_blocks=min(len(items), _MOST_TASKS)).map(do, num_cpus=1)
    for row in dataset.iter_rows():
        yield int(row["rows"])
