"""Size and power where groups have unequal numbers of prompts, or prompts that scatter unequally.

    python perf/unequal_groups.py                # About 20 minutes on one core: perf/results/unequal_groups.json.
    python perf/unequal_groups.py --sets 40 --only 10/10/10

Three procedures on the same tables: a permutation of prompts (which assumes that prompts scatter alike in all groups),
limits that allow for any clustering in a group that does not show its own, and evenhand's, which weighs both by group.
Prompts are beta-distributed, and ICC 1 means that all samples of a prompt are the same. "False" is the share of tables
without any difference in which a group is named; "power" the share in which the harmed group is named.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from evenhand.stats import benjamini_hochberg, simes
from evenhand.stats.disparity import (
    Units,
    calibrated_differences,
    combine_by_cauchy,
    compare_with_others,
    deal,
)
from evenhand.stats.disparity.deals import leave_one_out
from evenhand.stats.disparity.differences import inverted_differences
from evenhand.stats.disparity.limits import GroupLimits

RESULTS = Path(__file__).with_name("results") / "unequal_groups.json"
WIDE = [3, 5, 8, 12, 20, 30, 50, 80, 120, 200]


def one(groups, harmed, others):
    """Rates of groups, the first harmed."""
    return [harmed] + [others] * (groups - 1)


# prompts, rates, ICCs, samples; a design without a harmed group has equal rates
DESIGNS = {
    "10 x 20, 15 %": ([20] * 10, [0.15] * 10, [0.2] * 10, 5),
    "10 x 20, 2 %": ([20] * 10, [0.02] * 10, [0.2] * 10, 5),
    "10 x 20, 50 %": ([20] * 10, [0.5] * 10, [0.2] * 10, 5),
    "3 to 200, 15 %": (WIDE, [0.15] * 10, [0.2] * 10, 5),
    "2 x 15, one with ICC 1": ([15, 15], [0.15] * 2, [1, 0.05], 5),
    "2 x 15, one with ICC 1, 25 samples": ([15, 15], [0.15] * 2, [1, 0.05], 25),
    "10 x 15, one with ICC 1": ([15] * 10, [0.15] * 10, [1] + [0.05] * 9, 5),
    "10 x 15, one with ICC 1, 25 samples": ([15] * 10, [0.15] * 10, [1] + [0.05] * 9, 25),
    "5 and 100, ICC .6 and .05": ([5, 100], [0.15] * 2, [0.6, 0.05], 5),
    "5 and 100, ICC .6 and .05, 50 %": ([5, 100], [0.5] * 2, [0.6, 0.05], 5),
    "5 and 100, ICC .6 and .05, 25 samples": ([5, 100], [0.15] * 2, [0.6, 0.05], 25),
    "10/10/10/200, ICC .6 in the small": ([10, 10, 10, 200], [0.15] * 4, [0.6] * 3 + [0.05], 5),
    "3 to 200, ICC .6 in the smallest three": (WIDE, [0.15] * 10, [0.6] * 3 + [0.05] * 7, 5),
    "10/10/10/10, one 55 %": ([10] * 4, one(4, 0.55, 0.15), [0.2] * 4, 5),
    "10/10/10/19, one 55 %": ([10, 10, 10, 19], one(4, 0.55, 0.15), [0.2] * 4, 5),
    "10/10/10/20, one 55 %": ([10, 10, 10, 20], one(4, 0.55, 0.15), [0.2] * 4, 5),
    "10/10/10/200, one 55 %": ([10, 10, 10, 200], one(4, 0.55, 0.15), [0.2] * 4, 5),
    "3 to 200, the group of 12 at 50 %": (WIDE, [0.15] * 3 + [0.5] + [0.15] * 6, [0.2] * 10, 5),
    "10 x 20, one 40 %": ([20] * 10, one(10, 0.4, 0.15), [0.2] * 10, 5),
    "10 x 20, one 15 %, others 2 %": ([20] * 10, one(10, 0.15, 0.02), [0.2] * 10, 5),
    "10 x 20, one 35 %, 25 samples": ([20] * 10, one(10, 0.35, 0.15), [0.2] * 10, 25),
    "40 x 5, one 70 %": ([5] * 40, one(40, 0.7, 0.15), [0.2] * 40, 5),
    "5 and 100, the small at 60 %": ([5, 100], [0.6, 0.15], [0.2] * 2, 5),
    "2 x 15, 45 and 15 %": ([15, 15], [0.45, 0.15], [0.2] * 2, 5),
    "2 x 15, 20 and 0.5 %, 25 samples": ([15, 15], [0.2, 0.005], [0.2] * 2, 25),
}


def draw(rng, prompts, rates, correlations, samples):
    """Units of one axis."""
    groups = np.repeat(np.arange(len(prompts)), prompts)
    rate, icc = np.asarray(rates, dtype=float)[groups], np.asarray(correlations, dtype=float)[groups]
    strength = 1 / np.minimum(icc, 0.99) - 1
    chance = rng.beta(np.maximum(rate * strength, 1e-9), np.maximum((1 - rate) * strength, 1e-9))
    chance = np.where(icc >= 1, (rng.random(len(groups)) < rate).astype(float), chance)
    counts = np.full(len(groups), float(samples))
    return Units.from_arrays(rng.binomial(samples, chance) / samples, groups, samples=counts, shares=True)


def named(p, axis_p):
    """Which groups are named at .05."""
    return np.maximum(benjamini_hochberg(p), axis_p) <= 0.05


def three(units, seed):
    """Return the groups that each procedure names."""
    nobody = np.zeros(units.n_groups, dtype=bool)
    found = compare_with_others(units, seed=seed)
    if found.obstacle is not None or found.differences is None:
        return nobody, nobody, nobody
    limits, contrasts = GroupLimits.estimate(units), leave_one_out(units.n_groups)
    test = deal(units, variances=False, most=999, seed=seed)
    permuted = calibrated_differences(replace(limits, supports=None), contrasts, test)
    alone = inverted_differences(contrasts @ limits.means, *limits.supports.widths(contrasts))
    whole = max(limits.supports.p_of_equal_rates(), test.axis_p)
    axes = [max(test.axis_p, permuted.p.max()), alone.p.max()]
    if units.n_groups > 2:
        axes = [test.axis_p, combine_by_cauchy([simes(alone.p), whole])]
    return (
        named(permuted.p, axes[0]),
        named(alone.p, axes[1]),
        named(found.differences.p, found.axis_p),
    )


def main() -> None:
    """Try the designs and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    rows = {}
    for name, design in DESIGNS.items():
        if given.only not in name:
            continue
        rng = np.random.default_rng(given.seed)
        rates = np.array(design[1])
        harmed = int(np.argmax(np.abs(rates - np.median(rates)))) if np.ptp(rates) else None
        counted = []
        for number in range(given.sets):
            sides = three(draw(rng, *design), number)
            counted.append([side.any() if harmed is None else side[harmed] for side in sides])
        shares = np.mean(counted, axis=0).round(3)
        kind = "false" if harmed is None else "power"
        rows[name] = {"kind": kind} | dict(
            zip(("permutation", "any clustering", "evenhand"), map(float, shares), strict=True)
        )
        print(f"{name:42}", rows[name], flush=True)
    if not given.only:
        RESULTS.write_text(json.dumps({"sets": given.sets, "designs": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
