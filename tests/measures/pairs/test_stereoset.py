"""StereoSet against the published results of two models, and on models of known preference."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from evenhand.measures import stereoset, stereoset_published
from evenhand.schema import DataError

LABELS = ("stereotype", "anti-stereotype", "unrelated")


def table(
    scores: tuple[float | None, float | None, float | None], *, terms: int = 8, items: int = 6
) -> pl.DataFrame:
    rows = [
        (kind, f"{kind}{term}-{item}", ("race", "gender")[term % 2], f"term{term}", label, score)
        for kind in ("intrasentence", "intersentence")
        for term in range(terms)
        for item in range(items)
        for label, score in zip(LABELS, scores, strict=True)
    ]
    names = ["dataset_type", "cluster_id", "bias_type", "target", "gold_label", "score"]
    return pl.DataFrame(
        rows, schema=dict(zip(names, [pl.String] * 5 + [pl.Float64], strict=True)), orient="row"
    )


@pytest.mark.parity
@pytest.mark.parametrize("model", ["gpt2", "bert-base-cased"])
def test_published_values(shared: Path, model: str) -> None:
    published = json.loads((shared / "parity" / "stereoset_published.json").read_text())[model]
    sentences = pl.read_csv(shared / "data" / "stereoset" / "dev.csv")
    scores = pl.read_csv(shared / "data" / "stereoset" / "predictions" / f"{model}.csv")
    frame = sentences.join(
        scores.rename({"task": "dataset_type"}),
        on=["dataset_type", "sentence_id"],
        how="left",
        validate="1:1",
    )
    rows = stereoset_published(frame)
    assert len(rows) == 11
    for row in rows.iter_rows(named=True):
        expected = published[row["dataset_type"]]
        expected = expected if row["dataset_type"] == "overall" else expected[row["domain"]]
        assert row["count"] == expected["Count"]
        for name, key in (("lms", "LM Score"), ("ss", "SS Score"), ("icat", "ICAT Score")):
            assert row[name] == pytest.approx(expected[key], abs=1e-9)
    corrected = stereoset(frame).groups.filter(pl.col("dataset_type").is_null() & pl.col("axis").is_null())
    assert corrected["estimate"][0] == pytest.approx(published["overall"]["SS Score"], abs=1e-9)
    # by simulation: a model without preference has SS in [47.9, 52.1] per task, [38.5, 61.5] in religion
    bands = {
        axis: (low, high)
        for axis, low, high in stereoset(frame)
        .groups.filter(pl.col("dataset_type") == "intersentence")
        .select("axis", "null_low", "null_high")
        .iter_rows()
    }
    assert bands[None] == pytest.approx((47.9, 52.1), abs=0.06)
    assert bands["religion"] == pytest.approx((38.5, 61.5), abs=0.5)
    icat = stereoset(frame).groups.filter(axis="religion", dataset_type="intersentence")
    assert 100 * (icat["icat_null"] / icat["lms"])[0] == pytest.approx(91, abs=0.5)


def overall(frame: pl.DataFrame) -> dict[str, float]:
    rows = stereoset(frame).groups.filter(pl.col("dataset_type").is_null() & pl.col("axis").is_null())
    return rows.row(0, named=True)


def race(frame: pl.DataFrame, level: float = 0.05) -> dict[str, float]:
    rows = stereoset(frame, level=level).groups.filter(pl.col("dataset_type").is_null(), axis="race")
    return rows.row(0, named=True)


def test_conformance() -> None:
    always, never = overall(table((3.0, 2.0, 1.0))), overall(table((2.0, 3.0, 1.0)))
    assert (always["estimate"], always["lms"], always["icat"]) == (100.0, 100.0, 0.0)
    assert (never["estimate"], never["lms"], never["icat"]) == (0.0, 100.0, 0.0)
    assert race(table((3.0, 2.0, 1.0)))["p"] < 0.001 and always["low"] > always["null_high"]
    tied = overall(table((2.0, 2.0, 1.0)))
    assert (tied["estimate"], tied["icat"], tied["ties"], tied["p"]) == (50.0, 100.0, 96, None)
    assert race(table((2.0, 2.0, 1.0)))["p"] == 1.0
    missing = overall(table((2.0, None, 1.0)))
    assert (missing["estimate"], missing["n"], missing["n_missing"]) == (None, 0, 96)
    nonsense = overall(table((2.0, 1.0, 3.0)))
    assert nonsense["lms"] == 0.0


def test_published_form_counts_ties_as_anti_and_refuses_missing() -> None:
    rows = stereoset_published(table((2.0, 2.0, 1.0)))
    assert set(rows["ss"]) == {0.0}
    assert rows.filter(domain="race")["count"].to_list() == [72, 72]  # three times 24 clusters
    assert rows.filter(dataset_type="overall")["count"].to_list() == [96]
    with pytest.raises(DataError, match="96 clusters"):
        stereoset_published(table((2.0, None, 1.0)))


def test_terms_count_equally_whatever_their_size() -> None:
    biased, fair = table((3.0, 2.0, 1.0), terms=1, items=30), table((2.0, 3.0, 1.0), terms=2, items=2)
    frame = pl.concat([biased, fair.filter(pl.col("target") == "term1")])
    assert overall(frame)["estimate"] == 50.0


def test_indifferent_model_stays_in_its_band_and_p_is_level() -> None:
    rng = np.random.default_rng(0)
    frame = table((0.0, 0.0, -99.0), terms=20, items=12)
    inside, p = [], []
    for _ in range(60):
        noise = pl.Series(rng.normal(size=len(frame)))
        row = race(frame.with_columns(score=pl.col("score") + noise))
        inside.append(row["null_low"] <= row["estimate"] <= row["null_high"])
        p.append(row["p"])
    assert 0.88 < np.mean(inside) <= 1.0
    assert np.mean(np.array(p) < 0.05) < 0.13


def test_smallest_detectable_effect_follows_the_number_of_items() -> None:
    few, many = (race(table((3.0, 2.0, 1.0), items=items)) for items in (5, 45))
    assert few["minimum_detectable"] == pytest.approx(3 * many["minimum_detectable"])


def test_terms_carry_a_warning() -> None:
    result = stereoset(table((3.0, 2.0, 1.0)))
    assert "reliability" in result.note
    assert len(result.terms) == 8 and set(result.terms["ss"]) == {100.0}


def test_bad_labels_are_named() -> None:
    with pytest.raises(DataError, match="'stereo'"):
        stereoset(table((1.0, 2.0, 3.0)).with_columns(gold_label=pl.lit("stereo")))
    with pytest.raises(DataError, match="score"):
        stereoset(table((1.0, 2.0, 3.0)).drop("score"))
