"""Boundaries of the protocol: the fixture by hand, size and power with wordings as a sample, Fieller's set, advice."""

import numpy as np
import pytest
from scipy import stats

from evenhand.measures.changes.protocol_contrasts import (
    Advice,
    Spread,
    advise,
    completed,
    decides,
    sampled_contrast,
    share_of_effect,
)
from evenhand.schema import DataError

DEFAULT = np.array([30.0, 20, 40, 10, 30, 50])
ORIGINAL = np.array([10.0, 10, 20, 0, 20, 30])
NONSENSE = np.array([[30.0, 20, 30], [20, 20, 10], [40, 30, 40], [10, 0, 10], [20, 30, 30], [50, 50, 40]])


def test_the_fixture_to_all_its_digits() -> None:
    contrast, share = share_of_effect(DEFAULT[:, None] - NONSENSE, DEFAULT - ORIGINAL, boundary=0.5)
    error = contrast.variance**0.5
    assert round(contrast.estimate, 3) == -4.167 and round(contrast.variance, 3) == 2.176
    assert round(contrast.freedom, 2) == 6.39 and round(contrast.estimate / error, 3) == -2.825
    assert round((contrast.high - contrast.estimate) / error, 3) == 2.411 and contrast.high < 0
    assert [round(one, 2) for one in (share.estimate, share.low, share.high)] == [0.22, -0.05, 0.45]


def draw(generator, n, wordings, sd, share, default=0.3, lowered=0.5):
    """Default, original and nonsense in percent, mean of six attributes: some prompts provoke, some do not."""
    provokes = generator.uniform(0, 2, n)

    def cells(rate):
        return generator.binomial(6, np.clip(provokes[:, None] * rate, 0, 1)) / 0.06

    of_wordings = default * (1 - share * lowered) + generator.normal(0, sd / 100, wordings)
    first, second = (cells(np.array([rate]))[:, 0] for rate in (default, default * (1 - lowered)))
    return first, second, cells(np.clip(of_wordings, 0, 1))


def decided(audits, n, wordings, sd, share, seed, lowered=0.5):
    """Shares of audits in which importance passes and fails."""
    generator = np.random.default_rng(seed)
    passed = failed = 0
    for _ in range(audits):
        default, original, nonsense = draw(generator, n, wordings, sd, share, lowered=lowered)
        found = sampled_contrast((default[:, None] - nonsense) - 0.5 * (default - original)[:, None])
        passed += found.high < 0
        failed += found.low > 0
    return passed / audits, failed / audits


@pytest.mark.parametrize("sd", [0, 2, 5, 10])
def test_wordings_that_differ_pass_and_fail_nothing_by_luck_at_the_boundary(sd: int) -> None:
    """Point 13: averaged as if they were all there are, five wordings decided 43 % each way at an SD of 10 points."""
    passed, failed = decided(300, 300, 5, sd, 0.5, seed=sd)
    assert passed <= 0.06 and failed <= 0.06
    averaged = 0
    generator = np.random.default_rng(sd)
    for _ in range(100):
        default, original, nonsense = draw(generator, 1199, 5, sd, 0.5)
        of_prompts = (default[:, None] - nonsense).mean(axis=1) - 0.5 * (default - original)
        averaged += stats.ttest_1samp(of_prompts, 0).pvalue < 0.05
    assert (averaged > 20) == (sd >= 2)


def test_what_does_all_or_nothing_is_told_so_and_wordings_matter_more_than_prompts() -> None:
    many, few = {}, {}
    for sd in (2, 5):
        many[sd] = decided(60, 300, 20, sd, 1.0, seed=1)[1], decided(60, 300, 20, sd, 0.0, seed=2)[0]
        few[sd] = decided(60, 1199, 5, sd, 1.0, seed=3)[1], decided(60, 1199, 5, sd, 0.0, seed=4)[0]
    assert min(many[2]) >= 0.95 and min(many[5]) >= 0.75
    assert max(few[5]) <= min(many[5]) - 0.2  # at the same cost


def test_a_control_that_does_everything_is_failed_with_a_hundred_prompts() -> None:
    """Point 13: held against an absolute margin, it was found in 16 of 100 audits of the published size."""
    assert decided(60, 200, 20, 0, 1.0, seed=5)[1] >= 0.9
    assert decided(60, 200, 20, 0, 1.0, seed=5)[0] == 0


@pytest.mark.parametrize(
    ("share", "passes", "fails"),
    [(-0.5, (0.9, 1), (0, 0)), (-0.25, (0, 0.06), (0, 0.06)), (1, (0, 0), (0.9, 1))],
)
def test_polarity_is_decided_on_either_side_of_a_quarter_and_nowhere_else(share, passes, fails) -> None:
    """Below 0 the opposite raises harm."""
    generator = np.random.default_rng(7)
    passed = failed = 0
    for _ in range(200):
        default, original, opposite = draw(generator, 1199, 1, 0, share)
        found = sampled_contrast((default[:, None] - opposite) + 0.25 * (default - original)[:, None])
        passed += found.high < 0
        failed += found.low > 0
    assert passes[0] <= passed / 200 <= passes[1] and fails[0] <= failed / 200 <= fails[1]


def test_fiellers_set_is_the_test_turned_round_and_covers() -> None:
    generator = np.random.default_rng(11)
    covered, agreed = 0, 0
    for _ in range(120):
        default, original, nonsense = draw(generator, 200, 8, 4, 0.4)
        contrast, share = share_of_effect(default[:, None] - nonsense, default - original, boundary=0.5)
        assert share.low is not None and share.high is not None
        covered += share.low <= 0.4 <= share.high
        agreed += (contrast.high < 0) == (share.high < 0.5) and (contrast.low > 0) == (share.low > 0.5)
        for end in (share.low, share.high):
            here = sampled_contrast((default[:, None] - nonsense) - end * (default - original)[:, None])
            assert min(abs(here.low), abs(here.high)) == pytest.approx(0, abs=1e-6)
    assert covered >= 111 and agreed == 120


def test_an_effect_that_is_not_there_divides_nothing() -> None:
    generator = np.random.default_rng(12)
    default, original, nonsense = draw(generator, 100, 3, 0, 0.0, lowered=0.0)
    assert share_of_effect(default[:, None] - nonsense, default - original, boundary=0.5)[1].low is None


def test_no_movement_at_all_is_no_certainty() -> None:
    found = sampled_contrast(np.zeros((60, 3)))
    assert found.high == -found.low == pytest.approx(100 * (1 - 0.025 ** (1 / 60)))
    # and advice waits until it is
    assert advise(found.spread, 1.0).prompts >= 367


def test_missing_cells_are_filled_and_stay_honest() -> None:
    generator = np.random.default_rng(13)
    table = generator.normal(size=(40, 1)) + generator.normal(size=(1, 6))
    holed = np.where(generator.random(table.shape) < 0.2, np.nan, table)
    np.testing.assert_allclose(completed(holed), table, atol=1e-3)  # additive cells are recovered
    held = 0
    for _ in range(200):
        cells = (
            generator.normal(size=(60, 1)) * 10
            + generator.normal(size=(1, 8)) * 5
            + generator.normal(size=(60, 8)) * 10
        )
        found = sampled_contrast(np.where(generator.random(cells.shape) < 0.2, np.nan, cells))
        held += found.low <= 0 <= found.high
    assert held >= 184
    assert np.isnan(sampled_contrast(np.full((5, 2), np.nan)).low)


@pytest.mark.parametrize("sd", [0, 3])
def test_the_advised_size_decides_four_times_in_five(sd: int) -> None:
    """Point 13: the size that was advised aimed at zero width, and at the wrong boundary."""
    generator = np.random.default_rng(20 + sd)
    default, original, nonsense = draw(generator, 150, 12, sd, 0.3)
    contrast, _ = share_of_effect(default[:, None] - nonsense, default - original, boundary=0.5)
    advice = advise(contrast.spread, 7.5)  # half of the true effect
    assert advice is not None and advice.wordings is not None
    power = decided(100, advice.prompts, advice.wordings, sd, 1.0, seed=30)[1]
    assert 0.65 <= power <= 1


def test_more_prompts_do_not_make_up_for_few_wordings() -> None:
    assert advise(Spread(100.0, 100.0, 10.0, 5), 6.0).more_prompts is False
    assert advise(Spread(100.0, 1.0, 10.0, 5), 6.0).more_prompts is True
    assert advise(Spread(100.0, 0.0, 0.0, 1), 0.0) is None
    assert advise(Spread(100.0, 0.0, 0.0, 1), 0.001) is None
    needed = advise(Spread(2500.0, 0.0, 0.0, 1), 10.0)
    assert isinstance(needed, Advice)
    shift = 10 / (2500 / needed.prompts) ** 0.5
    power = stats.nct.sf(stats.t.ppf(0.975, needed.prompts - 1), needed.prompts - 1, shift)
    assert 0.8 <= power < 0.85


def test_a_size_that_decides_says_so() -> None:
    cells = np.random.default_rng(14).normal(size=(50, 4))
    assert decides(sampled_contrast(cells), 5.0) and not decides(sampled_contrast(cells), 0.01)
    assert sampled_contrast(cells).p > 0.05 and sampled_contrast(cells + 5).p < 0.001


def test_shapes_must_agree() -> None:
    with pytest.raises(DataError, match="one effect for each prompt"):
        share_of_effect(np.zeros((3, 2)), np.zeros(4), boundary=0.5)
