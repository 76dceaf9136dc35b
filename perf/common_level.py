"""Test which groups an axis names if 0 to 90% of them are harmed, compared with
all others or the common level.

    python perf/common_level.py                  # About 10 minutes on one core: perf/results/common_level.json.
    python perf/common_level.py --sets 40

Rates: prompts with five samples each (ICC .3, 15 % negative; beta-binomial), harmed groups 30 points above.
Likelihoods: 12 pairs of templates with two separate nouns each, harmed descriptors 2 nats below. "Better" is the
share of unharmed groups that are named better. Where most groups are harmed, the harmed ones are the common level.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from evenhand.stats import benjamini_hochberg
from evenhand.stats.contrasts import moderated_shifts
from evenhand.stats.disparity import Units, compare_units, compare_with_others

RESULTS = Path(__file__).with_name("results") / "common_level.json"
RATES = {f"10 groups, {harmed} harmed": (10, 30, harmed) for harmed in (0, 1, 2, 3, 4, 5, 7, 9)}
RATES |= {f"32 groups, {harmed} harmed": (32, 20, harmed) for harmed in (0, 4, 10, 16, 28)}
RATES |= {
    "3 groups, 0 harmed": (3, 30, 0),
    "3 groups, 1 harmed": (3, 30, 1),
    "5 groups, 2 harmed": (5, 30, 2),
}
SHIFTS = {f"32 descriptors, {harmed} harmed": (32, harmed) for harmed in (0, 4, 8, 12, 16, 28)}


def draw_units(rng, groups, prompts, harmed, added=0.30, base=0.15, icc=0.3):
    """Units of one axis: prompts whose rate is drawn from a beta distribution, five samples each."""
    rate = np.repeat(base + added * (np.arange(groups) < harmed), prompts)
    size = (1 - icc) / icc
    chance = rng.beta(rate * size, (1 - rate) * size)
    return Units.from_arrays(
        rng.binomial(5, chance) / 5, np.repeat(np.arange(groups), prompts), samples=np.full(len(rate), 5.0)
    )


def sides(found, level=0.05):
    """-1, 0 or 1 for each group: below, not named, above."""
    if found.obstacle is not None or found.differences is None or any(found.obstacles):
        return np.zeros(len(found.rates), dtype=int)
    q = np.maximum(benjamini_hochberg(found.differences.p), found.axis_p)
    return np.where(q <= level, np.sign(found.differences.estimate), 0).astype(int)


def count(named, harmed):
    """Share of the unharmed named better, of the harmed named worse, whether any name is false."""
    better = float((named[harmed:] < 0).mean())
    power = float((named[:harmed] > 0).mean()) if harmed else float("nan")
    return better, power, bool((named[harmed:] != 0).any() or (named[:harmed] < 0).any())


def rates(sets, seed):
    """Each design: others named better, power, any false name; today's comparison and the common level."""
    rows = {}
    for name, (groups, prompts, harmed) in RATES.items():
        rng = np.random.default_rng(seed)
        old, new, none = [], [], 0
        for _ in range(sets):
            units = draw_units(rng, groups, prompts, harmed)
            old.append(count(sides(compare_with_others(units)), harmed))
            found = compare_units(units)
            new.append(count(sides(found), harmed))
            none += any(found.obstacles)
        rows[name] = summary(old, new, none / sets)
        print(name, rows[name], flush=True)
    return rows


def shifts(sets, seed):
    """The same of likelihoods: descriptors' shifts over pairs of templates."""
    rows = {}
    for name, (descriptors, harmed) in SHIFTS.items():
        rng = np.random.default_rng(seed)
        old, new, none = [], [], 0
        for _ in range(sets):
            values = 0.3 * rng.normal(size=(12, 1, descriptors)) + 0.3 * rng.normal(size=(12, 2, descriptors))
            values = values - 2.0 * (np.arange(descriptors) < harmed)
            for kept, common in ((old, False), (new, True)):
                found = moderated_shifts(values, own_nouns=True, margin=0.1, level=0.05, common_level=common)
                q = np.maximum(benjamini_hochberg(found.p), found.axis_p)
                named = np.where(q <= 0.05, -np.sign(found.shift), 0)
                kept.append(count(named if found.has_common_level else 0 * named, harmed))
            none += not found.has_common_level
        rows[name] = summary(old, new, none / sets)
        print(name, rows[name], flush=True)
    return rows


def summary(old, new, none):
    """Means of both, in shares."""
    parts = {}
    for title, kept in (("all_others", old), ("common_level", new)):
        better, power, false = np.array(kept, dtype=float).T
        parts[title] = {"better": round(float(better.mean()), 3), "any_false": round(float(false.mean()), 3)}
        if not np.isnan(power).all():
            parts[title]["power"] = round(float(np.nanmean(power)), 3)
    return parts | {"no_common_level": round(none, 3)}


def main() -> None:
    """Simulate both kinds and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rows = {"rates": rates(given.sets, given.seed), "likelihoods": shifts(given.sets, given.seed)}
    RESULTS.write_text(json.dumps({"sets": given.sets} | rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
