"""The published Likelihood Bias against the official outputs, and its quirks."""

import gzip
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from evenhand.measures import PublishedLikelihoodBias, frame_from_parlai_lines, published_likelihood_bias
from evenhand.schema import DataError

TABLES = {
    "all": "significances__all.csv.gz",
    "by_axis": "significances__by_axis.csv",
    "by_axis_and_template": "significances__by_axis_and_template.csv",
    "by_axis_and_descriptor_pair": "significances__by_axis_and_descriptor_pair.csv",
    "by_template": "significances__by_template.csv",
    "median_perplexities": "median_perplexities.csv",
    "median_perplexities_per_template": "median_perplexities_per_template.csv",
    "frac_samples_below_median_ppl": "frac_samples_below_median_ppl.csv",
}


@pytest.fixture(scope="module")
def official(shared: Path) -> tuple[Path, PublishedLikelihoodBias]:
    folder = shared / "parity" / "likelihood_bias_small"
    if not folder.is_dir():
        pytest.skip(f"no folder {folder}")
    with gzip.open(folder / "logs.jsonl.gz", "rt") as lines:
        return folder, published_likelihood_bias(frame_from_parlai_lines(lines))


@pytest.mark.parity
@pytest.mark.parametrize("table", TABLES)
def test_every_official_table(official: tuple[Path, PublishedLikelihoodBias], table: str) -> None:
    folder, result = official
    mine: pl.DataFrame = getattr(result, table)
    theirs = pl.read_csv(folder / TABLES[table]).rename({"": "template"}, strict=False)
    assert mine.columns == theirs.columns
    keys = [name for name, kind in theirs.schema.items() if kind == pl.String]
    if table == "median_perplexities":  # the official file keeps the order of the sentences
        mine, theirs = mine.sort(keys), theirs.sort(keys)
    assert mine.select(keys).equals(theirs.select(keys))
    for name in set(theirs.columns) - set(keys):
        assert np.allclose(mine[name].to_numpy(), theirs[name].to_numpy(), rtol=0, atol=1e-12), name


def _frame(cells: dict[str, list[float]], template: str = "t") -> pl.DataFrame:
    rows = [("age", template, name, value) for name, values in cells.items() for value in values]
    return pl.DataFrame(rows, schema=["axis", "template", "descriptor", "perplexity"], orient="row")


def test_cells_of_unequal_size_work() -> None:
    result = published_likelihood_bias(_frame({"a": list(range(1, 31)), "b": list(range(50, 79))}))
    assert result.by_axis["significant_difference"].to_list() == [1.0]


def test_missing_perplexity_makes_its_tests_not_significant() -> None:
    far = {"a": [float(v) for v in range(1, 31)], "b": [float(v) for v in range(50, 80)]}
    assert published_likelihood_bias(_frame(far)).by_axis["significant_difference"][0] == 1.0
    far["b"][3] = float("nan")
    result = published_likelihood_bias(_frame(far))
    assert result.by_axis["significant_difference"][0] == 0.0
    assert result.all["p_value"].is_nan().all()


def test_unbiased_sentences_score_about_alpha() -> None:
    rng = np.random.default_rng(3)
    cells = {f"d{i}": list(np.exp(rng.normal(4, 0.5, 32))) for i in range(60)}
    share = published_likelihood_bias(_frame(cells)).by_axis["significant_difference"][0]
    assert 0.02 < share < 0.09  # 1,770 dependent tests at 0.05


def test_shared_noun_variation_blinds_it() -> None:
    rng = np.random.default_rng(4)
    nouns = rng.normal(4, 2.0, 32)
    cells = {f"d{i}": list(np.exp(nouns + 0.3 * (i % 2) + rng.normal(0, 0.01, 32))) for i in range(10)}
    assert published_likelihood_bias(_frame(cells)).by_axis["significant_difference"][0] == 0.0


def test_single_descriptor_axes_do_not_appear() -> None:
    both = pl.concat(
        [_frame({"a": [1.0, 2.0], "b": [2.0, 3.0]}), _frame({"x": [1.0]}).with_columns(axis=pl.lit("z"))]
    )
    assert published_likelihood_bias(both).by_axis["axis"].to_list() == ["age"]
    with pytest.raises(DataError, match="no axis with two descriptors"):
        published_likelihood_bias(_frame({"x": [1.0]}))


def test_love_hate_counts_strictly_below_the_median() -> None:
    love = _frame({"a": [1.0, 2.0], "b": [3.0, 4.0]}, "I love {plural_noun_phrase}.")
    hate = _frame({"a": [3.0, 4.0], "b": [1.0, 2.0]}, "I hate {plural_noun_phrase}.")
    table = published_likelihood_bias(pl.concat([love, hate])).frac_samples_below_median_ppl
    assert table["love_hate_diff"].to_list() == [1.0, -1.0]


def test_without_sentiment_templates_the_difference_is_null() -> None:
    result = published_likelihood_bias(_frame({"a": [1.0, 2.0], "b": [2.0, 3.0]}))
    assert result.frac_samples_below_median_ppl["love_hate_diff"].null_count() == len(
        result.frac_samples_below_median_ppl
    )
    assert result.median_perplexities_per_template.is_empty()


def test_counts_of_the_published_sets() -> None:
    descriptors = [85, 62, 151, 99, 33, 57, 20, 8, 23, 30, 49, 19, 24]  # v1.1 axes
    rng = np.random.default_rng(0)
    frames = [
        pl.DataFrame({"descriptor": np.repeat([f"d{i:03}" for i in range(d)], 9)}).with_columns(
            axis=pl.lit(f"axis{a:02}"), template=pl.lit("t"), perplexity=pl.Series(rng.lognormal(3, 1, d * 9))
        )
        for a, d in enumerate(descriptors)
    ]
    tests = published_likelihood_bias(pl.concat(frames)).all
    assert len(tests) == 26_290  # x 26 templates = 683,540


@pytest.mark.parametrize("line", ["{", "[]", '{"dialog": [[{"axis": "a"}, {"metrics": {"ppl": 1}}]]}', "3"])
def test_bad_log_lines_are_named(line: str) -> None:
    with pytest.raises(DataError, match="Line 2"):
        frame_from_parlai_lines(["", line])


def test_missing_column_is_named() -> None:
    with pytest.raises(DataError, match="perplexity"):
        published_likelihood_bias(pl.DataFrame({"axis": ["a"], "template": ["t"], "descriptor": ["d"]}))
