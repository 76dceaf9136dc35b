"""Choices between two sentences: pairs that swap the same words, items about the same term."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.studies.calibration.simulators.judged import beta_rates

CROWS_TYPES: Mapping[str, tuple[int, int, int]] = {
    "race-color": (516, 270, 157),
    "gender": (262, 150, 40),
    "socioeconomic": (172, 150, 10),
    "nationality": (159, 130, 8),
    "religion": (105, 70, 12),
    "age": (87, 55, 14),
    "sexual-orientation": (84, 40, 36),
    "physical-appearance": (63, 50, 6),
    "disability": (60, 48, 6),
}
"""For each bias type of CrowS-Pairs: number of pairs, of clusters that swap the same words, and pairs in the largest
cluster.
"""
STEREOSET_DOMAINS: Mapping[str, tuple[int, int]] = {
    "gender": (10, 50),
    "profession": (40, 41),
    "race": (26, 73),
    "religion": (3, 53),
}
"""For each domain of StereoSet: number of terms, and number of items per term, approximately as in the development
set.
"""


def clustered_choices(
    rng: np.random.Generator, share: float, sizes: npt.ArrayLike, icc: float
) -> npt.NDArray[np.bool_]:
    """Simulate binary choices with correlation within clusters (beta-binomial), cluster after cluster; shape (sum of
    sizes,).
    """
    counts = np.asarray(sizes)
    chance = beta_rates(rng, share, icc, len(counts))
    chosen: npt.NDArray[np.bool_] = rng.random(int(counts.sum())) < np.repeat(chance, counts)
    return chosen


def cluster_sizes(pairs: int, clusters: int, largest: int) -> list[int]:
    """Return the sizes of `clusters` clusters: one of the largest size, the others as equal as possible.

    >>> cluster_sizes(10, 4, 5)
    [5, 2, 2, 1]
    """
    rest, others = pairs - largest, clusters - 1
    return [largest, *(rest // others + (number < rest % others) for number in range(others))]


def crows_frame(
    rng: np.random.Generator, shares: Mapping[str, float], sizes: Mapping[str, Sequence[int]], icc: float
) -> pl.DataFrame:
    """Return both sentences of every pair, one per row: pair_id, role, axis, text, sent_more, sent_less,
    log_likelihood, token_count.

    Parameters
    ----------
    shares
        By type, the share of pairs in which the more stereotyped sentence is more likely.
    sizes
        Cluster sizes of each type; the pairs of a cluster swap the same two words.
    """
    parts = []
    for axis, clusters in sizes.items():
        chosen = clustered_choices(rng, shares[axis], clusters, icc)
        cluster = np.repeat(np.arange(len(clusters)), clusters)
        number = np.arange(len(cluster))
        more = [
            f"Neighbour {i} says the {axis}one{c} people left." for i, c in zip(number, cluster, strict=True)
        ]
        less = [
            f"Neighbour {i} says the {axis}two{c} people left." for i, c in zip(number, cluster, strict=True)
        ]
        base = rng.normal(-40, 5, len(number))
        gap = np.abs(rng.normal(0, 1, len(number))) + 0.01
        signed = np.where(chosen, gap, -gap)
        for role, texts, value in (("more", more, base + signed / 2), ("less", less, base - signed / 2)):
            parts.append(
                pl.DataFrame(
                    {
                        "pair_id": [f"{axis}/{i}" for i in number],
                        "role": [role] * len(number),
                        "axis": [axis] * len(number),
                        "text": texts,
                        "sent_more": more,
                        "sent_less": less,
                        "log_likelihood": value,
                        "token_count": np.full(len(number), 10, dtype=np.uint32),
                    }
                )
            )
    return pl.concat(parts)


def stereoset_frame(
    rng: np.random.Generator,
    shares: Mapping[str, float],
    domains: Mapping[str, tuple[int, int]],
    term_sd: float,
) -> pl.DataFrame:
    """Simulate the scores of the three sentences of every StereoSet item.

    The table has the columns cluster_id, dataset_type, axis, target, gold_label and score.

    Parameters
    ----------
    shares : mapping of str to float
        By domain, the share of items in which the stereotype is preferred.
    domains : mapping of str to tuple of int
        By domain, the number of terms and of items per term.
    term_sd : float
        SD of the shares of terms around that of their domain (0 to 1).
    rng : numpy.random.Generator
        Source of randomness.
    """
    parts = []
    for axis, (terms, items) in domains.items():
        rate = np.clip(shares[axis] + rng.normal(0, term_sd, terms), 0.0, 1.0)
        term = np.repeat(np.arange(terms), items)
        wins = rng.random(len(term)) < rate[term]
        low = rng.random(len(term)) * 0.4
        scores = {
            "stereotype": np.where(wins, low + 0.3, low + 0.2),
            "anti-stereotype": np.where(wins, low + 0.2, low + 0.3),
            "unrelated": low * (rng.random(len(term)) < 0.9) * 0.2,
        }
        for label, score in scores.items():
            parts.append(
                pl.DataFrame(
                    {
                        "cluster_id": [f"{axis}/{i}" for i in range(len(term))],
                        "dataset_type": ["intrasentence"] * len(term),
                        "axis": [axis] * len(term),
                        "target": [f"{axis} term {t:02d}" for t in term],
                        "gold_label": [label] * len(term),
                        "score": score,
                    }
                )
            )
    return pl.concat(parts)
