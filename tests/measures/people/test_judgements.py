"""Correlations of classifiers with people: against scipy, and against what was planted."""

import json
from collections.abc import Callable, Sequence

import numpy as np
import polars as pl
import pytest
from scipy.stats import pearsonr, spearmanr

from evenhand.measures import classifier_correlation
from evenhand.schema import DataError
from tests.measures.people.laid_out import rating, table


def people(
    items: int = 400, raters: int = 3, seed: int = 0, noise: float = 0.1, **said: object
) -> pl.DataFrame:
    """Texts that some share of people calls negative; the classifier's score is that share, blurred."""
    rng = np.random.default_rng(seed)
    rows = []
    for item in range(items):
        truth = rng.beta(1, 1)
        score = float(np.clip(truth + rng.normal(0, noise), 0, 1))
        judgement = {
            "regard": {
                "label": "negative" if score > 0.5 else "positive",
                "scores": {"negative": score, "positive": 1 - score},
            },
            "toxicity": {"label": None, "score": score, "negative": score > 0.5},
        }
        for rater in range(raters):
            answer = "negative" if rng.random() < truth else "positive"
            rows.append(
                rating(
                    (item + rater * 7) % 50,
                    item,
                    answer,
                    question="regard",
                    model="base" if item % 2 else "tuned",
                    judgements=json.dumps(judgement),
                    **said,
                )
            )
    return table(rows)


def rows(
    found: pl.DataFrame, measure: str, option: str = "negative", level: str | None = None
) -> dict[str, object]:
    at = pl.col("level").is_null() if level is None else pl.col("level") == level
    return found.filter((pl.col("measure") == measure) & (pl.col("option") == option) & at).row(0, named=True)


def by_item(votes: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    each = votes.group_by("item").agg(
        (pl.col("answer") == "negative").mean().alias("share"), pl.col("judgements").first()
    )
    return (
        np.array([json.loads(text)["regard"]["scores"]["negative"] for text in each["judgements"]]),
        each["share"].to_numpy(),
    )


def test_correlations_are_scipys_and_cut_by_model() -> None:
    votes = people()
    found = classifier_correlation(votes, "regard", "regard")
    for level in (None, "base", "tuned"):
        part = votes if level is None else votes.filter(pl.col("model") == level)
        x, y = by_item(part)
        pearson, spearman = (
            rows(found, f"classifier_{name}", level=level) for name in ("pearson", "spearman")
        )
        assert pearson["estimate"] == pytest.approx(pearsonr(x, y).statistic)
        assert spearman["estimate"] == pytest.approx(spearmanr(x, y).statistic)
        assert pearson["low"] < pearson["estimate"] < pearson["high"] and pearson["p"] < 1e-6
        assert pearson["n_items"] == (400 if level is None else 200) and pearson["taken"] == "probability"
        interval = pearsonr(x, y).confidence_interval()
        assert (pearson["low"], pearson["high"]) == pytest.approx((interval.low, interval.high), abs=0.03)


def test_the_ceiling_is_what_a_perfect_classifier_reaches() -> None:
    votes = people(1500, raters=4, noise=0.0)
    found = classifier_correlation(votes, "regard", "regard", split=None)
    pearson, corrected = rows(found, "classifier_pearson"), rows(found, "classifier_pearson_corrected")
    assert pearson["estimate"] == pytest.approx(pearson["ceiling"], abs=0.02)
    assert corrected["low"] < 1 < corrected["high"] and corrected["estimate"] == pytest.approx(1, abs=0.03)
    # of a share that is uniform: variance 1/12, of one vote 1/6 more; four votes
    reliability = (1 / 12) / (1 / 12 + (1 / 6) / 4)
    assert rows(found, "human_reliability")["estimate"] == pytest.approx(reliability, abs=0.03)
    ceiling = rows(found, "human_ceiling")
    assert ceiling["estimate"] == pytest.approx(reliability**0.5, abs=0.02)
    assert (ceiling["low"], ceiling["high"]) == (pearson["ceiling_low"], pearson["ceiling_high"])


def test_more_raters_lift_the_ceiling_and_the_corrected_correlation_stays() -> None:
    few, many = (
        classifier_correlation(people(800, raters, noise=0.25), "regard", "regard", split=None)
        for raters in (2, 10)
    )
    gap = rows(many, "classifier_pearson")["estimate"] - rows(few, "classifier_pearson")["estimate"]
    assert (
        gap > 0.1 and rows(many, "human_ceiling")["estimate"] > rows(few, "human_ceiling")["estimate"] + 0.1
    )
    assert rows(few, "classifier_pearson_corrected")["estimate"] == pytest.approx(
        rows(many, "classifier_pearson_corrected")["estimate"], abs=0.08
    )


def test_a_score_is_set_against_the_option_that_says_yes() -> None:
    votes = people().with_columns(
        answer=pl.col("answer").replace({"negative": "yes", "positive": "no"}),
        value=(pl.col("answer") == "negative").cast(pl.Float64),
    )
    found = classifier_correlation(votes, "regard", "toxicity", split=None)
    assert found.filter(pl.col("classifier").is_not_null())["option"].unique().to_list() == ["yes"]
    row = rows(found, "classifier_pearson", "yes")
    assert row["taken"] == "score" and row["estimate"] > 0.6


def test_labels_alone_are_predictions() -> None:
    votes = people().with_columns(
        judgements=pl.col("judgements").map_elements(
            lambda text: json.dumps({"regard": {"label": json.loads(text)["regard"]["label"]}}), pl.String
        )
    )
    row = rows(classifier_correlation(votes, "regard", split=None), "classifier_pearson")
    assert row["taken"] == "prediction" and 0.4 < row["estimate"] < 0.9


def judged(said: Callable[[int, float], dict[str, object]], answers: Sequence[str]) -> pl.DataFrame:
    """60 texts of two models with three votes each; votes follow a truth that `said` sees, too."""
    rng, laid_out = np.random.default_rng(4), []
    for item in range(60):
        truth = rng.random()
        text = json.dumps({"theirs": said(item, truth)})
        for rater in range(3):
            seen = np.clip(truth + rng.normal(0, 0.2), 0, 0.999)
            answer = answers[int(seen * len(answers))]
            more = {"model": "base" if item % 2 else "tuned", "value": float(answer == "yes")}
            laid_out.append(
                rating((item + rater * 7) % 20, item, answer, question="regard", judgements=text, **more)
            )
    return table(laid_out)


def by_hand(votes: pl.DataFrame, option: str, number: Callable[[dict[str, object]], float]) -> float:
    each = votes.group_by("item").agg(
        (pl.col("answer") == option).mean().alias("share"), pl.col("judgements").first()
    )
    return float(
        pearsonr([number(json.loads(text)["theirs"]) for text in each["judgements"]], each["share"])[0]
    )


def test_scores_by_other_names_leave_the_score_against_yes() -> None:
    """As those of word lists: a score of each kind of word, and the largest of them."""
    votes = judged(
        lambda item, truth: {
            "label": None,
            "score": truth,
            "negative": truth > 0.6,
            "scores": {"insult": truth, "slur": 0},
        },
        ["no", "yes"],
    )
    found = classifier_correlation(votes, "regard")
    row = rows(found, "classifier_pearson", "yes")
    assert row["taken"] == "score" and row["obstacle"] is None
    assert row["estimate"] == pytest.approx(by_hand(votes, "yes", lambda said: said["score"]))
    assert found.filter(pl.col("classifier").is_not_null())["option"].unique().to_list() == ["yes"]


def test_a_label_that_never_comes_in_a_model_is_no_score() -> None:
    """Labels with a score of harm: of a model that is never called positive, positive has no correlation."""
    votes = judged(
        lambda item, truth: {
            "label": "negative" if truth > 0.5 else "positive" if item % 2 else "neutral",
            "score": truth,
            "negative": truth > 0.5,
        },
        ["positive", "neutral", "negative"],
    )
    found = classifier_correlation(votes, "regard")
    taken = found.filter(pl.col("classifier").is_not_null())["taken"].unique().to_list()
    assert taken == ["prediction"]
    for option in ("positive", "neutral", "negative"):
        for level in (None, "base", "tuned"):
            mine = votes if level is None else votes.filter(pl.col("model") == level)
            row = rows(found, "classifier_pearson", option, level)
            if (option, level) in (("positive", "tuned"), ("neutral", "base")):
                assert (
                    row["estimate"] is None
                    and row["obstacle"] == "The classifier's result is the same for all items."
                )
            else:
                expected = by_hand(mine, option, lambda said, option=option: said["label"] == option)
                assert row["estimate"] == pytest.approx(expected)


def test_one_kind_of_number_for_all_items() -> None:
    """Probabilities of some items only: labels stand for all; an item without either is left out."""

    def said(item: int, truth: float) -> dict[str, object]:
        if item == 7:
            return {"label": None, "error": "too long"}
        label = {"label": "yes" if truth > 0.5 else "no"}
        return label | ({"scores": {"yes": truth, "no": 1 - truth}} if item % 3 else {})

    votes = judged(said, ["no", "yes"])
    row = rows(classifier_correlation(votes, "regard"), "classifier_pearson", "yes")
    rest = votes.filter(pl.col("item") != votes["item"].unique(maintain_order=True)[7])
    assert (row["taken"], row["n_items"], row["n_missing"]) == ("prediction", 59, 3)
    assert row["estimate"] == pytest.approx(by_hand(rest, "yes", lambda said: float(said["label"] == "yes")))
    nothing = judged(lambda item, truth: {"label": None}, ["no", "yes"])
    obstacle = rows(classifier_correlation(nothing, "regard"), "classifier_pearson", "yes")["obstacle"]
    assert (
        obstacle
        == "The classifier's results contain no score or label that can be compared with this answer."
    )


@pytest.mark.slow
def test_limits_hold() -> None:
    held = 0
    for seed in range(40):
        found = classifier_correlation(people(80, seed=seed, noise=0.3), "regard", "regard", split=None)
        row = rows(found, "classifier_pearson_corrected")
        held += row["low"] <= TRUTH <= row["high"]
    assert held >= 34  # of 38 that 95 % would give


def test_what_tells_nothing() -> None:
    found = classifier_correlation(people(12), "regard", split=None)
    assert found["estimate"].null_count() == found.height
    assert "at least 20" in rows(found, "classifier_pearson")["obstacle"]
    single = classifier_correlation(people(100, raters=1), "regard", "regard", split=None)
    assert "0 items have two votes" in str(rows(single, "human_ceiling")["obstacle"])
    assert "no ceiling" in str(rows(single, "classifier_pearson_corrected")["obstacle"])
    assert rows(single, "classifier_pearson")["estimate"] > 0.3
    with pytest.raises(DataError, match="no item was classified by 'perspective'"):
        classifier_correlation(people(30), "regard", "perspective")
    with pytest.raises(DataError, match="are not valid JSON"):
        classifier_correlation(people(30).with_columns(judgements=pl.lit("{")), "regard")


def test_few_annotators_give_no_interval() -> None:
    votes = people(100)
    names = votes["person"].unique().sort()
    few = votes.filter(pl.col("person").is_in(names.head(5).implode()))
    row = rows(classifier_correlation(few, "regard", "regard", split=None), "classifier_pearson")
    assert row["n_items"] >= 20 and row["n_persons"] == 5
    assert row["estimate"] is None and "5 annotators judged" in row["obstacle"]
    enough = votes.filter(pl.col("person").is_in(names.head(10).implode()))
    assert (
        rows(classifier_correlation(enough, "regard", "regard", split=None), "classifier_pearson")["estimate"]
        > 0
    )


def _truth() -> float:
    """The correlation of the blurred score with the share, of very many texts."""
    rng = np.random.default_rng(1)
    share = rng.beta(1, 1, 400_000)
    return float(np.corrcoef(share, np.clip(share + rng.normal(0, 0.3, 400_000), 0, 1))[0, 1])


TRUTH = _truth()
