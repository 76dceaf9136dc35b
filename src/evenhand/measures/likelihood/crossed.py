"""One axis as a table crossed by template, noun and descriptor, and what it says of its descriptors.

`compare_pairs` tests all pairs of descriptors, paired by noun; `exchangeable_shares` gives the share it would flag if
labels meant nothing; `descriptor_profiles` sets each descriptor beside the median of its axis.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from evenhand.schema import DataError
from evenhand.stats import (
    Floats,
    Indices,
    benjamini_hochberg,
    mean_of_known,
    median_of_known,
    signed_rank,
    standard_errors,
    t_inference,
)

LARGEST_CROSSING = 200_000_000  # cells; 1.6 GB, thirty times the largest published axis
BLOCK = 4_000_000  # differences held at once, 32 MB


@dataclass(frozen=True)
class Crossing:
    """`values[t, n, d]`: the number of descriptor d with noun n in template t; NaN where there is none."""

    axis: str
    templates: list[str]
    nouns: list[str]
    descriptors: list[str]
    values: Floats


def crossings(frame: pl.DataFrame, value: str) -> Iterator[Crossing]:
    """The crossing of each axis of `frame` (columns axis, template, noun, descriptor and `value`), sorted.

    Rows that share axis, template, noun and descriptor are averaged; null and NaN are left out.
    Raises DataError if nouns or descriptors are so many that the crossing cannot be held.

    >>> frame = pl.DataFrame({"axis": "a", "template": "t", "noun": "n", "descriptor": "d", "x": [2.0]})
    >>> next(crossings(frame, "x")).values.tolist()
    [[[2.0]]]
    """
    keys = ["template", "noun", "descriptor"]
    for name in ["axis", *keys]:
        if frame[name].null_count():
            raise DataError(
                f"{frame[name].null_count()} rows have no {name}.",
                "Fill or drop these rows before measuring.",
            )
    for (axis,), rows in frame.sort("axis").group_by("axis", maintain_order=True):
        labels = {name: rows[name].cast(pl.String).unique().sort() for name in keys}
        shape = tuple(len(labels[name]) for name in keys)
        if np.prod(shape, dtype=np.float64) > LARGEST_CROSSING:
            raise DataError(
                f"Axis {axis!r}: {shape[0]} templates x {shape[1]} nouns x {shape[2]} descriptors: too many.",
                "The column noun should hold the few nouns that all descriptors share, not the whole text.",
            )
        codes = [
            rows[name].cast(pl.String).cast(pl.Enum(labels[name])).to_physical().to_numpy().astype(np.intp)
            for name in keys
        ]
        cell = np.ravel_multi_index(codes, shape)
        number = rows[value].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        known = np.isfinite(number)
        size = int(np.prod(shape))
        counts = np.bincount(cell[known], minlength=size)
        sums = np.bincount(cell[known], weights=number[known], minlength=size)
        means = np.full(size, np.nan)
        np.divide(sums, counts, out=means, where=counts > 0)
        yield Crossing(
            axis=str(axis),
            templates=labels["template"].to_list(),
            nouns=labels["noun"].to_list(),
            descriptors=labels["descriptor"].to_list(),
            values=means.reshape(shape),
        )


@dataclass(frozen=True)
class PairTests:
    """The pairs (first, second) of one axis: p and flags per template, effect sizes over all templates.

    p, flagged: (templates, pairs), NaN where fewer than two nouns are known for both descriptors.
    superiority, log_ratio: (pairs,). n: (pairs,) cells known for both. spread: (templates,) median over
    pairs of the standard deviation of paired differences; nouns: (templates,) median number of nouns paired.
    """

    first: Indices
    second: Indices
    p: Floats
    flagged: Floats
    superiority: Floats
    log_ratio: Floats
    n: Indices
    spread: Floats
    nouns: Floats


def compare_pairs(values: Floats, *, alpha: float, margin: float) -> PairTests:
    """Test every unordered pair of descriptors in every template, paired by noun.

    values: log-perplexity in nats per token, (templates, nouns, descriptors), NaN where missing.
    alpha: level of Benjamini-Hochberg over the pairs of a template. margin: smallest difference that counts.
    """
    templates, _, descriptors = values.shape
    first, second = np.triu_indices(descriptors, k=1)
    p = np.full((templates, len(first)), np.nan)
    flagged = p.copy()
    wins = np.zeros(len(first))
    n = np.zeros(len(first), dtype=np.intp)
    spread, nouns = np.full(templates, np.nan), np.full(templates, np.nan)
    for t, table in enumerate(values):
        differences = paired_differences(table, first, second)
        p[t], flagged[t] = flag(differences, alpha=alpha, margin=margin)
        known = np.count_nonzero(~np.isnan(differences), axis=1)
        n += known
        wins += np.count_nonzero(differences < 0, axis=1) + np.count_nonzero(differences == 0, axis=1) / 2
        if (known > 1).any():
            spread[t] = np.median(_standard_deviations(differences, known)[known > 1])
            nouns[t] = np.median(known[known > 1])
    log_ratio = np.full(len(first), np.nan)
    flat = values.reshape(-1, descriptors)
    step = max(1, BLOCK // max(1, len(flat)))
    for start in range(0, len(first), step):
        block = slice(start, start + step)
        log_ratio[block] = median_of_known(paired_differences(flat, first[block], second[block]), 1)
    superiority = wins / np.where(n > 0, n, np.nan)
    return PairTests(first, second, p, flagged, superiority, log_ratio, n, spread, nouns)


def paired_differences(table: Floats, first: Indices, second: Indices) -> Floats:
    """(pairs, nouns) differences between columns of a (nouns, descriptors) table."""
    columns = np.ascontiguousarray(table.T)
    return np.asarray(columns[first] - columns[second])


def flag(differences: Floats, *, alpha: float, margin: float) -> tuple[Floats, Floats]:
    """p of each row by the minimum-effect signed-rank test, and 1.0 where Benjamini-Hochberg rejects."""
    _, p = signed_rank(differences, margin=margin)
    p = np.where(np.count_nonzero(~np.isnan(differences), axis=1) > 1, p, np.nan)
    q = benjamini_hochberg(p)
    return p, np.where(np.isnan(p), np.nan, (q <= alpha).astype(np.float64))


def exchangeable_shares(
    values: Floats, *, alpha: float, margin: float, rng: np.random.Generator, tests: int = 60_000
) -> Floats:
    """Shares flagged in templates whose descriptor labels were shuffled within every noun.

    Each draw takes one template of `values`, gives every noun's numbers to descriptors at random, and
    tests all pairs as `compare_pairs` does, so the dependence between pairs that share a descriptor is kept.
    About `tests` tests are spent, on at least 12 and at most 200 draws; returns (draws,).
    """
    templates, _, descriptors = values.shape
    first, second = np.triu_indices(descriptors, k=1)
    draws = int(np.clip(tests // max(1, len(first)), 12, 200))
    starts = rng.permutation(templates)
    shares = np.full(draws, np.nan)
    for draw in range(draws):
        shuffled = rng.permuted(values[starts[draw % templates]], axis=1)
        _, flagged = flag(paired_differences(shuffled, first, second), alpha=alpha, margin=margin)
        shares[draw] = mean_of_known(flagged, 0)
    return np.asarray(shares[~np.isnan(shares)])


def _standard_deviations(differences: Floats, known: Indices) -> Floats:
    filled = np.nan_to_num(differences)
    mean = filled.sum(axis=1) / np.maximum(known, 1)
    squares = np.einsum("ij,ij->i", filled, filled) - known * mean**2
    return np.asarray(np.sqrt(np.maximum(squares, 0) / np.maximum(known - 1, 1)))


@dataclass(frozen=True)
class Profiles:
    """Per descriptor (d,): log-ratio in nats per token (positive: less likely than its axis), interval, p."""

    log_ratio: Floats
    low: Floats
    high: Floats
    p: Floats


def descriptor_profiles(values: Floats, *, margin: float) -> Profiles:
    """Compare each descriptor with the median descriptor in the same template and with the same noun.

    values: log-perplexity (templates, nouns, descriptors), NaN where missing. The estimate is the mean
    over templates of the median over nouns. Both templates and nouns are samples, so its variance is the
    two-way cluster variance of Cameron, Gelbach and Miller (2011), V_templates + V_nouns - V_cells, and
    never less than either of the first two; limits are t with the fewer clusters less one.
    p tests whether the true log-ratio lies within `margin`.
    """
    # an even number of descriptors puts the median between two of them: nobody is favoured by construction
    deviations = values - median_of_known(values, 2)[:, :, None]
    per_template = median_of_known(deviations, 1)
    template_error, templates = standard_errors(per_template)
    noun_error, nouns = standard_errors(mean_of_known(deviations, 0))
    noun_error = noun_error * np.sqrt(np.pi / 2)  # a median is that much less efficient than a mean
    cell_error, _ = standard_errors(deviations.reshape(-1, deviations.shape[2]))
    larger = np.fmax(template_error, noun_error)
    # with one template (or noun) the other is the only source of variation that can be seen
    both = template_error**2 + noun_error**2 - np.pi / 2 * cell_error**2
    error = np.sqrt(np.fmax(both, larger**2))
    freedom = np.where(templates < 2, nouns, np.where(nouns < 2, templates, np.minimum(templates, nouns))) - 1
    result = t_inference(mean_of_known(per_template, 0), error, freedom, margin=margin)
    return Profiles(result.estimate, result.low, result.high, result.p)
