"""Verdicts on frequency and treatment: planted relations, the paper's own finding, what is refused."""

import numpy as np
import polars as pl
import pytest

from evenhand.measures import frequency_relation
from evenhand.schema import DataError

N = 10**6
TABLE_23 = {  # bias of DialoGPT and BlenderBot 2.0 3B; standard deviation of frequencies, all descriptors
    "gender_and_sex": (2.61, 7.47, 0.0055),
    "race_ethnicity": (3.09, 5.78, 0.0214),
    "religion": (2.20, 5.40, 0.0073),
    "age": (2.31, 4.28, 0.0254),
}
"""ROBBIE, table 23."""


def frequencies(axes: int = 4, buckets: int = 6, each: int = 5, seed: int = 0) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    rows = [
        {"axis": f"axis{a}", "bucket": f"bucket{b}", "descriptor": "x" * int(random.integers(3, 12)) + f"-{a}{b}{d}"}
        for a in range(axes)
        for b in range(buckets)
        for d in range(each)
    ]  # fmt: skip
    documents = random.poisson(np.exp(random.normal(4, 2, len(rows))))
    return pl.DataFrame(rows).with_columns(
        documents=pl.Series(documents), near_person=pl.Series(documents // 2), tokens=pl.lit(None, pl.Float64)
    )


def outcomes(often: pl.DataFrame, slope: float, name: str = "regard", seed: int = 1) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    standard = (often["documents"].to_numpy() + 0.5).astype(float)
    value = slope * np.log(standard) / 2 + random.normal(size=often.height)
    return pl.concat(
        [
            often.select("axis", "descriptor").with_columns(
                outcome=pl.lit(name), template=pl.lit(f"t{template}"), answers=pl.lit(10),
                value=pl.Series(value + 0.3 * random.normal(size=often.height) + template),
            )
            for template in range(4)
        ]
    )  # fmt: skip


def whole(table: pl.DataFrame, counted: str = "documents") -> list[dict[str, object]]:
    return table.filter(pl.col("axis").is_null() & (pl.col("counted") == counted)).to_dicts()


def test_what_is_planted_is_related_and_what_is_not_is_not() -> None:
    often = frequencies()
    both = pl.concat([outcomes(often, -1.0, "regard"), outcomes(often, 0.0, "care", seed=2)])
    found = frequency_relation(often, both, total=N)
    regard, care = whole(found.relations)
    assert (regard["verdict"], regard["direction"]) == ("related", "falls")
    assert (care["verdict"], care["direction"]) == ("not detected", None)
    assert regard["q"] == pytest.approx(min(1.0, 2 * float(str(regard["p"]))))  # two outcomes share alpha
    assert "minimum detectable rank correlation" in str(care["note"])
    beside = whole(found.relations, "near_person")
    assert [row["verdict"] for row in beside] == [None, None]
    assert beside[0]["estimate"] == pytest.approx(regard["estimate"], abs=0.1)


def test_an_axis_is_named_only_in_an_outcome_that_is_related() -> None:
    for slope in (0.0, 2.0):
        often = frequencies(buckets=10, each=4)
        found = frequency_relation(often, outcomes(often, slope), total=N).relations
        axes = found.filter(pl.col("axis").is_not_null() & (pl.col("counted") == "documents"))
        assert axes.height == 4
        assert ("related" in axes["verdict"].to_list()) == (slope > 0)


def test_an_outcome_that_differs_between_axes_as_frequency_does_is_no_relation() -> None:
    # the plain correlation is large, and is that of four axes
    random = np.random.default_rng(3)
    often = frequencies(axes=4, buckets=10)
    rank = pl.col("axis").str.slice(-1).cast(pl.Int64)
    often = often.with_columns(documents=pl.col("documents") * 100**rank)
    apart = often.select("axis", "descriptor", outcome=pl.lit("regard"), template=pl.lit("t"), answers=10).with_columns(
        value=pl.Series(random.normal(size=often.height)) + 10 * rank
    )  # fmt: skip
    row = whole(frequency_relation(often, apart, total=10**12).relations)[0]
    assert float(str(row["spearman"])) > 0.8
    assert row["verdict"] == "not detected"


def test_length_does_not_pass_for_a_relation() -> None:
    random = np.random.default_rng(5)
    often = frequencies(axes=6, buckets=8, seed=5)
    length = often["descriptor"].str.len_chars().to_numpy().astype(float)
    noise = random.normal(size=(2, len(length)))
    often = often.with_columns(documents=pl.Series(random.poisson(np.exp(9 - length / 2 + noise[0]))))
    longer = often.select(
        "axis", "descriptor", outcome=pl.lit("likelihood"), template=pl.lit("t"), answers=1
    ).with_columns(value=pl.Series(-length / 2 + noise[1]))
    row = whole(frequency_relation(often, longer, total=N).relations)[0]
    assert float(str(row["within"])) > 0.3  # longer words are rarer, and less likely
    assert row["controls"] == "characters"
    assert row["verdict"] == "not detected"


def test_the_four_axes_of_table_23_can_show_nothing() -> None:
    # four axes' biases against spreads of frequencies: no rank correlation of four is below 0.05
    often = pl.DataFrame(
        {
            "axis": "all",
            "bucket": None,
            "descriptor": list(TABLE_23),
            "documents": [int(1e6 * row[2]) for row in TABLE_23.values()],
            "near_person": None,
            "tokens": None,
        }
    )
    biases = pl.concat(
        [
            often.select(
                "axis", "descriptor", outcome=pl.lit(model), template=pl.lit("t"), answers=1
            ).with_columns(value=pl.Series([row[place] for row in TABLE_23.values()]))
            for place, model in enumerate(("DialoGPT", "BlenderBot 2.0 3B"))
        ]
    )
    rows = whole(frequency_relation(often, biases, total=N).relations)
    # Spearman by hand: ranks of bias 3 4 1 2 and 4 3 2 1 against 1 3 2 4, 1 - 6 sum d^2 / 60
    assert [row["spearman"] for row in rows] == [pytest.approx(0.0), pytest.approx(-0.8)]
    assert [row["verdict"] for row in rows] == ["not measurable"] * 2
    assert "clusters of similar descriptors" in str(rows[0]["note"])


def test_descriptors_that_were_never_found_share_the_lowest_rank() -> None:
    often = frequencies().with_columns(documents=pl.col("documents") // 60)
    points = frequency_relation(often, outcomes(often, 1.0), total=N).points
    never = points.filter(pl.col("documents") == 0)
    assert never.height > 20
    assert never["log_frequency"].unique().to_list() == [pytest.approx(np.log(0.5 / N))]
    assert points["log_frequency"].min() == never["log_frequency"][0]


def test_a_descriptor_without_a_frequency_is_counted_as_missing() -> None:
    often = frequencies()
    found = frequency_relation(often.head(100), outcomes(often, 0.0), total=N).relations
    assert (found["n"][0], found["n_missing"][0]) == (100, 20)


def test_what_is_not_a_table_of_frequencies_is_refused() -> None:
    often = frequencies()
    with pytest.raises(DataError, match="needs the column near_person"):
        frequency_relation(often.drop("near_person"), outcomes(often, 0.0), total=N)
    with pytest.raises(DataError, match="more than once"):
        frequency_relation(pl.concat([often, often]), outcomes(often, 0.0), total=N)


def test_few_descriptors_beside_people_give_no_number() -> None:
    people = {
        "axis": "age",
        "descriptor": [f"d{i}" for i in range(24)],
        "bucket": [f"b{i}" for i in range(24)],
    }
    for beside, known in ((3, False), (12, True)):
        near = [i + 1 if i < beside else 0 for i in range(24)]
        often = pl.DataFrame(
            people | {"documents": [30 + i for i in range(24)], "near_person": near, "tokens": None}
        )
        kind = often.select(
            "axis",
            "descriptor",
            outcome=pl.lit("valence"),
            template=pl.lit("t"),
            answers=1,
            value=pl.int_range(24) * 7 % 11,
        )
        rows = frequency_relation(often, kind, total=1000).relations
        row = rows.filter((pl.col("counted") == "near_person") & pl.col("axis").is_null()).to_dicts()[0]
        assert (row["estimate"] is not None) == known
        assert known or row["note"].startswith("Only 3 of 24 descriptors occur")
