"""Compare replies with human replies, as DSTC7 does: BLEU, NIST, METEOR, entropy, distinct n-grams, length.

Each score is computed for all replies together, with a CI over keys (or clusters of keys). Functions of sums use the
bootstrap. Entropies and distinct n-grams use the jackknife, because they decrease if a key is drawn twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import stdtr

from evenhand.measures.columns import require_columns, require_keys, require_texts, typed
from evenhand.measures.texts.distinct_grams import distinct_grams
from evenhand.measures.texts.dstc7_cleaning import clean_reply
from evenhand.measures.texts.meteor import meteor, meteor_obstacle
from evenhand.measures.texts.overlap import LONGEST, bleu, mteval_tokens, nist, overlap
from evenhand.measures.texts.tokens import flat_lists, grams
from evenhand.schema import DataError, UsageError, checked, checked_kinds
from evenhand.stats import Codes, Floats, Intervals, exchange_test, jackknife, sums_bootstrap

SCORES = typed(pl.String, "measure") | typed(pl.Float64, "estimate low high") | typed(pl.Int64, "n n_missing")
CHANGES = (
    typed(pl.String, "measure")
    | typed(pl.Float64, "before after change low high p")
    | typed(pl.Int64, "n n_missing")
)
REFERENCES = 6
"""Number of references that DSTC7 gives mteval for each reply. If there are fewer, they are repeated from the first."""
HUMAN = 1
"""Position (from 0) of the reference that DSTC7 uses as the human competitor."""
EMPTY = "__empty__"
DISTINCT = (1, 2)
EXCHANGES = 1999
"""Number of random exchanges of replies between two models."""
_WIDTH = 16
SUMMED = (*(f"bleu_{n}" for n in range(1, 5)), *(f"nist_{n}" for n in range(1, 5)), "reply_length")
COUNTED = (*(f"entropy_{n}" for n in range(1, 5)), *(f"dist_{n}" for n in DISTINCT))


@checked
def response_scores(
    frame: pl.DataFrame,
    *,
    cluster: str | None = None,
    clean: bool = True,
    as_published: bool = False,
    seed: int = 0,
) -> pl.DataFrame:
    """Score replies against reference replies of people: BLEU, NIST and others.

    Use it to measure whether a dialogue model replies as people do, as in the evaluation of DSTC7. To compare two
    models, use `response_score_changes`.

    Parameters
    ----------
    frame : polars.DataFrame
        One row per key (the message that is replied to). Columns: ``key``, ``reply`` (null is missing), ``references``
        (list of one or more texts).
    cluster : str, optional
        Column of keys that belong together, such as those of one conversation. Default: each key.
    clean : bool, default True
        Clean texts as DSTC7's evaluation does with its option -c. Otherwise texts are tokens separated by blanks.
    as_published : bool, default False
        Treat references and empty replies as DSTC7 does (see Notes).
    seed : int, default 0
        Random seed of the bootstrap.

    Returns
    -------
    polars.DataFrame
        One row per ``measure``: ``estimate`` with ``low`` and ``high`` (95% CI), ``n`` and ``n_missing`` (replies).
        - bleu_1 to bleu_4, and meteor (if nltk and WordNet are available): 0 to 1.
        - nist_1 to nist_4: bits.
        - reply_length: mean number of tokens.
        - entropy_1 to entropy_4: nats.
        - dist_1, dist_2: proportions of distinct n-grams.

    Raises
    ------
    DataError
        A column is missing, a key occurs twice, or a key has no reference.

    Notes
    -----
    By default, all distinct references count once, and an empty reply is empty. With `as_published`, the second
    reference is left out (the human competitor of DSTC7 wrote it). The others are repeated until there are six, and an
    empty reply is scored as the word __empty__.

    Each score is computed for all replies together; it is not a mean of scores of replies. CIs of functions of sums use
    the bootstrap over keys. In every resample, NIST's information weights are those of all references. Entropies and
    distinct n-grams use the jackknife, because they decrease if a key is drawn twice.

    References
    ----------
    - Galley et al. 2019.
    - Barikeri et al. 2021, section 3.2 and Table 5.

    Examples
    --------
    >>> frame = pl.DataFrame({"key": ["a", "b"], "reply": ["i see .", "why ?"], "references": [["i see ."], ["no ."]]})
    >>> dict(response_scores(frame).select("measure", pl.col("estimate").round(3)).rows())["bleu_1"]
    0.6
    """
    scored = _Texts.of(frame, cluster, clean, as_published)
    names, limits = _all_scores(scored, scored, seed, paired=False)
    highest = [1.0 if name.startswith(("bleu", "dist", "meteor")) else np.inf for name in names]
    low, high = np.maximum(limits.low, 0.0), np.minimum(limits.high, highest)
    return _table(names, {"estimate": limits.estimate, "low": low, "high": high}, scored, SCORES)


@checked
def response_score_changes(
    before: pl.DataFrame,
    after: pl.DataFrame,
    *,
    cluster: str | None = None,
    clean: bool = True,
    as_published: bool = False,
    seed: int = 0,
) -> pl.DataFrame:
    """Compare the scores of two models that replied to the same keys (messages).

    Use it to test whether a mitigation made replies better or worse. The comparison is paired by key.

    Parameters
    ----------
    before, after : polars.DataFrame
        Replies of the first and second model, with the columns of `response_scores` (`after` needs only ``key`` and
        ``reply``). A key to which either model has no reply is left out.
    cluster : str, optional
        Column of keys that belong together. Default: each key.
    clean : bool, default True
        Clean texts, as in `response_scores`.
    as_published : bool, default False
        Treat references and empty replies as DSTC7 does, as in `response_scores`.
    seed : int, default 0
        Random seed of the bootstrap.

    Returns
    -------
    polars.DataFrame
        One row per ``measure``, in the unit of the measure.
        - ``before``, ``after``: scores. ``change``: after minus before, with 95% CI.
        - ``p``: two-sided. The CI contains 0 if p > .05.

    Raises
    ------
    DataError
        The keys differ, a column is missing, a key occurs twice, or a key has no reference.

    Notes
    -----
    The CI resamples the keys to which both models replied. p is that of Student's t with the same standard error.

    BLEU, NIST, METEOR and length also have a permutation p, from random exchanges of replies between the models. The
    larger of both p-values is reported. If no exchange gives a change as large as the observed one, p is that of t. The
    t test of BLEU-4 alone has too many false positives with 20 to 40 keys, because few runs of four words match.

    Examples
    --------
    >>> one = pl.DataFrame({"key": ["a", "b"], "reply": ["i see", "no"], "references": [["i see"], ["yes"]]})
    >>> two = one.with_columns(reply=pl.Series(["i saw", "yes"]))
    >>> response_score_changes(one, two).filter(measure="bleu_1").select("before", "after").row(0)
    (0.6666666666666666, 0.6666666666666666)
    """
    for frame in (before, after):
        require_columns(frame, ["key", "reply"], "response_score_changes")
    if set(before["key"]) != set(after["key"]):
        raise DataError(
            "response_score_changes: before and after contain different values in the column key.",
            "Give both models' responses for the same keys. Use null for a response that failed.",
        )
    other = after.select("key", _other="reply")
    joined = before.join(other, on="key", how="left", maintain_order="left")
    failed = pl.any_horizontal(pl.col("reply", "_other").is_null())
    sides = [
        _Texts.of(joined.with_columns(reply=pl.when(~failed).then(name)), cluster, clean, as_published)
        for name in ("reply", "_other")
    ]
    names, limits = _all_scores(sides[0], sides[1], seed, paired=True)
    _, levels = _all_scores(sides[0], sides[0], seed, paired=False)
    error = limits.standard_error
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * stdtr(np.maximum(limits.clusters - 1, 1), -np.abs(limits.estimate / error))
    exchanged = exchange_test(
        sides[0].sums,
        sides[1].sums,
        sides[0].clusters,
        lambda sums: _sum_scores(sums, sides[0].with_meteor),
        draws=EXCHANGES,
        seed=seed,
    )
    p = np.where(error > 0, p, np.where(limits.estimate == 0, 1.0, np.nan))
    # if no random exchange is as extreme, the permutation p is only an upper bound and is not used
    exchanged = np.where(exchanged > 1.5 / (1 + EXCHANGES), exchanged, 0.0)
    p[: len(exchanged)] = np.maximum(p[: len(exchanged)], exchanged)
    open_to_0 = p > 0.05
    table = {
        "before": levels.estimate,
        "after": levels.estimate + limits.estimate,
        "change": limits.estimate,
        "low": np.where(open_to_0, np.minimum(limits.low, 0.0), limits.low),
        "high": np.where(open_to_0, np.maximum(limits.high, 0.0), limits.high),
        "p": p,
    }
    return _table(names, table, sides[0], CHANGES)


@checked_kinds
def published_references(references: Sequence[str], human: int | None = HUMAN) -> list[str]:
    """Return the six references of DSTC7 for a message.

    Use it to reproduce published scores. The reference at position `human` is replaced by a copy of the next one. Then
    the list is repeated from its start until it has six entries.

    Parameters
    ----------
    references : sequence of str
        All reference replies to one message, at least one.
    human : int or None, default 1
        Position (from 0) of the reply of the human competitor, which is replaced. None: replace nothing.

    Returns
    -------
    list of str
        Six references.

    Raises
    ------
    UsageError
        There is no reference.

    References
    ----------
    - The evaluation of DSTC7, task 2.

    Examples
    --------
    >>> published_references(["a", "b", "c"])
    ['a', 'c', 'c', 'a', 'c', 'c']
    """
    if len(references) == 0:  # a polars Series cannot be used as a condition
        raise UsageError("published_references: references is empty.", "Give at least one text.")
    places = [place % len(references) for place in range(REFERENCES)]
    return [references[(p + 1) % len(references) if p == human else p] for p in places]


@dataclass(frozen=True)
class _Texts:
    """Replies that were given, as sums and as n-grams."""

    sums: Floats
    """Columns of `Overlap.parts`, length, 1, and METEOR if available, shape (n, 16 or 17)."""
    grams: list[tuple[Codes, Codes]]
    """n-grams of 1 to 4 tokens, and the reply of each."""
    clusters: Codes
    missing: int

    @property
    def with_meteor(self) -> bool:
        return int(self.sums.shape[1]) > _WIDTH

    @classmethod
    def of(cls, frame: pl.DataFrame, cluster: str | None, clean: bool, as_published: bool) -> "_Texts":
        require_keys(frame, ["key"], "response_scores")
        require_texts(frame, ["reply"], "response_scores", null=True)
        require_columns(frame, ["references"], "response_scores", of_any_kind=True)
        if cluster is not None:
            require_keys(frame, [cluster], "response_scores")
        if frame["key"].n_unique() < frame.height:
            twice = frame["key"].filter(frame["key"].is_duplicated())[0]
            raise DataError(f"response_scores: the key {twice!r} is repeated.", "Give one row for each key.")
        if frame.schema["references"] != pl.List(pl.String):
            raise DataError(
                "response_scores: the column references must contain lists of texts, but its type is "
                f"{frame.schema['references']}.",
                "Write one list of texts in each row.",
            )
        bare = frame.filter(pl.col("references").list.len().fill_null(0) == 0)
        if bare.height:
            raise DataError(
                f"response_scores: the row with the key {bare['key'][0]!r} has no reference.",
                "Give each row at least one text in the column references.",
            )
        given = frame.filter(pl.col("reply").is_not_null())
        tidy = clean_reply if clean else str
        replies = [tidy(reply) for reply in given["reply"]]
        chosen = [published_references(group) if as_published else group for group in given["references"]]
        references = [[tidy(text) for text in group] for group in chosen]
        if not as_published:  # a repeated reference counts once
            references = [list(dict.fromkeys(group)) for group in references]
        shown = (lambda text: text or EMPTY) if as_published else str
        cut = [_mteval(shown(reply)) for reply in replies]
        parts = overlap(cut, [[_mteval(shown(text)) for text in group] for group in references]).parts
        flat = flat_lists(pl.Series([reply.split() for reply in replies], dtype=pl.List(pl.String)))
        columns = [parts, flat.lengths[:, None], np.ones((len(replies), 1))]
        if meteor_obstacle() is None:
            words = [[text.split() for text in group] for group in references]
            columns.append(meteor([reply.split() for reply in replies], words)[:, None])
        found = [grams(flat, size) for size in range(1, LONGEST + 1)]
        labels = given[cluster or "key"].rank("dense").to_numpy().astype(np.int64) - 1
        return cls(
            np.concatenate(columns, axis=1),
            [(one.codes, one.owner) for one in found],
            labels,
            frame.height - given.height,
        )


def _mteval(text: str) -> list[str]:
    return mteval_tokens(text.replace("&", " ").replace("<", " "))  # as DSTC7 does to keep its XML valid


def _all_scores(one: _Texts, other: _Texts, seed: int, *, paired: bool) -> tuple[list[str], Intervals]:
    """Return all measures of one set of replies or, if paired, the differences of the other from it."""
    width = one.sums.shape[1]
    parts = np.concatenate([one.sums, other.sums], axis=1) if paired else one.sums

    def statistic(sums: Floats) -> Floats:
        first = _sum_scores(sums[..., :width], one.with_meteor)
        return _sum_scores(sums[..., width:], one.with_meteor) - first if paired else first

    names = [*SUMMED, *(["meteor"] if one.with_meteor else []), *COUNTED]
    summed = sums_bootstrap(parts, one.clusters, statistic, seed=seed)
    value, without = _count_scores(one)
    if paired:
        other_value, other_without = _count_scores(other)
        value, without = other_value - value, other_without - without
    counted = jackknife(value, without)
    both = [
        np.concatenate([getattr(summed, name), getattr(counted, name)])
        for name in ("estimate", "low", "high", "standard_error", "clusters")
    ]
    return names, Intervals(*both)


def _sum_scores(sums: Floats, with_meteor: bool) -> Floats:
    matched, information, total = (sums[..., 4 * k : 4 * k + 4] for k in range(3))
    with np.errstate(divide="ignore", invalid="ignore"):
        means = sums[..., 14:15] / sums[..., 15:16], sums[..., 16:17] / sums[..., 15:16]
    scores = [bleu(matched, total, sums[..., 12]), nist(information, total, sums[..., 13]), means[0]]
    return np.concatenate([*scores, means[1]] if with_meteor else scores, axis=-1)


def _count_scores(scored: _Texts) -> tuple[Floats, Floats]:
    """Return entropies and shares of distinct n-grams (6,), and the same without each cluster (clusters, 6)."""
    groups = int(scored.clusters.max()) + 1 if len(scored.clusters) else 0
    columns = []
    for codes, owner in scored.grams:
        columns.append(_entropy(codes, scored.clusters[owner], groups))
    for codes, owner in scored.grams[: len(DISTINCT)]:
        clusters = scored.clusters[owner]
        plain = distinct_grams(codes, owner, clusters, budget=1).plain
        columns.append((plain, _distinct_without(codes, clusters, groups)))
    return np.array([value for value, _ in columns]), np.stack([without for _, without in columns], axis=1)


def _entropy(codes: Codes, owner: Codes, groups: int) -> tuple[float, Floats]:
    """Return the entropy (nats) of the distribution of n-grams, and the same without each cluster (groups,)."""
    count, holder, gram, rest = _cells(codes, owner)
    left = len(codes) - np.bincount(owner, minlength=groups)
    lost = np.bincount(holder, weights=_nlogn(count[gram]) - _nlogn(rest), minlength=groups)
    weight = float(_nlogn(count).sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        without = np.where(left > 0, np.log(left) - (weight - lost) / left, 0.0)
    return float(np.log(len(codes)) - weight / len(codes)) if len(codes) else 0.0, without


def _distinct_without(codes: Codes, owner: Codes, groups: int) -> Floats:
    """Return the share of distinct n-grams without each cluster (groups,)."""
    count, holder, _, rest = _cells(codes, owner)
    left = len(codes) - np.bincount(owner, minlength=groups)
    alone = np.bincount(holder[rest == 0], minlength=groups)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(left > 0, (np.count_nonzero(count) - alone) / left, np.nan)


def _cells(codes: Codes, owner: Codes) -> tuple[Codes, Codes, Codes, Codes]:
    """Return the count of each n-gram and, for each n-gram of each cluster, both codes and its count elsewhere."""
    kinds = int(codes.max()) + 1 if len(codes) else 1
    count = np.bincount(codes, minlength=kinds)
    cells, mine = np.unique(owner * kinds + codes, return_counts=True)
    return count, cells // kinds, cells % kinds, count[cells % kinds] - mine


def _nlogn(count: Codes) -> Floats:
    return np.asarray(count * np.log(np.maximum(count, 1)))


def _table(
    names: Sequence[str], columns: dict[str, Floats], scored: _Texts, schema: dict[str, type[pl.DataType]]
) -> pl.DataFrame:
    sizes = {"n": len(scored.clusters), "n_missing": scored.missing}
    frame = pl.DataFrame({"measure": list(names), **columns})
    frame = frame.with_columns(pl.lit(value).alias(name) for name, value in sizes.items())
    return frame.select(pl.col(name).cast(kind) for name, kind in schema.items()).with_columns(
        pl.col(pl.Float64).fill_nan(None)
    )
