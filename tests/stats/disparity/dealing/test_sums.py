"""Sums drawn without dealing each unit, beside deals of every unit and closed forms."""

import numpy as np
import pytest
from scipy.stats import hypergeom, ks_2samp

from evenhand.stats.disparity import Units, deal
from evenhand.stats.disparity.dealing import MANY, Layout, ManyUnits

SIZES = (4_000, 3_000, 150, 40)


def _layout(values, strata=None):
    return Layout.arrange(Units.from_arrays(values, np.repeat(np.arange(len(SIZES)), SIZES), strata=strata))


def _values(kind):
    rng, units = np.random.default_rng(3), sum(SIZES)
    return {
        "normal": rng.normal(size=units),
        "salaries": np.exp(1.5 * rng.normal(size=units)),
        "ratings": rng.integers(1, 8, units).astype(float),
        "labels": (rng.random(units) < 0.05).astype(float),
    }[kind]


def test_of_0_and_1_the_counts_are_hypergeometric():
    values = _values("labels")
    layout = _layout(values)
    sums = np.concatenate([part for part, _ in layout.many.random_sums(20_000, np.random.default_rng(0))])
    got = np.round(sums[:, int(np.argmin(layout.sizes))]).astype(int)
    expected = hypergeom(sum(SIZES), int(values.sum()), 40).pmf(np.arange(6)) * len(got)
    assert np.all(np.abs(np.bincount(got, minlength=6)[:6] - expected) < 4 * np.sqrt(expected + 1))
    assert np.allclose(sums.sum(axis=1), values.sum())


@pytest.mark.parametrize("kind", ["normal", "salaries", "ratings"])
def test_every_statistic_lies_as_it_does_when_each_unit_is_dealt(kind):
    strata = np.random.default_rng(8).integers(0, 3, sum(SIZES)) if kind == "normal" else None
    layout = _layout(_values(kind), strata)
    rng, by_unit = np.random.default_rng(5), []
    start = layout.pool if strata is None else None
    for _ in range(400):
        if strata is None:
            dealt = rng.permutation(start)
        else:
            parts = np.split(layout.pool, np.cumsum(layout.blocks)[:-1])
            dealt = np.concatenate([rng.permutation(part) for part in parts])[layout.to_groups]
        by_unit.append(layout.statistics(layout.sums(dealt[None], squares=True), None))
    drawn = [layout.statistics(one, None) for one in layout.many.random_sums(4_000, rng, squares=True)]
    for place in range(3):
        mine, theirs = (np.concatenate([part[place] for part in parts]) for parts in (drawn, by_unit))
        columns = zip(np.atleast_2d(mine.T), np.atleast_2d(theirs.T), strict=True)
        assert all(ks_2samp(one, other).pvalue > 1e-3 for one, other in columns)


@pytest.mark.parametrize("kind", ["labels", "salaries"])
def test_on_both_sides_of_the_switch_p_is_the_same(kind, monkeypatch):
    values = _values(kind)
    values[-40:] += 0.35 * values.std()
    units = Units.from_arrays(values, np.repeat(np.arange(len(SIZES)), SIZES))
    drawn = deal(units, most=999, seed=1)
    monkeypatch.setattr("evenhand.stats.disparity.dealing.sums.MANY", len(values))
    dealt = deal(units, most=999, seed=1)
    assert drawn.z[0] == pytest.approx(dealt.z[0])
    assert drawn.p == pytest.approx(dealt.p, abs=0.08)
    assert drawn.axis_p == pytest.approx(dealt.axis_p, abs=0.08)


def test_false_alarms_are_as_many_as_promised():
    rng, found = np.random.default_rng(11), 0
    groups = np.repeat(np.arange(len(SIZES)), SIZES)
    for trial in range(60):
        units = Units.from_arrays(np.exp(rng.normal(size=sum(SIZES))), groups)
        found += deal(units, first=199, most=199, seed=trial).axis_p <= 0.05
    assert found <= 8  # of 60 at 5 % more than eight come once in two hundred times


def test_few_units_and_strata_of_a_unit_a_group_are_dealt_one_by_one():
    pool = np.sort(np.random.default_rng(0).normal(size=MANY))
    assert ManyUnits.classify(pool, np.array([MANY]), np.array([[MANY - 9], [9]])) is None
    paired = np.ones((4, 2_000), dtype=np.int64)
    assert ManyUnits.classify(np.zeros(8_000), np.full(2_000, 4), paired) is None
