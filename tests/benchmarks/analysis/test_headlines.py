"""Sentences: who, which way, how much, from findings that are made by hand."""

import polars as pl
import pytest

from evenhand.benchmarks.analysis.headlines import (
    combine_headlines,
    pair_headlines,
    rate_headlines,
    spread_headlines,
    valence_headlines,
)
from evenhand.benchmarks.analysis.likelier import log_perplexity_headlines, preference_headlines
from evenhand.schema import FINDINGS

FACTS = {
    "axis": "gender",
    "n_groups": 2,
    "worst": "women",
    "best": "men",
    "worst_rate": 83.0,
    "best_rate": 2.0,
    "gap": 81.0,
    "gap_low": 60.2,
    "gap_high": 91.9,
}


def findings(*rows):
    blank = dict.fromkeys(FINDINGS) | {"benchmark": "b", "axis": "gender", "note": "Because."}
    return pl.DataFrame([blank | row for row in rows], schema=FINDINGS)


def axis(measure="disparity", verdict="biased", **more):
    return {"measure": measure, "verdict": verdict, "estimate": 40.0, "low": 30.0, "high": 50.0} | more


def group(name, direction, estimate, measure="group_difference", **more):
    row = {"measure": measure, "group": name, "direction": direction, "estimate": estimate}
    return row | {"verdict": "biased", "low": estimate - 5, "high": estimate + 5} | more


def test_two_groups_are_reported_with_both_rates_and_the_gap():
    table = findings(axis(), group("women", "worse", 81.0), group("men", "better", -81.0))
    (line,) = rate_headlines("negative")(table, {"axes": pl.DataFrame([FACTS])})
    assert line.sentence == (
        "Gender — biased. Responses about women were negative in 83% of cases, against 2% for men (difference 81 "
        "points, 95% CI 60 to 92)."
    )
    assert (line.measure, line.axis, line.verdict) == ("disparity", "gender", "biased")


@pytest.mark.parametrize(
    ("worst", "best", "low", "high", "told"),
    [
        (
            57.34,
            17.56,
            31.0,
            48.2,
            "57% of cases, against 18% for men (difference 40 points, 95% CI 31 to 48",
        ),
        (
            7.34,
            1.56,
            3.1,
            9.2,
            "7.3% of cases, against 1.6% for men (difference 5.8 points, 95% CI 3.1 to 9.2",
        ),
        (
            33.0,
            18.0,
            0.3,
            28.0,
            "33.0% of cases, against 18.0% for men (difference 15.0 points, 95% CI 0.3 to 28.0",
        ),
    ],
)
def test_rates_and_their_difference_have_the_same_decimals(worst, best, low, high, told):
    numbers = {"worst_rate": worst, "best_rate": best, "gap": worst - best, "gap_low": low, "gap_high": high}
    (line,) = rate_headlines("negative")(findings(axis(q=0.0181)), {"axes": pl.DataFrame([FACTS | numbers])})
    assert f"{told}, q = 0.018)." in line.sentence


def test_many_groups_are_named_on_both_sides_and_the_rest_counted():
    worse = [group(f"group_{i}", "worse", 10.0 + i) for i in range(6)]
    facts = FACTS | {"n_groups": 9, "worst": "group_5", "best": "men"}
    table = findings(axis(), *worse, group("men", "better", -9.0))
    (line,) = rate_headlines("toxic")(table, {"axes": pl.DataFrame([facts])})
    assert line.sentence == (
        'Gender — biased. Treated worse: "group 5", "group 4", "group 3" and 3 others. Treated better: men. Largest '
        "gap: "
        '"group 5" against men, 81 points (95% CI 60 to 92, adjusted for choosing this pair).'
    )
    rates = pl.DataFrame(
        {
            "axis": "gender",
            "group": [f"group_{i}" for i in range(6)] + ["men", "x", "y"],
            "tolerance": None,
            "rate": 20.0,
        }
    )
    (line,) = rate_headlines("toxic")(table, {"axes": pl.DataFrame([facts]), "groups": rates})
    assert 'Treated worse: "group 5" (20%), ' in line.sentence and "Mean of all groups: 20%." in line.sentence


def test_named_groups_are_compared_with_those_that_do_not_stand_out():
    worse = [group(name, "worse", 20.0) for name in ("muslim", "jewish")]

    def sentence(groups, n_reference):
        facts = FACTS | {"n_groups": 10, "n_reference": n_reference, "gap": None}
        return rate_headlines("toxic")(findings(axis(), *groups), {"axes": pl.DataFrame([facts])})[0].sentence

    assert sentence(worse, 8) == (
        "Gender — biased. Treated worse than the 8 groups that do not stand out: Muslim people and Jewish people."
    )
    better = [group(name, "better", -20.0) for name in ("christian", "buddhist", "sikh")]
    assert sentence(better, 7).endswith(
        "This comparison cannot decide whether these 3 groups are treated differently or the other 7."
    )
    assert "No group is named, because about as many groups differ as do not" in sentence([], 0)


def test_of_three_groups_the_sentence_has_difference_interval_and_q_of_one_comparison():
    facts = FACTS | {"n_groups": 3, "n_reference": 3, "worst": "a", "best": "c"}
    rates = pl.DataFrame(
        {"axis": "gender", "group": ["a", "b", "c"], "tolerance": None, "rate": [45.0, 20.0, 14.0],
         "background": [17.0, 29.5, 32.5]}
    )  # fmt: skip
    details = {"axes": pl.DataFrame([facts]), "groups": rates}
    (line,) = rate_headlines("toxic")(findings(axis(), group("a", "worse", 28.0, q=0.0021)), details)
    assert line.sentence == (
        'Gender — biased. Treated worse than the other two groups: "a" (45% against 17%, difference 28 points, 95% CI '
        "23 to 33, q = 0.002)."
    )
    (line,) = rate_headlines("toxic")(findings(axis(q=0.03)), details)
    assert line.sentence == (
        'Gender — biased. Rates of toxic responses differ between the 3 groups (q = 0.030). Largest gap: "a" against '
        '"c", 81 points (95% CI 60 to 92, adjusted for choosing this pair).'
    )


def test_one_group_that_is_treated_better_is_a_single_one():
    facts = FACTS | {"n_groups": 4, "n_reference": 3, "gap": None}
    (line,) = rate_headlines("toxic")(
        findings(axis(), group("men", "better", -40.0)), {"axes": pl.DataFrame([facts])}
    )
    assert "whether this one is treated differently or the other 3" in line.sentence


def test_an_axis_found_without_any_single_group_says_so():
    (line,) = rate_headlines("toxic")(findings(axis()), {})
    assert line.sentence == (
        "Gender — biased. Rates of toxic responses differ between groups (standard deviation 40.0 points, 95% CI "
        "30.0 to "
        "50.0), but no single group can be named with confidence."
    )


def test_a_pair_whose_gap_may_be_nothing_is_not_named():
    facts = FACTS | {"n_groups": 4, "gap_low": -2.4, "gap_high": 22.7}
    (line,) = rate_headlines("toxic")(findings(axis()), {"axes": pl.DataFrame([facts])})
    assert line.sentence == (
        "Gender — biased. Rates of toxic responses differ between the 4 groups (standard deviation 40.0 points, 95% CI "
        "30.0 to 50.0), but no single group or pair can be named with confidence."
    )
    (line,) = rate_headlines("toxic")(
        findings(axis(), group("women", "worse", 9.0)), {"axes": pl.DataFrame([facts])}
    )
    assert line.sentence == "Gender — biased. Treated worse: women."


def test_the_minimum_detectable_effect_is_that_of_groups():
    quiet = [
        group(name, None, 1.0, verdict="not detected", minimum_detectable=reach)
        for name, reach in (("a", 11.2), ("b", 11.3))
    ]
    (line,) = rate_headlines("toxic")(findings(axis(verdict="not detected"), *quiet), {})
    assert line.sentence == (
        "Gender — no bias detected. This audit had 80% power to detect a group that differs from the others by 11 "
        "points "
        "or more."
    )
    quiet[1]["minimum_detectable"] = 40.0
    (line,) = rate_headlines("toxic")(findings(axis(verdict="not detected"), *quiet), {})
    assert line.sentence.endswith(
        "a group that differs from the others by 11 to 40 points or more (depending on the size of the group)."
    )


def test_what_is_not_measurable_has_its_reason():
    (line,) = rate_headlines("toxic")(
        findings(axis(verdict="not measurable", note="One prompt a group.")), {}
    )
    assert line.sentence == "Gender — not measurable: one prompt a group."


def test_those_left_without_an_answer_are_named_and_all_served_alike_is_not_worth_a_line():
    table = findings(
        axis(verdict="not detected"),
        axis("missing_disparity"),
        axis("refusal_disparity", verdict="not detected"),
        group("women", "worse", 22.0, "missing_difference"),
    )
    lines = rate_headlines("toxic")(table, {})
    assert [line.measure for line in lines] == ["disparity", "missing_disparity"]
    assert lines[1].sentence == (
        "Gender (missing responses) — biased. Responses were missing or unusable more often for women (22 points more "
        "often than for the other groups, 95% CI 17 to 27)."
    )


def test_shifts_are_odds_with_their_limits_and_how_many_were_looked_at():
    rows = [
        group("old", "below", -1.0986, "valence_shift", low=-1.609, high=-0.6931),
        group("young", "above", 0.6931, "valence_shift", low=0.2624, high=1.0986),
    ]
    facts = pl.DataFrame({"axis": ["gender"], "n_drawn": [16], "n_defined": [138]})
    write = valence_headlines("valence_spread", "valence_shift", "hostile", "kind")
    (line,) = write(findings(axis("valence_spread"), *rows), {"valence_axes": facts})
    assert line.sentence == (
        "Gender — biased. Compared with other descriptors, hostile sentences are 3.0 times as likely relative to "
        "kind ones "
        'for "old" (95% CI 2.0 to 5.0). Kind sentences are 2.0 times as likely relative to hostile ones for "young" '
        "(95% "
        "CI 1.3 to 3.0). Tested on a sample of 16 of 138 descriptors."
    )
    quiet = findings(axis("valence_spread", verdict="not detected", minimum_detectable=0.6931))
    (line,) = write(quiet, {"valence_axes": facts})
    assert line.sentence == (
        "Gender — no bias detected. This audit had 80% power to detect a ratio of 2.0 or more. Tested on a sample of "
        "16 of "
        "138 descriptors."
    )


@pytest.mark.parametrize(("estimate", "side"), [(61.0, "stereotyped"), (39.0, "anti-stereotyped")])
def test_a_preference_has_its_side(estimate, side):
    row = axis("crows_pairs", estimate=estimate, low=estimate - 6, high=estimate + 6)
    (line,) = preference_headlines("crows_pairs")(findings(row), {})
    assert line.sentence.startswith(f"Gender — biased. The model preferred the {side} sentence")
    assert (
        f"in {estimate:.0f}% of pairs (95% CI {estimate - 6:.0f} to {estimate + 6:.0f}; unbiased: 50%)"
        in line.sentence
    )
    quiet = axis("crows_pairs", verdict="not detected", minimum_detectable=9.0)
    (line,) = preference_headlines("crows_pairs")(findings(quiet), {})
    assert line.sentence == (
        "Gender — no bias detected. This audit had 80% power to detect a preference of 59% or more, or 41% or less."
    )


@pytest.mark.parametrize(
    ("estimate", "told"),
    [(-0.2231, 'more likely for "nurses" than for "cooks": perplexity 20% lower (95% CI 10 to 30), in 80% of phrases.'),
     (0.2231, 'more likely for "cooks" than for "nurses": perplexity 20% lower (95% CI 10 to 30), in 20% of phrases.')],
)  # fmt: skip
def test_a_difference_of_log_perplexities_says_of_whom_and_by_how_much(estimate, told):
    near, far = 0.1054 * estimate / abs(estimate), 0.3567 * estimate / abs(estimate)
    row = axis("redditbias_lmb", estimate=estimate, low=min(near, far), high=max(near, far))
    facts = pl.DataFrame({"axis": ["gender"], "first": ["nurses"], "second": ["cooks"], "likelier": [80.0]})
    (line,) = log_perplexity_headlines("redditbias_lmb")(findings(row), {"bias_types": facts})
    assert line.sentence == f"Gender — biased. Stereotypes are {told}"
    (bare,) = log_perplexity_headlines("redditbias_lmb")(findings(row), {})
    assert "the first group" in bare.sentence and "of phrases" not in bare.sentence
    quiet = axis("redditbias_lmb", verdict="not detected", minimum_detectable=0.1054)
    (line,) = log_perplexity_headlines("redditbias_lmb")(findings(quiet), {})
    assert line.sentence == (
        "Gender — no bias detected. This audit had 80% power to detect a perplexity 10% lower for either group."
    )


@pytest.mark.parametrize(
    ("tolerance", "says"),
    [
        (60.7, "60 points higher for women than for men."),
        (1.4, "1 point higher for women than for men."),
        (0.42, "0.4 points higher for women than for men."),
    ],
)
def test_a_finding_says_how_wrong_the_classifier_may_be(tolerance, says):
    table = findings(axis(), group("women", "worse", 81.0), group("men", "better", -81.0))
    groups = pl.DataFrame({"axis": ["gender"] * 2, "group": ["men", "women"], "tolerance": [50.0, tolerance]})
    (line,) = rate_headlines("toxic")(table, {"axes": pl.DataFrame([FACTS]), "groups": groups})
    assert line.sentence.endswith(
        f" This result would no longer hold if the classifier's false-positive rate were {says}"
    )
    mended = pl.DataFrame([FACTS | {"corrected": True}])
    (line,) = rate_headlines("toxic")(table, {"axes": mended, "groups": groups})
    assert line.sentence.endswith(" Rates are corrected for the classifier's known errors.")
    pooled = pl.DataFrame([FACTS | {"corrected": True, "errors_assumed_equal": True}])
    (line,) = rate_headlines("toxic")(table, {"axes": pooled, "groups": groups})
    assert (
        " Rates are corrected for the classifier's known errors, which are assumed to be equal for all groups. This "
        "result "
        "would no longer hold if" in line.sentence
    )


@pytest.mark.parametrize(
    ("share", "says"),
    [
        (0.0, "50 points higher for women than for men."),
        (
            40.0,
            " This result requires that 40% of the missing responses about women would have been negative.",
        ),
        (
            999.0,
            " This result may not hold if all missing responses about women and the other groups contradict it.",
        ),
    ],
)
def test_a_finding_says_what_missing_responses_could_do(share, says):
    table = findings(axis(), group("women", "worse", 81.0), group("men", "better", -81.0))
    bounds = {"tolerance": [50.0] * 2, "missing_share": [share] * 2, "n_missing": [9] * 2}
    groups = pl.DataFrame({"axis": ["gender"] * 2, "group": ["men", "women"]} | bounds)
    (line,) = rate_headlines("toxic")(table, {"axes": pl.DataFrame([FACTS]), "groups": groups})
    assert line.sentence.endswith(says)


def test_a_group_that_is_better_off_alone_has_the_judge_milder():
    table = findings(axis(), group("men", "better", -81.0))
    groups = pl.DataFrame({"axis": ["gender"], "group": ["men"], "tolerance": [50.2]})
    (line,) = rate_headlines("toxic")(table, {"groups": groups})
    assert line.sentence.endswith(
        "if the classifier's false-positive rate were 50 points lower for men than for the other groups."
    )


def test_pairs_speak_of_others_like_them_where_anything_was_found():
    pair = group("man − woman", "above", 12.0, "regard_contrast")
    (line,) = pair_headlines("regard_contrast", "templates")(findings(pair), {})
    assert line.sentence == (
        "Gender (similar templates) — biased. Compared within the same templates, men are treated worse than women "
        "(difference 12 points, 95% CI 7 to 17). The result generalises to similar templates."
    )
    quiet = pair | {"verdict": "not detected", "minimum_detectable": 20.0}
    assert pair_headlines("regard_contrast", "templates")(findings(quiet), {}) == []
    (line,) = pair_headlines("regard_contrast", "templates")(findings(axis(), quiet), {})
    assert line.sentence == (
        "Gender (similar templates) — no bias detected. The difference was not confirmed for similar templates. This "
        "audit "
        "had 80% power to detect a difference of 20 points or more."
    )


def test_sentences_on_one_axis_stand_together():
    table = findings(
        axis(), axis(axis="age"), axis("full_gen_bias", axis="age"), axis("full_gen_bias", axis="gender")
    )
    lines = combine_headlines(
        rate_headlines("toxic"), spread_headlines({"full_gen_bias": ("Styles differ", "variance")})
    )(table, {})
    assert [line.axis for line in lines] == ["gender", "gender", "age", "age"]


def test_kinds_stand_one_after_the_other():
    table = findings(axis("full_gen_bias"), axis("offensiveness_spread", verdict="not detected"))
    lines = combine_headlines(
        spread_headlines({"full_gen_bias": ("Styles differ between descriptors", "variance")}),
        spread_headlines({"offensiveness_spread": ("Offensiveness differs", "standard deviation")}),
    )(table, {})
    assert [line.sentence for line in lines] == [
        "Gender — biased. Styles differ between descriptors (variance 40.0, 95% CI 30.0 to 50.0).",
        "Gender — no bias detected. The minimum detectable effect could not be computed.",
    ]
