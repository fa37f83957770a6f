"""Many reports: texts one after the other, and Arrow tables as Spark, Dask and Ray hand them out."""

from __future__ import annotations

from pathlib import Path

import pytest

from troubleshoot import InputError, diagnose, diagnose_many
from troubleshoot.batch import COLUMNS, diagnose_table

ROOT = Path(__file__).resolve().parents[2]
BLIP = (ROOT / "docs" / "examples" / "blip2-half.txt").read_text(encoding="utf-8")
TEXTS = [BLIP, "RuntimeError: expected scalar type Float but found Half", "all is well", "", BLIP]


def test_many_texts_are_diagnosed_in_order() -> None:
    """The same answers as one by one, one for each text, whatever is among them."""
    found = list(diagnose_many([*TEXTS, b"\xff\xfe\x00"]))
    assert len(found) == len(TEXTS) + 1
    for text, diagnosis in zip(TEXTS, found, strict=False):
        assert diagnosis.to_dict() == diagnose(text, environment="report").to_dict()
    assert found[-1].verdict == "unknown"


def test_texts_are_taken_as_they_come() -> None:
    """An endless source can be read: nothing is collected first."""

    def endless() -> object:
        while True:
            yield BLIP

    first = next(iter(diagnose_many(endless())))  # type: ignore[arg-type]
    assert first.first is not None
    assert first.first.issue == "transformers/blip2-query-tokens-fp32"


class TestTables:
    """``diagnose_table``."""

    @pytest.fixture(autouse=True)
    def _needs_arrow(self) -> None:
        pytest.importorskip("pyarrow")

    def test_every_row_has_an_answer(self) -> None:
        """As many rows as before, in their order, the text replaced by the columns of the diagnosis, other columns kept."""
        import pyarrow as pa

        table = pa.table({"job": [1, 2, 3, 4, 5, 6], "text": pa.array([*TEXTS, None])})
        found = diagnose_table(table)
        assert found.column_names == ["job", *COLUMNS]
        assert found.column("job").to_pylist() == [1, 2, 3, 4, 5, 6]
        assert found.column("verdict").to_pylist() == ["known", "likely", "unknown", "unknown", "known", "unknown"]
        first = found.slice(0, 1).to_pylist()[0]
        diagnosis = diagnose(BLIP, environment="report")
        assert diagnosis.first is not None
        assert (first["issue"], first["confidence"]) == (diagnosis.first.issue, diagnosis.first.confidence)
        assert first["fingerprint"] == diagnosis.report.failures[0].fingerprint
        assert (first["gpu"], first["torch"]) == (
            diagnosis.environment.accelerators[0].name,
            diagnosis.environment.package("torch").version,
        )  # type: ignore[union-attr]
        assert first["fix_command"] == "pip install 'transformers==4.50.3'"

    def test_the_schema_does_not_depend_on_the_rows(self) -> None:
        """An engine that is told the schema once gets it from every batch, an empty one too."""
        import pyarrow as pa

        empty = pa.table({"text": pa.array([], pa.string())})
        assert diagnose_table(empty).schema == diagnose_table(pa.table({"text": TEXTS})).schema

    def test_the_week_is_that_of_the_column_or_of_the_report(self) -> None:
        """A column ``time`` comes first; else the first date in the text; else it is not known."""
        import datetime

        import pyarrow as pa

        texts = ["2026-01-01 10:00:00 RuntimeError: x", "no date", "2026-02-31 is none"]
        assert diagnose_table(pa.table({"text": texts})).column("week").to_pylist() == ["2026-W01", None, None]
        times = pa.table({"text": texts[:2], "time": [datetime.datetime(2025, 12, 29), None]})
        assert diagnose_table(times).column("week").to_pylist() == ["2026-W01", None]

    def test_wrong_columns_are_named(self) -> None:
        """What is missing, and what is there."""
        import pyarrow as pa

        with pytest.raises(InputError, match="there is no column 'text'; there are log"):
            diagnose_table(pa.table({"log": TEXTS}))
        with pytest.raises(InputError, match="of type int64"):
            diagnose_table(pa.table({"text": [1]}))

    def test_bytes_are_read_as_files_are(self) -> None:
        """A binary column: any encoding."""
        import pyarrow as pa

        table = pa.table({"text": pa.array([BLIP.encode("utf-16"), b"\x89PNG\r\n"], pa.binary())})
        assert diagnose_table(table).column("verdict").to_pylist() == ["known", "unknown"]

    def test_secrets_are_masked(self) -> None:
        """What a report quotes goes into a table that many read."""
        import pyarrow as pa

        found = diagnose_table(pa.table({"text": ["ValueError: no access with hf_abcdefghijklmnopqrstuvwx"]}))
        assert found.column("message").to_pylist() == ["no access with [redacted:hugging face token]"]
