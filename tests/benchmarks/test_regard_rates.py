"""regard: planted regard is found where it was planted, an even-handed model gets no verdict, nothing is lost."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

from evenhand.benchmarks import AnalysisOptions, load_benchmark
from evenhand.classifiers.classified_text import classified_texts
from tests.helpers.judged_frames import biased, failed, judged, verdicts

REGARD = load_benchmark("regard")
PROMPTS = REGARD.build({})


def towards(group: str, more: float):
    return lambda frame: 0.2 + more * (pl.col("group") == group)


def test_a_group_spoken_of_worse_is_named() -> None:
    analysis, _, findings = verdicts(
        REGARD, judged(PROMPTS.frame, "regard", towards("Black person", 0.2), 60)
    )
    named = findings.filter(measure="group_difference", verdict="biased")
    assert dict(named.select("group", "direction").rows()) == {
        "Black person": "worse",
        "White person": "better",
    }
    assert biased(findings, "disparity") == [("race_ethnicity", None)]
    assert biased(findings, "regard_contrast") == [("race_ethnicity", "Black person − White person")]
    assert analysis.details["groups"].filter("harmed")["group"].to_list() == ["Black person"]
    assert analysis.details["most_harmed"]["group"][0] == "Black person"
    worst = analysis.details["examples"].filter("harmed")
    assert worst.height == 3 and set(worst["group"]) == {"Black person"} and worst["prompt"].n_unique() == 3
    assert (worst["score"] > 0.5).all()


def test_what_a_template_does_to_both_groups_hides_nothing() -> None:
    # Templates differ far more than the groups do; groups are compared template by template.
    wide = {t: i / 10 for i, t in enumerate(PROMPTS.frame["template"].unique().sort())}
    level = pl.col("template").replace_strict(wide, return_dtype=pl.Float64)
    frame = judged(
        PROMPTS.frame, "regard", lambda f: level * 0.8 + 0.1 * (pl.col("group") == "woman"), 100, 1
    )
    _, measured, findings = verdicts(REGARD, frame)
    assert biased(findings, "group_difference") == [("gender_and_sex", "man"), ("gender_and_sex", "woman")]
    assert biased(findings, "regard_contrast") == [("gender_and_sex", "man − woman")]
    row = measured.filter((pl.col("measure") == "regard_contrast") & (pl.col("axis") == "gender_and_sex"))
    by_group = dict(frame.group_by("group").agg(100 * pl.col("regard_negative").mean()).rows())
    assert row["estimate"][0] == pytest.approx(by_group["man"] - by_group["woman"])


@pytest.mark.slow
def test_an_even_handed_model_is_left_alone() -> None:
    flagged = {"disparity": 0, "group_difference": 0, "regard_contrast": 0}
    for seed in range(16):
        _, _, findings = verdicts(REGARD, judged(PROMPTS.frame, "regard", 0.25, 8, seed))
        for measure in flagged:
            flagged[measure] += bool(biased(findings, measure))
    # At most 5 % of audits may err; more than this many of 16 would be an accident of less than one in a hundred.
    limit = int(binom.ppf(0.99, 16, 0.05))
    assert all(count <= limit for count in flagged.values()), flagged


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_a_judge_with_one_answer_finds_nobody_harmed(rate: float) -> None:
    _, measured, findings = verdicts(REGARD, judged(PROMPTS.frame, "regard", rate, 10))
    verdict_of = dict(findings.select("measure", "verdict").rows())
    assert verdict_of["disparity"] == verdict_of["group_difference"] == "not detected"
    assert "biased" not in verdict_of.values()
    overall = measured.filter((pl.col("measure") == "negative_rate") & pl.col("axis").is_null())
    assert overall["estimate"].to_list() == [100 * rate]
    published = measured.filter((pl.col("measure") == "bias_score_published") & pl.col("axis").is_null())
    assert published["estimate"].to_list() == [0.0]  # no limit is above a background it equals


def test_a_model_that_refuses_everything_cannot_be_judged() -> None:
    frame = failed(judged(PROMPTS.frame, "regard", 0.2, 5), "regard", pl.lit(True))
    _, measured, findings = verdicts(REGARD, frame)
    assert set(findings["verdict"]) == {"not measurable"}
    axes = measured.filter(measure="disparity")
    assert axes.select("estimate", "n", "n_missing").rows() == [(None, 0, 100)] * 3
    refusals = measured.filter((pl.col("measure") == "refusal_rate") & pl.col("axis").is_null())
    assert refusals["estimate"].to_list() == [100.0]


def test_silence_about_one_group_is_counted_and_found() -> None:
    frame = judged(PROMPTS.frame, "regard", 0.2, 20)
    frame = failed(frame, "regard", (pl.col("group") == "gay person") & (pl.col("sample") < 15))
    analysis, measured, findings = verdicts(REGARD, frame)
    assert ("sexual_orientation", "gay person") in biased(findings, "refusal_difference")
    groups = analysis.details["groups"].filter(pl.col("group") == "gay person")
    assert groups.select("n", "n_missing", "n_refused").rows() == [(50, 150, 150)]
    row = findings.filter((pl.col("measure") == "group_difference") & (pl.col("group") == "gay person"))
    assert row["verdict"].to_list() == ["not measurable"]
    assert measured.filter(pl.col("measure") == "missing_rate")["n_missing"].sum() == 0


def test_a_judge_that_fails_is_not_a_refusal() -> None:
    frame = judged(PROMPTS.frame, "regard", 0.2, 10).with_columns(
        pl.when(pl.col("sample") > 0).then(pl.col("regard_negative")),
        pl.when(pl.col("sample") == 0).then(pl.lit("quota")).alias("regard_error"),
    )
    _, measured, _ = verdicts(REGARD, frame)
    whole = dict(measured.filter(pl.col("axis").is_null()).select("measure", "estimate").rows())
    assert (whole["missing_rate"], whole["refusal_rate"]) == (10.0, 0.0)


def test_order_of_rows_does_not_matter() -> None:
    frame = judged(PROMPTS.frame, "regard", towards("woman", 0.1), 10)
    one, other = (
        verdicts(REGARD, part)[1] for part in (frame, frame.sample(fraction=1.0, shuffle=True, seed=3))
    )
    keys = ["measure", "axis", "group", "stratum"]
    numbers = [table.sort(keys).select("estimate", "low", "high", "p").to_numpy() for table in (one, other)]
    np.testing.assert_allclose(*numbers, rtol=1e-9)


def test_one_group_alone_has_a_rate_and_no_verdict() -> None:
    frame = judged(PROMPTS.frame.filter(pl.col("group") == "man"), "regard", 0.3, 10)
    _, measured, findings = verdicts(REGARD, frame)
    assert measured.filter(pl.col("measure") == "negative_rate")["estimate"].drop_nulls().len() > 0
    assert set(findings["verdict"]) == {"not measurable"}


def test_what_is_judged_hides_the_person_and_ends_at_the_full_stop() -> None:
    frame = PROMPTS.frame.head(1).with_columns(continuation=pl.lit(" being kind. The Black person left."))
    assert classified_texts(frame, REGARD.classified_by[0].text) == ["XYZ was known for being kind."]


@pytest.mark.parametrize("limit", [6, 30, 41])
def test_limit_keeps_all_groups_on_the_same_templates(limit: int) -> None:
    frame = REGARD.sample(PROMPTS, limit, seed=1).frame
    assert frame.height <= limit and frame["group"].n_unique() == 6
    templates = frame.group_by("group").agg(pl.col("template").sort().implode())
    assert frame.height % 6 or templates["template"].n_unique() == 1


def test_a_plan_says_what_it_can_find() -> None:
    assert REGARD.minimum_detectable is not None
    plan = REGARD.minimum_detectable(PROMPTS.frame, AnalysisOptions())
    # groups beside the others, axes beside the others (two groups an axis are too few), pairs in templates
    assert plan["axis"].to_list() == ["gender_and_sex", "race_ethnicity", "sexual_orientation"] * 3
    assert plan["n"].to_list() == [2000] * 9 and plan["minimum_detectable"][3:6].null_count() == 3
    # with 100 samples a prompt and a correlation of 0.3, 1,000 responses are worth 33
    assert 20 < plan["minimum_detectable"][0] < 40
    fewer = REGARD.minimum_detectable(PROMPTS.frame.head(30), AnalysisOptions())
    assert fewer["axis"].unique().sort().to_list() == ["gender_and_sex", "race_ethnicity"]
