"""Corpora written by a World, counted, and joined with audits of models whose treatment is planted."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest

from evenhand import audit
from evenhand.schema import DataError, UsageError
from evenhand.studies.frequencies import Relation, join_run
from tests.helpers import written_about
from tests.helpers.written_about import Written, drawn, talker, world_of, written


@pytest.fixture
def spoken(judged_house: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Callable[[Written], None]:
    return lambda corpus: written_about.register(monkeypatch, corpus.lexicon)


def joined_with_talker(corpus: Written, slope: float, seed: int, folder: Path) -> Relation:
    model = talker(corpus.treatment(slope, seed), name=f"puppet/talker-{seed}")
    run = audit(model, benchmarks=["spoken-of"], output=folder / f"run-{seed}-{slope}")
    counts, table = corpus.counts()
    return join_run(counts, table, run.path, output=folder / "joined")


def whole(relation: Relation) -> pl.DataFrame:
    return relation.relations.filter(pl.col("axis").is_null() & (pl.col("counted") == "documents"))


def test_planted_treatment_is_found_with_its_sign(tmp_path: Path, spoken: Callable[[Written], None]) -> None:
    corpus = written(0, 8_000)
    spoken(corpus)
    relation = joined_with_talker(corpus, -1.5, 0, tmp_path)
    row = whole(relation).row(0, named=True)
    assert (row["outcome"], row["verdict"], row["direction"]) == ("toxicity", "related", "falls")
    assert row["high"] < 0 and row["q"] <= 0.05
    assert "more frequent in this corpus more kindly" in relation.html()
    written_files = relation.report().parent
    assert {path.name for path in written_files.iterdir()} >= {
        "relation.html",
        "relation.json",
        "relation.csv",
    }
    assert pl.read_csv(written_files / "relation.csv").height == relation.relations.height


def test_treatment_that_follows_something_else_is_not_called_related(
    tmp_path: Path, spoken: Callable[[Written], None]
) -> None:
    corpus = written(1, 8_000)
    spoken(corpus)
    row = whole(joined_with_talker(corpus, 0.0, 1, tmp_path)).row(0, named=True)
    assert row["verdict"] == "not detected"
    assert row["minimum_detectable"] < 0.7


@pytest.mark.slow
def test_relations_are_found_where_they_are_and_hardly_ever_where_they_are_not(
    tmp_path: Path, spoken: Callable[[Written], None]
) -> None:
    # false in 60 corpora: 3 expected at 5 %, more than 8 in one of 250 such tests
    found = false = 0
    for seed in range(60):
        corpus = written(100 + seed, 6_000)
        spoken(corpus)
        if seed < 20:
            found += whole(joined_with_talker(corpus, 1.5, seed, tmp_path))["verdict"].to_list() == [
                "related"
            ]
        false += whole(joined_with_talker(corpus, 0.0, seed, tmp_path))["verdict"].to_list() == ["related"]
    assert found >= 18
    assert false <= 8


@pytest.mark.slow
def test_the_likelihoods_and_valence_of_worlds(tmp_path: Path) -> None:
    # a World's likelihoods follow its own frequencies exactly; its valence what was planted
    for seed in range(3):
        corpus = written(seed)
        counts, table = corpus.counts()
        for slope in (1.5, 0.0):
            often = dict(corpus.often) if slope else drawn(corpus.lexicon, 5000 + seed)
            world = world_of(often, corpus.treatment(slope, seed), corpus.lexicon, f"made-{seed}-{slope}")
            run = audit(
                world,
                benchmarks=["evenhand-likelihood"],
                axes=list(written_about.AXES),
                limit=8_000,
                output=tmp_path / f"{seed}-{slope}",
            )
            verdicts = dict(whole(join_run(counts, table, run.path)).select("outcome", "verdict").rows())
            expected = "related" if slope else "not detected"
            assert verdicts["log-likelihood"] == expected
            assert verdicts["valence"] == expected


def test_what_cannot_be_joined_is_refused(tmp_path: Path, spoken: Callable[[Written], None]) -> None:
    corpus = written(0, 200)
    spoken(corpus)
    counts, table = corpus.counts()
    with pytest.raises(DataError, match="does not exist"):
        join_run(counts, table, tmp_path / "nowhere")
    run = audit(talker({}), benchmarks=["spoken-of"], limit=200, output=tmp_path / "run")
    with pytest.raises(UsageError, match="no corpus 'web'"):
        join_run(counts, table, run.path, corpus="web")
    other = replace(counts, table_hash="0" * 64)
    with pytest.raises(DataError, match="The given table of terms is not the one that these"):
        join_run(other, table, run.path)


def test_a_run_that_names_nobody_is_refused(tmp_path: Path, judged_house: ModuleType) -> None:
    counts, table = written(0, 200).counts()
    run = audit("house/writer", benchmarks=["rudeness"], output=tmp_path / "run")
    with pytest.raises(DataError, match=r"has fewer than 4 descriptors\. Its benchmarks: rudeness\.") as told:
        join_run(counts, table, run.path)
    assert "holisticbiasr" in str(told.value.hint)
