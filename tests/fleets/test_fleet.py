"""Fleets: blocks, results that can be made again, the page; and a Ray cluster that loses a node."""

from __future__ import annotations

import re
import time
from pathlib import Path
from threading import Thread

import pytest

pa = pytest.importorskip("pyarrow")

import pyarrow.parquet as pq  # noqa: E402

from troubleshoot import InputError  # noqa: E402
from troubleshoot.scale.fleets import fleet_page, run_fleet  # noqa: E402
from troubleshoot.scale.fleets.blocks import find_blocks  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
BLIP = (ROOT / "docs" / "examples" / "blip2-half.txt").read_text(encoding="utf-8")


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    """A folder of text files and a Parquet file: 60 reports, some the same but for a number."""
    folder = tmp_path / "reports"
    (folder / "node1").mkdir(parents=True)
    for number in range(20):
        (folder / "node1" / f"job{number}.txt").write_text(f"2026-01-{number + 1:02d} job {number}\n{BLIP}", encoding="utf-8")
    table = pa.table(
        {
            "job": list(range(40)),
            "text": [
                f"step {n}\nRuntimeError: expected scalar type Float but found Half\n" if n % 2 else f"step {n} is fine" for n in range(40)
            ],
            "time": ["2026-02-02"] * 40,
        }
    )
    pq.write_table(table, folder / "jobs.parquet", row_group_size=10)
    return folder


def rows(out: Path) -> list[tuple[object, ...]]:
    """Return all rows of the results, sorted."""
    tables = [pq.read_table(path) for path in sorted(out.glob("part-*.parquet"))]
    return sorted(
        (row["source"], row["verdict"], row["issue"], row["week"], row["fingerprint"]) for table in tables for row in table.to_pylist()
    )


def test_every_report_has_one_row(reports: Path, tmp_path: Path) -> None:
    """Files and rows of Parquet files alike."""
    done = run_fleet([str(reports)], str(tmp_path / "out"))
    found = rows(tmp_path / "out")
    assert done.reports == len(found) == len({row[0] for row in found}) == 60
    assert sum(row[2] == "transformers/blip2-query-tokens-fp32" for row in found) == 20
    assert sum(row[1] == "likely" and row[3] == "2026-W06" for row in found) == 20


def test_what_is_done_is_not_done_again(reports: Path, tmp_path: Path) -> None:
    """A lost file is made again under the same name, with the same rows; nothing else is touched."""
    out = tmp_path / "out"
    run_fleet([str(reports)], str(out))
    before = rows(out)
    victim = sorted(out.glob("part-*.parquet"))[0]
    times = {path.name: path.stat().st_mtime_ns for path in out.glob("part-*.parquet")}
    victim.unlink()
    again = run_fleet([str(reports)], str(out))
    assert again.before == again.blocks - 1
    assert rows(out) == before
    assert {name for name, stamp in times.items() if (out / name).stat().st_mtime_ns != stamp} == {victim.name}
    assert not list(out.glob("*.tmp"))


@pytest.mark.parametrize("damage", ["cut", "middle", "empty"])
def test_a_damaged_block_is_told_and_made_anew(damage: str, reports: Path, tmp_path: Path) -> None:
    """The page refuses it, the next run replaces it."""
    out = tmp_path / "out"
    run_fleet([str(reports)], str(out))
    before = rows(out)
    victim = sorted(out.glob("part-*.parquet"))[0]
    content = bytearray(victim.read_bytes())
    # In the first column's values; the page may do without that column.
    content[200] ^= damage == "middle"
    victim.write_bytes({"cut": content[:-100], "middle": content, "empty": b""}[damage])
    if damage != "middle":
        with pytest.raises(InputError, match=f"{victim.name} is damaged"):
            fleet_page(str(out))
    told: list[str] = []
    again = run_fleet([str(reports)], str(out), tell=told.append)
    assert again.before == again.blocks - 1
    assert victim.name in told[0]
    assert rows(out) == before
    (out / "_manifest.json").write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match=r"_manifest\.json is damaged"):
        fleet_page(str(out))


def test_several_processes(reports: Path, tmp_path: Path) -> None:
    """The same rows, whoever made them."""
    run_fleet([str(reports)], str(tmp_path / "one"))
    run_fleet([str(reports)], str(tmp_path / "two"), jobs=2)
    assert rows(tmp_path / "one") == rows(tmp_path / "two")


def test_long_row_groups_are_shared_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks cover every row once, however a Parquet file is laid out."""
    monkeypatch.setattr("troubleshoot.scale.fleets.blocks.ROWS", 7)
    path = tmp_path / "jobs.parquet"
    pq.write_table(pa.table({"text": ["x"] * 40}), path, row_group_size=20)
    blocks = list(find_blocks([str(path)]))
    assert [(one.group, one.first, one.count) for one in blocks] == [(0, 0, 7), (0, 7, 7), (0, 14, 6), (1, 0, 7), (1, 7, 7), (1, 14, 6)]
    assert len({one.key("1") for one in blocks}) == 6


def test_the_page_draws_what_was_found(reports: Path, tmp_path: Path) -> None:
    """Charts by cause, week, version and GPU, in one page that loads and runs nothing."""
    run_fleet([str(reports)], str(tmp_path / "out"))
    page = fleet_page(str(tmp_path / "out"))
    assert "60 reports, 67% of them diagnosed" in page
    for word in ("dtype-mismatch/", "2026-W06", "transformers/blip2-query-tokens-fp32", "<svg", "4.50."):
        assert word in page
    assert "<script" not in page
    assert re.findall(r'(?:src|href)="', page) == []


def test_errors_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is nothing there"):
        run_fleet([str(tmp_path / "missing")], str(tmp_path / "out"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="there are no reports"):
        run_fleet([str(tmp_path / "empty")], str(tmp_path / "out"))
    with pytest.raises(InputError, match="there are no results"):
        fleet_page(str(tmp_path / "empty"))
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        run_fleet([str(tmp_path / "broken.parquet")], str(tmp_path / "out"))


@pytest.mark.slow
def test_a_ray_cluster_that_loses_a_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three node processes, one of them killed midway: every report has its row, none has two, and they are those of one process."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    # Blocks of a few reports make a run that is long enough to be hurt; workers are told by the environment of the cluster.
    monkeypatch.setattr("troubleshoot.scale.fleets.blocks.ROWS", 20)
    path = tmp_path / "jobs.parquet"
    texts = [f"job {n}\n{BLIP}" if n % 3 else f"job {n}: all is well" for n in range(1200)]
    pq.write_table(pa.table({"text": texts}), path, row_group_size=200)
    out = tmp_path / "ray"
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 100 << 20})
    try:
        nodes = [cluster.add_node(num_cpus=1, object_store_memory=100 << 20) for _ in range(2)]
        cluster.wait_for_nodes()
        ray.init(address=cluster.address, log_to_driver=False)
        killed: list[int] = []

        def kill() -> None:
            """End a node once some blocks are done and most are not."""
            end = time.monotonic() + 300
            while time.monotonic() < end:
                done = len(list(out.glob("part-*.parquet"))) if out.exists() else 0
                if done >= 10:
                    killed.append(done)
                    cluster.remove_node(nodes[0], allow_graceful=False)
                    return
                time.sleep(0.02)

        thread = Thread(target=kill)
        thread.start()
        done = run_fleet([str(path)], str(out), engine="ray")
        thread.join()
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert killed
    assert 10 <= killed[0] < done.blocks == 60
    one = tmp_path / "one"
    run_fleet([str(path)], str(one))
    found = rows(out)
    assert len(found) == len({row[0] for row in found}) == 1200
    assert found == rows(one)
    assert sorted(path.name for path in out.glob("part-*")) == sorted(path.name for path in one.glob("part-*"))
