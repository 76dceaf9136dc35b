"""The first sentence says who is treated otherwise, which way and by how much; then levels; then text."""

import json
import random
from html import unescape
from io import StringIO
from math import log

import polars as pl
import pytest
from rich.console import Console

from evenhand.models.puppets import writes
from evenhand.reports import SYMBOLS
from evenhand.reports.figures import KINDS
from evenhand.schema import DataError
from evenhand.studies.audit.result import audit
from evenhand.studies.compare.rate_words import NATS, PERCENT, POINTS, RAW, group_changes
from evenhand.studies.compare.result import compare
from evenhand.studies.compare.texts import text_line
from evenhand.studies.compare.wording import disparity_lines, moved_word, preference_lines

INSULT = " a hated, horrible liar."
KIND = (" a cook at the hotel.", " a teacher in town.", " a clerk who reads.")


def model(women, men, name):
    """Insults women and men at these rates, on the same prompts whatever the rate, and nobody else."""

    def said(prompt, sample):
        rate = women if "woman" in prompt else men if "man" in prompt.split() else 0.1
        drawn = random.Random(f"{prompt}{sample}").random()
        return INSULT if drawn < rate else KIND[sample % 3]

    return writes(said, f"puppet/{name}")


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("women")

    def run(name, women, men, **options):
        given = {"benchmarks": ["regard"], "samples": 10, "classifiers": {"regard": "vader"}, **options}
        return audit(model(women, men, name), output=folder / name, **given)

    return compare(
        run("old", 0.23, 0.19), run("new", 0.83, 0.01), names=["old", "new"], output=folder / "compared"
    )


def test_women_worse_and_men_better_is_the_headline_everywhere(report):
    """Women 23 -> 83 %, men 19 -> 1 %: told as "not detected 18.7 -> 15.8 %" by a comparison of levels alone."""
    first = report.headlines.filter(outcome="regard").row(0, named=True)
    assert (first["about"], first["axis"], first["verdict"]) == (
        "between groups",
        "gender_and_sex",
        "changed",
    )
    assert first["sentence"].startswith("Gender and sex — got worse for women. Negative responses rose from ")
    groups = {
        row["group"]: row for row in report.changes.drop_nulls("group").filter(outcome="regard").to_dicts()
    }
    shown = groups["woman"]
    for row in (shown, groups["man"]):
        assert f"from {100 * row['before']:.0f}% to {100 * row['after']:.0f}%" in first["sentence"]
    assert (shown["direction"], groups["man"]["direction"]) == ("worse", "better")
    out = StringIO()
    report.render(Console(file=out, width=300))
    lines = [line for line in out.getvalue().splitlines() if line.strip()]
    assert lines[2].endswith(first["sentence"]) and "All groups together" in out.getvalue()
    page = report.html()
    assert page.index("got worse for women") < page.index("All groups together")
    told = json.loads(report.report().with_suffix(".json").read_text())["headlines"]
    assert told[0]["sentence"] == first["sentence"]


def test_levels_come_after_groups_and_nothing_is_said_of_silence_that_is_not_there(report):
    assert report.headlines["about"].to_list()[-1] in ("over all", "text")
    assert "silent" not in report.headlines["outcome"].drop_nulls().to_list()
    assert report.changes.filter(outcome="silent", measure="level_change")["estimate"].abs().max() == 0


def test_verdicts_are_those_of_the_one_rule(report):
    """No group is named outside an axis that is found; q of an axis is p times the axes that regard defines."""
    rows = report.changes.filter(outcome="regard")
    axes = rows.filter(measure="disparity_change").to_dicts()
    for axis in axes:
        assert axis["q"] == pytest.approx(min(1.0, axis["p"] * 3))
        named = rows.filter(pl.col("verdict").is_in(["lower", "higher"]), axis=axis["axis"]).drop_nulls(
            "group"
        )
        assert not named.height or axis["verdict"] == "changed"


def test_runs_that_share_no_prompt_say_so_clearly(report, tmp_path):
    given = {"benchmarks": ["regard"], "samples": 10, "classifiers": {"regard": "vader"}}
    axes = [audit(model(0.5, 0.5, "m"), axes=[axis], output=tmp_path / axis, **given)
            for axis in ("gender_and_sex", "sexual_orientation")]  # fmt: skip
    with pytest.raises(DataError, match="share no prompt, so they cannot be compared"):
        compare(*axes)


def row(axis, group, before, after, estimate, verdict, direction=None):
    measure = "disparity_change" if group is None else "group_difference_change"
    return {
        "measure": measure, "axis": axis, "group": group, "before": before, "after": after, "estimate": estimate,
        "low": estimate - 0.05, "high": estimate + 0.05, "verdict": verdict, "direction": direction,
        "minimum_detectable": 0.2, "note": "",
    }  # fmt: skip


def change(group, before, after, estimate, verdict, direction):
    """A row of CHANGES for one named group, in shares."""
    return row("faith", group, before, after, estimate, verdict, direction)


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        # own change worse, and worse relative to the others
        ([(0.1, 0.5, 0.4, "higher", "worse")], ("got worse for a", "A: 10% to 50%")),
        # own change better, but less than the others': it did not get worse
        ([(0.5, 0.4, 0.2, "higher", "worse")], ("improved less for a", "A: 50% to 40%")),
        (
            [(0.4, 0.4, 0.2, "higher", "worse")],
            ("did not change for a, while the other groups improved", "A: 40% to 40%"),
        ),
        ([(0.5, 0.1, -0.4, "lower", "better")], ("got better for a", "A: 50% to 10%")),
        (
            [(0.1, 0.2, -0.2, "lower", "better")],
            ("got worse by less than for the other groups: a", "A: 10% to 20%"),
        ),
        (
            [(0.017, 0.017, -0.6, "lower", "better")],
            ("did not change for a, while the other groups got worse", "A: 2% to 2%"),
        ),
        # no harmful side is known
        ([(0.1, 0.5, 0.4, "higher", None)], ("rose more than for the other groups: a", "A: 10% to 50%")),
        ([(0.5, 0.1, -0.4, "lower", None)], ("fell more than for the other groups: a", "A: 50% to 10%")),
    ],
)
def test_a_named_group_is_described_by_its_own_change(groups, expected):
    found = [change("abcdef"[n], *facts) for n, facts in enumerate(groups)]
    others = [change(name, 0.3, 0.3, 0.0, "not detected", None) for name in "xyz"]
    verdict, numbers = group_changes(found, [*found, *others], PERCENT)
    assert (verdict, numbers.partition(" (")[0]) == expected


def test_groups_that_got_worse_come_before_the_one_that_did_not():
    """Two groups rose to 65 %: the sentence led with the third, which "fares better" at 1.7 → 1.7 %."""
    rows = [
        change("young", 0.017, 0.017, -0.6, "lower", "better"),
        change("old", 0.05, 0.65, 0.3, "higher", "worse"),
        change("middle-aged", 0.05, 0.64, 0.29, "higher", "worse"),
    ]
    verdict, numbers = group_changes(rows, rows, PERCENT)
    assert numbers.startswith(
        "Old: 5% to 65% (+30 points relative to the other groups, 95% CI 25 to 35); middle-aged: "
    )
    assert verdict == (
        "got worse for old and middle-aged, did not change for young, while the other groups got worse"
    )


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ((0.14, 0.67, 0.37, "higher", "worse"), (0.03, 0.19, -0.37, "lower", "better"),
         ("got worse for a", "Negative responses rose from 14% to 67% for a and from 3% to 19% for b (change in")),
        ((1.0, 0.0, -1.0, "lower", "better"), (0.0, 0.0, 1.0, "higher", "worse"),
         ("got better for a", "Negative responses fell from 100% to 0% for a and stayed at 0% for b (change in")),
        ((0.5, 0.4, 0.2, "higher", "worse"), (0.5, 0.2, -0.2, "lower", "better"),
         ("improved less for a", "Negative responses fell from 50% to 40% for a and from 50% to 20% for b (change in")),
        ((0.67, 0.14, -0.37, "lower", "better"), (0.19, 0.03, 0.37, "higher", "worse"),
         ("got better for a", "Negative responses fell from 67% to 14% for a and from 19% to 3% for b (change in")),
    ],
)  # fmt: skip
def test_an_axis_of_two_leads_with_who_got_worse(first, second, expected):
    rows = [change("a", *first), change("b", *second)]
    verdict, numbers = group_changes(rows, rows, PERCENT)
    assert verdict == expected[0] and numbers.startswith(expected[1])


def test_the_others_of_one_far_group_are_not_said_to_fare_better():
    """One group 40 points up puts each of four others 10 points below the mean of the rest."""
    rows = [row("faith", None, 0.0, 0.2, 0.2, "changed"), row("faith", "a", 0.1, 0.5, 0.4, "higher", "worse")]
    rows += [row("faith", name, 0.1, 0.1, -0.1, "lower", "better") for name in "bcde"]
    (line,) = disparity_lines(rows, PERCENT)
    assert line["sentence"].startswith(
        "Faith — got worse for a. A: 10% to 50% (+40 points relative to the other groups, 95% CI 35 to 45)"
    )
    assert "better" not in line["sentence"]


def test_what_was_not_detected_has_its_minimum_detectable_effect():
    rows = [
        row("faith", None, 0.0, 0.0, 0.0, "not detected"),
        row("faith", "a", 0.3, 0.4, 0.1, "not detected"),
    ]
    (line,) = disparity_lines(rows, PERCENT)
    assert line["sentence"] == (
        "Faith — no change detected between groups. This comparison had 80% power to detect a change of 20 points "
        "in the rate of one group, relative to the others."
    )


def test_who_is_worse_off_now_is_said_where_nothing_changed_and_where_much_did(tmp_path):
    """Women 63 %, men 19 %, and then 62/20 (no change) and 20/0 (women better beside men, and still worse off)."""
    given = {"benchmarks": ["regard"], "samples": 10, "classifiers": {"regard": "vader"}}
    rates = {"first": (0.63, 0.19), "still": (0.62, 0.2), "less": (0.2, 0.0)}
    runs = [audit(model(*rate, name), output=tmp_path / name, **given) for name, rate in rates.items()]
    compared = compare(*runs, names=list(rates), output=tmp_path / "compared")
    now = compared.headlines.filter(about="standing", axis="gender_and_sex")
    assert now["model"].to_list() == ["still", "less"] and set(now["verdict"]) == {"biased"}
    assert now["sentence"].str.starts_with("Still biased: Gender and sex. Responses about women were ").all()
    less = compared.headlines.filter(model="less")["about"].to_list()
    assert less[:2] == ["between groups", "standing"]
    out = StringIO()
    compared.render(Console(file=out, width=400))
    told = json.loads(compared.report().with_suffix(".json").read_text())["headlines"]
    for sentence in now["sentence"]:
        assert sentence in out.getvalue() and sentence in unescape(compared.html())
        assert sentence in [line["sentence"] for line in told]


def test_a_group_is_called_worse_or_better_only_if_its_own_rate_moved_that_way():
    """A man's rate rises by a point while others' rise by 45: it rose less, and nothing got better for him."""
    man = row("gender", "man", 0.18, 0.19, -0.44, "lower", "better")
    assert moved_word(man, PERCENT) == "rose less"
    assert moved_word(man | {"after": 0.02}, PERCENT) == "better"
    assert moved_word(man | {"after": 0.18}, PERCENT) == "unchanged"
    woman = row("gender", "woman", 0.6, 0.5, 0.3, "higher", "worse")
    assert moved_word(woman, PERCENT) == "fell less"
    assert moved_word(woman | {"after": 0.9}, PERCENT) == "worse"
    # a score of which lower is worse: it rose, and less than the others'
    score = row("gender", "man", 1.0, 2.0, -3.0, "lower", "worse")
    assert moved_word(score, RAW) == "rose less"
    assert moved_word(man | {"direction": None}, PERCENT) == "below"
    assert moved_word(man | {"measure": "valence_shift_change", "direction": "worse"}, NATS) == (
        "less likely in kind sentences"
    )
    assert moved_word(man | {"verdict": "not detected"}, PERCENT) == "not detected"
    words = ("biased", "higher", "lower", "changed", "worse", "better", "above", "below", "unchanged")
    assert len({SYMBOLS[word] for word in words}) == len(words)


@pytest.mark.parametrize(
    ("before", "told"), [(0.03, "rise of 20"), (0.97, "fall of 20"), (0.5, "change of 20")]
)
def test_no_fall_below_zero_is_called_detectable(before, told):
    rows = [row("faith", None, 0.0, 0.0, 0.0, "not detected")]
    rows += [row("faith", group, before, before + 0.01, 0.01, "not detected") for group in "ab"]
    (line,) = disparity_lines(rows, PERCENT)
    assert f"a {told} points in the rate of one group, relative to the others" in line["sentence"]


@pytest.mark.parametrize(
    ("sizes", "told"),
    [((0.25, 1.01), "a change of 25 points in the rate of one group, relative to the others; no possible change on 1"),
     ((1.2, 1.01), "There are too few prompts to detect any possible change with 80% power.")],
)  # fmt: skip
def test_a_change_of_more_than_100_points_is_not_called_detectable(sizes, told):
    rows = []
    for axis, size in zip(("faith", "age"), sizes, strict=True):
        rows += [row(axis, None, 0.0, 0.0, 0.0, "not detected")]
        groups = [row(axis, group, 0.5, 0.51, 0.01, "not detected") for group in "ab"]
        rows += [group | {"minimum_detectable": size} for group in groups]
    (line,) = disparity_lines(rows, PERCENT)
    assert told in line["sentence"]


def test_likelihoods_are_told_in_times_as_likely_as_an_audit_tells_them():
    """A fall of log 2 in nats is twice as likely in the hostile sentence of a pair."""
    shift = row("faith", "a", 0.0, -log(2), -log(2), "lower", "worse") | {"measure": "valence_shift_change"}
    axis = row("faith", None, 0.0, 0.5, 0.5, "changed") | {"measure": "valence_spread_change"}
    still = shift | {"group": "b", "verdict": "not detected", "estimate": 0.1}
    (line,) = disparity_lines([axis, shift, still, still | {"group": "c"}], NATS)
    assert line["sentence"] == (
        "Faith — got worse for a. Compared with other descriptors, hostile sentences became 2.0 times as likely "
        "relative "
        "to kind ones for a (95% CI 1.9 to 2.1)."
    )
    quiet = [one | {"verdict": "not detected", "minimum_detectable": log(3)} for one in (axis, still)]
    (line,) = disparity_lines(quiet, NATS)
    assert "one group became 3.0 times as likely" in line["sentence"] and "nats" not in line["sentence"]


@pytest.mark.parametrize("verdict", ["not detected", "not measurable"])
def test_an_axis_that_is_not_found_names_groups_whose_own_intervals_exclude_no_change(verdict):
    """Ten pairs moved by 2.5 nats and two by 0.4: the axis says nothing, and 32 groups of 32 exclude no change."""
    axis = {
        "measure": "valence_spread_change",
        "axis": "religion",
        "group": None,
        "verdict": verdict,
        "note": "Why.",
    }
    row = axis | {"measure": "valence_shift_change", "before": 0.0, "after": 1.0, "minimum_detectable": 1.2}
    loud = [
        row | {"group": name, "estimate": 2.2, "low": 1.7, "high": 2.7, "p": 1e-6}
        for name in ("Sufi", "Sunni")
    ]
    quiet = [row | {"group": f"{n}", "estimate": 0.1, "low": -0.1, "high": 0.2, "p": 0.03} for n in range(8)]
    (line,) = disparity_lines([axis, *loud, *quiet], NATS)
    assert line["verdict"] == verdict and line["axis"] == "religion"
    assert "power" not in line["sentence"] and "between groups" not in line["sentence"]
    assert (
        "exclude no change: Compared with other descriptors, kind sentences became 9.0 times"
        in line["sentence"]
    )
    assert "for Sufi (95% CI 5.5 to 14.9); also for Sunni." in line["sentence"]
    (line,) = disparity_lines([axis, *quiet], NATS)
    assert "exclude no change" not in line["sentence"]


@pytest.mark.parametrize(
    ("measure", "verdict", "unit", "told"),
    [
        (
            "redditbias_lmb_change",
            "higher",
            NATS,
            "Stereotypes have become less likely for the stereotyped group",
        ),
        (
            "redditbias_pll_change",
            "lower",
            NATS,
            "Stereotypes have become more likely for the stereotyped group",
        ),
        (
            "crows_pairs_change",
            "higher",
            POINTS,
            "The stereotyped sentence is preferred more often",
        ),
    ],
)
def test_a_change_of_pairs_says_which_way_the_stereotype_went(measure, verdict, unit, told):
    row = {"measure": measure, "verdict": verdict, "axis": "race", "group": None, "before": 0.1, "after": 0.2}
    row |= {"estimate": 0.1, "low": 0.05, "high": 0.15, "minimum_detectable": 0.08, "note": ""}
    (line,) = preference_lines([row], unit)
    assert line["sentence"].startswith("Race — bias ") and f". {told}" in line["sentence"]
    if "redditbias" in measure:
        side = 1.0 if verdict == "higher" else -1.0
        beside = {"axis": "race", "group": None, "verdict": None, "minimum_detectable": None, "note": ""}
        effect = beside | {
            "measure": "redditbias_effect_size_change",
            "before": -1.12,
            "after": -1.12 + side / 2,
        }
        share = beside | {"measure": "redditbias_likelier_change", "before": 92.0, "after": 92 - 5 * side}
        agreeing = effect | {"low": side * 0.5 - 0.1, "high": side * 0.5 + 0.1}
        (line,) = preference_lines([row, agreeing, share | {"estimate": -5 * side}], unit)
        assert f". {told}" in line["sentence"] and "−1.12 to " in line["sentence"]
        for low, high, moved in ((-0.1, 0.1, -5 * side), (-side - 0.1, -side + 0.1, 5 * side)):
            (line,) = preference_lines(
                [row, effect | {"low": low, "high": high}, share | {"estimate": moved}], unit
            )
            assert (
                told not in line["sentence"] and "In standard deviations no such change" in line["sentence"]
            )
    (quiet,) = preference_lines([row | {"verdict": "not detected"}], unit)
    size = "0.080 nats" if unit is NATS else "0 points"
    assert f"power to detect a change of {size} or more" in quiet["sentence"]


@pytest.mark.parametrize(
    ("before", "after", "unit", "went", "symbol"),
    [
        (-0.110, -0.079, NATS, "bias smaller", "↓"),  # the number rises, towards 0
        (-0.079, -0.110, NATS, "bias larger", "↑"),
        (0.05, 0.09, NATS, "bias larger", "↑"),
        (0.09, -0.02, NATS, "bias smaller", "↓"),
        (40.0, 48.0, POINTS, "bias smaller", "↓"),  # the stereotyped sentence more often, and nearer to half
        (52.0, 60.0, POINTS, "bias larger", "↑"),
    ],
)
def test_the_mark_of_a_change_of_pairs_goes_by_the_distance_from_no_bias(before, after, unit, went, symbol):
    by = after - before
    row = {
        "measure": "redditbias_lmb_change" if unit is NATS else "crows_pairs_change",
        "group": None,
        "note": "",
    }
    row |= {
        "before": before,
        "after": after,
        "estimate": by,
        "low": by - 0.01,
        "high": by + 0.01,
        "axis": "race",
    }
    row |= {"verdict": "higher" if by > 0 else "lower", "minimum_detectable": 0.01}
    (line,) = preference_lines([row], unit)
    assert (line["verdict"], SYMBOLS[line["verdict"]]) == (went, symbol)
    assert KINDS[line["verdict"]] == ("lower" if went == "bias smaller" else "higher")


@pytest.mark.parametrize(("after", "verdict", "told"), [(45.0, "higher", "×1.50"), (20.0, "lower", "×0.67")])
def test_a_ratio_is_told_beside_one_and_says_which_way(after, verdict, told):
    row = {"measure": "own_perplexity", "scale": "ratio", "before": 30.0, "after": after, "estimate": after / 30,
           "low": after / 31, "high": after / 29, "verdict": verdict}  # fmt: skip
    assert f"({verdict}: {told}, " in text_line(row)


def test_the_axis_comes_first_whose_group_moved_furthest():
    def rows(axis, by):
        groups = [{"measure": "group_difference_change", "axis": axis, "group": f"{axis} {side}", "before": 0.1,
                   "after": 0.1 + change, "estimate": change, "low": change - 0.01, "high": change + 0.01, "p": 0.0,
                   "verdict": "higher" if change > 0 else "lower", "direction": None, "minimum_detectable": 0.01}
                  for side, change in (("a", by), ("b", -by))]  # fmt: skip
        spread = {"measure": "disparity_change", "axis": axis, "group": None, "before": 0.0, "after": by,
                  "estimate": by, "low": by, "high": by, "verdict": "changed", "direction": None,
                  "note": None}  # fmt: skip
        return [spread, *groups]

    lines = disparity_lines([*rows("age", 0.1), *rows("religion", 0.4), *rows("gender", 0.2)], PERCENT)
    assert [line["axis"] for line in lines] == ["religion", "gender", "age"]
