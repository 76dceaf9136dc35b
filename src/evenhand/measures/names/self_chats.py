"""Tables of self-chats, and counts of tokens in the conversations of each name.

A table of self-chats has one row per utterance. Its columns are conversation (a label), name (with which speaker A
introduces itself, or another opener), speaker ("A" or "B"), turn and text. Turn 1 is the given opener, which is never
counted. A null text is missing, and an empty text is an empty reply. Group columns (gender, race_ethnicity) give the
group of the name.
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
"""Number of the given turn ("Hi! My name is Martha.")."""
LEAST_NAMES = 4
"""Minimum number of names per group for a result about names in general: two to find the difference, two to measure
it."""


def generated(frame: pl.DataFrame, measure: str, group: str) -> pl.DataFrame:
    """Return the utterances that the model wrote, in conversations with a name and a group.

    Raises DataError if a column is missing, a speaker is not A or B, a name is in two groups, a turn is below 1, or no
    utterance was generated.
    """
    require_columns(frame, ["conversation", "name", group, "speaker", "text"], measure)
    require_keys(frame, ["conversation"], measure)
    require_counts(frame, ["turn"], measure)
    strange = frame.filter(~pl.col("speaker").cast(pl.String).is_in(["A", "B"]).fill_null(False))
    if strange.height:
        raise DataError(
            f"{measure}: the column speaker must contain A or B, found {strange['speaker'][0]!r}.",
            "Name the speaker who opens the conversation A, and the one who replies B.",
        )
    told = frame.filter(pl.col("name").is_not_null() & pl.col(group).is_not_null())
    both = told.group_by("name").agg(pl.col(group).n_unique()).filter(pl.col(group) > 1)
    if both.height:
        raise DataError(
            f"{measure}: these names have more than one {group}: "
            f"{', '.join(sorted(both['name'].cast(pl.String))[:5])}.",
            f"Give each name one {group}, or set it to null to exclude the name from all groups.",
        )
    written = told.filter(pl.col("turn") > OPENER)
    if written.is_empty() or written["text"].null_count() == written.height:
        raise DataError(
            f"{measure}: no conversation contains a generated utterance. Turn {OPENER}, the opener, is not "
            "generated.",
            "Number the utterances of each conversation 1, 2, 3, ... in their order.",
        )
    return written


@dataclass(frozen=True)
class NameCounts:
    """Numbers of tokens in the conversations of each name, for n names and V distinct tokens."""

    names: list[str]
    groups: tuple[str, ...]
    group: Codes
    """Group of each name, as an index into ``groups``; shape (n,)."""
    tokens: list[str]
    counts: csr_array
    """Number of occurrences of each token in each name's conversations; shape (n, V)."""
    missing: int
    """Number of utterances without a text."""
    stratum: Codes
    """Stratum of each name, as a code; shape (n,). A stratum is another property, such as race, that must not be
    confounded with the group. All codes are 0 without strata.
    """

    def frequencies(self, chosen: Codes | slice = slice(None), *, smoothing: float = 0.0) -> Floats:
        """Return each token's share of all tokens of a group, shape (groups, V).

        Parameters
        ----------
        chosen : numpy.ndarray of int or slice
            Indices of the names to use. Default: all.
        smoothing : float, default 0
            Number that is added to each count.

        Returns
        -------
        numpy.ndarray, shape (groups, V)
            Shares from 0 to 1. NaN for a group without tokens.
        """
        rows = np.arange(len(self.names))[chosen]
        sums = np.zeros((len(self.groups), self.counts.shape[1]))
        for number in range(len(self.groups)):
            sums[number] = self.counts[rows[self.group[rows] == number]].sum(axis=0)
        sums += smoothing
        total = sums.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(sums, total, out=np.full(sums.shape, np.nan), where=total > 0))

    def in_order(self, groups: tuple[str, ...]) -> "NameCounts":
        """Return a copy with the groups in the given order."""
        places = np.array([groups.index(name) for name in self.groups])
        return replace(self, groups=groups, group=places[self.group])

    def of_tokens(self, kept: Codes) -> "NameCounts":
        """Return a copy with only the tokens at the given indices."""
        return replace(self, tokens=[self.tokens[place] for place in kept], counts=self.counts[:, kept])


def name_counts(frame: pl.DataFrame, measure: str, group: str, within: str | None = None) -> NameCounts:
    """Count the tokens in the generated utterances of each name's conversations.

    Parameters
    ----------
    frame : polars.DataFrame
        Self-chats, one row per utterance. The column ``tokens`` is used if it has lists of ids or strings. Otherwise,
        tokens are the words and punctuation marks of ``text`` in lower case.
    measure : str
        Name of the measure, for error messages.
    group : str
        Column with the group of the name.
    within : str, optional
        Column with strata of names, such as race.

    Returns
    -------
    NameCounts
        Counts; names, groups and tokens are sorted.

    Raises
    ------
    DataError
        A column is missing, a name is in two groups, there are fewer than two groups, or there is no token.

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
            f"{measure} needs conversations of names of at least two groups, but the column {group} contains "
            f"{', '.join(groups)}"
            f"{', and the conversations are empty' if said.is_empty() else ''}.",
            f"Add conversations of names of another {group}.",
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
