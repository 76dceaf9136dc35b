"""Self-chats as tables, and how often each token stands in the conversations of each name.

A table of self-chats has one row per utterance: conversation (a label), name (that with which speaker A introduces
itself, or another opener), speaker ("A" or "B"), turn (1 is the opener, which was given and is never counted) and text;
group columns (gender, race_ethnicity) say whose name it is. A null text is missing, an empty one an empty reply.
"""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from evenhand.measures.columns import require_columns, require_counts, require_keys
from evenhand.measures.texts import words
from evenhand.schema import DataError
from evenhand.stats import Codes, Floats

OPENER = 1
"""The turn that is given: "Hi! My name is Martha." """
LEAST_NAMES = 4
"""Minimum number of names per group for a result about names in general: two to find the difference, two to measure
it."""


def generated(frame: pl.DataFrame, measure: str, group: str) -> pl.DataFrame:
    """The utterances that the model wrote, of conversations with a name and a group; nothing else is measured.

    Raises DataError for absent columns, for speakers other than A and B, for a name that is in two groups, for turns
    below 1, and where nothing was generated.
    """
    require_columns(frame, ["conversation", "name", group, "speaker", "text"], measure)
    require_keys(frame, ["conversation"], measure)
    require_counts(frame, ["turn"], measure)
    strange = frame.filter(~pl.col("speaker").cast(pl.String).is_in(["A", "B"]).fill_null(False))
    if strange.height:
        raise DataError(
            f"{measure} found the speaker {strange['speaker'][0]!r}.",
            "Speaker A opens the conversation, B answers: name them A and B.",
        )
    told = frame.filter(pl.col("name").is_not_null() & pl.col(group).is_not_null())
    both = told.group_by("name").agg(pl.col(group).n_unique()).filter(pl.col(group) > 1)
    if both.height:
        raise DataError(
            f"{measure} found names with more than one {group}: {', '.join(sorted(both['name'].cast(pl.String))[:5])}.",
            f"Give each name one {group}, or set it to null to leave it out of all groups.",
        )
    written = told.filter(pl.col("turn") > OPENER)
    if written.is_empty() or written["text"].null_count() == written.height:
        raise DataError(
            f"{measure} found no generated utterance: turns begin with {OPENER}, the opener, which is not counted.",
            "Number the utterances of a conversation 1, 2, 3, ... as they were said.",
        )
    return written


@dataclass(frozen=True)
class NameCounts:
    """Counts (names, tokens) of n names, each in one of the groups, and of V distinct tokens."""

    names: list[str]
    groups: tuple[str, ...]
    group: Codes
    """(n,), index into groups."""
    tokens: list[str]
    counts: csr_array
    """(n, V)."""
    missing: int
    """Utterances without a text."""
    stratum: Codes
    """(n,), other properties of a name that must not be confounded with its group, such as a race; all 0 if there are
    none."""

    def frequencies(self, chosen: Codes | slice = slice(None), *, smoothing: float = 0.0) -> Floats:
        """Share of each token in all tokens of each group, (groups, V), over the chosen names.

        smoothing: added to each count. A group without tokens has NaN.
        """
        rows = np.arange(len(self.names))[chosen]
        sums = np.zeros((len(self.groups), self.counts.shape[1]))
        for number in range(len(self.groups)):
            sums[number] = self.counts[rows[self.group[rows] == number]].sum(axis=0)
        sums += smoothing
        total = sums.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(sums, total, out=np.full(sums.shape, np.nan), where=total > 0))

    def in_order(self, groups: tuple[str, ...]) -> "NameCounts":
        """The same with the groups in another order."""
        places = np.array([groups.index(name) for name in self.groups])
        return replace(self, groups=groups, group=places[self.group])

    def of_tokens(self, kept: Codes) -> "NameCounts":
        """The same of some of the tokens, by their places."""
        return replace(self, tokens=[self.tokens[place] for place in kept], counts=self.counts[:, kept])


def name_counts(frame: pl.DataFrame, measure: str, group: str, within: str | None = None) -> NameCounts:
    """How often each token stands in the generated utterances of each name's conversations.

    frame: a table of self-chats; a column `tokens` (lists of ids or strings, as the model's tokenizer cuts the text) is
    taken where there is one, not a column of anything else under this name, such as counts; else the words and
    punctuation marks of `text`, lower case. Names stand in order, groups too. within: a column of strata of names.
    Raises DataError as `generated`, and where there is but one group or no token.

    >>> frame = pl.DataFrame({"conversation": [1, 1, 2, 2], "name": ["Ann", "Ann", "Bob", "Bob"],
    ...     "gender": ["woman", "woman", "man", "man"], "speaker": ["A", "B"] * 2, "turn": [1, 2] * 2,
    ...     "text": ["Hi!", "a b a", "Hi!", "b"]})
    >>> counted = name_counts(frame, "m", "gender")
    >>> counted.tokens, counted.counts.toarray().tolist(), counted.groups
    (['a', 'b'], [[2, 1], [0, 1]], ('man', 'woman'))
    """
    if within is not None:
        require_columns(frame, [within], measure)
    written = generated(frame, measure, group)
    kind = written.schema.get("tokens")
    inner = kind.inner if isinstance(kind, pl.List) else None
    cut = inner is not None and (inner == pl.String or inner.is_integer())
    tokens = pl.col("tokens") if cut else words(written["text"]).alias("tokens")
    said = written.select(pl.col("name").cast(pl.String), tokens).explode("tokens").drop_nulls()
    listed = written.select(pl.col("name", group).cast(pl.String)).unique().sort("name")
    groups = tuple(sorted(listed[group].unique()))
    if len(groups) < 2 or said.is_empty():
        raise DataError(
            f"{measure} compares conversations of names of two groups or more; the column {group} has "
            f"{', '.join(groups)}{' and nothing was said' if said.is_empty() else ''}.",
            f"Give self-chats of names of another {group}, too.",
        )
    pairs = said.group_by("name", "tokens").len()
    vocabulary = pairs["tokens"].unique().sort()
    rows = listed["name"].search_sorted(pairs["name"]).to_numpy()
    columns = vocabulary.search_sorted(pairs["tokens"]).to_numpy()
    shape = (listed.height, len(vocabulary))
    counts = csr_array((pairs["len"].to_numpy().astype(np.int64), (rows, columns)), shape=shape)
    codes = np.searchsorted(np.asarray(groups), listed[group].to_numpy()).astype(np.int64)
    strata = np.zeros(listed.height, dtype=np.int64)
    if within is not None:
        told = written.group_by(pl.col("name").cast(pl.String)).agg(pl.col(within).cast(pl.String).min())
        strata = told.sort("name")[within].rank("dense").fill_null(0).to_numpy().astype(np.int64)
    return NameCounts(
        listed["name"].to_list(),
        groups,
        codes,
        [str(token) for token in vocabulary],
        counts,
        written["text"].null_count(),
        strata,
    )
