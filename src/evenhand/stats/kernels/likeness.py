"""Compare the similarity within groups with that between groups, in blocks, by permutations and with a CI over blocks.

For two groups, the difference is half of the unbiased squared maximum mean discrepancy. Its expectation is 0 if the
items of a block come from one distribution, whatever their similarity and number.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaln, stdtr, stdtrit

from evenhand.schema import UsageError
from evenhand.stats.arrays import Codes, Floats
from evenhand.stats.power import POWER

FIRST, MOST, ENOUGH = 999, 4_999, 20
"""First and largest number of permutations, and the number of extreme ones that ends the test."""
SCATTER, LARGEST_SCATTER = 0.5, 0.75
"""Assumed variation of a true difference between blocks, for minimum detectable effects.

SCATTER is its variance between blocks divided by its square. LARGEST_SCATTER is the largest share of the total variance
that is attributed to it.
"""
_DIGITS = 10


@dataclass(frozen=True)
class Block:
    """The items of one block (such as the responses to one prompt).

    ``kernel`` is the symmetric matrix of their similarities (items, items), and ``groups`` are their group codes
    (items,).
    """

    kernel: Floats
    groups: Codes


@dataclass(frozen=True)
class SimilarityDifference:
    """A difference of similarities, with a 95% CI over blocks.

    ``p`` is one-sided (the difference is above 0). ``smallest`` is the minimum detectable difference (80% power).
    ``blocks`` is the number of blocks, or of units if blocks share units.
    """

    estimate: float
    low: float
    high: float
    p: float
    smallest: float
    blocks: int


@dataclass(frozen=True)
class Likeness:
    """Similarity of items within and between groups. Result of `compare_blocks`.

    Attributes
    ----------
    within, across : float
        Mean similarity within groups and between groups. Blocks have equal weight.
    blocks : int
        Number of blocks.
    axis : SimilarityDifference or None
        within minus across.
    groups : tuple of SimilarityDifference or None
        For each code, how much less similar the group is to the other groups than these are to each other. None for two
        groups, or if a group is in fewer than two blocks with two other groups.
    obstacle : str or None
        Reason why nothing could be detected. `axis` and `groups` are then None.
    """

    within: float
    across: float
    blocks: int
    axis: SimilarityDifference | None = None
    groups: tuple[SimilarityDifference | None, ...] = ()
    obstacle: str | None = None


def compare_blocks(
    blocks: Sequence[Block],
    n_groups: int,
    *,
    clusters: Codes | None = None,
    level: float = 0.05,
    block: str = "prompt",
    seed: int = 0,
) -> Likeness:
    """Test whether items are more similar within groups than between groups, in blocks that all groups share.

    An example are responses (items) about several groups to the same prompt (block).

    Parameters
    ----------
    blocks : sequence of Block
        Similarities and groups of the items of each block. A group with fewer than two items in a block is left out of
        it. Blocks with fewer than two groups are not used.
    n_groups : int
        Number of groups.
    clusters : numpy.ndarray of int, shape (blocks,), optional
        Equal codes for blocks that count as one sampling unit. Default: each block.
    level : float
        Significance level, for the minimum detectable effect.
    block : str
        Name of a block in messages.
    seed : int
        Random seed.

    Returns
    -------
    Likeness
        Similarity within and between groups, with tests.

    Raises
    ------
    UsageError
        `level` is not between 0 and 1.

    Notes
    -----
    Items are permuted between the groups of a block. p is the larger of the permutation p (exact if all groups have the
    same distribution) and that of Student's t over blocks.

    References
    ----------
    - Gretton et al. 2012, A Kernel Two-Sample Test, section 2.2, eq. 3 (unbiased), halved, across all pairs.

    >>> rng = np.random.default_rng(0)
    >>> group = np.repeat([0, 1], 4)
    >>> blocks = [Block(np.exp(-np.abs(np.subtract.outer(x, x))), group) for x in rng.normal(group * 2, 1, (20, 8))]
    >>> found = compare_blocks(blocks, 2)
    >>> round(found.axis.estimate, 2), found.axis.low > 0, found.axis.p < 0.01
    (0.22, True, True)
    """
    if not 0 < level < 1:
        raise UsageError(f"compare_blocks: level must be between 0 and 1 (usually 0.05), got {level}.")
    codes = np.arange(len(blocks)) if clusters is None else np.asarray(clusters)
    made_parts = (_Part.select(one, n_groups) for one in blocks)
    parts = [(part, code) for part, code in zip(made_parts, codes, strict=True) if part is not None]
    used, of_part = [part for part, _ in parts], np.array([code for _, code in parts], dtype=np.int64)
    if not used:
        why = f"No {block} has at least two responses for each of two groups, so their similarity by chance is unknown."
        return Likeness(float("nan"), float("nan"), 0, obstacle=why)
    within = float(np.mean([part.within for part in used]))
    across = float(np.mean([part.across for part in used]))
    units = np.unique(of_part, return_inverse=True)[1]
    obstacle = _obstacle(used, int(units.max()) + 1, level, block)
    if obstacle is not None:
        return Likeness(within, across, int(units.max()) + 1, obstacle=obstacle)
    # (blocks, 1 + groups), NaN for groups that are not in the block
    observed = np.array([part.contrasts for part in used])
    means, weights = _by_unit(observed, units)
    tested = np.flatnonzero(np.count_nonzero(~np.isnan(means), axis=0) >= 2)
    p = _permutation_p(used, observed, weights, tested, seed)
    made = {
        int(place): _test_difference(means[:, place], float(p[i]), level if place == 0 else level / n_groups)
        for i, place in enumerate(tested)
    }
    # Groups are reported only if the axis is significant. A difference d of one group changes the axis by 2 d / groups.
    if 0 in made:
        least = made[0].smallest * n_groups / 2
        made |= {k: replace(one, smallest=max(one.smallest, least)) for k, one in made.items() if k > 0}
    of_groups = tuple(made.get(1 + code) for code in range(n_groups))
    return Likeness(within, across, len(means), made.get(0), of_groups)


def _by_unit(observed: Floats, units: Codes) -> tuple[Floats, Floats]:
    """Return the means of contrasts over the blocks of each unit (units, contrasts), and weights of blocks.

    The weights (blocks, contrasts) are those of the mean over units, and 0 for a contrast that a block does not have.
    """
    known = ~np.isnan(observed)
    member = (units[:, None] == np.arange(units.max() + 1)).astype(np.float64)
    counts = member.T @ known
    sums = member.T @ np.nan_to_num(observed)
    means = np.divide(sums, counts, out=np.full(counts.shape, np.nan), where=counts > 0)
    share = known / np.maximum(counts[units], 1) / np.maximum((counts > 0).sum(axis=0), 1)
    return np.asarray(means), np.asarray(share)


def mean_difference(blocks: Sequence[Block], n_groups: int, clusters: Codes | None = None) -> float | None:
    """Return the mean similarity within groups minus that between groups; None if no block can be used.

    >>> mean_difference([Block(np.eye(4), np.array([0, 0, 1, 1]))], 2)
    0.0
    """
    codes = np.arange(len(blocks)) if clusters is None else np.asarray(clusters)
    used = [(part.contrasts[:1], code) for part, code in zip((_Part.select(one, n_groups) for one in blocks), codes,
                                                             strict=True) if part]  # fmt: skip
    if not used:
        return None
    units = np.unique([code for _, code in used], return_inverse=True)[1]
    return float(_by_unit(np.array([value for value, _ in used]), units)[0].mean())


@dataclass(frozen=True)
class _Part:
    """A block without groups that have fewer than two items.

    ``member`` (items, present groups) is 1 if the item belongs to the group, otherwise 0.
    """

    kernel: Floats
    member: Floats
    present: Codes
    n_groups: int

    @staticmethod
    def select(block: Block, n_groups: int) -> "_Part | None":
        present = np.flatnonzero(np.bincount(block.groups, minlength=n_groups) >= 2)
        if len(present) < 2:
            return None
        kept = np.flatnonzero(np.isin(block.groups, present))
        member = (block.groups[kept][:, None] == present[None, :]).astype(np.float64)
        return _Part(block.kernel[np.ix_(kept, kept)], member, present, n_groups)

    @property
    def sizes(self) -> Floats:
        return np.asarray(self.member.sum(axis=0))

    def distances(self, member: Floats) -> tuple[Floats, Floats]:
        """Return the similarity within groups (..., groups) and between groups (..., groups, groups).

        `member` has the shape (..., items, groups).
        """
        sums = np.swapaxes(member, -1, -2) @ (self.kernel @ member)
        own = np.swapaxes(member, -1, -2) @ np.diag(self.kernel)
        sizes = self.sizes
        within = (np.diagonal(sums, axis1=-2, axis2=-1) - own) / (sizes * (sizes - 1))
        return np.asarray(within), np.asarray(sums / np.outer(sizes, sizes))

    def compute_contrasts(self, member: Floats) -> Floats:
        """Return the contrasts of the axis and of each group, (..., 1 + n_groups); NaN for groups that are not in the
        block.
        """
        within, between = self.distances(member)
        groups = within.shape[-1]
        apart = (within[..., :, None] + within[..., None, :]) / 2 - between
        off = apart * (1 - np.eye(groups))
        of_group = off.sum(axis=-1)  # (..., groups), sum over the other groups
        total = of_group.sum(axis=-1) / 2  # sum over pairs
        made = np.full((*within.shape[:-1], 1 + self.n_groups), np.nan)
        made[..., 0] = total / (groups * (groups - 1) / 2)
        if groups > 2:
            others = (total[..., None] - of_group) / ((groups - 1) * (groups - 2) / 2)
            made[..., 1 + self.present] = of_group / (groups - 1) - others
        return made

    @property
    def contrasts(self) -> Floats:
        return self.compute_contrasts(self.member)

    @property
    def within(self) -> float:
        return float(self.distances(self.member)[0].mean())

    @property
    def across(self) -> float:
        between = self.distances(self.member)[1]
        return float(between[~np.eye(len(between), dtype=bool)].mean())

    @property
    def log_deals(self) -> float:
        """Return the logarithm of the number of permutations that do more than exchange equally large groups."""
        sizes = self.sizes
        same = np.unique(sizes, return_counts=True)[1]
        return float(gammaln(sizes.sum() + 1) - gammaln(sizes + 1).sum() - gammaln(same + 1).sum())


def _obstacle(parts: Sequence[_Part], units: int, level: float, block: str) -> str | None:
    if units < 2:
        return f"There is only one {block}, so the result does not generalise. At least two are needed."
    if all(np.ptp(part.kernel[~np.eye(len(part.kernel), dtype=bool)]) < 1e-12 for part in parts):
        return "All responses are equally similar, so there is no variation to test."
    fewest = float(np.exp(-sum(part.log_deals for part in parts)))
    if fewest > level:
        return f"With so few responses, p cannot be smaller than {fewest:.2g}, and {level:.2g} is required."
    return None


def _permutation_p(
    parts: Sequence[_Part], observed: Floats, weights: Floats, tested: Codes, seed: int
) -> Floats:
    """Return p (tested,): the share of permutations whose mean over units is at least the observed one.

    The observed arrangement counts as one of the permutations.
    """
    rng = np.random.default_rng(seed)
    weights = weights[:, tested]
    seen = np.round((np.nan_to_num(observed[:, tested]) * weights).sum(axis=0), _DIGITS)
    exceed, made = np.zeros(len(tested)), 0
    while made < MOST:
        deals = FIRST if made == 0 else min(2_000, MOST - made)
        total = np.zeros((deals, len(tested)))
        for part, weight in zip(parts, weights, strict=True):
            things = len(part.member)
            orders = rng.permuted(np.tile(np.arange(things), (deals, 1)), axis=1)
            total += np.nan_to_num(part.compute_contrasts(part.member[orders])[:, tested]) * weight
        exceed += (np.round(total, _DIGITS) >= seen).sum(axis=0)
        made += deals
        if exceed.min() >= ENOUGH:
            break
    return np.asarray((1 + exceed) / (1 + made))


def _test_difference(values: Floats, dealt: float, level: float) -> SimilarityDifference:
    known = values[~np.isnan(values)]
    freedom = len(known) - 1
    estimate, error = float(known.mean()), float(known.std(ddof=1) / np.sqrt(len(known)))
    if np.ptp(known) < 1e-9:
        # Student's interval would have width 0. Instead, as many blocks as could still differ determine the width
        # (k of k, Clopper & Pearson) and the standard error; p is that of the permutations.
        half = (1 - 0.025 ** (1 / len(known))) * (1 + abs(estimate))
        error, over_blocks = half / float(stdtrit(freedom, 0.975)), 0.0
    else:
        half, over_blocks = float(stdtrit(freedom, 0.975)) * error, 1.0
        if estimate > 0:
            over_blocks = min(1.0, 2 * float(stdtr(freedom, -estimate / error)))
    p = max(dealt, over_blocks)
    low, high = estimate - half, estimate + half
    if p <= 0.05:
        low = max(low, float(np.finfo(np.float64).tiny))
    if p > 0.05:  # the interval must agree with the permutation p
        low = min(low, 0.0)
    return SimilarityDifference(
        estimate, low, max(high, 0.0), p, _smallest(error, len(known), level), len(known)
    )


def _smallest(error: float, blocks: int, level: float) -> float:
    """Return the minimum detectable effect (80% power) if the effect varies between blocks (see SCATTER).

    `error` is the standard error without an effect. An effect that varies increases it.
    """
    wanted = float(stdtrit(blocks - 1, 1 - level / 2) + stdtrit(blocks - 1, POWER))
    scatter = min(SCATTER * wanted**2 / blocks, LARGEST_SCATTER)
    return wanted * error / float(np.sqrt(1 - scatter))
