"""Sentences: who, which way, how much, from findings that are made by hand."""

import polars as pl
import pytest

from evenhand.benchmarks.analysis.headlines import (
    pair_headlines,
    rate_headlines,
    spread_headlines,
    together,
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


def test_two_groups_are_told_with_both_rates_and_the_gap():
    table = findings(axis(), group("women", "worse", 81.0), group("men", "better", -81.0))
    (line,) = rate_headlines("negative")(table, {"axes": pl.DataFrame([FACTS])})
    assert line.sentence == (
        "Gender: worse for women than for men: 83 % negative against 2 % (gap 81 points, 60.2 to 91.9)."
    )
    assert (line.measure, line.axis, line.verdict) == ("disparity", "gender", "biased")


def test_rates_and_their_gap_have_one_decimal_where_they_are_not_whole():
    facts = FACTS | {"worst_rate": 57.34, "best_rate": 17.56, "gap": 39.78, "gap_low": 31.0, "gap_high": 48.2}
    (line,) = rate_headlines("negative")(findings(axis()), {"axes": pl.DataFrame([facts])})
    assert "57.3 % negative against 17.6 % (gap 39.8 points, 31 to 48.2)" in line.sentence


def test_many_groups_are_named_on_both_sides_and_the_rest_counted():
    worse = [group(f"group_{i}", "worse", 10.0 + i) for i in range(6)]
    facts = FACTS | {"n_groups": 9, "worst": "group_5", "best": "men"}
    table = findings(axis(), *worse, group("men", "better", -9.0))
    (line,) = rate_headlines("toxic")(table, {"axes": pl.DataFrame([facts])})
    assert "worse for group 5 than for men: 83 % toxic against 2 %" in line.sentence
    assert "treated worse than the others of the axis: group 5, group 4, group 3 and 3 more" in line.sentence
    assert line.sentence.endswith("treated better than the others of the axis: men.")


def test_named_groups_are_compared_with_those_that_do_not_stand_out():
    worse = [group(name, "worse", 20.0) for name in ("muslim", "jewish")]

    def sentence(groups, n_reference):
        facts = FACTS | {"n_groups": 10, "n_reference": n_reference, "gap": None}
        return rate_headlines("toxic")(findings(axis(), *groups), {"axes": pl.DataFrame([facts])})[0].sentence

    assert sentence(worse, 8) == (
        "Gender: treated worse than the 8 groups that do not stand out: muslim and jewish."
    )
    better = [group(name, "better", -20.0) for name in ("christian", "buddhist", "sikh")]
    assert sentence(better, 7).endswith(
        "; this comparison cannot decide whether these 3 are treated differently or the other 7."
    )
    assert sentence([], 0) == "Gender: no group is named, because about as many groups differ as do not."
    facts = FACTS | {"n_groups": 4, "n_reference": 0}
    table = {"axes": pl.DataFrame([facts])}
    assert rate_headlines("toxic")(findings(axis()), table)[0].sentence.endswith(
        "(gap 81 points, 60.2 to 91.9); no group is named, because about as many groups differ as do not."
    )


def test_one_group_that_is_treated_better_is_a_single_one():
    facts = FACTS | {"n_groups": 4, "n_reference": 3, "gap": None}
    (line,) = rate_headlines("toxic")(
        findings(axis(), group("men", "better", -40.0)), {"axes": pl.DataFrame([facts])}
    )
    assert line.sentence.endswith(
        "; this comparison cannot decide whether this group is treated differently or the other 3."
    )


def test_an_axis_found_without_any_single_group_says_so():
    (line,) = rate_headlines("toxic")(findings(axis()), {})
    assert line.sentence == (
        "Gender: rates differ between the groups (standard deviation 40.0 (30.0 to 50.0)); no single one stands out."
    )


def test_a_pair_whose_gap_may_be_nothing_is_not_named():
    facts = FACTS | {"n_groups": 4, "gap_low": -2.4, "gap_high": 22.7}
    (line,) = rate_headlines("toxic")(findings(axis()), {"axes": pl.DataFrame([facts])})
    assert line.sentence == (
        "Gender: rates differ between the groups (standard deviation 40.0 (30.0 to 50.0)); no single group or pair of "
        "groups is sure."
    )
    (line,) = rate_headlines("toxic")(
        findings(axis(), group("women", "worse", 9.0)), {"axes": pl.DataFrame([facts])}
    )
    assert line.sentence == "Gender: treated worse than the others of the axis: women."


def test_what_would_have_been_found_is_that_of_groups():
    quiet = [
        group(name, None, 1.0, verdict="not detected", minimum_detectable=reach)
        for name, reach in (("a", 11.2), ("b", 11.3))
    ]
    (line,) = rate_headlines("toxic")(findings(axis(verdict="not detected"), *quiet), {})
    assert (
        line.sentence
        == "Gender: no gap in toxic responses found; a group 11 points from the others would have been found."
    )
    quiet[1]["minimum_detectable"] = 40.0
    (line,) = rate_headlines("toxic")(findings(axis(verdict="not detected"), *quiet), {})
    assert "a group 11 to 40 points (by its size) from the others" in line.sentence


def test_what_cannot_be_said_has_its_reason():
    (line,) = rate_headlines("toxic")(
        findings(axis(verdict="not measurable", note="One prompt a group.")), {}
    )
    assert line.sentence == "Gender: cannot be said. One prompt a group."


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
        "Gender: left without a usable answer more often: women (22 points above the others, 17 to 27)."
    )


def test_shifts_are_odds_with_their_limits_and_how_many_were_looked_at():
    rows = [
        group("old", "below", -1.0986, "valence_shift", low=-1.609, high=-0.6931),
        group("young", "above", 0.6931, "valence_shift"),
    ]
    facts = pl.DataFrame({"axis": ["gender"], "n_drawn": [16], "n_defined": [138]})
    write = valence_headlines("valence_spread", "valence_shift", "hostile", "kind")
    (line,) = write(findings(axis("valence_spread"), *rows), {"valence_axes": facts})
    assert line.sentence.startswith(
        "Gender: relative to kind sentences, hostile ones are 3.0 times as likely for old as for the others of the "
        "axis (95 % CI 2.0 to 5.0); relative to hostile sentences, kind ones are 2.0 times as likely for young as for"
    )
    assert line.sentence.endswith("(tested on a sample of 16 of 138 descriptors).")
    quiet = findings(axis("valence_spread", verdict="not detected", minimum_detectable=0.6931))
    (line,) = write(quiet, {"valence_axes": facts})
    assert line.sentence == (
        "Gender: no bias detected; 80 % power to detect a descriptor for which hostile sentences are 2.0 times as "
        "likely (tested on a sample of 16 of 138 descriptors)."
    )


@pytest.mark.parametrize(("estimate", "side"), [(61.0, "stereotyped"), (39.0, "anti-stereotyped")])
def test_a_preference_has_its_side(estimate, side):
    row = axis("crows_pairs", estimate=estimate, low=estimate - 6, high=estimate + 6)
    (line,) = preference_headlines("crows_pairs")(findings(row), {})
    assert line.sentence.startswith(f"Gender: prefers the {side} sentence: {estimate:.0f} % (")
    quiet = axis("crows_pairs", verdict="not detected", minimum_detectable=9.0)
    (line,) = preference_headlines("crows_pairs")(findings(quiet), {})
    assert line.sentence == (
        "Gender: no preference found; 59 % or more (or 41 % or less) would have been found."
    )


@pytest.mark.parametrize(
    ("estimate", "told"),
    [(-0.2231, "likelier of nurses than of cooks: perplexity 20 % lower (10 to 30), in 80 % of phrases."),
     (0.2231, "likelier of cooks than of nurses: perplexity 20 % lower (10 to 30), in 20 % of phrases.")],
)  # fmt: skip
def test_a_difference_of_log_perplexities_says_of_whom_and_by_how_much(estimate, told):
    near, far = 0.1054 * estimate / abs(estimate), 0.3567 * estimate / abs(estimate)
    row = axis("redditbias_lmb", estimate=estimate, low=min(near, far), high=max(near, far))
    facts = pl.DataFrame({"axis": ["gender"], "first": ["nurses"], "second": ["cooks"], "likelier": [80.0]})
    (line,) = log_perplexity_headlines("redditbias_lmb")(findings(row), {"bias_types": facts})
    assert line.sentence == f"Gender: stereotypes are {told}"
    (bare,) = log_perplexity_headlines("redditbias_lmb")(findings(row), {})
    assert "the first group" in bare.sentence and "of phrases" not in bare.sentence
    quiet = axis("redditbias_lmb", verdict="not detected", minimum_detectable=0.1054)
    (line,) = log_perplexity_headlines("redditbias_lmb")(findings(quiet), {})
    assert line.sentence == (
        "Gender: no difference found; a perplexity 10 % lower of either group would have been found."
    )


@pytest.mark.parametrize(
    ("tolerance", "says"),
    [
        (60.7, "is 60 points harsher on women."),
        (1.4, "is 1 point harsher on women."),
        (0.42, "is 0.4 points harsher"),
    ],
)
def test_a_finding_says_how_wrong_the_classifier_may_be(tolerance, says):
    table = findings(axis(), group("women", "worse", 81.0), group("men", "better", -81.0))
    groups = pl.DataFrame({"axis": ["gender"] * 2, "group": ["men", "women"], "tolerance": [50.0, tolerance]})
    (line,) = rate_headlines("toxic")(table, {"axes": pl.DataFrame([FACTS]), "groups": groups})
    assert f"; holds unless the classifier {says}" in line.sentence
    mended = pl.DataFrame([FACTS | {"corrected": True}])
    (line,) = rate_headlines("toxic")(table, {"axes": mended, "groups": groups})
    assert line.sentence.endswith("; the classifier's errors are taken out.")
    pooled = pl.DataFrame([FACTS | {"corrected": True, "errors_assumed_equal": True}])
    (line,) = rate_headlines("toxic")(table, {"axes": pooled, "groups": groups})
    assert (
        "; the classifier's errors are taken out, assumed to be equal for all groups; holds unless"
        in line.sentence
    )


@pytest.mark.parametrize(
    ("share", "says"),
    [
        (0.0, "harsher on women."),
        (40.0, "; holds if 40 % of the missing responses about women would have been negative."),
        (999.0, "; may not hold if all missing responses about women and the others speak against it."),
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
    assert line.sentence.endswith("; holds unless the classifier is 50 points milder on men.")


def test_pairs_speak_of_others_like_them_where_anything_was_found():
    pair = group("man − woman", "above", 12.0, "regard_contrast")
    (line,) = pair_headlines("regard_contrast", "templates")(findings(pair), {})
    assert line.sentence == (
        "Gender: worse for man than for woman in templates like these, too (12 points, 7 to 17)."
    )
    quiet = pair | {"verdict": "not detected", "minimum_detectable": 20.0}
    assert pair_headlines("regard_contrast", "templates")(findings(quiet), {}) == []
    (line,) = pair_headlines("regard_contrast", "templates")(findings(axis(), quiet), {})
    assert line.sentence == (
        "Gender: in templates like these no difference found; one of 20 points would have been found."
    )


def test_sentences_on_one_axis_stand_together():
    table = findings(
        axis(), axis(axis="age"), axis("full_gen_bias", axis="age"), axis("full_gen_bias", axis="gender")
    )
    lines = together(rate_headlines("toxic"), spread_headlines({"full_gen_bias": "styles differ"}))(table, {})
    assert [line.axis for line in lines] == ["gender", "gender", "age", "age"]


def test_kinds_stand_one_after_the_other():
    table = findings(axis("full_gen_bias"), axis("offensiveness_spread", verdict="not detected"))
    lines = together(
        spread_headlines({"full_gen_bias": "styles depend on whom the sentence is about,"}),
        spread_headlines({"offensiveness_spread": "offence depends on whom the sentence is about,"}),
    )(table, {})
    assert [line.sentence for line in lines] == [
        "Gender: styles depend on whom the sentence is about, 40.0 (30.0 to 50.0).",
        "Gender: no difference found.",
    ]
