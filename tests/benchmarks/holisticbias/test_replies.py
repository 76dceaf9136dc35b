"""Replies to HolisticBias: styles that depend on the descriptor, offensive replies, and neither without a cause."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from evenhand.benchmarks import AnalysisOptions, load_benchmark
from evenhand.benchmarks.holisticbias import style_columns
from evenhand.benchmarks.holisticbias.replies import REPLIES
from evenhand.classifiers.classified_text import classified_texts
from evenhand.schema import DataError, measurement_frame
from evenhand.stats import reach_verdicts
from tests.helpers.judged_frames import biased, judged, verdicts

STYLES, OFFENSIVE = load_benchmark("holisticbias-styles"), load_benchmark("holisticbias-offensiveness")
PEOPLE = {"age": ("old", "young", "adult"), "class": ("poor", "rich", "posh")}
TEMPLATES = ("I am", "I met", "I love", "I see", "I saw", "I know")
NAMES = ("Kind", "Hateful", "Resentful", "Plain")


@dataclass(frozen=True)
class Named(AnalysisOptions):
    labels: object = None


def sentences(nouns: int = 4) -> pl.DataFrame:
    rows = [
        {"axis": axis, "descriptor": name, "group": name, "template": template, "noun": f"noun {i}"}
        | {"prompt_id": f"{name}/{template}/{i}", "text": f"{template} a {name} noun {i} today."}
        for axis, names in PEOPLE.items()
        for name in names
        for template in TEMPLATES
        for i in range(nouns)
    ]
    return pl.DataFrame(rows)


def styled(frame: pl.DataFrame, hateful_to: str | None = None, seed: int = 0) -> pl.DataFrame:
    """Replies whose styles scatter, those to one descriptor around more hateful ones."""
    weights = np.tile([4.0, 1.0, 1.0, 4.0], (frame.height, 1))
    weights[(frame["descriptor"] == (hateful_to or "nobody")).to_numpy(), 1] += 6.0
    draws = np.random.default_rng(seed).gamma(weights)
    scores = (draws / draws.sum(axis=1, keepdims=True)).astype(np.float32)
    return frame.with_columns(
        continuation=pl.lit(" Oh, that is a thing to be, and I wish them all the best."),
        error=pl.lit(None, pl.String),
        style_scores=pl.Series(scores.tolist(), dtype=pl.List(pl.Float32)),
        style_error=pl.lit(None, pl.String),
    )


def test_a_style_for_one_descriptor_is_found_on_its_axis_and_in_its_cluster() -> None:
    analysis = STYLES.analyse(styled(sentences(), "poor"), Named(labels={"style": NAMES}))
    table = measurement_frame(analysis.measurements)
    _, findings = reach_verdicts(table, n_axes=2, harmful=STYLES.harmful)
    assert biased(findings, "full_gen_bias") == [("class", None)]
    clusters = {row.group for row in analysis.measurements if row.measure == "partial_gen_bias"}
    assert clusters == {"hate"}, "of the published clusters, the one whose styles are all judged"
    assert biased(findings, "partial_gen_bias") == [("class", "hate")]
    everything = [row for row in analysis.measurements if row.measure == "full_gen_bias" and row.axis is None]
    assert len(everything) == 1 and everything[0].p is None, "over all axes it is a description"
    assert findings.filter(pl.col("measure") == "full_gen_bias_here").is_empty()
    assert analysis.details["styles"]["style"][0] == "Hateful"
    means = analysis.details["style_means"].filter(pl.col("style") == "Hateful")
    assert means.sort("probability")["descriptor"][-1] == "poor"


def test_replies_that_scatter_alone_are_no_bias() -> None:
    wrong = 0
    for seed in range(8):
        _, measured, findings = verdicts(STYLES, styled(sentences(), seed=seed))
        wrong += bool(biased(findings, "full_gen_bias"))
        whole = dict(measured.filter(pl.col("axis").is_null()).select("measure", "estimate").rows())
        # the published value holds the noise of few replies, the corrected one does not
        assert whole["full_gen_bias_published"] > 3 * abs(whole["full_gen_bias"])
    assert wrong <= 2


@pytest.mark.parity
def test_published_rows_and_details_are_those_of_the_oracle(shared: Path) -> None:
    oracle = json.loads((shared / "parity/genbias_formula_oracle.json").read_text(encoding="utf-8"))
    frame = pl.DataFrame(oracle["rows"]).select(
        "template",
        "descriptor",
        axis=pl.lit("all"),
        style_scores=pl.col("style_probs").cast(pl.List(pl.Float32)),
    )
    analysis = STYLES.analyse(frame, Named(labels={"style": oracle["styles"]}))
    whole = analysis.details["gen_bias"].filter(
        pl.col("axis").is_null() & (pl.col("measure") == "full_gen_bias")
    )
    row = next(r for r in analysis.measurements if r.measure == "full_gen_bias_published" and r.axis is None)
    assert row.estimate == pytest.approx(oracle["expected"]["ddof1"]["FGB"], rel=1e-5)
    assert whole["estimate_ddof_0"][0] == pytest.approx(oracle["expected"]["ddof0"]["FGB"], rel=1e-5)


def test_replies_without_judgement_are_missing_and_none_is_not_measurable() -> None:
    frame = styled(sentences()).with_columns(
        pl.when(pl.col("noun") != "noun 0").then(pl.col("style_scores")), style_error=pl.lit("quota")
    )
    _, measured, _ = verdicts(STYLES, frame)
    whole = measured.filter((pl.col("measure") == "full_gen_bias") & pl.col("axis").is_null())
    assert whole.select("n", "n_missing").rows() == [(108, 36)]
    silent = frame.with_columns(pl.lit(None, pl.List(pl.Float32)).alias("style_scores"))
    _, measured, findings = verdicts(STYLES, silent)
    assert set(findings["verdict"]) == {"not measurable"}
    assert measured["n_missing"].to_list() == [144, 72, 72]


def test_scores_of_two_classifiers_are_refused() -> None:
    with pytest.raises(DataError, match=r"\(3 names\), but some have 4"):
        style_columns(styled(sentences(2)), NAMES[:3])
    wide, columns = style_columns(styled(sentences(2)), None)
    assert columns == ["style 1", "style 2", "style 3", "style 4"] and wide.height == 72


def test_the_descriptor_is_hidden_wherever_it_is_said() -> None:
    frame = sentences(1).head(1).with_columns(continuation=pl.lit(" Old people! My old dog is older."))
    said = classified_texts(frame, STYLES.classified_by[0].text)
    assert said == [" left-handed people! My left-handed dog is older."]


def test_a_model_that_repeats_its_prompt_is_a_parrot() -> None:
    frame = styled(sentences()).with_columns(
        pl.when(pl.col("descriptor") == "old").then("text").otherwise("continuation").alias("continuation")
    )
    analysis, _, findings = verdicts(STYLES, frame)
    assert dict(analysis.details["parroting"].select("group", "estimate").rows())["old"] == 100.0
    found = findings.filter((pl.col("measure") == "parroting") & (pl.col("direction") == "worse"))
    assert found.select("axis", "group", "estimate").rows() == [("age", "old", 100.0)]


def test_offensive_replies_to_one_descriptor_are_found() -> None:
    frame = judged(sentences(8), "offensiveness", lambda f: 0.1 + 0.6 * (pl.col("descriptor") == "poor"), 4)
    analysis, _, findings = verdicts(OFFENSIVE, frame)
    assert ("class", "poor") in biased(findings, "group_difference")
    assert biased(findings, "offensiveness_spread") == [("class", None)]
    named = findings.filter((pl.col("measure") == "offensiveness") & (pl.col("verdict") == "biased"))
    assert dict(named.select("group", "direction").rows())["poor"] == "worse"
    assert analysis.details["descriptors_offensive"]["descriptor"][0] == "poor"
    labels_alone = frame.with_columns(offensiveness_score=pl.lit(None, pl.Float64))
    assert "spread" not in verdicts(OFFENSIVE, labels_alone)[0].details


def test_one_pass_serves_both_judges() -> None:
    assert STYLES.request == OFFENSIVE.request and STYLES.build is OFFENSIVE.build


@pytest.mark.parity
def test_sentences_are_the_same_for_all_descriptors(shared: Path) -> None:
    asked = STYLES.build({"holisticbias": shared / "data/holisticbias"})
    assert 0.99 * REPLIES < len(asked) <= REPLIES
    assert asked.frame.select("axis", "descriptor").n_unique() == 660
    part = STYLES.sample(asked, 3000, seed=0).frame
    nouns = part.group_by("axis", "template", "descriptor").len()["len"]
    assert part["axis"].n_unique() == 13 and nouns.median() >= 2, "cells need several replies"
    assert part["template"].n_unique() >= 4, "limits are over templates"
