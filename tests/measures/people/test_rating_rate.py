"""Ratings: shares and means, what levels are, chi-square against scipy, and differences planted and not."""

import json

import numpy as np
import polars as pl
import pytest
from scipy.stats import chi2_contingency

from evenhand.measures import rating_differences, rating_rates
from evenhand.schema import DataError
from evenhand.studies.calibration.simulators.crossed import intercept
from tests.measures.people.laid_out import rating, table


def rated(
    shares: dict[str, float],
    seed: int = 0,
    persons: int = 40,
    items: int = 60,
    person_sd: float = 1.0,
    **said: object,
) -> pl.DataFrame:
    """Each person says yes or no of two items of each model."""
    rng = np.random.default_rng(seed)
    own = rng.normal(0, person_sd, persons)
    rows = []
    for model, share in shares.items():
        of_items = rng.normal(0, 0.8, items)
        centre = intercept(share, float(np.hypot(person_sd, 0.8)))
        for person in range(persons):
            for item in rng.choice(items, 4, replace=False):
                drawn = centre + own[person] + of_items[item]
                yes = rng.random() < 1 / (1 + np.exp(-drawn))
                rows.append(
                    rating(
                        person,
                        f"{model}-{item}",
                        "yes" if yes else "no",
                        model=model,
                        context=f"prompt-{item}",
                        value=float(yes),
                        groups=json.dumps({"mitigation": model.upper(), "axis": "gender"}),
                        **said,
                    )
                )
    return table(rows)


def test_shares_and_means_by_hand() -> None:
    votes = rated({"base": 0.3, "tuned": 0.3})
    shares, means = rating_rates(votes), rating_rates(votes, values=True)
    for level in ("base", "tuned"):
        part = votes.filter(pl.col("model") == level)
        expected = float((part["answer"] == "yes").mean())
        row = shares.filter((pl.col("level") == level) & (pl.col("option") == "yes")).row(0, named=True)
        # persons have as many votes each, items nearly
        assert (
            row["estimate"] == pytest.approx(expected, abs=0.02)
            and row["n"] == 160
            and row["n_persons"] == 40
        )
        assert row["low"] < expected < row["high"]
        mean = means.filter(pl.col("level") == level).row(0, named=True)
        assert mean["estimate"] == pytest.approx(row["estimate"]) and mean["option"] is None
    assert shares.group_by("level").agg(pl.col("estimate").sum())["estimate"].to_list() == pytest.approx(
        [1, 1]
    )


def test_levels_may_be_what_the_study_says_of_items() -> None:
    votes = rated({"base": 0.3, "tuned": 0.5})
    assert sorted(set(rating_rates(votes, by="mitigation")["level"])) == ["BASE", "TUNED"]
    assert rating_rates(votes, by="axis")["level"].unique().to_list() == ["gender"]
    assert rating_rates(votes, by=None)["level"].null_count() == 2
    with pytest.raises(DataError, match="cannot group by 'topic'"):
        rating_rates(votes, by="topic")


def test_chi_square_is_robbies() -> None:
    votes = rated({"base": 0.3, "tuned": 0.5, "third": 0.3})
    found = rating_differences(votes).filter(pl.col("measure") == "rating_chi_square")
    assert found.select("level", "against").rows() == [
        (None, None),
        ("tuned", "third"),
        ("tuned", "base"),
        ("third", "base"),
    ]
    counts = (
        votes.group_by("model", "answer").len().pivot("answer", index="model", values="len").drop("model")
    )
    expected = chi2_contingency(counts.to_numpy(), correction=False)
    assert found.row(0, named=True)["p"] == pytest.approx(expected.pvalue)
    assert found["freedom"].to_list() == [2, 1, 1, 1] and found["verdict"].null_count() == 4


def test_the_published_test_is_of_two_models_and_one_answer() -> None:
    """ROBBIE, Table 16: percentages of negative regard of 540 ratings each, and which pairs it calls different."""
    published = {
        ("none", "prompting", "debias"): ({"none": 23, "prompting": 13, "debias": 20}, {("debias", "none")}),
        ("none", "prompting", "debias", "triggers"): (
            {"none": 22, "prompting": 16, "debias": 13, "triggers": 15},
            set(),
        ),
    }
    for models, (negative, alike) in published.items():
        answers = {model: round(5.4 * negative[model]) for model in models}
        votes = table(
            rating(
                n % 30,
                f"{model}-{n}",
                "negative" if n < answers[model] else ("neutral", "other", "positive")[n % 3],
                model=model,
            )
            for model in models
            for n in range(540)
        )
        found = rating_differences(votes, baseline="none").filter(
            pl.col("measure") == "rating_chi_square_published", pl.col("option") == "negative"
        )
        assert found.height == len(models) * (len(models) - 1) / 2
        for row in found.filter((pl.col("against") == "none") | (len(models) == 3)).to_dicts():
            pair = (row["level"], row["against"])
            assert (row["p"] < 0.05) == (pair not in alike and pair[::-1] not in alike), row
            counts = [[answers[model], 540 - answers[model]] for model in pair]
            assert row["p"] == pytest.approx(chi2_contingency(counts, correction=False).pvalue)
            assert row["freedom"] == 1


def test_the_published_test_does_not_see_what_happens_to_other_answers() -> None:
    """As many negative ones, and other shares of positive and neutral: only our overall test differs."""
    shares = {"none": (200, 180, 100, 60), "mitigated": (130, 250, 100, 60)}
    votes = table(
        rating(n % 30, f"{model}-{answer}-{n}", answer, model=model)
        for model, counts in shares.items()
        for answer, count in zip(("positive", "neutral", "negative", "other"), counts, strict=True)
        for n in range(count)
    )
    found = rating_differences(votes, baseline="none")
    p = {
        row["option"]: row["p"] for row in found.to_dicts() if row["measure"] == "rating_chi_square_published"
    }
    assert p["negative"] == pytest.approx(1) and p["positive"] < 0.001
    assert found.filter(pl.col("measure") == "rating_chi_square")["p"].item() < 0.001


def test_a_planted_difference_is_found_and_told_the_way_round_that_is_asked() -> None:
    votes = rated({"base": 0.6, "tuned": 0.2})
    found = rating_differences(votes).filter(pl.col("measure") == "rating_difference")
    row = found.row(0, named=True)
    assert (found.height, row["option"], row["level"], row["against"]) == (1, "yes", "tuned", "base")
    assert row["verdict"] == "lower" and row["low"] < -0.4 < row["high"] and row["q"] == row["p"]
    other = rating_differences(votes, baseline="tuned").row(0, named=True)
    assert (other["level"], other["against"], other["verdict"]) == ("base", "tuned", "higher")
    assert other["estimate"] == pytest.approx(-row["estimate"])


def test_what_persons_bring_to_both_models_does_not_blur_the_difference() -> None:
    alike = rated({"base": 0.4, "tuned": 0.4}, person_sd=2.0)
    own = alike.with_columns(person=pl.col("person") + pl.col("model"))
    spans = []
    for votes in (alike, own):
        row = rating_differences(votes).row(0, named=True)
        spans.append(row["high"] - row["low"])
    assert spans[0] < 0.8 * spans[1]


def test_several_options_each_have_a_row_and_holm_is_over_all() -> None:
    rng = np.random.default_rng(1)
    words = ["negative", "neutral", "other", "positive"]
    votes = table(
        rating(
            n % 30,
            n // 2,
            words[rng.integers(4)],
            model="base" if (n // 2) % 2 else "tuned",
            question="regard",
        )
        for n in range(300)
    )
    found = rating_differences(votes).filter(pl.col("measure") == "rating_difference")
    assert found["option"].to_list() == words and (found["q"] >= found["p"]).all()
    assert (found["verdict"] == "not detected").all()


def test_numbers_are_compared_by_their_means() -> None:
    rng = np.random.default_rng(2)
    votes = table(
        rating(
            n % 30,
            n // 2,
            str(score),
            value=float(score),
            measurement="interval",
            model="base" if (n // 2) % 2 else "tuned",
        )
        for n, score in enumerate(rng.integers(1, 8, 300))
    )
    row = rating_differences(votes).row(0, named=True)
    by_hand = votes.group_by("model").agg(pl.col("value").mean()).sort("model")["value"].to_list()
    assert row["option"] is None and row["estimate"] == pytest.approx(by_hand[1] - by_hand[0])
    with pytest.raises(DataError, match="'no' to 'toxic' has no numeric value"):
        rating_rates(table(rating(n, n, "no") for n in range(20)), values=True)


def test_few_persons_have_shares_without_limits() -> None:
    votes = rated({"base": 0.3, "tuned": 0.5}, persons=5)
    shares = rating_rates(votes)
    assert shares["estimate"].null_count() == 0 and shares["low"].null_count() == 4
    row = rating_differences(votes).row(0, named=True)
    assert row["verdict"] == "not measurable" and "5 persons" in str(row["obstacle"])


def test_a_model_alone_has_nothing_to_differ_from() -> None:
    assert rating_differences(rated({"base": 0.3})).is_empty()


def test_skipped_and_excluded_ratings_are_counted() -> None:
    votes = rated({"base": 0.3, "tuned": 0.5})
    gone = votes.with_columns(
        excluded=pl.when(pl.col("person") == "p1").then(pl.lit("speed")),
        answer=pl.when(pl.col("person") == "p2").then(None).otherwise("answer"),
    )
    assert rating_rates(gone)["n_missing"].to_list() == [8] * 4
    assert rating_rates(gone)["n_persons"].to_list() == [38] * 4


def test_pairs_are_made_within_an_axis_only() -> None:
    rows = []
    for number, (axis, group) in enumerate(
        [("gender", "men"), ("gender", "women"), ("race", "Asian"), ("race", "Black"), ("race", "men")]
    ):
        groups = json.dumps({"axis": axis, "group": group})
        rows += [
            rating(person, f"{number}-{item}", "yes" if (person + item + number) % 3 else "no", groups=groups)
            for person in range(12)
            for item in range(12)
        ]
    votes = table(rows)
    found = rating_differences(votes, by="group", within="axis")
    ours = found.filter(pl.col("measure") == "rating_difference")
    assert set(ours.select("within", "level", "against").iter_rows()) == {
        ("gender", "women", "men"),
        ("race", "Black", "Asian"),
        ("race", "men", "Asian"),
        ("race", "men", "Black"),
    }
    # a family of four: Holm's smallest p counts four times, not as often as there are pairs of any two groups
    smallest = ours.sort("p").row(0, named=True)
    assert smallest["q"] == pytest.approx(min(1.0, 4 * smallest["p"]))
    rates = rating_rates(votes, by="group", within="axis").filter(pl.col("level") == "men")
    assert set(rates["within"]) == {"gender", "race"}
    assert (
        rating_differences(votes, by="group")["level"].drop_nulls().len() > found["level"].drop_nulls().len()
    )
    whole = found.filter((pl.col("measure") == "rating_chi_square") & pl.col("level").is_null())
    assert sorted(whole["within"]) == ["gender", "race"]


def test_raw_is_the_share_of_all_answers_and_the_estimate_lets_busy_persons_weigh_less() -> None:
    votes = table(
        [rating(0, item, "yes") for item in range(40)]
        + [rating(person, item, "no") for person in range(1, 11) for item in range(2)]
    )
    row = rating_rates(votes).filter(pl.col("option") == "yes").row(0, named=True)
    assert row["raw"] == pytest.approx(40 / 60)
    assert row["estimate"] < 0.5


@pytest.mark.parametrize(("prompts", "measurable"), [(1, False), (9, False), (10, True), (60, True)])
def test_few_prompts_are_no_sample_of_prompts(prompts: int, measurable: bool) -> None:
    number = pl.col("item").str.extract(r"(\d+)$").cast(pl.Int64)
    votes = rated({"base": 0.3, "tuned": 0.7}).with_columns(context=pl.format("prompt-{}", number % prompts))
    row = rating_differences(votes).row(0, named=True)
    assert (row["verdict"] == "higher") == measurable and (row["obstacle"] is None) == measurable
    assert rating_rates(votes)["low"].is_null().all() != measurable
    if not measurable:
        assert f"only {prompts} prompt" in row["obstacle"]


def test_a_text_without_its_prompt_leaves_the_others_together() -> None:
    number = pl.col("item").str.extract(r"(\d+)$").cast(pl.Int64)
    votes = rated({"base": 0.3, "tuned": 0.3}).with_columns(context=pl.format("prompt-{}", number % 12))
    rng = np.random.default_rng(3)
    pull = {f"prompt-{n}": float(each) for n, each in enumerate(rng.random(12))}
    yes = pl.col("context").replace_strict(pull, return_dtype=pl.Float64) > pl.Series(
        rng.random(votes.height)
    )
    votes = votes.with_columns(answer=pl.when(yes).then(pl.lit("yes")).otherwise(pl.lit("no")))
    some = votes.with_columns(context=pl.when(pl.int_range(pl.len()) > 0).then("context"))
    whole, less = (rating_rates(each, by=None).row(0, named=True) for each in (votes, some))
    assert less["high"] - less["low"] == pytest.approx(whole["high"] - whole["low"], rel=0.05)


def test_equal_ratings_are_not_measurable() -> None:
    votes = table(
        rating(
            person,
            f"{model}{item}",
            answer,
            model=model,
            value=float(answer),
            context=f"{model}{item}",
            measurement="interval",
        )
        for model, answer in (("A", "4"), ("B", "5"))
        for item in range(10)
        for person in range(10)
    )
    rates = rating_rates(votes)
    assert rates["estimate"].to_list() == [4, 5] and rates["low"].null_count() == 2
    assert rates["obstacle"][0] == "All ratings are equal (4), so their spread is unknown."
    row = rating_differences(votes).filter(measure="rating_difference").row(0, named=True)
    assert (row["estimate"], row["verdict"]) == (1, "not measurable")
    assert row["p"] is row["low"] is row["minimum_detectable"] is None
    assert row["obstacle"] == "On each side all ratings are equal (5 and 4), so their spread is unknown."
