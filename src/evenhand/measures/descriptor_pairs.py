"""Paired tests between all descriptors of one axis, and the share they would flag if labels meant nothing."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.measures.crossing import mean_of_known, median_of_known
from evenhand.stats import benjamini_hochberg, signed_rank

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

BLOCK = 4_000_000  # differences held at once, 32 MB


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
