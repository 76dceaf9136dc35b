"""Find the groups that differ from the common level of their axis, even if several groups are treated worse.

If each group is compared with the mean of the others, a few strongly harmed groups pull that mean. Every other
group then seems to be treated better. Here, a group is compared with the groups that have a common level.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from evenhand.schema import UsageError, checked
from evenhand.stats.arrays import Flags, Floats, call_back, require_same_length
from evenhand.stats.multiplicity import benjamini_hochberg

LEVEL = 0.05
LEANING = 0.20
"""Reference groups with a smaller p than this count as leaning above or below the others.

A group is reported as different in one direction only if this also holds without the reference groups that lean in the
opposite direction.
"""
NO_COMMON_LEVEL = (
    "About as many groups differ from each other as do not. There is therefore no common level with which this group "
    "could be compared."
)
_STEPS = 25


class GroupComparison(Protocol):
    """What a function that compares groups with a reference must return: estimates and p, each of shape (groups,)."""

    @property
    def estimate(self) -> Floats:
        """Return the difference of each group from the reference, shape (groups,)."""

    @property
    def p(self) -> Floats:
        """Return the two-sided p-values of these differences, shape (groups,)."""


@dataclass(frozen=True)
class CommonLevel:
    """The groups that have a common level, and a p-value of each group's difference from it.

    Result of `find_common_level`.

    Attributes
    ----------
    reference : numpy.ndarray of bool, shape (groups,)
        True for groups at the common level. All are True if there is none.
    p : numpy.ndarray, shape (groups,)
        Two-sided p of each group against the mean of the other reference groups. If some of these lean to the opposite
        side (p < 0.20), it is the larger of two p-values: with these groups in the reference, and without them.
    exists : bool
        True if more than half of the groups have a common level. If not, report no single group as different.
    """

    reference: Flags
    p: Floats
    exists: bool


@checked
def reference_contrasts(reference: Flags) -> Floats:
    """Return the contrasts of each group with the mean of the reference groups.

    Use it in the `compare` argument of `find_common_level`. A group is never part of its own reference.

    Parameters
    ----------
    reference : numpy.ndarray of bool, shape (groups,)
        Whether a group belongs to the reference.

    Returns
    -------
    numpy.ndarray, shape (groups, groups)
        One contrast per row: its product with the group means is group minus reference. A row is all 0 if its group is
        the only reference group, because no group remains for the comparison.

    Examples
    --------
    >>> reference_contrasts(np.array([False, True, True])).tolist()
    [[1.0, -0.5, -0.5], [0.0, 1.0, -1.0], [0.0, -1.0, 1.0]]
    """
    require_same_length("reference_contrasts", reference=reference)
    groups = len(reference)
    others = np.tile(reference.astype(float), (groups, 1))
    np.fill_diagonal(others, 0.0)
    count = others.sum(axis=1, keepdims=True)
    contrasts: Floats = np.eye(groups) - np.divide(others, count, out=np.zeros_like(others), where=count > 0)
    contrasts[count[:, 0] == 0] = 0.0
    return contrasts


@checked
def find_common_level(estimates: Floats, compare: Callable[[Flags], GroupComparison]) -> CommonLevel:
    """Find the groups that have a common level, and test how each group differs from it.

    Use it if a test has shown that the groups differ. Do not compare each group with the mean of all others: a few
    strongly harmed groups shift this mean, so that all other groups seem to be treated better.

    Parameters
    ----------
    estimates : numpy.ndarray, shape (groups,)
        Estimates of three or more groups, in any unit, none of them missing.
    compare : callable
        Compares each group with the mean of the reference groups, excluding the group itself. It takes an array of bool
        (groups,) that marks the reference. It returns an object with `estimate` and two-sided `p`, each (groups,).

    Returns
    -------
    CommonLevel
        The reference groups, p of each group, and whether a common level exists.

    Notes
    -----
    With three groups, the reference is all of them. If the group differs from each of the others on the same side at
    .05, p is that of the comparison with both. Otherwise it is the largest of these p-values, or 1 if the group is
    between the others.

    With four or more groups, the search starts from the shortest half of the estimates: the half that is closest
    together. It finds groups that differ by Benjamini-Hochberg at .05. The remaining groups are the new reference. This
    repeats until the set no longer changes.

    The procedure was simulated for this use (docs/evidence/verdicts.md). Explanation: docs/explanation/verdicts.md.

    References
    ----------
    - Rousseeuw & Leroy 1988: the shortest half.
    - Benjamini & Hochberg 1995.

    Examples
    --------
    >>> from evenhand.stats.cluster_means import t_inference
    >>> x = np.array([2.2, 2.1, 2.3, 2.0, 0.05, -0.1, 0.12, -0.2, 0, 0.15, -0.05, 0.08, -0.6])
    >>> def compare(reference):
    ...     contrasts = reference_contrasts(reference)
    ...     return t_inference(contrasts @ x, 0.1 * np.sqrt((contrasts**2).sum(axis=1)), np.full(13, 40))
    >>> find_common_level(x, compare).reference.astype(int).tolist()
    [0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0]
    """
    require_same_length("find_common_level", estimates=estimates)
    groups = len(estimates)
    if groups < 3 or np.isnan(estimates).any():
        raise UsageError(
            f"find_common_level: estimates must contain at least three groups and no NaN, got {groups} groups, "
            f"{np.isnan(estimates).sum()} of them NaN.",
            "Give estimates of more groups, and leave missing ones out.",
        )
    compare = partial(_check_compared, compare)
    everyone = np.ones(groups, dtype=bool)
    if groups == 3:
        return CommonLevel(everyone, _p_of_three(compare), True)
    reference, settled = shortest_half(estimates), False
    seen: list[Flags] = []
    for _ in range(_STEPS):
        unnamed = benjamini_hochberg(_guarded_p(compare, reference)) > LEVEL
        if np.array_equal(unnamed, reference):
            settled = True
            break
        if unnamed.sum() < 2 or any(np.array_equal(unnamed, old) for old in seen):
            break
        seen.append(reference)
        reference = unnamed
    p = _guarded_p(compare, reference)
    named = benjamini_hochberg(p) <= LEVEL
    by_all = benjamini_hochberg(compare(everyone).p) <= LEVEL
    exists = settled and 2 * int(reference.sum()) > groups and bool(named.any() or not by_all.any())
    return CommonLevel(reference, p, True) if exists else CommonLevel(everyone, p, False)


def _check_compared(compare: Callable[[Flags], GroupComparison], reference: Flags) -> GroupComparison:
    """Return the comparison by the user's function; UsageError unless it has numbers for each group."""
    found: GroupComparison = call_back("find_common_level", "compare", compare, reference)
    for name in ("estimate", "p"):
        if np.shape(getattr(found, name, ())) != reference.shape:
            raise UsageError(
                f"find_common_level: compare returned {type(found).__name__}, which has no {name} of shape "
                f"{reference.shape}.",
                "Return an object with estimate and p, such as the result of t_inference.",
            )
    return found


def detectable_factor(groups: int) -> float:
    """Return the factor by which requiring a common level increases the minimum detectable effect of one group.

    The search for reference groups costs power. At the effect that a comparison with all other groups detects with 80%
    power, it has 67% with three groups, 72% with six, 74% with ten, and 72% with 32 (simulated by
    `perf/common_level.py`). The factor was fitted to these numbers. It is 1 for two groups.

    >>> [round(detectable_factor(groups), 2) for groups in (2, 3, 6, 32)]
    [1.0, 1.12, 1.06, 1.01]
    """
    return 1.0 if groups < 3 else 1 + 0.35 / groups


def shortest_half(estimates: Floats) -> Flags:
    """Return a mask (n,) of the n // 2 + 1 estimates that are closest together.

    >>> shortest_half(np.array([5.0, 0.1, 0.0, 0.2])).tolist()
    [False, True, True, True]
    """
    size = len(estimates) // 2 + 1
    order = np.argsort(estimates, kind="stable")
    ordered = estimates[order]
    start = int(np.argmin(ordered[size - 1 :] - ordered[: len(estimates) - size + 1]))
    half = np.zeros(len(estimates), dtype=bool)
    half[order[start : start + size]] = True
    return half


def _guarded_p(compare: Callable[[Flags], GroupComparison], reference: Flags) -> Floats:
    """Return p of each group against the reference; harmed groups within the reference cannot make p smaller.

    For a group above the reference, p is the larger of two: with all reference groups, and without those that lean
    below (p < LEANING). For a group below it, the reverse. Otherwise, harmed groups that are not significant by
    themselves would shift the reference, and the remaining groups would seem to be treated better.
    """
    found = compare(reference)
    p: Floats = np.array(found.p)
    side = np.sign(found.estimate)
    for claimed in (-1, 1):
        core = reference & ~((side == -claimed) & (found.p < LEANING))
        if core.sum() < 2 or np.array_equal(core, reference):
            continue
        again = compare(core)
        without = np.where(np.sign(again.estimate) == side, again.p, 1.0)
        p = np.where(side == claimed, np.maximum(p, without), p)
    return p


def _p_of_three(compare: Callable[[Flags], GroupComparison]) -> Floats:
    """Return p of each of three groups, by the rule in the Notes of `find_common_level`."""
    alone = [compare(np.eye(3, dtype=bool)[other]) for other in range(3)]
    result: Floats = np.array(compare(np.ones(3, dtype=bool)).p)
    for group in range(3):
        others = [alone[other] for other in range(3) if other != group]
        largest = max(float(found.p[group]) for found in others)
        one_side = len({float(np.sign(found.estimate[group])) for found in others}) == 1
        if not one_side or largest > LEVEL:
            result[group] = max(result[group], largest if one_side else 1.0)
    return result
