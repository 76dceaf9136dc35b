"""Select the judgements that count and arrange them: choices between pairs, ratings, and what they share."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.measures.columns import check_kinds, require_columns, require_texts
from evenhand.schema import VOTES, DataError
from evenhand.stats import Codes, holm
from evenhand.stats.votes import LEAST_LEVELS

PREFERENCE = "preference"
RATED = ("nominal", "ordinal", "interval")
LISTED = ("person", "role", "item", "question", "measurement", "answer", "excluded")
"""Columns of VOTES that every measure on answers to items needs."""


def require_votes(votes: pl.DataFrame, columns: Sequence[str], measure: str) -> None:
    """Check that a table has columns of VOTES with the right types; annotators and items may be numbers.

    Raises DataError, which names the column.
    """
    require_columns(votes, columns, measure, of_any_kind=True)
    check_kinds(votes, [name for name in columns if name in ("person", "item")], measure)
    texts = [name for name in columns if VOTES.get(name) == pl.String and name not in ("person", "item")]
    require_texts(votes, texts, measure, null=True)


def real_rows(
    votes: pl.DataFrame,
    measure: str,
    columns: Sequence[str],
    measurements: Sequence[str],
    question: str | None,
) -> pl.DataFrame:
    """Return the rows of real items with `counts`: True if the row has an answer and is not excluded.

    `measurements` are the levels of measurement of the wanted questions. `question` None means all of these. Raises
    DataError if a column or the question is missing.
    """
    require_votes(votes, [*LISTED, *columns], measure)
    known = votes.filter(pl.col("measurement").is_in(list(measurements)))
    if question is not None:
        known = known.filter(pl.col("question") == question)
        if known.is_empty():
            names = sorted(votes.filter(pl.col("measurement").is_in(list(measurements)))["question"].unique())
            raise DataError(
                f"{measure}: the votes contain no question {question!r} of the type {' or '.join(measurements)}.",
                f"Questions of this type: {', '.join(names) or 'none'}.",
            )
    real = known.filter(pl.col("role") == "real")
    return real.with_columns(counts=pl.col("excluded").is_null() & pl.col("answer").is_not_null())


def paired_votes(
    votes: pl.DataFrame, measure: str, question: str | None, baseline: str | None
) -> pl.DataFrame:
    """Return judgements of pairs of two models, one row each.

    The columns are question, model, against, value (1, 0 or 0.5; null is missing), item, person and sides. ``against``
    is `baseline` if it is in the pair, else the alphabetically first name. ``mine`` and ``theirs`` are the
    conversations of both models. ``on_left`` is True if `model` was on the left, and null if unknown.
    """
    needed = ["model_a", "model_b", "a", "b", "shown_left"]
    rows = real_rows(votes, measure, needed, [PREFERENCE], question)
    strange = rows.filter(pl.col("answer").is_not_null() & ~pl.col("answer").is_in(["a", "b", "tie"]))
    if strange.height:
        raise DataError(
            f"{measure}: the column answer contains {strange['answer'][0]!r}; expected a, b or tie.",
            "Write a if model_a was preferred and b if model_b was, regardless of the position on the page.",
        )
    alone = rows.filter(pl.col("model_a").is_null() | pl.col("model_b").is_null())
    if alone.height:
        raise DataError(
            f"{measure}: model_a or model_b is missing for the pair {alone['item'][0]!r}.",
            "Write the names of the models whose texts the pair shows.",
        )
    rows = rows.filter(pl.col("model_a") != pl.col("model_b"))
    b_first = pl.col("model_b") > pl.col("model_a")
    if baseline is not None:
        b_first = (
            pl.when(pl.col("model_a") == baseline)
            .then(True)
            .when(pl.col("model_b") == baseline)
            .then(False)
            .otherwise(b_first)
        )
    chosen = (
        pl.when(pl.col("answer") == "tie").then(0.5).otherwise((pl.col("answer") == "b").cast(pl.Float64))
    )
    return rows.with_columns(b_first=b_first).select(
        "question",
        "person",
        "item",
        "counts",
        model=pl.when("b_first").then("model_b").otherwise("model_a"),
        against=pl.when("b_first").then("model_a").otherwise("model_b"),
        mine=pl.when("b_first").then("b").otherwise("a"),
        theirs=pl.when("b_first").then("a").otherwise("b"),
        on_left=(pl.col("shown_left") == "b") == pl.col("b_first"),
        value=pl.when("counts").then(pl.when("b_first").then(chosen).otherwise(1 - chosen)),
    )


def rated(
    votes: pl.DataFrame,
    measure: str,
    question: str | None,
    by: str | None,
    columns: Sequence[str] = (),
    *,
    within: str | None = None,
) -> pl.DataFrame:
    """Return the judgements of single texts or conversations, with the columns `level` and `within`.

    Parameters
    ----------
    by, within : str or None
        Column of the judgements, or key in the JSON of their column `groups`. Its values become `level` and `within`;
        they are null if unknown.
    """
    rows = real_rows(votes, measure, [*columns, "value"], RATED, question)
    return rows.with_columns(
        level=_told(rows, measure, by).cast(pl.String), within=_told(rows, measure, within).cast(pl.String)
    )


def _told(rows: pl.DataFrame, measure: str, key: str | None) -> pl.Series:
    if key is None:
        return pl.Series([None], dtype=pl.String).new_from_index(0, rows.height)
    if key in rows.columns:
        return rows[key]
    require_columns(rows, ["groups"], measure, of_any_kind=True)
    found = rows["groups"].cast(pl.String).str.json_path_match(f"$['{key}']")
    if found.null_count() == rows.height and rows.height:
        raise DataError(
            f"{measure}: cannot group by {key!r}: the votes have no such column, and the items have no such key "
            "in `groups`.",
            "Use a column such as model, or a key that the study's items have in `groups`.",
        )
    return found


def shared_by(frame: pl.DataFrame, names: Sequence[str]) -> list[Codes]:
    """Return codes of the columns by which judgements are related, one array (rows,) for each.

    The first two of `names` (person and item) are always used. Another column is used if several items share one of its
    values.
    """
    spanning = [name for name in names[2:] if _spans_items(frame, name, names[1])]
    return [codes_of(frame, name) for name in (*names[:2], *spanning)]


def codes_of(frame: pl.DataFrame, name: str) -> Codes:
    """Return an integer from 0 for each row: equal for equal values of a column, and a separate one for each null."""
    ranks = frame[name].rank("dense").cast(pl.Float64).to_numpy() - 1
    alone = np.isnan(ranks)
    codes: Codes = np.where(alone, 0, ranks).astype(np.int64)
    codes[alone] = len(codes) + np.arange(int(alone.sum()))
    return codes


def levels_of(
    frame: pl.DataFrame, name: str, item: str = "item", *, absent_are_own: bool = False
) -> int | None:
    """Return the number of values of a column that several items may share; None if no two items share one.

    Parameters
    ----------
    absent_are_own : bool
        True if an item without a value counts as a separate value, such as a text without a prompt. False if its value
        is unknown.
    """
    if not _spans_items(frame, name, item):
        return None
    named = frame.drop_nulls(name)
    without = frame[item].n_unique() - named[item].n_unique() if absent_are_own else 0
    return int(named[name].n_unique()) + without


def _spans_items(frame: pl.DataFrame, name: str, item: str) -> bool:
    if name not in frame.columns:
        return False
    return bool((frame.drop_nulls(name).group_by(name).agg(pl.col(item).n_unique())[item] > 1).any())


def by_keys(frame: pl.DataFrame, keys: Sequence[str]) -> Iterator[tuple[tuple[str, ...], pl.DataFrame]]:
    """Yield the parts of a frame with equal keys, in the order of the keys."""
    for found, part in sorted(
        frame.partition_by(list(keys), as_dict=True).items(), key=lambda each: str(each[0])
    ):
        yield tuple(found), part


def too_few(persons: int, items: int, /, **shared: int | None) -> str | None:
    """Return why results of so few annotators and items do not generalise, or None.

    `shared` has the numbers of prompts or conversations that several items share, with a name in the singular as key
    ("prompt", "conversation of base"). None: none are shared.
    """
    counts: dict[str, int | None] = {"person": persons, "item": items, **shared}
    short = [
        f"{number} {what if number == 1 else _plural(what)}"
        for what, number in counts.items()
        if number is not None and number < LEAST_LEVELS
    ]
    if not short:
        return None
    told = f"{', '.join(short[:-1])} and {short[-1]}" if len(short) > 1 else short[0]
    each = " of each" if len(short) > 1 else ""
    alone = len(short) == 1 and short[0].startswith("1 ")
    return f"There {'is' if alone else 'are'} only {told}; at least {LEAST_LEVELS}{each} are needed."


def _plural(what: str) -> str:
    noun, *rest = what.split(" ", 1)
    return " ".join((f"{noun}s", *rest))


def adjusted(rows: list[dict[str, object]]) -> list[float | None]:
    """Return the p-values of the rows, adjusted by Holm over rows without an obstacle; None for rows with one."""
    p = np.array([_p(row) for row in rows], dtype=np.float64)
    return [None if np.isnan(q) else float(q) for q in holm(p)] if len(p) else []


def _p(row: dict[str, object]) -> float:
    p = row.get("p")  # a row with an obstacle may have no p
    return float(p) if isinstance(p, float) and row["obstacle"] is None else float("nan")


def decide(rows: list[dict[str, object]], alpha: float, words: tuple[str, str]) -> list[dict[str, object]]:
    """Return the rows with q and a verdict.

    The verdict is the first of `words` if the estimate is above the null, the second if it is below, "not detected", or
    "not measurable".
    """
    for row, q in zip(rows, adjusted(rows), strict=True):
        row["q"] = q
        if row["obstacle"] is not None or q is None:
            row["verdict"] = "not measurable"
        elif q > alpha:
            row["verdict"] = "not detected"
        else:
            row["verdict"] = words[0] if float(str(row["estimate"])) > float(str(row["null"])) else words[1]
    return rows


def testable(rows: int) -> int:
    """Return the number of tests by which the level is divided for the minimum detectable effect: at least one."""
    return max(rows, 1)


def numbers(part: pl.DataFrame, name: str = "value") -> npt.NDArray[np.float64]:
    """Return a column as floats."""
    return np.asarray(part[name].cast(pl.Float64).to_numpy())
