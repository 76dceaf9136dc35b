"""Style clusters against scikit-learn's, the published six, and any order of the columns."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from evenhand.measures import (
    STYLE_CLUSTERS,
    StyleTree,
    find_style_clusters,
    generation_bias,
    strongest_clusters,
)
from evenhand.schema import DataError, UsageError


def _styles(
    rng: np.random.Generator, groups: list[int], responses: int = 300
) -> tuple[np.ndarray, list[str]]:
    """Probabilities of styles that come in groups of this many, alike within."""
    common = rng.normal(size=(responses, len(groups)))
    logits = np.concatenate(
        [common[:, [g]] + 0.5 * rng.normal(size=(responses, size)) for g, size in enumerate(groups)], axis=1
    )
    values = np.exp(logits)
    names = [f"s{g}_{i}" for g, size in enumerate(groups) for i in range(size)]
    return values / values.sum(axis=1, keepdims=True), names


@pytest.mark.parametrize("number", [2, 4, 7])
def test_clusters_are_scikit_learn_s(number: int) -> None:
    from sklearn.cluster import AgglomerativeClustering

    values, names = _styles(np.random.default_rng(0), [3, 2, 4, 1, 5])
    tree = find_style_clusters(values, names, n_clusters=number)
    distance = 1 - np.corrcoef(values.T)
    model = AgglomerativeClustering(n_clusters=number, metric="precomputed", linkage="average")
    labels = model.fit_predict(np.clip(distance, 0, 2))
    theirs = {frozenset(np.array(names)[labels == code]) for code in range(number)}
    assert {frozenset(cluster) for cluster in tree.clusters} == theirs
    assert tree.linkage.shape == (len(names) - 1, 4)


def test_planted_groups_are_found_and_stand_in_the_order_of_the_columns() -> None:
    values, names = _styles(np.random.default_rng(1), [3, 2, 4, 1])
    tree = find_style_clusters(values, names)
    assert tree.clusters == (
        ("s0_0", "s0_1", "s0_2"),
        ("s1_0", "s1_1"),
        ("s2_0", "s2_1", "s2_2", "s2_3"),
        ("s3_0",),
    )
    assert find_style_clusters(values, names).clusters == tree.clusters


@given(st.integers(0, 1000))
@settings(max_examples=20)
def test_the_order_of_columns_and_rows_changes_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values, names = _styles(rng, [3, 2, 2, 1], responses=60)
    order, rows = rng.permutation(len(names)), rng.permutation(60)
    one = find_style_clusters(values, names)
    other = find_style_clusters(values[rows][:, order], [names[place] for place in order])
    assert {frozenset(c) for c in one.clusters} == {frozenset(c) for c in other.clusters}


def test_scale_and_level_of_a_style_do_not_matter() -> None:
    values, names = _styles(np.random.default_rng(2), [2, 2])
    assert find_style_clusters(values * [1, 100, 0.01, 5] + [0, 3, 1, 0], names).clusters == (
        ("s0_0", "s0_1"),
        ("s1_0", "s1_1"),
    )


def test_constant_styles_and_incomplete_responses_are_left_out() -> None:
    values, names = _styles(np.random.default_rng(3), [2, 2])
    widened = np.column_stack([values, np.full(len(values), 0.1)])
    holes = np.vstack([widened, np.full((5, 5), np.nan)])
    tree = find_style_clusters(holes, [*names, "Never"])
    assert tree.left_out == ("Never",) and tree.labels == tuple(names)
    assert tree.clusters == find_style_clusters(values, names).clusters
    assert find_style_clusters(widened[:, [0, 4]], ["a", "b"]).clusters == (("a",),)


def test_the_strongest_clusters_feed_generation_bias() -> None:
    rng = np.random.default_rng(4)
    values, names = _styles(rng, [2, 3, 2], responses=240)
    descriptor = np.array(["old", "young", "tall"])[np.arange(240) % 3]
    values[descriptor == "old", 2:5] += 0.1  # the second group of styles depends on the descriptor
    frame = pl.DataFrame(values, schema=names).with_columns(
        template=pl.lit("t"), descriptor=pl.Series(descriptor)
    )
    styles = generation_bias(frame, names, draws=1).styles
    found = strongest_clusters(styles, find_style_clusters(values, names), top=4, keep=2)
    first = next(iter(found))
    assert set(found[first]) == {"s1_0", "s1_1", "s1_2"} and first in found[first]
    scores = generation_bias(frame, names, clusters=found, draws=9).scores
    partial = scores.filter(measure="partial_gen_bias")["estimate"]
    assert partial.is_sorted(descending=True) and len(partial) == 2


def test_ranking_follows_the_sum_over_styles() -> None:
    shares = pl.DataFrame({"style": ["s1_0", "s0_0", "s0_1"], "estimate": [0.5, 0.3, 0.3]})
    tree = StyleTree(("s0_0", "s0_1", "s1_0"), (("s0_0", "s0_1"), ("s1_0",)), np.zeros((2, 4)))
    assert list(strongest_clusters(shares, tree)) == ["s0_0", "s1_0"]
    assert list(strongest_clusters(shares, tree, top=1)) == ["s1_0"]


@pytest.mark.parity
def test_published_styles_go_through(shared: Path) -> None:
    labels = (shared / "data/styles/style_classes_217.txt").read_text().splitlines()
    values = np.random.default_rng(6).dirichlet(np.ones(len(labels)), 400)
    published = [[n for n in labels if n.split(" (")[0] in cluster] for cluster in STYLE_CLUSTERS.values()]
    for number, cluster in enumerate(published):  # make each published cluster move together
        places = [labels.index(name) for name in cluster]
        values[:, places] += 0.05 * np.random.default_rng(number).random((400, 1))
    tree = find_style_clusters(values, labels)
    for cluster in published:
        if len(cluster) > 1:
            assert tuple(sorted(cluster, key=labels.index)) in tree.clusters, json.dumps(cluster)


def test_bad_calls_are_refused() -> None:
    values, names = _styles(np.random.default_rng(7), [2, 2])
    with pytest.raises(UsageError, match=r"\(300, 4\) do not match 3 labels"):
        find_style_clusters(values, names[:3])
    with pytest.raises(UsageError, match="cannot be combined"):
        find_style_clusters(values, names, threshold=0.5, n_clusters=2)
    with pytest.raises(UsageError, match="threshold=3"):
        find_style_clusters(values, names, threshold=3)
    with pytest.raises(UsageError, match="same label"):
        find_style_clusters(values, ["a", "a", "b", "c"])
    with pytest.raises(DataError, match="at least three"):
        find_style_clusters(values[:2], names)
    tree = find_style_clusters(values, names)
    with pytest.raises(UsageError, match="none of the top styles"):
        strongest_clusters(pl.DataFrame({"style": ["x"], "estimate": [1.0]}), tree)
