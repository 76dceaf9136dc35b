"""Tables that do not fit into memory are refused before they are read."""

import polars as pl
import pytest

from evenhand.classifiers.existing_scores import read_score_file
from evenhand.prompts.own_files.tables import read_table
from evenhand.schema import DataError
from evenhand.weights.devices import TIMES


@pytest.mark.parametrize("kind", [".csv", ".parquet", ".jsonl"])
@pytest.mark.parametrize("read", [read_score_file, lambda path: read_table(path, "a table")])
def test_a_table_is_read_only_where_it_fits(tmp_path, monkeypatch, kind, read):
    frame, path = pl.DataFrame({"text": ["a text"] * 100, "score": [0.5] * 100}), tmp_path / f"table{kind}"
    {".csv": frame.write_csv, ".parquet": frame.write_parquet, ".jsonl": frame.write_ndjson}[kind](path)
    needed = path.stat().st_size * TIMES[kind]
    for free in (needed, None):
        monkeypatch.setattr("evenhand.weights.devices.processor_memory", lambda free=free: free)
        assert read(path).height == 100
    monkeypatch.setattr("evenhand.weights.devices.processor_memory", lambda: needed - 1)
    with pytest.raises(DataError, match="reading it needs about"):
        read(path)
