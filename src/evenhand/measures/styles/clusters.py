"""Find clusters of styles in a classifier's probabilities.

Styles whose probabilities increase and decrease together over responses are one style to the classifier.
HolisticBias found its six clusters in this way. The published ones are `STYLE_CLUSTERS` (generation_bias.py).
With another classifier, language or model, use clusters found here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.measures.columns import check_kinds, finite, require_columns
from evenhand.schema import DataError, UsageError, checked
from evenhand.stats import Floats

THRESHOLD = 0.7
"""Largest mean distance (one minus the correlation) of two clusters that are merged."""


@dataclass(frozen=True)
class StyleTree:
    """A hierarchical clustering of styles (such as "Kind" or "Curious") that a classifier distinguishes in replies.

    Result of `find_style_clusters`. Pass it to `strongest_clusters`.

    Attributes
    ----------
    labels : tuple of str
        Names of the clustered styles.
    clusters : tuple of tuple of str
        Clusters at the cut of the tree, in the order of their first style in `labels`; styles within them likewise.
    linkage : numpy.ndarray, shape (styles - 1, 4)
        The tree as `scipy.cluster.hierarchy.linkage` returns it.
    left_out : tuple of str
        Styles with a constant probability, which has no correlation.
    """

    labels: tuple[str, ...]
    clusters: tuple[tuple[str, ...], ...]
    linkage: Floats
    left_out: tuple[str, ...] = ()


@checked
def find_style_clusters(
    styles: npt.ArrayLike,
    labels: Sequence[str],
    *,
    threshold: float | None = None,
    n_clusters: int | None = None,
) -> StyleTree:
    """Cluster styles by the correlation of their probabilities over responses.

    Use it if you have another classifier, language or model than HolisticBias: its clusters (`STYLE_CLUSTERS`) then do
    not apply. Styles whose probabilities rise and fall together are one style to the classifier.

    Parameters
    ----------
    styles : array_like, shape (n, S)
        A style classifier's probabilities: n responses, S styles (such as "Kind"). Rows with NaN are left out.
    labels : sequence of str, length S
        Names of the styles, all different.
    threshold : float, optional
        Largest distance at which clusters are merged, 0 to 2 (see Notes). Default: 0.7, unless `n_clusters` is given.
    n_clusters : int, optional
        Number of clusters, instead of a threshold.

    Returns
    -------
    StyleTree
        The clusters and the tree.

    Raises
    ------
    UsageError
        `styles` and `labels` differ in number, a label occurs twice, or `threshold` or `n_clusters` is out of range or
        both are given.
    DataError
        There are fewer than three complete responses.

    Notes
    -----
    The clustering is agglomerative. The distance of two clusters is one minus the correlation, averaged over all pairs
    of their styles. The paper states neither linkage nor distance.

    References
    ----------
    - HolisticBias (arXiv:2205.09209), appendix A.7.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> kind, odd = random.random((2, 50, 1))
    >>> caring = kind + 0.1 * random.random((50, 1))
    >>> tree = find_style_clusters(np.hstack([kind, odd, caring]), ["Kind", "Odd", "Caring"])
    >>> tree.clusters
    (('Kind', 'Caring'), ('Odd',))
    """
    from scipy.cluster.hierarchy import fcluster, linkage

    values = np.asarray(styles, dtype=np.float64)
    names = tuple(labels)
    _check(values, names, threshold, n_clusters)
    complete = values[np.isfinite(values).all(axis=1)]
    if len(complete) < 3:
        raise DataError(
            "find_style_clusters needs at least three responses with all style probabilities (no NaN), got "
            f"{len(complete):,} of {len(values):,}.",
            "Give more responses, or fill in the missing probabilities.",
        )
    centred = complete - complete.mean(axis=0)
    size = np.sqrt(np.square(centred).sum(axis=0))
    moving = np.flatnonzero(size > 1e-12 * np.maximum(np.abs(complete).sum(axis=0), 1e-300))
    left_out = tuple(name for place, name in enumerate(names) if place not in set(moving.tolist()))
    clustered = tuple(names[place] for place in moving)
    if len(clustered) < 2:
        return StyleTree(clustered, tuple((name,) for name in clustered), np.zeros((0, 4)), left_out)
    unit = centred[:, moving] / size[moving]
    distance = np.clip(1.0 - unit.T @ unit, 0.0, 2.0)
    tree = linkage(distance[np.triu_indices(len(clustered), 1)], method="average")
    if n_clusters is not None:
        codes = fcluster(tree, min(n_clusters, len(clustered)), criterion="maxclust")
    else:
        codes = fcluster(tree, THRESHOLD if threshold is None else threshold, criterion="distance")
    members: dict[int, list[str]] = {}
    for name, code in zip(clustered, codes.tolist(), strict=True):
        members.setdefault(code, []).append(name)
    return StyleTree(clustered, tuple(tuple(styles) for styles in members.values()), tree, left_out)


@checked
def strongest_clusters(
    style_shares: pl.DataFrame, tree: StyleTree, *, top: int = 20, keep: int = 6
) -> Mapping[str, tuple[str, ...]]:
    """Return the clusters around the styles that differ most between descriptors.

    Use it to choose clusters for `generation_bias(clusters=...)`. A descriptor is a word for a group, such as "Deaf".

    Parameters
    ----------
    style_shares : polars.DataFrame
        The table `styles` of a GenerationBias: ``style`` and ``estimate`` (how much the style differs between
        descriptors). If there are rows across all axes (axis null), only these are used.
    tree : StyleTree
        Clusters of these styles.
    top : int, default 20
        Number of styles, the strongest ones, whose clusters are considered.
    keep : int, default 6
        Number of clusters that are returned, at most.

    Returns
    -------
    mapping of str to tuple of str
        The styles of each cluster. Clusters are ranked by the sum of the estimates of their styles and named after
        their strongest style in lower case.

    Raises
    ------
    DataError
        A column is missing.
    UsageError
        None of the top styles is in the tree, or `top` or `keep` is below 1.

    Notes
    -----
    The paper takes the top 20 styles by Partial Gen Bias, their neighbours, and the 6 highest clusters.

    References
    ----------
    - HolisticBias (arXiv:2205.09209), appendix A.7.

    Examples
    --------
    >>> shares = pl.DataFrame({"style": ["Hateful", "Kind", "Odd"], "estimate": [0.5, 0.3, 0.1]})
    >>> tree = StyleTree(("Kind", "Hateful", "Odd"), (("Kind", "Odd"), ("Hateful",)), np.zeros((2, 4)))
    >>> dict(strongest_clusters(shares, tree, keep=1))
    {'hateful': ('Hateful',)}
    """
    require_columns(style_shares, ["style", "estimate"], "strongest_clusters")
    check_kinds(style_shares, ["estimate"], "strongest_clusters", numbers=True)
    style_shares = style_shares.with_columns(finite(pl.col("estimate")).fill_null(0.0))
    if top < 1 or keep < 1:
        raise UsageError(f"strongest_clusters: top and keep must be at least 1, got top={top}, keep={keep}.")
    if "axis" in style_shares.columns and style_shares["axis"].null_count():
        style_shares = style_shares.filter(pl.col("axis").is_null())
    ranked = style_shares.sort("estimate", "style", descending=[True, False])
    amount = dict(ranked.select("style", "estimate").iter_rows())
    home = {style: cluster for cluster in tree.clusters for style in cluster}
    ranked_clusters = list(dict.fromkeys(home[style] for style in ranked["style"].head(top) if style in home))
    if not ranked_clusters:
        raise UsageError(
            "strongest_clusters: the clusters contain none of the top styles.",
            "Use clusters that were found from the same style columns.",
        )
    # a stable sort keeps tied clusters in the order of their strongest style
    ranked_clusters.sort(key=lambda cluster: -sum(amount.get(style, 0.0) for style in cluster))
    order = {style: place for place, style in enumerate(ranked["style"])}
    strongest = [
        min(cluster, key=lambda style: order.get(style, len(order))) for cluster in ranked_clusters[:keep]
    ]
    return {
        name.split(" (")[0].lower(): cluster
        for name, cluster in zip(strongest, ranked_clusters, strict=False)
    }


def _check(values: Floats, names: tuple[str, ...], threshold: float | None, n_clusters: int | None) -> None:
    if values.ndim != 2 or values.shape[1] != len(names):
        raise UsageError(
            f"find_style_clusters: probabilities of shape {values.shape} do not match {len(names)} labels.",
            "Give an array of shape (responses, styles), and one label for each style.",
        )
    if len(set(names)) < len(names):
        raise UsageError(
            "find_style_clusters: two styles have the same label.", "Give each style a unique label."
        )
    if threshold is not None and n_clusters is not None:
        raise UsageError(
            "find_style_clusters: threshold and n_clusters cannot be combined.",
            "Give either threshold or n_clusters.",
        )
    if (threshold is not None and not 0 <= threshold <= 2) or (n_clusters is not None and n_clusters < 1):
        raise UsageError(
            "find_style_clusters: threshold must be from 0 to 2 and n_clusters at least 1, got "
            f"threshold={threshold}, n_clusters={n_clusters}."
        )
