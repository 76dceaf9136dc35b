"""Size, power and coverage of the test for interactions of two group columns, next to an F test that ignores people.

    python perf/interactions.py                     # About 6 minutes on one core: perf/results/interactions.json.
    python perf/interactions.py --sets 100

Each design is drawn without an interaction (both columns have effects), and with one combination that departs
by the table's minimum detectable effect. For comparison, ordinary least squares on rows tests the same tables.
Designs: 2 x 2 to 6 x 8 groups; one answer a person or several; people in one combination or in all; rare events;
combinations of unequal size; numbers.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from scipy import stats

from evenhand.stats import PairTable

RESULTS = Path(__file__).with_name("results") / "interactions.json"

# shape, people in each combination, answers of each, crossed, lowest and highest rate (None: numbers), SD of people
DESIGNS = {
    "2 x 2, 60 people": ((2, 2), (60,), 1, False, (0.1, 0.5), 0.0),
    "2 x 2, 15 people x 5": ((2, 2), (15,), 5, False, (0.1, 0.5), 0.2),
    "2 x 2, rare (1-5 %), 100 people": ((2, 2), (100,), 1, False, (0.01, 0.05), 0.0),
    "2 x 2, rare (1-5 %), 20 people": ((2, 2), (20,), 1, False, (0.01, 0.05), 0.0),
    "2 x 2, rates 90-99 %, 100 people": ((2, 2), (100,), 1, False, (0.90, 0.99), 0.0),
    "2 x 2, crossed, 10 people": ((2, 2), (10,), 1, True, (0.2, 0.6), 0.2),
    "2 x 2, crossed, 40 people": ((2, 2), (40,), 1, True, (0.2, 0.6), 0.2),
    "2 x 4, 5-200 people x 3": ((2, 4), (5, 200, 20, 60), 3, False, (0.1, 0.5), 0.15),
    "3 x 5, 30 people": ((3, 5), (30,), 1, False, (0.1, 0.5), 0.0),
    "3 x 5, 5-200 people": ((3, 5), (5, 200, 12, 80, 40), 1, False, (0.03, 0.38), 0.0),
    "3 x 4, crossed, 30 people": ((3, 4), (30,), 1, True, (0.02, 0.3), 0.1),
    "6 x 8, 20 people x 3": ((6, 8), (20,), 3, False, (0.1, 0.6), 0.15),
    "2 x 3, numbers, 25 people": ((2, 3), (25,), 1, False, None, 0.0),
    "3 x 4, numbers, 5-80 people x 2": ((3, 4), (5, 80, 20, 40), 2, False, None, 0.7),
    "4 x 4, numbers, crossed, 15 people": ((4, 4), (15,), 1, True, None, 0.7),
}


def draw(rng, design, effect=0.0):
    """Values, both columns, person."""
    shape, people, answers, crossed, rates, lean = design
    cells = shape[0] * shape[1]
    first, second = np.divmod(np.arange(cells), shape[1])
    low, high = rates or (0.0, 1.0)
    mean = low + (high - low) * (first / (shape[0] - 1) + second / (shape[1] - 1)) / 2
    mean[cells // 2] += effect
    if crossed:
        who, cell = np.repeat(np.arange(people[0]), cells), np.tile(np.arange(cells), people[0])
    else:
        sizes = np.resize(people, cells)
        who = np.repeat(np.arange(sizes.sum()), answers)
        cell = np.repeat(np.repeat(np.arange(cells), sizes), answers)
    centre = mean[cell] + rng.normal(0, lean, who.max() + 1)[who]
    if rates is None:
        values = centre + rng.normal(size=len(cell))
    else:
        values = (rng.random(len(cell)) < np.clip(centre, 0, 1)).astype(float)
    return values, first[cell], second[cell], who


def naive_p(values, first, second):
    """p of the F test of additivity by ordinary least squares on rows."""
    dummies = [np.eye(code.max() + 1)[code] for code in (first, second)]
    cell = first * (second.max() + 1) + second
    full = values - (np.bincount(cell, values) / np.bincount(cell))[cell]
    design = np.column_stack([dummies[0], dummies[1][:, 1:]])
    rest = values - design @ np.linalg.lstsq(design, values, rcond=None)[0]
    df = (dummies[0].shape[1] - 1) * (dummies[1].shape[1] - 1)
    spare = len(values) - cell.max() - 1
    return stats.f.sf((rest @ rest - full @ full) / df / max(full @ full / spare, 1e-12), df, spare)


def tried(name, design, sets, seed):
    rng = np.random.default_rng(seed)
    is_rate = design[4] is not None
    ours = naive = covered = silent = 0
    smallest = []
    for _ in range(sets):
        data = draw(rng, design)
        table = PairTable(*data, is_rate=is_rate)
        p = table.test().p
        if p is None:
            silent += 1
            continue
        ours += p <= 0.05
        naive += naive_p(*data[:3]) <= 0.05
        largest = table.largest_departure()
        covered += largest.low <= 0 <= largest.high
        smallest.append(table.detectable_departures()[len(table.cells) // 2])
    effect = float(np.median(smallest))
    room = 1.0 - max(design[4]) if is_rate else np.inf
    row = {"size": ours / sets, "size_ignoring_people": naive / sets, "coverage": covered / max(sets - silent, 1),
           "not_measurable": silent / sets, "minimum_detectable": effect}  # fmt: skip
    if effect <= room:
        found = 0
        for _ in range(sets):
            p = PairTable(*draw(rng, design, effect), is_rate=is_rate).test().p
            found += p is not None and p <= 0.05
        row["power_at_mde"] = found / sets
    print(f"{name:38}", {key: round(value, 3) for key, value in row.items()}, flush=True)
    return row


def main() -> None:
    """Try all designs and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rows = {name: tried(name, design, given.sets, given.seed) for name, design in DESIGNS.items()}
    RESULTS.write_text(json.dumps({"sets": given.sets, "designs": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
