"""The study from worlds to its page: what was planted less is less, all rows under one decoding, gone on with."""

from pathlib import Path

import polars as pl
import pytest
from rich.console import Console

from evenhand.mitigations.training.finetuned import LINEAGE
from evenhand.models import load_model
from evenhand.prompts.names import load_names
from evenhand.runs import RunDirectory, Silence, self_chats
from evenhand.schema import DataError, EvenhandError, ModelError, Unsupported, UsageError, write_json
from evenhand.studies.names import NAMES, NamesConfig, conduct, names_study
from evenhand.studies.names.conduct import check_same, check_written_alike
from tests.helpers import names_house


@pytest.fixture
def house(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    names_house.register(monkeypatch)
    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path / "cache"))


def test_rows_that_wrote_by_another_rule_are_refused() -> None:
    rule = {"max_new_tokens": 60, "min_new_tokens": 1}
    check_written_alike(rule, dict(rule), "small")
    told = r"The row 'small' was generated with another length limit than 'original' \(tokens: 32, 60\)"
    with pytest.raises(UsageError, match=told):
        check_written_alike(rule, {**rule, "max_new_tokens": 32}, "small")


@pytest.mark.slow
def test_rows_of_worlds(house: None, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    rows = {"lessened": "house/lessened"}
    study = names_study("house/planted", rows=rows, decoding="sampling", output=folder, limit=120, seed=1)
    runs = {
        label: RunDirectory.open(folder / "rows" / label / "sampling") for label in ("original", "lessened")
    }
    chats = {label: self_chats(run, "names") for label, run in runs.items()}
    check_same(chats["original"], chats["lessened"], "lessened")
    with pytest.raises(DataError, match="have other prompts than those of"):
        check_same(
            chats["original"], chats["lessened"].filter(pl.col("name") != chats["lessened"]["name"][0]), "x"
        )
    first, other = (run.manifest.asked["names"].decoding for run in runs.values())
    assert first == other and first is not None

    judged = study.cells.filter(pl.col("change_verdict").is_not_null() & (pl.col("row") == "lessened"))
    told = {(row["benchmark"], row["measure"]): row for row in judged.to_dicts()}
    for key in (("names", "classifier_bias"), ("names", "token_bins"), ("descriptions", "classifier_bias")):
        assert told[key]["change_verdict"] == "lower" and told[key]["change_high"] < 0, key
    assert told["names", "words"]["change_verdict"] == "not detected"
    whole = study.cells.filter((pl.col("measure") == "classifier_bias") & (pl.col("part") == ""))
    assert whole["low"].is_not_null().all()

    page = study.html()
    for title in (*(f"Table {number}:" for number in (2, 3, 4, 5, 6, 7, 8, 10)), "Figure 1:", "Figure 2:"):
        assert title in page, title
    assert "Not measured: crows-pairs" in page and page.count("<svg") >= 4
    console = Console(record=True, width=100)
    study.print_to(console)
    assert "lessened. Less bias: inferred gender" in console.export_text()

    before = {
        path: path.stat().st_mtime_ns for path in (folder / "rows" / "original").rglob("part-*.parquet")
    }
    grown = NAMES.conduct(
        NamesConfig.resume(folder, {"rows": {"unplanted": "house/unplanted"}}), output=folder
    )
    assert set(grown.cells["row"]) == {"original", "lessened", "unplanted"}
    assert {
        path: path.stat().st_mtime_ns for path in (folder / "rows" / "original").rglob("part-*.parquet")
    } == before
    assert (folder / "report.json").is_file()


@pytest.mark.slow
def test_rows_are_held_against_each_other_by_names_that_none_was_tuned_on(
    house: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = load_names()
    learned, watched = (listed.filter(split="tune")["name"].to_list()[place::2] for place in (0, 1))
    lineage = {"base": {"name": "house/planted"}, "data": {"names": {"learned": learned, "watched": watched}}}
    monkeypatch.setattr(
        conduct, "read_lineage", lambda folder: lineage if folder.name == "lessened" else None
    )
    config = NamesConfig.read(
        {"model": "house/planted", "rows": {"a": "house/lessened"}, "decoding": ("sampling",), "limit": 120}
    )
    assert conduct.tuned_names(config) == sorted([*learned, *watched])
    study = NAMES.conduct(config, output=tmp_path / "study")
    cell = study.cells.filter(row="a", measure="classifier_bias", part="", benchmark="names").row(
        0, named=True
    )
    assert cell["change_verdict"] == "lower" and cell["change_high"] < 0
    of_all = NAMES.conduct(config.model_copy(update={"names": "all"}), output=tmp_path / "all")
    other = of_all.cells.filter(row="a", measure="classifier_bias", part="", benchmark="names").row(
        0, named=True
    )
    assert other["change"] != cell["change"] and "tuned or monitored on" in study.html()


def test_names_that_rows_were_tuned_on(tmp_path: Path) -> None:
    for label, names in (("x", ["Ann", "Bob"]), ("y", ["Bob", "Cy"])):
        (tmp_path / label).mkdir()
        told = {
            "base": {"name": "m"},
            "data": {"names": {"learned": names[:1], "watched": names[1:], "test": ["Di"]}},
        }
        write_json(tmp_path / label / LINEAGE, told)
    rows = {label: str(tmp_path / label) for label in ("x", "y")}
    assert conduct.tuned_names(NamesConfig.read({"model": "m", "rows": rows})) == ["Ann", "Bob", "Cy"]


@pytest.mark.parametrize(
    ("row", "kind", "message"),
    [
        ("/nonexistent", ModelError, "The row 'x': model folder not found: '/nonexistent'"),
        (".", ModelError, "The row 'x': "),
        ("puppet/none", UsageError, "The row 'x': Unknown model: 'puppet/none'"),
    ],
)
def test_rows_are_looked_for_before_any_model_is_asked(
    house: None, tmp_path: Path, row: str, kind: type[EvenhandError], message: str
) -> None:
    row = str(tmp_path) if row == "." else row
    with pytest.raises(kind, match=message):
        names_study("house/planted", rows={"x": row}, output=tmp_path / "study", limit=4)
    assert not (tmp_path / "study").exists()


def test_a_masked_model_is_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conduct, "check_model", lambda name, **_: "masked" if name == "bert" else None)
    config = NamesConfig.read({"model": "m", "rows": {"x": "bert"}})
    with pytest.raises(Unsupported, match="The row 'x': bert is a masked language model"):
        conduct.check_rows(config, ["original", "x"])
    conduct.check_rows(config, ["original"])


def test_what_a_row_given_anew_had_answered_is_moved_away(tmp_path: Path) -> None:
    for label, model in (("original", "m"), ("x", "old")):
        run = tmp_path / "rows" / label / "greedy"
        RunDirectory.create(run, model=load_model("puppet/uniform"), given={}, resolved={"model": model})
    config = NamesConfig.read({"model": "m", "rows": {"x": "new"}})
    session = conduct._Session(config, tmp_path, (), Silence(), [])
    for label in config.models:
        session.set_aside(label)
    assert sorted(path.name for path in (tmp_path / "rows").iterdir()) == ["original"]
    assert RunDirectory.is_run(tmp_path / "replaced" / "x-1" / "greedy")
