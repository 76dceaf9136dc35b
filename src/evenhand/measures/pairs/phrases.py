"""Group pairs of sentences that say nearly the same, such as a phrase with and without "all" or "because" in front.

Both sentences of a pair say the same about two groups. What they say is the words that they share, with a gap where
they differ. Pairs are compared by these words, and not by the groups.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl
from scipy.sparse import csr_array, vstack
from scipy.sparse.csgraph import connected_components

from evenhand.measures.pairs.clustered import stretches
from evenhand.stats import Codes

ALIKE = 0.5
"""Share of common words from which two phrases count as one.

In the published pairs on religion1 and race, under DialoGPT, differences (minus the mean of their swap) correlate by .2
to .6 above it and by .06 or less below it.
"""
SLOT = "_"
_ROWS = 512


def phrase_clusters(
    first: Sequence[str | None],
    second: Sequence[str | None],
    *,
    same: Sequence[str | None] | None = None,
    alike: float = ALIKE,
) -> list[str | None]:
    """Group pairs of sentences that say nearly the same, and name each group by its shared words.

    Parameters
    ----------
    first, second : sequence of str or None, length n
        The two sentences of each pair. Their order does not matter.
    alike : float
        Two pairs are linked if the Jaccard index of their shared words is at least this (0 to 1). The shared words of a
        pair are those in both of its sentences. Groups are formed by single linkage.
    same : sequence, length n, optional
        Labels, such as the comment from which a pair was taken. Pairs with equal labels are linked too; None is no
        label.

    Returns
    -------
    list of str or None, length n
        Name of each pair's group: the shared words of its shortest pair, with "_" where the sentences differ. None if a
        sentence is missing or the two share no word.

    Notes
    -----
    Case and punctuation are ignored.

    References
    ----------
    - Jaccard 1912: the index.

    >>> more = ["All the old sing well.", "the old sing well", "My old cat sleeps"]
    >>> less = ["All the young sing well.", "the young sing well", "My young cat sleeps"]
    >>> phrase_clusters(more, less)
    ['the _ sing well', 'the _ sing well', 'my _ cat sleeps']
    """
    names = [_shared(one, other) for one, other in zip(first, second, strict=True)]
    known = [place for place, name in enumerate(names) if name is not None]
    texts = [str(names[place]) for place in known]
    labels = [None if same is None else same[place] for place in known]
    codes = _link_sets([set(text.split()) - {SLOT} for text in texts], labels, alike)
    table = pl.DataFrame(
        {"place": known, "text": texts, "code": codes}, schema_overrides={"text": pl.String, "code": pl.Int64}
    )
    order = table.with_columns(pl.col("text").str.len_chars().alias("length")).sort("length", "text")
    chosen = dict(order.unique("code", keep="first", maintain_order=True).select("code", "text").iter_rows())
    for place, code in table.select("place", "code").iter_rows():
        names[place] = chosen[code]
    return names


def phrases_of(frame: pl.DataFrame, by: str) -> pl.Series:
    """Return the phrase of each pair of a table with pair_id, sent_more and sent_less, for each value of `by`.

    Without texts, each pair is a separate phrase.
    """
    own = frame["pair_id"] if "pair_id" in frame.columns else pl.Series(range(frame.height))
    alone = "pair " + own.cast(pl.String).fill_null("")
    if not {"sent_more", "sent_less"} <= set(frame.columns):
        return alone.alias("phrase")
    numbered = frame.select(by, "sent_more", "sent_less").with_row_index("row")
    parts = [
        part.select("row").with_columns(
            phrase=pl.Series(
                phrase_clusters(part["sent_more"].to_list(), part["sent_less"].to_list()), dtype=pl.String
            )
        )
        for part in numbered.partition_by(by)
    ]
    made = pl.concat(parts).sort("row")["phrase"] if parts else alone
    return made.fill_null(alone).alias("phrase")


def _shared(one: str | None, other: str | None) -> str | None:
    if one is None or other is None:
        return None
    words, _, codes = stretches(one, other)
    parts: list[str] = []
    for kind, start, end, *_ in codes:
        parts += words[start:end] if kind == "equal" else [SLOT]
    return " ".join(parts) if set(parts) - {SLOT} else None


def _link_sets(sets: Sequence[set[str]], labels: Sequence[str | None], alike: float) -> Codes:
    """Return a code for each set, which is equal for linked sets."""
    number = len(sets)
    if not number:
        return np.arange(0)
    words = {word: code for code, word in enumerate(sorted(set().union(*sets)))}
    sizes = np.array([len(one) for one in sets])
    columns = np.array([words[word] for one in sets for word in sorted(one)])
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    table = csr_array((np.ones(len(columns)), columns, bounds), shape=(number, len(words)))
    links = []
    # in blocks, because the table of all pairs of pairs may not fit into memory
    for start in range(0, number, _ROWS):
        block = table[start : start + _ROWS]
        common = (block @ table.T).tocoo()
        rows, others = common.coords
        either = sizes[start + rows] + sizes[others] - common.data
        near = common.data >= alike * either - 1e-9
        shape = (block.shape[0], number)
        links.append(csr_array((np.ones(int(near.sum())), (rows[near], others[near])), shape=shape))
    ends: dict[str, list[int]] = {}
    for place, label in enumerate(labels):
        if label is not None:
            ends.setdefault(label, []).append(place)
    joined = [(places[0], other) for places in ends.values() for other in places[1:]]
    one, other = np.array(joined, dtype=np.int64).reshape(-1, 2).T
    by_label = csr_array((np.ones(len(joined)), (one, other)), shape=(number, number))
    return np.asarray(connected_components(vstack(links) + by_label, directed=False)[1])
