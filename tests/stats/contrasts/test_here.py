"""In these sentences: nouns sampled, contrasts fixed; and why that is not sentences like these."""

import numpy as np
import pytest

from evenhand.stats.contrasts import moderated_shifts, shifts_in_these_sentences


@pytest.mark.parametrize(("own", "noun_sd"), [(True, None), (False, 0.3)])
def test_coverage_for_fixed_contrasts(own, noun_sd):
    rng = np.random.default_rng(0)
    inside = []
    fixed = rng.normal(0, 0.3, (5, 1, 16))
    truth = (fixed - fixed.mean(axis=2, keepdims=True)).mean(axis=(0, 1)) * 16 / 15
    for _ in range(80):
        quiet = 0.3 * rng.standard_t(5, size=(5, 6, 16))
        if noun_sd is not None:
            quiet = quiet + noun_sd * rng.normal(size=(1, 6, 16))
        found = shifts_in_these_sentences(fixed + quiet, own_nouns=own)
        inside.append((found.low <= truth) & (truth <= found.high))
    assert 0.92 <= np.mean(inside) <= 0.99


def test_oddities_of_single_contrasts_hold_here_and_do_not_carry_over():
    rng = np.random.default_rng(1)
    here, like = [], []
    for _ in range(20):
        values = rng.normal(0, 0.6, (5, 1, 16)) + 0.02 * rng.normal(size=(5, 6, 16))
        here.append((shifts_in_these_sentences(values, own_nouns=True, margin=0.22).p < 0.01).mean())
        like.append(
            moderated_shifts(values, own_nouns=True, margin=0.22, level=0.05 / 13).axis_p <= 0.05 / 13
        )
    assert np.mean(here) > 0.2 and np.mean(like) < 0.1


def test_one_noun_has_no_interval():
    found = shifts_in_these_sentences(np.random.default_rng(2).normal(size=(5, 1, 4)), own_nouns=True)
    assert np.isfinite(found.estimate).all() and np.isnan(found.low).all()
