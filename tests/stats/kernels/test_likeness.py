"""The test by deals against all deals, and its size and limits where the truth is known."""

from itertools import combinations

import numpy as np
import pytest

from evenhand.stats.kernels import Block, compare_blocks, mean_difference


def _kernel(values: np.ndarray) -> np.ndarray:
    return np.exp(-np.abs(np.subtract.outer(values, values)))


def test_p_is_the_share_of_all_deals() -> None:
    rng = np.random.default_rng(0)
    kernels = [_kernel(rng.normal(np.repeat([0.0, 0.8], 2), 1.0)) for _ in range(4)]
    blocks = [Block(kernel, np.repeat([0, 1], 2)) for kernel in kernels]

    def gap(kernel: np.ndarray, first: tuple[int, ...]) -> float:
        second = [i for i in range(4) if i not in first]
        within = (kernel[first[0], first[1]] + kernel[second[0], second[1]]) / 2
        return float(within - np.mean([kernel[i, j] for i in first for j in second]))

    ways = [[gap(kernel, pair) for pair in combinations(range(4), 2)] for kernel in kernels]
    everything = np.add.outer(np.add.outer(np.add.outer(ways[0], ways[1]), ways[2]), ways[3]) / 4
    observed = np.mean([way[0] for way in ways])
    assert mean_difference(blocks, 2) == pytest.approx(observed)
    found = compare_blocks(blocks, 2, seed=1)
    assert found.axis is not None
    exact = float(np.mean(everything >= observed - 1e-10))
    t = found.axis.estimate / (np.std([way[0] for way in ways], ddof=1) / 2)
    from scipy.stats import t as student

    assert found.axis.p == pytest.approx(max(exact, 2 * student.sf(t, 3)), abs=0.03)


def test_blocks_of_one_cluster_count_as_one() -> None:
    rng = np.random.default_rng(2)
    groups = np.repeat([0, 1], 3)
    blocks = [Block(_kernel(rng.normal(groups * 2.0, 1.0)), groups) for _ in range(12)]
    alone = compare_blocks(blocks, 2).axis
    together = compare_blocks(blocks, 2, clusters=np.repeat(np.arange(4), 3)).axis
    assert alone is not None and together is not None
    assert together.estimate == pytest.approx(alone.estimate)  # clusters of equal size
    assert (alone.blocks, together.blocks) == (12, 4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bases", "groups", "samples"), [(10, 2, 2), (10, 2, 5), (20, 4, 3), (60, 3, 2), (12, 6, 4)]
)
def test_size_and_coverage_where_nothing_differs(bases: int, groups: int, samples: int) -> None:
    rng = np.random.default_rng(bases * groups)
    codes = np.repeat(np.arange(groups), samples)
    false, covered, any_group, sets = 0, 0, 0, 150
    for place in range(sets):
        blocks = [Block(_kernel(rng.normal(rng.normal(0, 2), 1.0, len(codes))), codes) for _ in range(bases)]
        found = compare_blocks(blocks, groups, seed=place)
        assert found.axis is not None
        false += found.axis.p <= 0.05 and found.axis.low > 0
        covered += found.axis.low <= 0 <= found.axis.high
        any_group += found.axis.p <= 0.05 and any(
            one is not None and one.p <= 0.05 / groups for one in found.groups
        )
    assert false / sets <= 0.06 + 2 * 0.018
    assert covered / sets >= 0.93 - 2 * 0.018
    assert any_group / sets <= 0.06
