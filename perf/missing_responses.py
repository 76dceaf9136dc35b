"""Measure false verdicts if missing responses depend on the outcome, and power if they are missing at random.

    python perf/missing_responses.py             # About 10 minutes on one core: perf/results/missing_responses.json.
    python perf/missing_responses.py --sets 20 --only numbers

"False" is the share of tables without any difference in which a group is named (of changes: in which the groups of the
axis, or the level, are said to have changed). "Power" is the share in which the planted difference is found. Both are
counted without the rule on missing responses, and with it.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import polars as pl

from evenhand.benchmarks.analysis import paired_contrasts
from evenhand.measures import disparity, error_counts, intersections, noun_contrast, score_differences
from evenhand.studies.compare import outcome_changes

RESULTS = Path(__file__).with_name("results") / "missing_responses.json"
REASON = "Missing responses could explain"


def high(lost, above=0.0):
    """In the first group, this share of the outcomes above a number of standard deviations is missing."""
    return lambda rng, place, z: (place == 0) & (z > above) & (rng.random(z.shape) < lost)


def and_high(lost, low, high=None):
    """From `low` to `high` (by prompt) is missing in all groups; of the rest, `lost` of the high ones in the first."""

    def is_missing(rng, place, z):
        base = np.linspace(low, low if high is None else high, len(z))[:, None]
        return rng.random(z.shape) < base + (1 - base) * lost * (place == 0) * (z > 0)

    return is_missing


def at_random(share):
    """The same share is missing in all groups."""
    return lambda rng, place, z: rng.random(z.shape) < share


def nothing(rng, place, z):
    """Nothing is missing."""
    return np.zeros(z.shape, dtype=bool)


def of_all(rng, place, z):
    """60 % of the high outcomes of all groups are missing."""
    return (z > 0) & (rng.random(z.shape) < 0.6)


# kind, (groups, prompts, samples), gap of the first group, what is missing (of changes: before, after)
DESIGNS = {
    "rates, 3 x 60 x 5": ("rates", (3, 60, 5), 0, high(0.6)),
    "rates with known classifier errors, 3 x 60 x 5": ("corrected", (3, 60, 5), 0, high(0.6)),
    "rates, 2 x 400, half missing everywhere": ("rates", (2, 400, 1), 0, and_high(0.6, 0.5)),
    "rates, 8 x 200, 40 % missing everywhere": ("rates", (8, 200, 1), 0, and_high(0.6, 0.4)),
    "numbers, 3 x 60 x 5": ("numbers", (3, 60, 5), 0, high(0.6)),
    "numbers, 3 x 60 x 5, all above 1 SD": ("numbers", (3, 60, 5), 0, high(1.0, 1.0)),
    "numbers, 2 x 100, the highest 5 %": ("numbers", (2, 100, 1), 0, high(1.0, 1.645)),
    "skewed numbers, 3 x 60": ("skewed", (3, 60, 1), 0, high(0.6)),
    "numbers, 2 x 100, nothing missing": ("numbers", (2, 100, 1), 5, nothing),
    "numbers, 2 x 100, 10 % at random": ("numbers", (2, 100, 1), 5, at_random(0.1)),
    "rates, 3 x 60 x 5, nothing missing": ("rates", (3, 60, 5), 0.2, nothing),
    "rates, 3 x 60 x 5, 10 % at random": ("rates", (3, 60, 5), 0.2, at_random(0.1)),
    "two groups in 20 prompts, 10 responses, 0 to 50 % by prompt": (
        "crossed",
        (2, 20, 10),
        0,
        and_high(0.6, 0.0, 0.5),
    ),
    "two groups in 20 prompts, 10 responses, nothing missing": ("crossed", (2, 20, 10), 0.18, nothing),
    "two groups in 20 prompts, 10 responses, 0 to 50 % by prompt only": (
        "crossed",
        (2, 20, 10),
        0.18,
        and_high(0.0, 0.0, 0.5),
    ),
    "male and female nouns, 2 x 12 x 30": ("nouns", (2, 12, 30), 0, high(0.6)),
    "male and female nouns, 2 x 12 x 30, 10 % at random": ("nouns", (2, 12, 30), 0.2, at_random(0.1)),
    "two groups in 10 templates, 40 responses": ("templates", (2, 10, 40), 0, high(0.6)),
    "two groups in 10 templates, 40 responses, 10 % at random": (
        "templates",
        (2, 10, 40),
        0.2,
        at_random(0.1),
    ),
    "two groups in 10 templates, 40 responses, 0 to 50 % by template": (
        "templates",
        (2, 10, 40),
        0,
        and_high(0.6, 0.0, 0.5),
    ),
    "two groups in 10 templates, 40 responses, nothing missing": (
        "same templates",
        (2, 10, 40),
        0.11,
        nothing,
    ),
    "two groups in 10 templates, 40 responses, 0 to 50 % by template only": (
        "same templates",
        (2, 10, 40),
        0.11,
        and_high(0.0, 0.0, 0.5),
    ),
    "intersections, 2 x 4 cells of 400, 40 % missing everywhere": (
        "cells",
        (8, 400, 1),
        0,
        and_high(0.6, 0.4),
    ),
    "intersections, 2 x 4 cells of 300, 20 % missing everywhere": (
        "cells",
        (8, 300, 1),
        0,
        and_high(0.6, 0.2),
    ),
    "intersections, 2 x 4 cells of 200": ("cells", (8, 200, 1), 0, high(0.6)),
    "intersections, 2 x 4 cells of 60, nothing missing": ("cells", (8, 60, 1), 0.4, nothing),
    "intersections, 2 x 4 cells of 60, 10 % at random": ("cells", (8, 60, 1), 0.4, at_random(0.1)),
    "changes of rates, 3 x 60 x 5": ("rates", (3, 60, 5), 0, (nothing, high(0.6))),
    "changes of numbers, 3 x 100": ("numbers", (3, 100, 1), 0, (nothing, high(0.6))),
    "level of rates, 3 x 60 x 5": ("level", (3, 60, 5), 0, (nothing, of_all)),
    "changes of rates, 3 x 60 x 5, 10 % at random": ("rates", (3, 60, 5), 0.2, (at_random(0.1),) * 2),
}


CONTRASTS = ("nouns", "templates", "same templates", "cells")
SAME = ("crossed", "same templates")


def drawn(rng, kind, shape, gap):
    """Outcomes (groups, prompts, samples) and how high each lies; prompts correlate by .2."""
    own = rng.normal(size=(*shape[:2], 1)) * 0.2**0.5
    z = own + rng.normal(size=shape) * 0.8**0.5
    if kind not in ("numbers", "skewed"):
        same = kind in SAME  # groups in the same prompts or templates, which have the same rates
        share = rng.beta(1.2, 2.8, size=(1 if same else shape[0], shape[1], 1))
        share = np.clip(share + gap * (np.arange(shape[0]) == 0)[:, None, None], 0, 1)
        values = (rng.random(shape) < share).astype(float)
        return values, 2 * values - 1
    values = 50 + 10 * z + gap * (np.arange(shape[0]) == 0)[:, None, None]
    return np.exp(values / 20) if kind == "skewed" else values, z


def lose(rng, values, heights, is_missing):
    """NaN in place of what is missing."""
    gone = np.stack([is_missing(rng, place, z) for place, z in enumerate(heights)])
    return np.where(gone, np.nan, values)


def table(**columns):
    """One row per response."""
    shape = next(iter(columns.values())).shape
    group = np.broadcast_to(np.arange(shape[0])[:, None, None], shape).ravel()
    prompt = np.broadcast_to(np.arange(shape[0] * shape[1]).reshape(*shape[:2], 1), shape).ravel()
    keys = {
        "axis": "axis",
        "group": [f"g{code}" for code in group],
        "prompt_id": [str(code) for code in prompt],
    }
    return pl.DataFrame(keys | {name: values.ravel() for name, values in columns.items()})


def found_groups(kind, frame, seed):
    """Whether a group is named without the rule, with it, and whether the reason is given."""
    if kind == "crossed":
        half = frame["prompt_id"].n_unique() // 2
        frame = frame.with_columns(pl.col("prompt_id").cast(pl.Int64) % half)
    if kind in ("rates", "corrected", "crossed"):
        counts = {"false_alarms": 20, "n_harmless": 400, "hits": 360, "n_harmful": 400}
        error = error_counts(pl.DataFrame([{"group": name} | counts for name in frame["group"].unique()]))
        result = disparity(frame, error=error if kind == "corrected" else None, seed=seed)
    else:
        result = score_differences(frame, score="negative", seed=seed)
    groups = result.groups
    sure = (groups["q"] <= 0.05) & ((groups["low"] > 0) | (groups["high"] < 0))
    reason = groups["obstacle"].fill_null("").str.starts_with(REASON)
    named = groups["named"].is_not_null()
    explained = str(result.axes["obstacle"][0]).startswith(REASON)
    return bool(((sure & reason) | named).any()), bool(named.any()), explained


def found_contrast(kind, frame, seed):
    """Do the same for two genders of nouns, for two groups in the same templates, and for intersections."""
    code = pl.col("group").str.slice(1).cast(pl.Int64)
    prompt = pl.col("prompt_id").cast(pl.Int64)
    negative = pl.when(pl.col("negative").is_not_nan()).then(pl.col("negative") == 1)
    if kind == "nouns":
        gender = pl.when(code == 0).then(pl.lit("male")).otherwise(pl.lit("female"))
        nouns = frame.drop("axis", "prompt_id").with_columns(
            gender=gender, noun=frame["prompt_id"], descriptor=pl.int_range(pl.len()) % 30, negative=negative
        )
        row = noun_contrast(nouns, seed=seed).contrasts.row(0, named=True)
        is_sure, obstacle = row["low"] > 0 or row["high"] < 0, row["obstacle"]
    elif kind.endswith("templates"):
        (row,) = paired_contrasts(
            frame.with_columns(template=prompt % 10, negative=negative), "regard_contrast"
        )
        is_sure, obstacle = row.low > 0 or row.high < 0, row.obstacle
    else:
        cells = frame.drop("axis").with_columns(
            first=(code // 4).cast(pl.String), second=(code % 4).cast(pl.String), prompt_toxic=prompt % 2 == 0
        )
        cells = cells.with_columns(negative=negative)
        pairs = intersections(cells, ["first", "second"], seed=seed, minimum_prompts=10).pairs
        sure = pairs.filter(pl.col("p") <= 0.05)
        is_sure = sure.height > 0
        obstacle = None if sure["obstacle"].null_count() else sure["obstacle"].first()
    explained = str(obstacle).startswith(REASON)
    return bool(is_sure), bool(is_sure and obstacle is None), explained


def found_changes(kind, frame, seed):
    """Do the same for changes between groups, or for the overall level."""
    changes = outcome_changes(frame, seed=seed)
    measure = "level_change" if kind == "level" else "disparity_change"
    row = changes.filter(pl.col("measure") == measure).row(0, named=True)
    explained = row["note"].startswith(REASON)
    is_found = row["verdict"] not in ("not detected", "not measurable")
    without = row["p"] <= 0.05 if explained else is_found
    return bool(without), is_found, explained


def main() -> None:
    """Try the designs and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    rows = {}
    for name, (kind, shape, gap, is_missing) in DESIGNS.items():
        if given.only not in name:
            continue
        rng, counted = np.random.default_rng(given.seed), []
        for seed in range(given.sets):
            if callable(is_missing):
                frame = table(negative=lose(rng, *drawn(rng, kind, shape, gap), is_missing))
                found = found_contrast if kind in CONTRASTS else found_groups
                counted.append(found(kind, frame, seed))
                continue
            before, after = (
                lose(rng, *drawn(rng, kind, shape, rise), one)
                for rise, one in zip((0, gap), is_missing, strict=True)
            )
            frame = table(before=before, after=after).with_row_index("pair")
            counted.append(found_changes(kind, frame, seed))
        shares = map(float, np.mean(counted, axis=0).round(3))
        rows[name] = {"kind": "power" if gap else "false"}
        rows[name] |= dict(zip(("without", "evenhand", "explained"), shares, strict=True))
        print(f"{name:48}", rows[name], flush=True)
    if not given.only:
        RESULTS.write_text(json.dumps({"sets": given.sets, "designs": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
