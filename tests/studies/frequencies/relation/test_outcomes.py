"""Outcomes of a run by descriptor and template, against the answers themselves."""

from pathlib import Path

import polars as pl
import pytest

from evenhand import audit
from evenhand.runs import RunDirectory, answers
from evenhand.schema import DataError
from evenhand.studies.frequencies.relation.outcomes import described_benchmarks


def test_likelihoods_are_means_and_valence_kind_minus_hostile(tmp_path: Path) -> None:
    run = audit(
        "puppet/random", benchmarks=["evenhand-likelihood"], axes=["age"], limit=400, output=tmp_path / "run"
    )
    directory = RunDirectory.open(run.path)
    benchmark = described_benchmarks(directory)[0]
    assert [one.name for one in benchmark.outcomes] == ["valence", "log-likelihood", "perplexity"]
    frame = answers(directory, "evenhand-likelihood")
    valence, likelihood, _ = benchmark.outcomes
    who = benchmark.descriptors["descriptor"][0]
    mine = frame.filter(pl.col("descriptor") == who)
    template = mine["frame"][0]
    cell = likelihood.values.filter((pl.col("descriptor") == who) & (pl.col("template") == template))
    assert cell["value"].item() == pytest.approx(
        mine.filter(pl.col("frame") == template)["log_likelihood"].mean()
    )
    pair = mine.filter(pl.col("pair").is_not_null())["pair"][0]
    sides = {
        side: mine.filter((pl.col("pair") == pair) & (pl.col("valence") == side))["log_likelihood"].mean()
        for side in ("positive", "negative")
    }
    shift = valence.values.filter((pl.col("descriptor") == who) & (pl.col("template") == pair))[
        "value"
    ].item()
    assert shift == pytest.approx(sides["positive"] - sides["negative"])
    assert benchmark.descriptors["bucket"].null_count() == 0
    assert abs(benchmark.descriptors["tokens"].mean() or 0.0) < 0.5


@pytest.mark.parity
def test_conversations_and_pairs_of_sentences_name_no_descriptors(tmp_path: Path, shared: Path) -> None:
    run = audit("puppet/random", benchmarks=["crows-pairs"], limit=100, output=tmp_path / "run",
                data={"crows-pairs": str(shared / "data" / "crows_pairs")})  # fmt: skip
    with pytest.raises(DataError, match=r"has fewer than 4 descriptors\. Its benchmarks: crows-pairs\."):
        described_benchmarks(RunDirectory.open(run.path))
