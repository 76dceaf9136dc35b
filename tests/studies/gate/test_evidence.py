"""What is read from tables: groups, sides, sizes."""

import polars as pl
import pytest

from evenhand.schema import FINDINGS, HEADLINES, MEASUREMENTS
from evenhand.studies.gate.audits import audit_evidence, unit_named
from evenhand.studies.gate.comparisons import comparison_evidence
from evenhand.studies.gate.evidence import (
    BLANK,
    CHANGE,
    FOUND,
    LEVEL,
    NEW,
    NOT_FOUND,
    REFUSALS,
    STANDING,
    Evidence,
    Part,
    join_verdicts,
)


def row(measure, axis, group=None, verdict="not detected", **more):
    known = {
        "benchmark": "regard",
        "measure": measure,
        "axis": axis,
        "group": group,
        "verdict": verdict,
        "note": "",
    }
    return (
        known | {"estimate": 0.0, "low": -9.0, "high": 9.0, "null": 0.0, "unit": "percentage points"} | more
    )


def tables(rows, headlines):
    told = [dict(zip(HEADLINES, ("regard", *line), strict=True)) for line in headlines]
    named = {
        "findings": (rows, FINDINGS),
        "measurements": (rows, MEASUREMENTS),
        "headlines": (told, HEADLINES),
    }
    return {
        name: pl.DataFrame([{column: one.get(column) for column in schema} for one in lines], schema=schema)
        for name, (lines, schema) in named.items()
    }


def test_an_axis_is_what_its_sentence_says_and_its_groups_are_those_behind_it():
    rows = [
        row("disparity", "gender", verdict="biased", direction="above"),
        row(
            "group_difference", "gender", "women", "biased", low=7.0, high=17.0, direction="worse", n_units=40
        ),
        row("group_difference", "gender", "men", "biased", low=-17.0, high=-7.0, direction="better"),
        row("regard_contrast", "gender", "men − women", "biased", low=-99.0, high=-98.0, direction="below"),
        row("axis_rate", "gender", verdict="biased", low=50.0, high=60.0, direction="above"),
        row("missing_difference", "gender", "women", "biased", low=70.0, high=90.0, direction="worse"),
        row("disparity", "age"),
        row("group_difference", "age", "old", minimum_detectable=30.0),
        row("group_difference", "age", "young", minimum_detectable=20.0),
    ]
    lines = [
        ("disparity", "gender", "biased", "Gender — biased. Treated worse: women."),
        ("regard_contrast", "gender", "biased", "Gender — biased. Here, too."),
        ("disparity", "age", "not detected", "Age — no bias detected. This audit had 80% power."),
    ]
    gender, age = audit_evidence(tables(rows, lines))
    assert (gender.verdict, gender.told, gender.unit) == (FOUND, "Treated worse: women.", "points")
    assert [(part.name, part.found, part.shown) for part in gender.parts] == [
        ("women", True, 7.0),
        ("men", False, 0.0),
    ]
    assert (age.verdict, age.smallest) == (NOT_FOUND, 30.0), "of the group of which least could be seen"


def test_a_gap_in_refusals_counts_where_the_report_tells_of_it():
    rows = [
        row("disparity", "gender"),
        row("group_difference", "gender", "women"),
        row("refusal_disparity", "gender", verdict="biased"),
        row("refusal_difference", "gender", "women", "biased", low=20.0, high=30.0, direction="worse"),
    ]
    lines = [("disparity", "gender", "not detected", "no"), ("refusal_disparity", "gender", "biased", "yes")]
    (one,) = audit_evidence(tables(rows, lines))
    assert one.verdict == FOUND and [part.shown for part in one.parts if part.found] == [20.0]


def test_without_sentences_the_rows_of_the_axes_speak():
    rows = [
        row(
            "own",
            "age",
            verdict="biased",
            low=1.0,
            high=2.0,
            direction="above",
            note="Seen.",
            unit="variance",
        )
    ]
    (one,) = audit_evidence(tables(rows, []))
    assert (one.axis, one.verdict, one.told, one.unit) == ("age", FOUND, "Seen.", "units")


def test_a_row_that_cannot_be_judged_is_no_part():
    rows = [
        row("disparity", "age", verdict="not measurable"),
        row("group_difference", "age", "old", "not measurable"),
    ]
    (one,) = audit_evidence(
        tables(rows, [("disparity", "age", "not measurable", "Age — not measurable: why.")])
    )
    assert (one.verdict, one.parts, one.unit, one.told) == (BLANK, (), "points", "why.")


def test_pairs_are_held_against_their_ideal():
    rows = [
        row(
            "crows_pairs",
            "age",
            verdict="biased",
            direction="above",
            null=None,
            ideal=50.0,
            low=57.0,
            high=70.0,
        )
    ]
    (one,) = audit_evidence(tables(rows, [("crows_pairs", "age", "biased", "Age: more.")]))
    assert one.parts[0].shown == 7.0 and one.parts[0].possible == 20.0


@pytest.mark.parametrize(
    ("verdicts", "whole"),
    [((FOUND, BLANK), FOUND), ((NOT_FOUND, BLANK), NOT_FOUND), ((BLANK,), BLANK), ((), BLANK)],
)
def test_the_verdict_over_several(verdicts, whole):
    assert join_verdicts(verdicts) == whole


def test_units_are_called_as_conditions_call_them():
    assert [unit_named(unit) for unit in ("% of responses", "percentage points", "nats per token", "", None)] == [
        "points", "points", "nats", "units", "units",
    ]  # fmt: skip


@pytest.fixture(scope="module")
def planted(written_runs):
    """The run `calm`, then the run `rude`: Black people insulted in 70 % of answers, refusals for gay ones in both."""
    from evenhand.studies.compare.result import compare

    return comparison_evidence(compare(written_runs["calm"], written_runs["rude"], names=["calm", "rude"]))


def test_what_was_planted_is_found_where_it_was_planted(planted):
    found = {(one.about, one.outcome, one.axis) for one in planted if one.verdict == FOUND}
    assert (CHANGE, "regard", "race_ethnicity") in found and (NEW, None, "race_ethnicity") in found
    assert {axis for about, _, axis in found if about in (CHANGE, NEW)} == {"race_ethnicity"}
    assert (LEVEL, "regard", None) in found and not any(about == REFUSALS for about, _, _ in found)


def test_bias_of_both_runs_is_no_news(planted):
    """Gay people are refused in both: the later run is biased there, and nothing of it is new."""
    state = {(one.about, one.axis): one.verdict for one in planted if one.outcome is None}
    assert state[STANDING, "sexual_orientation"] == FOUND
    assert state[NEW, "sexual_orientation"] == NOT_FOUND


def test_shares_are_told_in_points(planted):
    one = next(
        one
        for one in planted
        if one.about == CHANGE and one.axis == "race_ethnicity" and one.outcome == "regard"
    )
    worse = next(part for part in one.parts if part.found)
    assert worse.name == "Black people" and 30 < worse.shown < worse.estimate < 90 and one.unit == "points"


def test_silence_is_asked_about_only_where_somebody_fell_silent(planted):
    """The puppets refuse gay people: that axis alone has anything to be seen of silence."""
    asked = {one.axis for one in planted if one.about == CHANGE and one.outcome == "silent"}
    assert asked == {"sexual_orientation"}


def test_prompts_needed_where_nothing_moved_grow_with_the_effect_itself():
    """n prompts without a change leave open 1 - .025^(1/n): 7 times as small takes about 7 times as many."""
    hidden = [100 * (1 - 0.025 ** (1 / n)) for n in (20, 140)]
    part = Part("women", False, 0.0, -hidden[0], hidden[0], smallest=hidden[0], units=20)
    needed = Evidence(CHANGE, "regard", "gender", NOT_FOUND, "", "points", (part,)).units_needed(hidden[1])
    assert needed is not None and needed[0] == pytest.approx(140, rel=0.1)
