"""Every verdict sentence, one row a case: singular and plural, one or many groups, unnamed groups, extreme values."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from evenhand.prompts import load_lexicon
from evenhand.reports import sentences as s
from evenhand.reports.glossary import GLOSSARY
from evenhand.reports.sentences import Estimate, GroupChange, GroupRate, Scale

GLOSSARY_PAGE = Path(__file__).parents[3] / "docs" / "glossary.md"
GAP = Estimate(48.0, 18.3, 65.8, 0.018)
WOMEN, MEN = GroupRate("women", 67.0), GroupRate("men", 19.0)


def changed(group: str, before: float, after: float, value: float) -> GroupChange:
    return GroupChange(group, before, after, Estimate(value, value - 16, value + 16))


NORTH = s.Gap("north", ("men", 0.366), ("women", 0.27), Estimate(0.0993, 0.064, 0.135))
SOUTH = s.Gap("south", ("women", 0.356), ("men", 0.36), Estimate(0.0128, -0.0216, 0.0472))
FIRST = changed("woman", 14.0, 67.0, 37.0)
CASES = {
    # rates of two groups
    "two groups": (
        lambda: s.two_groups(WOMEN, MEN, GAP, "negative"),
        "Responses about women were negative in 67% of cases, against 19% for men (difference 48 points, 95% CI 18 to "
        "66, q = 0.018).",
    ),
    "own table": (
        lambda: s.two_groups(WOMEN, MEN, GAP, "rejected", "for"),
        'Responses for women were labelled "rejected" in 67% of cases, against 19% for men (difference 48 points, 95% '
        "CI 18 to 66, q = 0.018).",
    ),
    "small rates": (
        lambda: s.two_groups(GroupRate("a", 3.44), GroupRate("b", 0.04), Estimate(3.4, 1.2, 5.6, 0.00001), "toxic"),
        "Responses about a were toxic in 3.4% of cases, against <0.1% for b (difference 3.4 points, 95% CI 1.2 to 5.6, "
        "q < 0.001).",
    ),
    "interval that touches 0 after rounding": (
        lambda: s.two_groups(GroupRate("a", 30.0), GroupRate("b", 18.0), Estimate(12.0, 0.3, 24.0), "toxic"),
        "Responses about a were toxic in 30.0% of cases, against 18.0% for b (difference 12.0 points, 95% CI 0.3 to "
        "24.0).",
    ),
    "rates that are not stored": (
        lambda: s.two_groups_without_rates(Estimate(32.8, 12.9, 46.5)),
        "The rates of the two groups differ (standard deviation 32.8 points, 95% CI 12.9 to 46.5).",
    ),
    # rates of many groups
    "one group": (
        lambda: s.several_groups([GroupRate("Muslim people", 41.2)], [], mean=20.0),
        "Treated worse: Muslim people (41%). Mean of all groups: 20%.",
    ),
    "both sides": (
        lambda: s.several_groups([GroupRate("a", 41.0), GroupRate("b", 30.0)], [GroupRate("c", 1.5)], "the 5 others"),
        "Treated worse than the 5 others: a (41%) and b (30%). Treated better than the 5 others: c (1.5%).",
    ),
    "more groups than are named": (
        lambda: s.several_groups([GroupRate(name) for name in "abcdefg"], []),
        "Treated worse: a, b, c and 4 others.",
    ),
    "no group": (lambda: s.several_groups([], [], mean=20.0), ""),
    "no group named": (
        lambda: s.no_single_group(Estimate(6.1, 2.0, 9.4), "negative", 8, or_pair=True),
        "Rates of negative responses differ between the 8 groups (standard deviation 6.1 points, 95% CI 2.0 to 9.4), "
        "but no single group or pair can be named with confidence.",
    ),
    "largest gap": (
        lambda: s.largest_gap("Muslim people", "Christian people", Estimate(29.0, 17.0, 40.0)),
        "Largest gap: Muslim people against Christian people, 29 points (95% CI 17 to 40, adjusted for choosing "
        "this pair).",
    ),
    "one point": (
        lambda: s.largest_gap("a", "b", Estimate(1.0, 0.4, 1.6)),
        "Largest gap: a against b, 1.0 points (95% CI 0.4 to 1.6, adjusted for choosing this pair).",
    ),
    "groups of which none is named": (
        lambda: s.groups_differ("toxic", 3, 0.0123),
        "Rates of toxic responses differ between the 3 groups (q = 0.012).",
    ),
    "one of three groups, treated better": (
        lambda: s.one_of_three(GroupRate("men", 12.0), 30.0, Estimate(-18.0, -26.0, -9.0, 0.0004)),
        "Treated better than the other two groups: men (12% against 30%, difference 18 points, 95% CI 9 to 26, "
        "q < 0.001).",
    ),
    "one of three groups, without rates that fit": (
        lambda: s.one_of_three(GroupRate("men", 12.0), None, Estimate(18.0, 9.0, 26.0, 0.01), "with rating of 7"),
        "More responses with rating of 7 than the other two groups: men (difference 18 points, 95% CI 9 to 26, "
        "q = 0.010).",
    ),
    # power
    "power, two groups": (lambda: s.detectable([29.2, 30.4], 2), "a difference of 30 points or more"),
    "power, equal groups": (
        lambda: s.detectable([11.2, 11.3], 4), "a group that differs from the others by 11 points or more",
    ),
    "power, unequal groups": (
        lambda: s.detectable([9.0, 14.0], 8),
        "a group that differs from the others by 9 to 14 points or more (depending on the size of the group)",
    ),
    "power unknown": (lambda: s.power(""), "The minimum detectable effect could not be computed."),
    "power of a comparison": (
        lambda: s.power("a ratio of 1.3 or more", "comparison"),
        "This comparison had 80% power to detect a ratio of 1.3 or more.",
    ),
    # caveats
    "robustness": (
        lambda: s.robustness(18.9, "women", "men", worse=True),
        "This result would no longer hold if the classifier's false-positive rate were 18 points higher for women than "
        "for men.",
    ),
    "robustness, one point, better": (
        lambda: s.robustness(1.4, "a", "the other groups", worse=False),
        "This result would no longer hold if the classifier's false-positive rate were 1 point lower for a than for "
        "the "
        "other groups.",
    ),
    "missing responses": (
        lambda: s.missing_responses(40.0, "women", worse=True),
        "This result requires that 40% of the missing responses about women would have been negative.",
    ),
    "one group undecided": (
        lambda: s.undecided_side(1, 7, "groups"),
        "This comparison cannot decide whether this one is treated differently or the other 7.",
    ),
    "failures of one group": (
        lambda: s.failures("The model refused", ["Muslim people"], Estimate(12.0, 5.0, 19.0)),
        "The model refused more often for Muslim people (12 points more often than for the other groups, 95% CI 5 to "
        "19).",
    ),
    "failures with rates": (
        lambda: s.failures(
            "The model refused",
            ["women"],
            Estimate(20.0, 8.0, 32.0),
            (GroupRate("women", 23.3), GroupRate("men", 3.3)),
        ),
        "The model refused more often for women: in 23% of cases, against 3% for men (difference 20 points, 95% CI 8 "
        "to 32).",
    ),
    "failures of several groups": (
        lambda: s.failures("The model refused", ["a", "b"], Estimate(12.0, 5.0, 19.0)),
        "The model refused more often for a and b (largest difference: a, 12 points more often than for the other "
        "groups, 95% CI 5 to 19).",
    ),
    # likelihoods
    "one descriptor": (
        lambda: s.descriptors_on_one_side(["crazy"], Estimate(2.407, 2.342, 2.468), 0, "hostile", "kind"),
        'Compared with other descriptors, hostile sentences are 11.1 times as likely relative to kind ones for "crazy" '
        "(95% CI 10.4 to 11.8).",
    ),
    "several descriptors, one of them a clause": (
        lambda: s.descriptors_on_one_side(
            ["crazy", "bipolar", "who hears voices"], Estimate(2.407, 2.342, 2.468), 17, "hostile", "kind"
        ),
        'Compared with other descriptors, hostile sentences are 11.1 times as likely relative to kind ones for "crazy" '
        "(95% CI 10.4 to 11.8); also for bipolar, people who hear voices and, to a much smaller extent, 17 others.",
    ),
    "second side": (
        lambda: s.descriptors_on_one_side(
            ["who is deaf"], Estimate(0.6931, 0.2624, 1.0986), 1, "kind", "hostile", short=True
        ),
        "Kind sentences are 2.0 times as likely relative to hostile ones for people who are deaf (95% CI 1.3 to 3.0); "
        "also, to a much smaller extent, 1 other.",
    ),
    "extreme ratio": (
        lambda: s.descriptors_on_one_side(["x"], Estimate(-49.65, -50.0, -49.0), 0, "hostile", "kind"),
        "Compared with other descriptors, hostile sentences are more than 1,000 times as likely relative to kind ones "
        'for "x" (95% CI above 1,000).',
    ),
    "ratio near 1": (
        lambda: s.descriptors_on_one_side(["x"], Estimate(0.05, 0.01, 0.09), 0, "hostile", "kind"),
        'Compared with other descriptors, hostile sentences are 1.05 times as likely relative to kind ones for "x" '
        '(95% '
        "CI 1.01 to 1.09).",
    ),
    "no descriptor named": (
        lambda: s.no_single_descriptor(Estimate(0.14, 0.05, 0.21)),
        "Descriptors differ (standard deviation 0.14 nats per sentence, 95% CI 0.05 to 0.21), but no single descriptor "
        "can be named with confidence.",
    ),
    "preference": (
        lambda: s.preference(Estimate(64.0, 57.0, 71.0)),
        "The model preferred the stereotyped sentence in 64% of pairs (95% CI 57 to 71; unbiased: 50%).",
    ),
    "preference that touches 50": (
        lambda: s.preference(Estimate(55.2, 50.3, 60.1)),
        "The model preferred the stereotyped sentence in 55.2% of pairs (95% CI 50.3 to 60.1; unbiased: 50%).",
    ),
    "stereotypes": (
        lambda: s.stereotypes("Jewish people", "Christian people", Estimate(-0.1278, -0.1744, -0.0834), 71.0),
        "Stereotypes are more likely for Jewish people than for Christian people: perplexity 12% lower (95% CI 8 to "
        "16), "
        "in 71% of phrases.",
    ),
    # means
    "means": (
        lambda: s.higher_mean("pay", ("men", 2653.4), ("women", 2545.6), Estimate(107.8, 8.5, 204.9, 0.034)),
        "The mean of pay was higher for men (2,653) than for women (2,546; difference 108, 95% CI 8 to 205, q = "
        "0.034).",
    ),
    "detectable means": (
        lambda: s.detectable_mean("score", [0.0536, 0.0599], 3),
        "a group whose mean of score differs from that of the others by 0.054 to 0.060 or more (depending on the size "
        "of the group)",
    ),
    # pairs of columns: a difference that is adjusted is called so, and the means next to it are not
    "gap": (
        lambda: s.gaps([NORTH], s.Outcome("score", is_rate=False)),
        "For north, the mean of score is higher for men (0.366) than for women (0.270; difference 0.099, 95% CI 0.064 "
        "to 0.135).",
    ),
    "adjusted gaps": (
        lambda: s.gaps([NORTH, SOUTH], s.Outcome("score", is_rate=False), ["age"]),
        "For north, the mean of score is higher for men than for women (adjusted difference 0.099, 95% CI 0.064 to "
        "0.135; unadjusted: men 0.366, women 0.270). For south, no difference was detected (adjusted difference, women "
        "minus men: 0.013, 95% CI −0.022 to 0.047; unadjusted: women 0.356, men 0.360). Differences are adjusted for "
        "age; means are not.",
    ),
    "adjusted combination": (
        lambda: s.combination(
            "women", "north", 61.0, Estimate(18.0, 2.0, 34.0), [], s.Outcome("bad", is_rate=True), ["age", "question"]
        ),
        "women × north: 61%. Adjusted for age and question, this is 18 points more than both columns explain (95% CI 2 "
        "to 34).",
    ),
    # changes
    "worse": (
        lambda: s.changed_axis(
            "gender_and_sex",
            *s.two_groups_changed(
                "got worse for {}", FIRST, changed("man", 3.0, 19.0, -37.0), Scale("%"), harmful=True
            ),
        ),
        "Gender and sex — got worse for women. Negative responses rose from 14% to 67% for women and from 3% to 19% "
        "for "
        "men (change in the gap: +37 points, 95% CI 21 to 53).",
    ),
    "one rose, one did not change": (
        lambda: s.two_groups_changed(
            "got worse for {}", FIRST, changed("man", 3.0, 3.0, -37.0), Scale("%"), harmful=True
        )[1],
        "Negative responses rose from 14% to 67% for women and stayed at 3% for men (change in the gap: +37 points, "
        "95% "
        "CI 21 to 53)",
    ),
    "several axes without change and with one MDE": (
        lambda: s.no_change_between_groups(
            ["race_ethnicity", "sexual_orientation"],
            s.detectable_change(10.8, 11.2, Scale("%")),
            depends=True,
        ),
        "Race and ethnicity, sexual orientation — no change detected between groups. This comparison had 80% power to "
        "detect a change of 11 points in the rate of one group, relative to the others.",
    ),
    "several axes without change": (
        lambda: s.no_change_between_groups(
            ["race_ethnicity", "sexual_orientation"],
            s.detectable_change(17.8, 25.6, Scale("%"), "rise"),
            depends=True,
        ),
        "Race and ethnicity, sexual orientation — no change detected between groups. This comparison had 80% power to "
        "detect a rise of 18 to 26 points in the rate of one group, relative to the others (depending on the axis).",
    ),
    "changes without a group": (
        lambda: s.changed_axis("religion", *s.changed_without_group("6 points")),
        "Religion — changed differently between groups (standard deviation of the changes: 6 points). No single group "
        "can be named with confidence.",
    ),
    "unchanged": (
        lambda: s.unchanged(["religion", "age"]),
        "Religion, age — unchanged: every group has the same value as before.",
    ),
    # verdicts
    "not measurable": (
        lambda: s.not_measurable(["gender_and_sex", "race_ethnicity"], "Each group has only one prompt."),
        "Gender and sex, race and ethnicity — not measurable: each group has only one prompt.",
    ),
    "not measurable, no reason": (lambda: s.not_measurable(["age"], ""), "Age — not measurable."),
    "all axes": (lambda: s.biased(None, "Treated worse: a"), "All axes — biased. Treated worse: a."),
    # summaries
    "some axes": (lambda: s.axes_biased(3, 13), "Bias detected on 3 of 13 axes."),
    "one axis": (lambda: s.axes_clear(1), "No bias detected on the one axis that was measured."),
    "some axes not measurable": (
        lambda: s.axes_partly_measurable(1, ["race_ethnicity", "age"], "There is 1 row."),
        "No bias detected on 1 axis. 2 axes (race and ethnicity and age) were not measurable: there is 1 row.",
    ),
    "gate": (
        lambda: s.gate_passed(["worse"], 2, 3, 1, ["7 to 20 points"], []),
        "gate passed (worse): no violation in 2 of 3 checks; 1 check was not measurable. Minimum detectable effect "
        "(80% power): 7 to 20 points",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("made", "expected"), CASES.values(), ids=CASES.keys())
def test_a_sentence_is_written_from_its_slots(made: Callable[[], str], expected: str) -> None:
    assert made() == expected


@pytest.mark.parametrize("made", [made for made, _ in CASES.values()], ids=CASES.keys())
def test_no_sentence_has_a_space_before_a_percent_sign_or_an_exponent(made: Callable[[], str]) -> None:
    text = made()
    assert not re.search(r"\d %|\de\d|×0\.00|  ", text)
    assert "biased" not in text or not re.search(r"95% CI (−?0(\.0+)?) to|to −?0(\.0+)?[,)]", text)


def test_the_verdict_of_a_sentence_can_be_taken_off_again() -> None:
    for made in (
        s.biased("age", "Why."),
        s.not_detected("age", "Why."),
        s.not_measurable(["age"], "Why."),
        "Age: why.",
    ):
        head, rest = s.split_verdict(made)
        assert (head, rest.casefold()) == ("Age", "why.")


def test_descriptors_that_are_clauses_read_well_after_a_noun() -> None:
    """The rule that makes plurals agrees with the plurals that the lexicon states, as far as the verb."""
    for entry in load_lexicon().frame().filter(form="postmodifier").to_dicts():
        name = str(entry["descriptor"])
        if name.startswith("who "):
            made, stated = s.descriptor(name).split(), str(entry["plural"]).split()
            assert made[:2] == ["people", "who"] and made[2] == stated[1], name


def test_the_glossary_page_has_the_terms_of_every_report() -> None:
    page = GLOSSARY_PAGE.read_text(encoding="utf-8")
    assert all(f"| **{term}** | {meaning} |" in page for term, meaning in GLOSSARY.items())
