"""Missing responses that depend on the outcome: they name nobody, and equal shares of them cost no verdict."""

import numpy as np
import polars as pl
import pytest

import evenhand as eh
from evenhand.benchmarks.analysis import paired_contrasts
from evenhand.measures import (
    disparity,
    error_counts,
    explain_contrast_by_missing,
    intersections,
    noun_contrast,
    score_differences,
)
from evenhand.measures.rates.outcome_units import units_of_axes
from evenhand.schema import UsageError
from evenhand.stats.disparity import (
    EQUAL,
    MissingExcess,
    Units,
    explained_by_excess,
    missing_shares,
    p_of_equal_shares,
)

REASON = "Missing responses could explain the difference: "


def numbers(rng, is_missing, groups=3, prompts=60, gap=0.0, scale=np.asarray):
    """Numbers around 50 with a standard deviation of 10; the first group lies `gap` higher."""
    parts = []
    for place in range(groups):
        values = rng.normal(50 + gap * (place == 0), 10, size=prompts)
        gone = is_missing(rng, place, values)
        parts.append(
            pl.DataFrame({"group": [f"g{place}"] * prompts, "score": np.where(gone, np.nan, scale(values))})
        )
    return pl.concat(parts).with_columns(prompt_id=pl.int_range(pl.len()).cast(pl.String))


def high_of_first(rng, place, values):
    return (place == 0) & (values > 50) & (rng.random(len(values)) < 0.7)


def highest_of_first(rng, place, values):
    return (place == 0) & (values > 60)


def low_of_first_and_some_of_all(rng, place, values):
    gone = (place == 0) & (values < 50) & (rng.random(len(values)) < 0.7)
    return gone | (rng.random(len(values)) < 0.15)


@pytest.mark.parametrize("is_missing", [high_of_first, highest_of_first, low_of_first_and_some_of_all])
@pytest.mark.parametrize("scale", [np.asarray, lambda values: np.exp(values / 20)], ids=["normal", "skewed"])
def test_numbers_that_are_missing_because_of_their_size_name_nobody(is_missing, scale) -> None:
    false = found = 0
    for seed in range(12):
        table = score_differences(numbers(np.random.default_rng(seed), is_missing, scale=scale), seed=seed)
        false += table.groups["named"].null_count() < 3
        axis = table.axes.row(0, named=True)
        found += str(axis["obstacle"]).startswith(REASON)
        assert axis["obstacle"] or axis["p"] > 0.05 or table.groups["named"].null_count() < 3
    assert false <= 1 and found >= 1


def test_the_sentence_states_what_is_missing() -> None:
    rng = np.random.default_rng(1)
    table = numbers(rng, high_of_first, prompts=300)
    found = eh.measure(
        {"who": table["group"].to_list(), "pay": table["score"].fill_nan(None).to_list()},
        columns={"who": "group", "pay": "score"},
    )
    line = found.tables()["headlines"].row(0, named=True)
    assert line["verdict"] == "not measurable"
    assert f"{REASON[1:]}33% of the responses about g0 are missing, and 0% of" in line["sentence"]


def test_a_gap_of_numbers_that_missing_ones_cannot_explain_is_named() -> None:
    table = score_differences(numbers(np.random.default_rng(2), high_of_first, gap=-15.0))
    assert table.groups["named"].to_list()[0] == "lower" and table.axes["obstacle"][0] is None


def test_equal_shares_of_missing_numbers_cost_no_verdict() -> None:
    def every_fifth(rng, place, values):
        return np.arange(len(values)) % 5 == 0

    for seed in range(5):
        table = numbers(np.random.default_rng(seed), every_fifth, gap=12.0)
        known = table.filter(pl.col("score").is_not_nan())
        with_missing, without = score_differences(table), score_differences(known)
        assert with_missing.groups["named"].to_list() == without.groups["named"].to_list()
        assert with_missing.axes["obstacle"][0] == without.axes["obstacle"][0]
    assert without.groups["named"][0] == "higher"


def test_numbers_inside_questions_are_bounded_by_what_questions_leave() -> None:
    # questions differ by thousands, answers to one of them by ten
    rng = np.random.default_rng(4)
    values = [(group, f"q{k}", 1000.0 * k + rng.normal(0, 10)) for k in range(200) for group in ("a", "b")]
    table = pl.DataFrame(values, schema=["group", "question", "negative"], orient="row")
    (part,), _ = units_of_axes(table, "test", cluster="question", numbers=True)
    assert part.inside == "question"
    assert [float(np.std(one)) for one in part.deviations] == pytest.approx([10.0, 10.0], rel=0.15)


def rates(rng, rate, groups=3, prompts=60, lost=0.6, base=0.0, samples=5):
    parts = []
    for place in range(groups):
        share = rng.beta(4 * rate, 4 * (1 - rate), size=(prompts, 1))
        negative = (rng.random((prompts, samples)) < share).astype(float).ravel()
        gone = rng.random(len(negative)) < base + lost * (negative == 1) * (place == 0)
        prompt = np.repeat([f"{place}/{k}" for k in range(prompts)], samples)
        parts.append(
            pl.DataFrame(
                {"group": f"g{place}", "prompt_id": prompt, "negative": np.where(gone, np.nan, negative)}
            )
        )
    return pl.concat(parts)


def test_rates_corrected_for_classifier_errors_have_the_same_rule() -> None:
    counts = {"false_alarms": 20, "n_harmless": 400, "hits": 360, "n_harmful": 400}
    error = error_counts(pl.DataFrame([{"group": f"g{place}"} | counts for place in range(3)]))
    false = found = 0
    for seed in range(10):
        table = disparity(rates(np.random.default_rng(seed), 0.3), error=error, seed=seed)
        assert table.axes["corrected"][0]
        false += table.groups["named"].null_count() < 3
        found += str(table.axes["obstacle"][0]).startswith(REASON)
    assert false <= 1 and found >= 4


def test_much_that_all_groups_lack_makes_the_excess_weigh_more() -> None:
    # half is missing everywhere: the same number of missing negatives is a larger share of what is left
    false = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        table = disparity(rates(rng, 0.3, groups=2, prompts=300, lost=0.3, base=0.5, samples=1), seed=seed)
        false += table.groups["named"].null_count() < 2
    assert false <= 3  # named in 17 of 100 by the excess as a share of all responses


def test_missing_shares_that_differ_by_chance_count_as_equal() -> None:
    rng = np.random.default_rng(0)
    units, absent = np.full(4, 50.0), rng.binomial(50, 0.2, size=(400, 4)) / 50
    error = np.sqrt(absent * (1 - absent) / 50)
    p = np.array([p_of_equal_shares(one, two, units) for one, two in zip(absent, error, strict=True)])
    assert 0.74 < np.mean(p >= EQUAL) < 0.86
    assert p_of_equal_shares(np.zeros(3), np.zeros(3), np.full(3, 9.0)) == 1.0
    assert p_of_equal_shares(np.array([0.5, 0.0]), np.zeros(2), np.full(2, 9.0)) == 0.0


def lacking_harmless(rng, table, lost, *, chance):
    """`table` without some responses of `lost`: the harmless ones with a chance, or any with this chance."""
    gone = lost & (rng.random(table.height) < chance) & ~table["negative"].to_numpy()
    return table.with_columns(negative=pl.when(pl.Series(gone)).then(None).otherwise("negative"))


def of_nouns(rng, gap):
    noun = np.repeat(np.arange(24), 30)
    logit = -1 + rng.normal(0, 0.3, 24)[noun]
    rate = 1 / (1 + np.exp(-logit)) + gap * (noun < 12)
    return pl.DataFrame(
        {
            "descriptor": [f"d{place}" for place in np.tile(np.arange(30), 24)],
            "noun": [f"n{one}" for one in noun],
            "gender": np.where(noun < 12, "male", "female"),
            "negative": rng.random(len(noun)) < rate,
        }
    )


def test_missing_responses_that_depend_on_the_outcome_give_no_noun_contrast() -> None:
    significant = false = found = 0
    for seed in range(25):
        rng = np.random.default_rng(seed)
        null = of_nouns(rng, 0.0)
        table = lacking_harmless(rng, null, null["gender"].to_numpy() == "male", chance=0.5)
        row = noun_contrast(table, seed=seed).contrasts.row(0, named=True)
        excludes_zero = row["low"] > 0
        significant += excludes_zero
        false += excludes_zero and row["obstacle"] is None
        planted = noun_contrast(of_nouns(rng, 0.15), seed=seed).contrasts.row(0, named=True)
        found += planted["low"] > 0 and planted["obstacle"] is None
        if excludes_zero:
            assert "about male nouns are missing" in row["obstacle"]
    assert significant >= 18 and false <= 1 and found >= 20


def test_missing_responses_that_depend_on_the_outcome_give_no_regard_contrast() -> None:
    significant = false = found = 0
    for seed in range(25):
        rng = np.random.default_rng(seed)
        place = np.repeat(np.arange(20), 40)
        second = np.tile(np.arange(2), 400)
        rate = 1 / (1 + np.exp(1 - rng.normal(0, 0.3, 10)[place // 2]))
        columns = {
            "axis": ["gender"] * 800,
            "group": np.where(second, "man", "woman"),
            "template": place // 2,
        }
        null = pl.DataFrame({**columns, "negative": rng.random(800) < rate})
        lacking = lacking_harmless(rng, null, second == 1, chance=0.5)
        (row,) = paired_contrasts(lacking, "regard_contrast")
        excludes_zero = row.low > 0
        significant += excludes_zero
        false += excludes_zero and row.obstacle is None
        harmed = pl.DataFrame({**columns, "negative": rng.random(800) < rate + 0.2 * second})
        (row,) = paired_contrasts(harmed, "regard_contrast")
        found += row.low > 0 and row.obstacle is None
    assert significant >= 18 and false <= 1 and found >= 20


def of_cells(rng, gap, lost, *, by_chance=False):
    """Two sexes and four races in benign and toxic prompts; one cell may be harmed, or lack some responses."""
    sex, race, toxic, _ = np.indices((2, 4, 2, 60)).reshape(4, -1)
    cell = (sex == 1) & (race == 2)
    negative = rng.random(len(sex)) < 0.2 + 0.1 * (race == 1) + 0.1 * sex + gap * cell
    gone = cell & (by_chance | ~negative) & (rng.random(len(sex)) < lost)
    return pl.DataFrame(
        {
            "prompt_id": [f"p{place}" for place in range(len(sex))],
            "prompt_toxic": toxic == 1,
            "sex": [f"s{one}" for one in sex],
            "race": [f"r{one}" for one in race],
            "negative": [None if no else bool(yes) for no, yes in zip(gone, negative, strict=True)],
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gap", "lost", "by_chance", "least", "most"),
    [(0.0, 0.75, False, 0, 2), (0.4, 0.0, False, 12, 16), (0.4, 0.1, True, 12, 16)],
    ids=["missing if harmless", "harmed", "harmed, missing by chance"],
)
def test_missing_responses_that_depend_on_the_outcome_name_no_intersection(gap, lost, by_chance, least, most):
    found = significant = 0
    for seed in range(16):
        table = of_cells(np.random.default_rng(seed), gap, lost, by_chance=by_chance)
        pairs = intersections(table, ["sex", "race"], seed=seed).pairs.filter(pl.col("p") <= 0.05)
        significant += pairs.height > 0
        found += pairs["obstacle"].null_count() > 0
    assert least <= found <= most and significant >= 7


def test_one_cell_that_lacks_more_is_seen_among_many_that_lack_much() -> None:
    # a test of all eight shares hardly sees it: 4 of these 6 tables were called biased
    false = significant = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        sex, race, prompt = np.indices((2, 4, 202)).reshape(3, -1)
        negative = rng.random(len(sex)) < 0.3
        lost = 0.4 + 0.6 * 0.75 * ((sex == 0) & (race == 0) & negative)
        table = pl.DataFrame(
            {"prompt_id": np.arange(len(sex)), "prompt_toxic": prompt < 2, "sex": sex, "race": race}
        )
        table = table.with_columns(
            pl.col("sex", "race").cast(pl.String),
            negative=np.where(rng.random(len(sex)) < lost, np.nan, negative),
        )
        pair = intersections(table, ["sex", "race"], minimum_prompts=2).pairs.filter(stratum="benign")
        is_sure = pair["p"][0] <= 0.05
        significant += is_sure
        false += is_sure and pair["obstacle"][0] is None
    assert significant >= 5 and false <= 1


def test_one_group_that_lacks_more_is_seen_among_many_that_lack_much() -> None:
    absent, units = np.array([0.48, *(0.37, 0.42, 0.39, 0.41, 0.38, 0.43, 0.4)]), np.full(8, 200.0)
    error = np.sqrt(absent * (1 - absent) / units)
    is_chance = p_of_equal_shares(absent, error, units) >= EQUAL
    assert is_chance
    bounds = np.full(8, 0.3), np.full(8, 0.7)
    excess = MissingExcess.from_shares(absent, error, *bounds, is_chance=is_chance, units=units)
    contrasts = (8 * np.eye(8) - 1) / 7
    # the first group lacks 8 points more of what the others have 60% of: of 30% negative ones, 9 points
    lacking = excess.in_contrast(contrasts[0])
    assert lacking[0] == pytest.approx(0.08 / 0.6) and not lacking[1:].any()
    assert not excess.in_contrast(contrasts[6]).any()
    estimate, sure = np.full(8, -0.2), np.full(8, 0.08)
    assert explained_by_excess(estimate, sure, contrasts, [excess]).tolist() == [True] + [False] * 7


def of_templates(rng, gap, most, samples=40):
    """Two groups in the same 12 templates; from no to `most` responses are missing, by template."""
    template, second, _ = np.indices((12, 2, samples)).reshape(3, -1)
    rate = np.array([0.2, 0.3, 0.4])[template % 3] + gap * second
    negative = np.where(rng.random(len(rate)) < most * template / 11, np.nan, rng.random(len(rate)) < rate)
    columns = {"axis": "gender", "group": np.where(second, "man", "woman"), "template": template}
    return pl.DataFrame(columns | {"prompt_id": template, "negative": negative})


def test_what_is_missing_by_template_only_costs_no_regard_contrast() -> None:
    # with standard errors of independent samples, all of these differences were not measurable
    significant = found = 0
    for seed in range(20):
        table = of_templates(np.random.default_rng(seed), 0.14, 0.6)
        flags = pl.when(pl.col("negative").is_not_nan()).then(pl.col("negative") == 1)
        (row,) = paired_contrasts(table.with_columns(negative=flags), "regard_contrast")
        significant += row.low > 0 or row.high < 0
        found += row.obstacle is None and row.low > 0
    assert significant >= 15 and found >= significant - 3


@pytest.mark.parametrize("strata", [(), ("template",)], ids=["crossed", "strata"])
def test_missing_shares_are_compared_inside_prompts_that_groups_share(strata) -> None:
    table = of_templates(np.random.default_rng(0), 0.0, 0.6)
    ((part,), _), ((alone,), _) = (
        units_of_axes(table, "test", strata=strata, crossed=crossed) for crossed in (True, bool(strata))
    )
    lacking = (
        table.group_by("template", "group").agg(pl.col("negative").is_nan().mean()).sort("template", "group")
    )
    differences = lacking["negative"].to_numpy().reshape(12, 2) @ [1, -1]
    assert float(np.diff(part.missing_share)[0]) == pytest.approx(-differences.mean())
    expected = differences.std(ddof=1) / 12**0.5
    assert float(np.hypot(*part.missing_error)) == pytest.approx(expected)
    if not strata:
        assert float(np.hypot(*alone.missing_error)) > 2 * expected


def test_a_group_with_other_prompts_does_not_lack_more() -> None:
    # both groups lack the same in each prompt; the second one also has a prompt of which much is missing
    lacking = np.array([0.1, 0.3, 0.5, 0.1, 0.3, 0.5, 0.9])
    group, prompt = np.array([0, 0, 0, 1, 1, 1, 1]), np.array([0, 1, 2, 0, 1, 2, 3])
    absent, error = missing_shares(Units.from_arrays(lacking, group, strata=prompt))
    assert np.ptp(absent) == pytest.approx(0, abs=1e-8) and error.max() < 1e-8


@pytest.mark.parametrize(
    ("changed", "value"),
    [
        ("rates", [40, 20]),
        ("missing", [np.array([2.0, 3.0]), np.array([-1.0, 0.0])]),
        ("low", 0.4),
        ("names", []),
        ("missing", [np.zeros(3), np.zeros(2)]),
    ],
)
def test_shares_that_cannot_be_are_refused(changed, value) -> None:
    given = {
        "names": ["a", "b"],
        "rates": [0.4, 0.2],
        "missing": [np.zeros(3)] * 2,
        "low": 0.05,
        "high": 0.35,
    }
    with pytest.raises(UsageError, match="two names, two rates and two arrays"):
        explain_contrast_by_missing(**given | {changed: value}, paired=True)
