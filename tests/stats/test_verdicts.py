"""Verdicts: every rule on hand-made rows, families against statsmodels, error rates on planted worlds."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st
from scipy.stats import wilcoxon

from evenhand.schema import FINDINGS, MEASUREMENTS, DataError, Measurement, UsageError, measurement_frame
from evenhand.stats import Verdict, reach_verdicts


def row(**changes):
    given = {"measure": "m", "benchmark": "b", "axis": "age", "estimate": 0.7, "low": 0.6, "high": 0.8}
    return Measurement(**(given | {"n": 90, "null": 0.5, "p": 0.001, "minimum_detectable": 0.1} | changes))


def verdict_of(**changes):
    _, findings = reach_verdicts(measurement_frame([row(**changes)]))
    return findings["verdict"][0], findings["note"][0]


def test_biased_names_estimate_null_and_interval():
    verdict, note = verdict_of(unit="share")
    assert verdict == Verdict.BIASED == "biased"
    assert note == "0.7 share (unbiased value: 0.5; 95% CI 0.6 to 0.8, q = 0.001)."


def test_not_detected_names_the_smallest_effect():
    verdict, note = verdict_of(p=0.4, minimum_detectable=0.123456, unit="nats")
    assert verdict == Verdict.NOT_DETECTED == "not detected"
    assert note == (
        "No difference from the unbiased value of 0.5 detected (q = 0.4; minimum detectable effect: 0.123 nats)."
    )


def test_a_note_of_a_row_without_unit_has_none():
    rows = measurement_frame([row(p=0.4, minimum_detectable=0.2)])
    without = rows.with_columns(pl.lit(None, pl.String).alias(name) for name in ("unit", "effect_unit"))
    for table in (rows, without):
        note = reach_verdicts(table)[1]["note"][0]
        assert "minimum detectable effect: 0.2)." in note and "None" not in note


def test_not_detected_needs_a_minimum_detectable_effect():
    for absent in (None, float("nan")):
        verdict, note = verdict_of(p=0.4, minimum_detectable=absent)
        assert verdict == Verdict.NOT_MEASURABLE and "minimum detectable effect" in note
    assert verdict_of(p=0.001)[0] == Verdict.BIASED  # what was found needs no promise


def test_an_interval_of_width_zero_has_no_verdict():
    for p in (0.0, 0.4):
        verdict, note = verdict_of(p=p, low=0.7, high=0.7, minimum_detectable=0.1)
        assert verdict == Verdict.NOT_MEASURABLE and "width 0" in note


def test_ideal_stands_in_for_an_unknown_null():
    verdict, note = verdict_of(null=None, ideal=0.0)
    assert verdict == Verdict.BIASED
    assert "(ideal: 0; 95% CI" in note
    assert "from the ideal of 0 detected" in verdict_of(null=None, ideal=0.0, p=0.3)[1]
    assert verdict_of(null=0.65, ideal=0.0)[0] == Verdict.NOT_DETECTED  # the null decides, not the ideal


def test_interval_must_exclude_the_null():
    verdict, note = verdict_of(low=0.45)
    assert verdict == Verdict.NOT_DETECTED
    assert "interval includes 0.5" in note
    assert verdict_of(low=0.5)[0] == Verdict.NOT_DETECTED  # a limit on the null does not exclude it
    for absent in ({"low": None, "high": None}, {"low": None}, {"null": None, "ideal": None}):
        assert verdict_of(**absent)[0] == Verdict.NOT_MEASURABLE  # nothing but q to go by: no verdict
    assert verdict_of(p=0.0500001)[0] == Verdict.NOT_DETECTED
    assert verdict_of(p=0.05)[0] == Verdict.BIASED


def test_harm_names_the_direction_and_decides_nothing():
    table = measurement_frame([row(), row(estimate=0.3, low=0.2, high=0.4), row(p=0.5)])
    for side, expected in [
        ("either", ["above", "below", None]),
        ("above", ["worse", "better", None]),
        ("below", ["better", "worse", None]),
    ]:
        _, findings = reach_verdicts(table, harmful={"m": side})
        assert findings["verdict"].to_list() == ["biased", "biased", "not detected"]
        assert findings["direction"].to_list() == expected


def test_an_axis_is_tested_at_its_share_of_alpha_and_groups_only_within_a_found_one():
    rows = [row(p=0.004), row(axis="race", p=0.003)]
    rows += [row(axis=axis, group=g, p=p, axis_p=whole) for axis, whole in (("age", 0.004), ("race", 0.003))
             for g, p in (("a", 0.001), ("b", 0.02), ("c", 0.9))]  # fmt: skip
    judged, findings = reach_verdicts(measurement_frame(rows), n_axes=13)
    assert findings["verdict"].to_list() == ["not detected", "biased"] + ["not detected"] * 3 + [
        "biased", "biased", "not detected"
    ]  # fmt: skip
    np.testing.assert_allclose(judged["q"], [0.052, 0.039, 0.052, 0.052, 0.9, 0.039, 0.039, 0.9])


def test_another_axis_changes_nothing_but_the_level():
    age = [row(p=0.004), *(row(group=f"g{i}", p=p, axis_p=0.004) for i, p in enumerate((0.001, 0.3)))]
    race = [
        row(axis="race", p=1e-9),
        *(row(axis="race", group=f"g{i}", p=1e-9, axis_p=1e-9) for i in range(9)),
    ]
    for n_axes in (2, 9):
        alone = reach_verdicts(measurement_frame(age), n_axes=n_axes)[1]
        beside = reach_verdicts(measurement_frame(race + age), n_axes=n_axes)[1]
        assert beside.filter(pl.col("axis") == "age").equals(alone)


def test_any_axis_of_a_benchmark_without_differences_is_named_in_alpha_of_audits():
    generator = np.random.default_rng(3)
    named = 0
    for _ in range(400):
        rows = [row(axis=f"a{i}", p=float(p)) for i, p in enumerate(generator.random(13))]
        named += "biased" in reach_verdicts(measurement_frame(rows), n_axes=13)[1]["verdict"].to_list()
    assert 0.02 <= named / 400 <= 0.08


def test_an_obstacle_is_the_reason_whatever_else_is_known():
    verdict, note = verdict_of(obstacle="Each group has a single prompt.")
    assert (verdict, note) == (Verdict.NOT_MEASURABLE, "Each group has a single prompt.")
    assert verdict_of(p=None, obstacle="Three templates.")[0] == Verdict.NOT_MEASURABLE


def test_units_count_and_not_rows():
    assert verdict_of(n=2500, n_units=1)[0] == Verdict.NOT_MEASURABLE
    assert "only 1 independent unit." in verdict_of(n=2500, n_units=1)[1]
    assert verdict_of(n=5, n_units=5)[0] == Verdict.BIASED


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"estimate": None}, "No estimate"),
        ({"estimate": float("nan")}, "No estimate"),
        ({"low": None}, "No confidence interval"),
        ({"null": None}, "expected of an unbiased model is unknown"),
        ({"n": 9}, "only 9 rows. At least 10"),
        ({"n": 1}, "only 1 row."),
        ({"n": 49, "n_missing": 51}, "51 of 100 rows are missing"),
        ({"n": 0, "n_missing": 3, "estimate": None}, "3 of 3 rows are missing"),
    ],
)
def test_not_measurable_says_why(changes, reason):
    verdict, note = verdict_of(**changes)
    assert verdict == Verdict.NOT_MEASURABLE == "not measurable"
    assert reason in note


def test_half_missing_is_still_judged():
    assert verdict_of(n=50, n_missing=50)[0] == Verdict.BIASED


def test_descriptions_get_no_finding():
    table = measurement_frame([row(p=None), row(p=float("nan"), null=None), row()])
    judged, findings = reach_verdicts(table)
    assert len(judged) == 3
    assert len(findings) == 1
    assert judged["q"].to_list() == [None, None, 0.001]


def test_q_of_groups_is_adjusted_within_their_axis_only():
    from statsmodels.stats.multitest import multipletests

    generator = np.random.default_rng(0)
    rows, families = [], []
    for benchmark in "xy":
        for measure in "mn":
            for axis in ("age", "race"):
                for stratum in (None, "t1", "t2"):
                    for group in ("old", "young", "tall", "short"):
                        small = generator.random() < 0.1
                        named = {"benchmark": benchmark, "measure": measure, "axis": axis, "stratum": stratum}
                        p = float(generator.random() ** 3)
                        rows.append(row(**named, group=group, p=p, n=3 if small else 30, axis_p=0.0))
                        families.append(None if small else tuple(named.values()))
    order = generator.permutation(len(rows))
    judged, _ = reach_verdicts(measurement_frame([rows[place] for place in order]), n_axes=2)
    q = np.full(len(rows), np.nan)
    q[order] = judged["q"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    for family in {family for family in families if family}:
        places = [place for place, own in enumerate(families) if own == family]
        expected = multipletests([rows[place].p for place in places], method="fdr_bh")[1]
        np.testing.assert_allclose(q[places], expected, rtol=1e-12)
    assert np.isnan(q[[place for place, own in enumerate(families) if own is None]]).all()


def test_tables_have_their_schemas():
    for table in (measurement_frame([]), measurement_frame([row(), row(n=2)])):
        judged, findings = reach_verdicts(table)
        assert dict(judged.schema) == MEASUREMENTS
        assert dict(findings.schema) == FINDINGS
        assert len(findings) == len(table)
    extra = measurement_frame([row()]).with_columns(colour=pl.lit("blue"))
    assert reach_verdicts(extra)[0]["colour"].to_list() == ["blue"]


def test_wrong_input_is_refused():
    with pytest.raises(DataError, match="has no column"):
        reach_verdicts(measurement_frame([row()]).drop("p", "null"))
    with pytest.raises(UsageError, match=r"alpha must be .* got 5"):
        reach_verdicts(measurement_frame([row()]), alpha=5)
    with pytest.raises(UsageError, match="harmful side"):
        reach_verdicts(measurement_frame([row()]), harmful={"m": "left"})
    with pytest.raises(UsageError, match=r"n_axes must be .* got 0"):
        reach_verdicts(measurement_frame([row()]), n_axes=0)
    with pytest.raises(DataError, match="the column low must contain numbers, but its type is Date"):
        reach_verdicts(measurement_frame([row()]).with_columns(low=pl.date(2020, 1, 1)))
    with pytest.raises(DataError, match="row 0 of the column p contains 2"):
        reach_verdicts(measurement_frame([row(p=2.0)]))


@given(
    estimate=st.floats(-1e9, 1e9),
    low=st.none() | st.floats(-1e9, 1e9),
    p=st.floats(0, 1),
    smallest=st.none() | st.floats(0, 1e9),
    null=st.none() | st.floats(-1, 1),
)
def test_notes_are_one_sentence(estimate, low, p, smallest, null):
    high = None if low is None else low + 1
    _, findings = reach_verdicts(
        measurement_frame(
            [row(estimate=estimate, low=low, high=high, p=p, minimum_detectable=smallest, null=null)]
        )
    )
    note = findings["note"][0]
    assert note[0].isupper() or note[0].isdigit() or note[0] == "-"
    assert note.endswith(".")
    assert ". " not in note
    assert "nan" not in note
    assert "None" not in note


def planted_findings(shift, seed, groups=40, affected=10):
    """Verdicts on groups of paired differences, the first `affected` of which are shifted."""
    generator = np.random.default_rng(seed)
    differences = generator.normal(size=(groups, 30))
    differences[:affected] += shift
    p = wilcoxon(differences, axis=1).pvalue
    means, errors = differences.mean(axis=1), differences.std(axis=1, ddof=1) / np.sqrt(30)
    rows = [
        row(group=f"g{place}", estimate=m, low=m - 2.05 * e, high=m + 2.05 * e, null=0.0, p=float(own))
        for place, (m, e, own) in enumerate(zip(means, errors, p, strict=True))
    ]
    _, findings = reach_verdicts(measurement_frame(rows))
    return (findings["verdict"] == "biased").to_numpy()


def test_planted_bias_is_found_and_false_discoveries_are_held():
    found = np.array([planted_findings(1.0, seed) for seed in range(60)])
    assert found[:, :10].mean() > 0.95
    share_false = found[:, 10:].sum(axis=1) / np.maximum(found.sum(axis=1), 1)
    assert share_false.mean() < 0.05 + 0.02
    nothing = np.array([planted_findings(0.0, seed) for seed in range(60)])
    assert nothing.any(axis=1).mean() < 0.15  # alpha is .05; 60 worlds
