"""q over the measures of a sentence, and effects that the corrected test detects with 80% power."""

import numpy as np
import pytest
from scipy import stats

from evenhand.stats import holm
from evenhand.studies.names.detection import holm_q, mde_factor, rescale_mde


def test_measures_without_p_are_not_counted() -> None:
    found = holm_q({"a": 0.01, "b": None, "c": 0.04, "d": 0.02})
    assert found == dict(zip("acd", holm([0.01, 0.04, 0.02]), strict=True))
    assert holm_q({"a": None}) == {} and holm_q({}) == {}


def test_any_false_detection_has_the_stated_probability() -> None:
    p = np.random.default_rng(0).random((20_000, 4))
    assert np.mean(p.min(axis=1) <= 0.05) > 0.15
    assert np.mean([min(holm_q(dict(enumerate(row))).values()) <= 0.05 for row in p[:4_000]]) < 0.06  # type: ignore[arg-type]


@pytest.mark.parametrize("freedom", [2.5, 6, 14.3, 78, 2_000])
@pytest.mark.parametrize("stated", [0.05, 0.025])
def test_the_effect_at_another_level_is_that_of_the_same_t_test(freedom: float, stated: float) -> None:
    t, error = stats.t(freedom), 1.7

    def effect(level: float) -> float:
        return float((t.ppf(1 - level / 2) + t.ppf(0.8)) * error)

    row = {
        "low": 1 - t.ppf(0.975) * error,
        "high": 1 + t.ppf(0.975) * error,
        "minimum_detectable": effect(stated),
    }
    assert rescale_mde(0.0125, row, stated) == pytest.approx(effect(0.0125), rel=0.01)
    assert rescale_mde(0.0125, row | {"low": None}, stated) == effect(stated)


def test_few_names_need_a_much_larger_effect() -> None:
    factors = [mde_factor(0.0125, 0.025, names) for names in (2, 4, 20, 200)]
    assert factors == sorted(factors, reverse=True) and 1.08 < factors[-1] < 1.09 and factors[0] > 1.3
