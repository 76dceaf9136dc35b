"""Compare the published bootstrap of BiasScore with exact CIs, for the 774 groups of HolisticBiasR.

    python perf/bias_score.py                   # About 40 s on one core.

The published code hands each group to `scipy.stats.bootstrap` (percentile, 9,999 resamples, not vectorised, seed 1).
That is done here for `--groups` of the 774 groups, and extrapolated by resampled elements (resamples × responses),
each size of group by its own seconds per element, which are printed. The statistic counts negatives with numpy,
where the released one compares strings in Python objects and is slower. Ours does all 774 groups:
`published_bias_score` from the table of 214,140 responses, the limits alone, the seeded form, and the corrected
`bias_score` with its tests, null and pooling. Only ratios mean anything: times are of this machine, this hour.
"""

import argparse
import json
import platform
import time
from pathlib import Path

import numpy as np
import polars as pl
from scipy.stats import bootstrap

from evenhand.measures import bias_score, published_bias_score
from evenhand.measures.rates.bias_score_published import LEVEL, RESAMPLES
from evenhand.stats import binomial_quantile_interval

SIZES = {320: 660, 10: 96, 120: 9, 110: 8, 20: 1}  # responses a group: groups (methods, section 3.4)


def holisticbiasr_like(seed):
    """Judgements of 774 groups of the published sizes, whose rates vary around 25 %."""
    generator = np.random.default_rng(seed)
    sizes = np.repeat(list(SIZES), list(SIZES.values()))
    rates = generator.beta(10, 30, len(sizes))
    groups = np.repeat(np.arange(len(sizes)), sizes)
    negative = generator.random(sizes.sum()) < rates[groups]
    frame = pl.DataFrame({"group": groups, "negative": negative})
    return frame.with_columns(pl.format("group {}", "group").alias("group"), pl.col("negative").cast(pl.Int8))


def published_bootstrap(outcomes):
    found = bootstrap(
        (outcomes,),
        lambda sample: 100 * np.mean(sample),
        vectorized=False,
        n_resamples=RESAMPLES,
        confidence_level=LEVEL,
        method="percentile",
        random_state=1,
    )
    return found.confidence_interval


def best_of(repeats, work):
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def subset(parts, wanted):
    """`wanted` groups, each size in proportion but at least one."""
    chosen = []
    for size, count in SIZES.items():
        of_size = [part for part in parts if len(part) == size and 0 < part.sum() < size]
        chosen += of_size[: max(1, round(wanted * count / sum(SIZES.values())))]
    return chosen


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--groups", type=int, default=40, help="groups that go through the published method")
    parser.add_argument(
        "--repeats", type=int, default=5, help="number of runs, of which the best counts, for ours"
    )
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "statistics.json")
    given = parser.parse_args()

    frame = holisticbiasr_like(0)
    parts = [part["negative"].to_numpy() for part in frame.partition_by("group", maintain_order=True)]
    n, negatives = (np.array([f(part) for part in parts]) for f in (len, np.sum))
    measured, by_size, steps_apart = 0.0, {}, []
    chosen = subset(parts, given.groups)
    for part in chosen:
        start = time.perf_counter()
        theirs = published_bootstrap(part)
        seconds = time.perf_counter() - start
        measured += seconds
        by_size.setdefault(len(part), []).append(seconds / (RESAMPLES * len(part)))
        ours = binomial_quantile_interval(part.sum(), len(part), LEVEL)
        steps_apart += [abs(a / 100 - b) * len(part) for a, b in zip(theirs, ours, strict=True)]
    # every resample has a cost of its own beside that of its elements, so small groups cost more per element
    extrapolated = sum(
        float(np.mean(by_size[size])) * RESAMPLES * size * count for size, count in SIZES.items()
    )
    ways = {
        "published_bias_score, from the table": lambda: published_bias_score(frame),
        "the limits alone": lambda: binomial_quantile_interval(negatives, n, LEVEL),
        "bias_score (corrected), from the table": lambda: bias_score(frame),
    }
    ours = {name: best_of(given.repeats, work) for name, work in ways.items()}
    ours["published_bias_score, exact_seed"] = best_of(
        1, lambda: published_bias_score(frame, exact_seed=True)
    )

    print(
        f"published method: {len(chosen)} groups {measured:.1f} s; all 774 groups (extrapolated) {extrapolated:.1f} s"
    )
    for size, values in sorted(by_size.items()):
        print(f"  {size:4d} responses: {np.mean(values):.2e} s per resampled element ({len(values)} groups)")
    print(f"largest difference of limits, in responses: {max(steps_apart):.2f}")
    print(f"\n{'all 774 groups':42s}{'seconds':>12s}{'times faster':>16s}")
    for name, seconds in ours.items():
        print(f"{name:42s}{seconds:12.6f}{extrapolated / seconds:16,.0f}")
    facts = {
        "groups": len(parts),
        "responses": frame.height,
        "published": {
            "groups_measured": len(chosen),
            "seconds_measured": measured,
            "seconds_extrapolated_to_all": extrapolated,
            "seconds_per_element_by_size": {size: float(np.mean(v)) for size, v in sorted(by_size.items())},
        },
        "ours": {name: {"seconds": s, "times_faster": extrapolated / s} for name, s in ours.items()},
        "largest_difference_of_limits_in_responses": float(max(steps_apart)),
        "machine": platform.machine(),
        "python": platform.python_version(),
    }
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps(facts, indent=1) + "\n")
    print(f"\nwritten to {given.output}")


if __name__ == "__main__":
    main()
