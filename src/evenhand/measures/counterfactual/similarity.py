"""Test whether responses about different groups are less similar than responses to the same prompt.

Similarity alone is not meaningful, because a model that samples also gives different responses to a single prompt.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from evenhand.measures.columns import require_columns, require_keys, require_texts, typed
from evenhand.measures.counterfactual.masking import HIDDEN, changed_words, hide
from evenhand.measures.counterfactual.overlap import Embedding, cosines, rouge_l
from evenhand.measures.texts import words
from evenhand.schema import UsageError, checked
from evenhand.stats import Codes, Floats, benjamini_hochberg
from evenhand.stats.kernels import Block, Likeness, SimilarityDifference, compare_blocks, mean_difference

_AXES = (
    typed(pl.String, "axis")
    | typed(pl.Float64, "estimate low high null p")
    | typed(pl.Int64, "n n_missing n_units n_groups")
    | typed(pl.Float64, "within across unhidden minimum_detectable")
    | typed(pl.String, "obstacle note")
)
_GROUPS = (
    typed(pl.String, "axis group")
    | typed(pl.Float64, "estimate low high null p axis_p q")
    | typed(pl.Int64, "n n_missing n_units")
    | typed(pl.Float64, "minimum_detectable")
    | typed(pl.String, "obstacle note")
)
POINTS = 100.0
TEXTS, WORDINGS, BOTH, ALONE = (
    "The baseline is the similarity of responses to the same prompt about the same group.",
    "The baseline is the similarity of responses to different wordings of a prompt about the same group.",
    "The baseline is the similarity of responses to the same prompt about the same group. In {several} of {prompts} "
    "prompts, which ask about a group in several wordings, it is the similarity of responses to different wordings.",
    "{n} of {answers} responses are left out, because nothing is available for comparison: their group has only one "
    "response to the prompt, or only one wording of it where other groups have several.",
)
FEW = "There are fewer than two prompts with two other groups that have two responses each."


@dataclass(frozen=True)
class SimilarityGap:
    """Similarity of responses between groups, in points (0 to 100; equal texts have 100).

    Result of `response_similarity`. ``within`` is the baseline: if a model samples, its responses to a single prompt
    differ too.

    Attributes
    ----------
    axes : polars.DataFrame
        One row per axis.
        - ``within``: similarity of responses to one prompt. ``across``: similarity of responses about different groups.
        - ``estimate``: within minus across, with 95% CI over the user's prompts and one-sided ``p``. Above 0, groups
          get different responses. ``unhidden``: the same without hiding the changed words.
        - ``n``: responses compared. ``n_missing``: missing ones. ``n_units``: prompts. ``n_groups``: groups.
    groups : polars.DataFrame
        One row per group, with three or more groups.
        - ``estimate``: mean similarity between responses about the other groups, minus the mean similarity of this
          group's responses to these, with 95% CI and one-sided p. Above 0, the group stands out.
        - ``axis_p``: p of its axis. ``q``: p corrected for the groups and axes.

    Notes
    -----
    An ``obstacle`` states why nothing could be detected. A ``note`` describes the baseline and what is left out.
    """

    axes: pl.DataFrame
    groups: pl.DataFrame


@checked
def response_similarity(
    frame: pl.DataFrame,
    *,
    embed: Embedding | None = None,
    hidden: Sequence[str] = (),
    cluster: str | None = None,
    n_axes: int = 1,
    alpha: float = 0.05,
    seed: int = 0,
) -> SimilarityGap:
    """Return how much less similar responses about different groups are than responses to the same prompt.

    Use it to test whether a model writes different texts about different groups, whatever the difference is. It needs
    several responses to each prompt.

    Parameters
    ----------
    frame : polars.DataFrame
        One row per response, with the columns
        - ``base``: the user's prompt, before a group is inserted. ``text``: the prompt as sent.
        - ``group``: such as women. Optionally ``axis`` (such as gender) and ``prompt_id``.
        - ``continuation``: the response; null is missing.
    embed : callable, optional
        Maps a list of texts to vectors (texts, dimensions), for semantic similarity (cosine). Default: ROUGE-L of
        words.
    hidden : sequence of str, default ()
        Words that are hidden in every response, such as pronouns. Words that differ between the wordings of a prompt
        are always hidden.
    cluster : str, optional
        Column with the sampling unit: prompts with equal values (for example with the same names) count as one.
        Default: ``unit`` if present, else each prompt.
    n_axes : int, default 1
        Number of axes that share `alpha`. Affects the minimum detectable effects and q.
    alpha : float, default 0.05
        Significance level.
    seed : int, default 0
        Random seed.

    Returns
    -------
    SimilarityGap
        Tables of axes and groups, in points.

    Raises
    ------
    DataError
        A column is missing, or a row has no base, group or axis.
    UsageError
        `alpha` is not between 0 and 1, or `n_axes` is below 1.

    Notes
    -----
    The test permutes responses between the groups of a base prompt. It is exact if neither the group nor the wording
    has an effect.

    If a prompt uses several wordings for a group (several names), wordings are permuted instead. The baseline is then
    the similarity to another wording about the same group. The effect of a single name is thus not attributed to the
    group. A group with a single response, or a single wording there, is left out of that prompt.

    References
    ----------
    - Gretton et al. 2012, eq. 3: unbiased maximum mean discrepancy (halved).
    - Lin 2004: ROUGE-L.

    Examples
    --------
    >>> rows = [(base, group, f"Is {group} good?", f"{word} {sample % 2}") for base in "abcdefgh" for sample in range(4)
    ...         for group, word in (("she", "no"), ("he", "yes"))]
    >>> frame = pl.DataFrame(rows, schema=["base", "group", "text", "continuation"], orient="row")
    >>> response_similarity(frame).axes.select(pl.col("within", "across", "estimate").round(1)).row(0)
    (66.7, 25.0, 41.7)
    """
    if not 0 < alpha < 1 or n_axes < 1:
        raise UsageError(
            "response_similarity: alpha must be between 0 and 1 (usually 0.05) and n_axes at least 1, got "
            f"alpha={alpha}, n_axes={n_axes}."
        )
    require_columns(frame, ["base", "group", "text", "continuation"], "response_similarity")
    if "axis" not in frame.columns:
        frame = frame.with_columns(axis=pl.lit(None, pl.String))
    elif frame["axis"].null_count() < frame.height:
        require_keys(frame, ["axis"], "response_similarity")
    require_keys(frame, ["base", "group"], "response_similarity")
    require_texts(frame, ["text"], "response_similarity")
    cluster = cluster or units_column(frame)
    require_keys(frame, [cluster], "response_similarity")
    axes, groups = [], []
    for part in (
        frame.with_columns(_unit=pl.col(cluster).rank("dense"))
        .sort("axis", "base", "group", "text")
        .partition_by("axis", maintain_order=True)
    ):
        axis, of_axis = _axis(part, embed, frozenset(word.lower() for word in hidden), n_axes, alpha, seed)
        axes.append(axis)
        groups += of_axis
    return SimilarityGap(pl.DataFrame(axes, schema=_AXES), pl.DataFrame(groups, schema=_GROUPS))


def units_column(frame: pl.DataFrame) -> str:
    """Return the column with the sampling unit: `unit` if present, otherwise the user's prompt."""
    return "unit" if "unit" in frame.columns else "base"


def _axis(
    part: pl.DataFrame,
    embed: Embedding | None,
    hidden: frozenset[str],
    n_axes: int,
    alpha: float,
    seed: int,
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    names = part["group"].unique().sort().to_list()
    answered = part.filter(pl.col("continuation").is_not_null())
    several = _several_wordings(part)
    how: dict[str, Any] = {"level": alpha / n_axes, "seed": seed}
    blocks = _blocks(_mask_words(answered, hidden), names, embed, several)
    units = answered.group_by("base", maintain_order=True).agg(pl.col("_unit").first())["_unit"].to_numpy()
    clusters = units.astype(np.int64)
    found = compare_blocks(blocks, len(names), clusters=clusters, **how)
    unhidden = None
    if found.axis is not None:
        open_blocks = _blocks(_mask_words(answered, None), names, embed, several)
        unhidden = mean_difference(open_blocks, len(names), clusters)
    used = pl.struct("base", "group").is_in(_taking_part(answered, several).implode())
    counts = part.group_by("group").agg(
        n=(used & pl.col("continuation").is_not_null()).sum().cast(pl.Int64),
        n_missing=pl.col("continuation").null_count().cast(pl.Int64),
    )
    note = _note(several, part["base"].n_unique(), answered.height, int(counts["n"].sum()))
    row: dict[str, Any] = {
        "axis": part["axis"][0],
        "n": int(counts["n"].sum()),
        "n_missing": int(counts["n_missing"].sum()),
        "n_units": found.blocks,
        "n_groups": len(names),
        "null": 0.0,
        "within": None if np.isnan(found.within) else POINTS * found.within,
        "across": None if np.isnan(found.across) else POINTS * found.across,
        "obstacle": found.obstacle,
        "note": note,
    }
    if found.axis is not None:
        row |= _contrast(found.axis)
    if unhidden is not None:
        row["unhidden"] = POINTS * unhidden
    rows = [
        {"axis": part["axis"][0], "group": group, "n": n, "n_missing": missing, "null": 0.0, "note": note}
        for group, n, missing in counts.sort("group").iter_rows()
    ]
    return row, _groups(rows, found, n_axes) if len(names) > 2 else []


def _groups(rows: list[dict[str, Any]], found: Likeness, n_axes: int) -> list[dict[str, Any]]:
    if found.axis is None:
        return [row | {"n_units": 0, "obstacle": found.obstacle} for row in rows]
    p = np.array([np.nan if one is None else one.p for one in found.groups])
    q = np.maximum(benjamini_hochberg(p), min(1.0, found.axis.p * n_axes))
    return [
        row | {"n_units": 0, "obstacle": FEW}
        if one is None
        else row | _contrast(one) | {"n_units": one.blocks, "axis_p": found.axis.p, "q": float(q[place])}
        for place, (row, one) in enumerate(zip(rows, found.groups, strict=True))
    ]


def _contrast(one: SimilarityDifference) -> dict[str, Any]:
    return {
        "estimate": POINTS * one.estimate,
        "low": POINTS * one.low,
        "high": POINTS * one.high,
        "p": one.p,
        "minimum_detectable": POINTS * one.smallest,
    }


def _several_wordings(asked: pl.DataFrame) -> frozenset[str]:
    """Return the prompts with two or more wordings for a group, whether or not all have responses."""
    counts = asked.group_by("base", "group").agg(pl.col("text").n_unique())
    return frozenset(counts.filter(pl.col("text") > 1)["base"])


def _taking_part(answered: pl.DataFrame, several: frozenset[str]) -> pl.Series:
    """Return the pairs of prompt and group that are compared.

    They have two responses (or two wordings, if wordings are compared), and so does another group of the prompt.
    """
    things = (
        pl.when(pl.col("base").first().is_in(sorted(several)))
        .then(pl.col("text").n_unique())
        .otherwise(pl.len())
    )
    enough = answered.group_by("base", "group").agg(things=things.first()).filter(pl.col("things") > 1)
    return enough.filter(pl.len().over("base") > 1).select(pl.struct("base", "group")).to_series()


def _note(several: frozenset[str], prompts: int, answers: int, used: int) -> str:
    floor = TEXTS
    if several:
        floor = BOTH.format(several=len(several), prompts=prompts) if len(several) < prompts else WORDINGS
    return f"{floor} {ALONE.format(n=answers - used, answers=answers)}" if 0 < used < answers else floor


def _mask_words(answered: pl.DataFrame, hidden: frozenset[str] | None) -> pl.DataFrame:
    """Return the responses with `words`, in which hidden words are masked; None masks nothing."""
    parts = []
    for rows in answered.partition_by("base", maintain_order=True):
        without = frozenset[str]() if hidden is None else hidden | changed_words(rows["text"].unique())
        texts = [
            [word for word in hide(text, without) if word == HIDDEN or any(map(str.isalnum, word))]
            for text in words(rows["continuation"]).to_list()
        ]
        parts.append(rows.with_columns(pl.Series("words", texts, dtype=pl.List(pl.String))))
    return pl.concat(parts) if parts else answered.with_columns(words=pl.lit([], pl.List(pl.String)))


def _blocks(
    masked: pl.DataFrame, names: list[str], embed: Embedding | None, several: frozenset[str]
) -> list[Block]:
    place = {name: code for code, name in enumerate(names)}
    vectors: dict[str, Floats] = {}
    if embed is not None and masked.height:
        distinct = sorted({_sentence(text) for text in masked["words"].to_list()})
        vectors = dict(zip(distinct, np.asarray(embed(distinct), dtype=np.float64), strict=True))
    blocks = []
    for rows in masked.partition_by("base", maintain_order=True):
        texts = rows["words"].to_list()
        by_model = embed is not None
        likeness = cosines(np.stack([vectors[_sentence(t)] for t in texts])) if by_model else rouge_l(texts)
        codes = np.array([place[name] for name in rows["group"]], dtype=np.int64)
        by_wording = rows["base"][0] in several
        blocks.append(_of_wordings(likeness, codes, rows["text"]) if by_wording else Block(likeness, codes))
    return blocks


def _sentence(text: list[str]) -> str:
    """Return words as a sentence for an embedding model."""
    return " ".join("someone" if word == HIDDEN else word for word in text)


def _of_wordings(likeness: Floats, codes: Codes, texts: pl.Series) -> Block:
    """Return a block with wordings as items: the mean similarity of the responses to each two wordings."""
    labels = pl.DataFrame({"text": texts, "code": codes}).select(pl.struct("code", "text").rank("dense"))
    wording = labels.to_series().to_numpy().astype(np.int64) - 1
    member = (wording[:, None] == np.arange(wording.max() + 1)).astype(np.float64)
    sizes = member.sum(axis=0)
    mean = member.T @ likeness @ member / np.outer(sizes, sizes)
    first = np.array([codes[wording == place][0] for place in range(len(sizes))], dtype=np.int64)
    return Block(mean, first)
