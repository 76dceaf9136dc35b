"""The tree of distinct prefixes of token sequences, and its segments, which a decoder computes in one pass each.

Sentences from templates share most of their beginnings. Here each distinct prefix becomes one node. Nodes below which
nothing is scored (mostly leaves) are never computed. Nodes are numbered depth first, so the descendants of node u are
exactly the nodes u+1 .. end[u]-1. The attention mask of a segment is therefore one comparison: query v may attend to
key u if and only if u <= v < end[u]. The code that runs the decoder builds the mask (`scorer.py`; the numpy network of
reference/).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class PrefixTree:
    """Distinct prefixes of n sequences. `run` is the number of nodes that the model must compute."""

    tokens: NDArray[np.int32]  # (run,) token id of each computed node
    depths: Ints  # (run,) its position in the sequence
    ends: Ints  # (run,) one past its last descendant, in run numbering
    parents: Ints  # (run,) number of the node that is one token shorter, -1 at the root
    # (edges,) ascending node numbers; the next-token distribution of this node scores the edge
    edge_parents: Ints
    edge_tokens: NDArray[np.int32]  # (edges,) the token scored
    score_of: Ints  # (total tokens,) edge that scores each token of the input; -1 if the token is not scored

    @property
    def nodes_run(self) -> int:
        return len(self.tokens)


@dataclass(frozen=True)
class Segment:
    """A range of nodes with the ancestors of its first node, so that it contains everything its nodes attend to."""

    nodes: Ints  # (size,) run numbers, ascending
    owned: int  # the last `owned` nodes belong to this segment; those before are repeated ancestors

    def __len__(self) -> int:
        return len(self.nodes)


def build_tree(ids: NDArray[np.int32], offsets: Ints, scored: NDArray[np.bool_]) -> PrefixTree:
    """Build the prefix tree of token sequences.

    `ids` (total,) are token ids; sequence i is `ids[offsets[i]:offsets[i+1]]`. `scored` (total,) is True for tokens
    whose log probability is needed. It must be False for first tokens, which nothing precedes.

    Examples
    --------
    >>> tree = build_tree(np.array([7, 1, 2, 7, 1, 3], dtype=np.int32), np.array([0, 3, 6]),
    ...                   np.array([False, True, True] * 2))
    >>> tree.tokens.tolist(), tree.edge_tokens.tolist()  # 7 and 7-1 are run once, leaves 2 and 3 never
    ([7, 1], [1, 2, 3])
    """
    lengths = np.diff(offsets)
    n, longest = len(lengths), int(lengths.max(initial=0))
    columns = np.arange(longest)
    inside = columns < lengths[:, None]
    padded = np.full((n, longest), -1, dtype=np.int32)
    padded[inside] = ids
    wanted = np.zeros((n, longest), dtype=bool)
    wanted[inside] = scored
    if n and longest and wanted[:, 0].any():
        raise ValueError("the first token of a sequence cannot be scored: nothing precedes it")

    order = np.lexsort(padded.T[::-1]) if longest else np.arange(n)
    padded, inside, wanted, lengths = padded[order], inside[order], wanted[order], lengths[order]
    shared = np.zeros(n, dtype=np.int64)
    if n > 1:
        agree = np.logical_and.accumulate(padded[1:] == padded[:-1], axis=1).sum(axis=1)
        shared[1:] = np.minimum(agree, np.minimum(lengths[1:], lengths[:-1]))

    # a row adds a node for each position after the beginning that it shares with the previous row; for shared
    # positions, a running maximum finds the newest node of the column
    fresh = inside & (columns >= shared[:, None])
    first_new = np.concatenate([[0], np.cumsum(fresh.sum(axis=1))])
    node = np.where(fresh, first_new[:-1, None] + columns - shared[:, None], -1)
    node = np.maximum.accumulate(node, axis=0)
    rows, depths = np.nonzero(fresh)
    total = len(rows)
    parents = np.where(depths > 0, node[rows, np.maximum(depths - 1, 0)], -1)
    ends = np.empty(total, dtype=np.int64)
    for column in range(longest):
        breaks = np.flatnonzero(shared <= column)
        here = depths == column
        following = np.searchsorted(breaks, rows[here], side="right")
        ends[here] = first_new[np.append(breaks, n)[following]]

    is_scored = np.zeros(total, dtype=bool)
    is_scored[node[wanted]] = True
    scored_before = np.concatenate([[0], np.cumsum(is_scored)])
    run = scored_before[ends] > scored_before[np.arange(total) + 1]  # True if a scored node is strictly below
    number = np.concatenate([[0], np.cumsum(run)])

    edges = np.flatnonzero(is_scored)
    edges = edges[np.argsort(parents[edges], kind="stable")]
    edge_number = np.full(total, -1, dtype=np.int64)
    edge_number[edges] = np.arange(len(edges))
    score_of = np.full((n, longest), -1, dtype=np.int64)
    score_of[order] = np.where(wanted, edge_number[node] if total else -1, -1)
    original_inside = np.empty_like(inside)
    original_inside[order] = inside

    kept_parents = parents[run]
    return PrefixTree(
        tokens=padded[rows[run], depths[run]],
        depths=depths[run],
        ends=number[ends[run]],
        parents=np.where(kept_parents >= 0, number[kept_parents], -1),
        edge_parents=number[parents[edges]],
        edge_tokens=padded[rows[edges], depths[edges]],
        score_of=score_of[original_inside],
    )


def cut_segments(tree: PrefixTree, size: int) -> Iterator[Segment]:
    """Divide the tree into segments of about `size` nodes, so that few ancestors have to be computed again.

    A segment may be larger than `size` only below a path that is longer than half of it. At most half of all
    computations are therefore repeated.
    """
    first, total = 0, tree.nodes_run
    while first < total:
        depth = int(tree.depths[first])
        room = max(size - depth, depth, 1)
        last = min(first + room, total)
        if last < total:
            earliest = first + max(1, (3 * room) // 4)
            # the next segment repeats the ancestors of its first node; they are few compared with the nodes it owns
            candidates = np.arange(earliest, last + 1)
            last = int(candidates[np.argmin(tree.depths[candidates] / (candidates - first))])
        path: list[int] = []
        ancestor = int(tree.parents[first])
        while ancestor >= 0:
            path.append(ancestor)
            ancestor = int(tree.parents[ancestor])
        yield Segment(np.concatenate([path[::-1], np.arange(first, last)]).astype(np.int64), last - first)
        first = last


@dataclass(frozen=True)
class PackedSegments:
    """b segments side by side, padded to the length of the longest (size); padding is node -1."""

    nodes: Ints  # (b, size) run numbers, ascending in each row
    ends: Ints  # (b, size) one after the last descendant; query v may attend to key u iff u <= v < end[u]
    tokens: NDArray[np.int32]  # (b, size)
    depths: Ints  # (b, size) positions in the sequence
    rows: Ints  # (r,) flat positions (row * size + column) with a next-token distribution, ascending
    edges: Ints  # (e,) edges of the tree that these segments score
    edge_rows: Ints  # (e,) ascending; index into `rows` that scores each edge
    edge_tokens: NDArray[np.int32]  # (e,)


def owned_edges(tree: PrefixTree, segment: Segment) -> tuple[int, int]:
    """Return the range of edges (first, after last) that are scored by the segment's own nodes."""
    first = int(segment.nodes[len(segment) - segment.owned])
    low, high = np.searchsorted(tree.edge_parents, [first, first + segment.owned])
    return int(low), int(high)


def packed_segments(tree: PrefixTree, segments: Sequence[Segment]) -> PackedSegments:
    """Return the input of the decoder for some segments, and the positions of the scored tokens in its output."""
    size = max(map(len, segments))
    nodes = np.full((len(segments), size), -1, dtype=np.int64)
    rows, edges, edge_rows, seen = [], [], [], 0
    for b, segment in enumerate(segments):
        nodes[b, : len(segment)] = segment.nodes
        first = int(segment.nodes[len(segment) - segment.owned])
        low, high = owned_edges(tree, segment)
        parents, edge_row = np.unique(tree.edge_parents[low:high], return_inverse=True)
        rows.append(b * size + (len(segment) - segment.owned) + parents - first)
        edges.append(np.arange(low, high))
        edge_rows.append(edge_row + seen)
        seen += len(parents)
    real, edge = nodes >= 0, np.concatenate(edges)
    return PackedSegments(
        nodes=nodes,
        ends=np.where(real, tree.ends[nodes], -1),
        tokens=np.where(real, tree.tokens[nodes], 0),
        depths=np.where(real, tree.depths[nodes], 0),
        rows=np.concatenate(rows),
        edges=edge,
        edge_rows=np.concatenate(edge_rows),
        edge_tokens=tree.edge_tokens[edge],
    )
