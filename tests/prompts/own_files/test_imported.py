"""Data sets of the library `datasets`, from a folder; where it is not installed, only how that is said."""

import importlib.util
import json
import sys
from types import SimpleNamespace

import polars as pl
import pytest

from evenhand.prompts.own_files import import_dataset, read_prompts
from evenhand.schema import DataError, UsageError


class Rows:
    """What `datasets.load_dataset` returns, as far as it is asked."""

    info = SimpleNamespace(license="cc-by-4.0")

    def flatten(self) -> "Rows":
        return self

    def to_polars(self) -> pl.DataFrame:
        return pl.DataFrame({"q": ["Write about cats.", "Write about dogs."], "meta.group": ["cats", "dogs"]})


@pytest.fixture
def library(monkeypatch):
    asked = []

    def load_dataset(name, config, *, split, revision):
        asked.append((name, config, split, revision))
        if split != "test":
            raise ValueError('Unknown split "dev".\nShould be one of ["test"].')
        return Rows()

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    return asked


def test_a_split_becomes_a_file_that_says_where_it_is_from(library, tmp_path):
    made = import_dataset(str(tmp_path), tmp_path / "p.parquet", columns={"q": "text", "meta.group": "group"})
    assert (made.rows, made.columns, made.licence, made.revision) == (2, ("text", "group"), "cc-by-4.0", "")
    assert library == [(str(tmp_path), None, "test", None)]
    assert read_prompts(made.path).frame["text"].to_list() == ["Write about cats.", "Write about dogs."]
    about = json.loads((tmp_path / "p.parquet.source.json").read_text("utf-8"))
    assert about["dataset"] == str(tmp_path) and about["rows"] == 2 and about["licence"] == "cc-by-4.0"


def test_what_is_wrong_is_said_and_nothing_is_written(library, tmp_path):
    output = tmp_path / "p.parquet"
    with pytest.raises(UsageError, match=r"column 'z' not found \(found: q, meta\.group\)"):
        import_dataset(str(tmp_path), output, columns={"z": "text"})
    with pytest.raises(UsageError, match="would have the name 'q'"):
        import_dataset(str(tmp_path), output, columns={"meta.group": "q"})
    with pytest.raises(DataError, match="Unknown split"):
        import_dataset(str(tmp_path), output, split="dev")
    with pytest.raises(UsageError, match="parquet"):
        import_dataset(str(tmp_path), tmp_path / "p.csv")
    assert not output.exists()


def test_a_missing_library_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(UsageError, match="pip install datasets"):
        import_dataset(str(tmp_path), tmp_path / "p.parquet")


@pytest.mark.skipif(
    importlib.util.find_spec("datasets") is None, reason="the library datasets is not installed"
)
@pytest.mark.filterwarnings("ignore")
def test_the_library_itself_loads_a_folder(tmp_path):
    rows = [{"q": f"Write about {word}.", "meta": {"group": word}} for word in ("cats", "dogs")]
    (tmp_path / "test.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    made = import_dataset(str(tmp_path), tmp_path / "p.parquet", columns={"meta.group": "group"})
    assert pl.read_parquet(made.path)["group"].to_list() == ["cats", "dogs"]
