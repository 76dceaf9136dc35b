"""The prefix tree against a tree built from plain Python tuples."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from evenhand.models.scoring.prefix_tree import PrefixTree, build_tree, cut_segments

sequences = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=7), min_size=1, max_size=25)


def tree_of(texts: list[list[int]], scored: np.ndarray) -> PrefixTree:
    offsets = np.cumsum([0, *map(len, texts)])
    return build_tree(np.array([token for text in texts for token in text], dtype=np.int32), offsets, scored)


def path(tree: PrefixTree, node: int) -> tuple[int, ...]:
    steps: list[int] = []
    while node >= 0:
        steps.append(int(tree.tokens[node]))
        node = int(tree.parents[node])
    return tuple(reversed(steps))


@settings(max_examples=150)
@given(sequences, st.integers(0, 2**32 - 1))
def test_runs_exactly_the_prefixes_that_something_scored_needs(texts: list[list[int]], seed: int) -> None:
    random = np.random.default_rng(seed)
    scored = np.array([j > 0 and random.random() < 0.6 for text in texts for j in range(len(text))])
    tree = tree_of(texts, scored)
    needed: set[tuple[int, ...]] = set()
    place = 0
    for text in texts:
        for j, token in enumerate(text):
            edge = tree.score_of[place]
            if scored[place]:
                assert tree.edge_tokens[edge] == token
                assert path(tree, int(tree.edge_parents[edge])) == tuple(text[:j])
                needed.update(tuple(text[:k]) for k in range(1, j + 1))
            else:
                assert edge == -1
            place += 1
    paths = [path(tree, node) for node in range(tree.nodes_run)]
    assert set(paths) == needed
    assert len(paths) == len(needed)
    assert tree.depths.tolist() == [len(p) - 1 for p in paths]


@settings(max_examples=100)
@given(sequences)
def test_a_node_spans_exactly_its_descendants(texts: list[list[int]]) -> None:
    scored = np.array([j > 0 for text in texts for j in range(len(text))])
    tree = tree_of(texts, scored)
    paths = [path(tree, node) for node in range(tree.nodes_run)]
    for u, above in enumerate(paths):
        for v, below in enumerate(paths):
            assert (u <= v < tree.ends[u]) == (below[: len(above)] == above)


@settings(max_examples=100)
@given(sequences, st.integers(1, 40))
def test_segments_own_every_node_once_and_hold_all_ancestors(texts: list[list[int]], size: int) -> None:
    scored = np.array([j > 0 for text in texts for j in range(len(text))])
    tree = tree_of(texts, scored)
    owned: list[int] = []
    for segment in cut_segments(tree, size):
        own = segment.nodes[len(segment) - segment.owned :].tolist()
        owned += own
        there = set(segment.nodes.tolist())
        assert all(tree.parents[node] in there or tree.parents[node] == -1 for node in there)
        assert len(segment) <= max(size, 2 * int(tree.depths[own[0]]), int(tree.depths[own[0]]) + 1)
    assert owned == list(range(tree.nodes_run))


def test_long_texts_repeat_at_most_as_much_as_they_add() -> None:
    text = [list(range(1000))]
    tree = tree_of(text, np.arange(1000) > 0)
    segments = list(cut_segments(tree, 64))
    # ancestors double with each segment, so repeats sum to less than twice the nodes
    assert sum(map(len, segments)) <= 3 * tree.nodes_run


def test_first_tokens_cannot_be_scored() -> None:
    with pytest.raises(ValueError, match="nothing precedes"):
        tree_of([[1, 2]], np.array([True, True]))
