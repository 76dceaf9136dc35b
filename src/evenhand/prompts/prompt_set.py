"""The table of prompts with its card, its content hash and its samples."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import polars as pl

from evenhand.prompts.sampling import crossed_rows, row_keys
from evenhand.schema import (
    PROMPT_KEYS,
    Card,
    DataError,
    UsageError,
    check_fields,
    frame_hash,
    missing_columns,
    unknown_name,
)


@dataclass(frozen=True, eq=False)
class PromptSet:
    """A set of prompts with the groups that they mention, and a card that describes their origin.

    Benchmarks create it. Create one yourself for prompts from memory; `read_prompts` reads prompts from a
    file.

    Parameters
    ----------
    frame : polars.DataFrame
        One row per prompt. Columns: ``prompt_id`` (String, unique) and ``text`` (String), optionally
        ``context`` (text before it), ``span_start`` and ``span_end`` (characters of the part that is scored),
        and any group columns, such as ``axis`` (a way to group people) and ``descriptor``.
    card : Card
        Description of the set: name, summary, source, licence and known problems.
    own : str, default ""
        Name in reports for prompts of the user; "" for prompts of a benchmark.
    notes : tuple of str, default ()
        Sentences on what was left out and why. They are shown before the model is run and stored with a run.

    Raises
    ------
    DataError
        A key column is missing, has the wrong type or contains nulls, or a prompt_id occurs twice.

    Examples
    --------
    A card needs at least a name and a summary:

    >>> prompts = PromptSet(pl.DataFrame({"prompt_id": ["a", "b"], "text": ["Hi.", "Ho."]}), Card("x", "y"))
    >>> len(prompts)
    2
    """

    frame: pl.DataFrame
    card: Card
    own: str = ""
    """Name in reports if the prompts are the user's own and not those of the benchmark."""
    notes: tuple[str, ...] = ()
    """Sentences on what was left out and why. They are shown before the model is run, and stored with the run."""

    def __post_init__(self) -> None:
        check_fields(self, "frame", "card")
        name = self.card.name
        for column, dtype in PROMPT_KEYS.items():
            needs = f"Every prompt table needs {' and '.join(PROMPT_KEYS)}, both text."
            if lacking := missing_columns(f"Prompt set '{name}'", [column], self.frame.columns, needs):
                raise lacking
            if self.frame.schema[column] != dtype:
                raise DataError(
                    f"Column '{column}' of prompt set '{name}' is {self.frame.schema[column]}, not text.",
                    f"Cast it first: frame.with_columns(pl.col('{column}').cast(pl.String)).",
                )
            if nulls := self.frame[column].null_count():
                row = int(self.frame[column].is_null().arg_true()[0])
                raise DataError(
                    f"Column '{column}' of prompt set '{name}' is null in {nulls} rows (the first: row {row}).",
                    "Give each row an identifier and a text. An empty text is allowed: its response is recorded "
                    "as an error.",
                )
        ids = self.frame["prompt_id"]
        if ids.n_unique() != len(ids):
            double = ids.filter(ids.is_duplicated())[0]
            places = (ids == double).arg_true().to_list()
            raise DataError(
                f"prompt_id '{double}' occurs {len(places)} times in prompt set '{name}' "
                f"(rows {', '.join(map(str, places[:5]))}).",
                "Each prompt needs a unique identifier. Remove the column to have identifiers generated.",
            )

    def __len__(self) -> int:
        return self.frame.height

    @cached_property
    def content_hash(self) -> str:
        """Return the SHA-256 (hex) of column names and values in row order.

        The same content gives the same hash in every process, platform, column order, string encoding
        and chunk layout.
        """
        return frame_hash(self.frame)

    def with_columns(self, *columns: pl.Expr | pl.Series, **named: Any) -> "PromptSet":
        """Return the prompts with more group columns.

        Parameters
        ----------
        columns, named
            Expressions for the new columns, as in `polars.DataFrame.with_columns`.

        Raises
        ------
        UsageError
            The values of `prompt_id` or `text` would change.

        Examples
        --------
        >>> prompts = PromptSet(pl.DataFrame({"prompt_id": ["a"], "text": ["Hi."]}), Card("x", "y"))
        >>> prompts.with_columns(axis=pl.lit("greeting")).frame["axis"].to_list()
        ['greeting']
        """
        frame = self.frame.with_columns(*columns, **named)
        for key in PROMPT_KEYS:
            if not frame[key].equals(self.frame[key]):
                raise UsageError(
                    f"with_columns cannot change '{key}' of prompt set '{self.card.name}'.",
                    "To change texts or identifiers, build a new PromptSet.",
                )
        return replace(self, frame=frame)

    def filter(self, predicate: pl.Expr, described: str | None = None) -> "PromptSet":
        """Return the prompts that satisfy a Polars expression, in their order.

        Parameters
        ----------
        predicate : polars.Expr
            A boolean expression.
        described : str, optional
            Description of the expression for the error message.

        Raises
        ------
        UsageError
            No prompt is left.
        """
        return self._with_rows(self.frame.filter(predicate), described or str(predicate))

    def filter_axes(self, axes: Iterable[str]) -> "PromptSet":
        """Return the prompts of some axes (ways to group people, such as religion).

        Parameters
        ----------
        axes : iterable of str
            Values of the column ``axis``.

        Raises
        ------
        UsageError
            An axis is unknown (the message lists similar ones), no axis is given, or there is no column
            ``axis``.

        Examples
        --------
        >>> frame = pl.DataFrame({"prompt_id": ["a", "b"], "text": ["A.", "B."], "axis": ["age", "ability"]})
        >>> PromptSet(frame, Card("x", "y")).filter_axes(["age"]).frame["prompt_id"].to_list()
        ['a']
        """
        wanted = list(axes)
        self._require(["axis"])
        known = self.frame["axis"].cast(pl.String).drop_nulls().unique().to_list()
        for axis in wanted:
            if axis not in known:
                raise unknown_name("axis", axis, known)
        return self._with_rows(
            self.frame.filter(pl.col("axis").cast(pl.String).is_in(wanted)), f"axes {wanted}"
        )

    def sample(self, n: int, per: str | Sequence[str] = (), seed: int = 0) -> "PromptSet":
        """Return at most n prompts, spread evenly over strata, chosen by a hash of (seed, prompt_id).

        Parameters
        ----------
        n : int
            Maximum number of prompts, at least 1.
        per : str or sequence of str, default ()
            Columns whose combinations are the strata. Default: one stratum.
        seed : int, default 0
            Random seed.

        Returns
        -------
        PromptSet
            The sample, in the original row order.

        Raises
        ------
        UsageError
            n is below 1, or a column is unknown.

        Notes
        -----
        Strata that are smaller than their share are taken completely, and the rest is divided among the others.
        The seed decides which strata get a remainder. Row order has no effect. With the same seed, a larger
        sample contains every smaller one.

        Examples
        --------
        >>> frame = pl.DataFrame({"prompt_id": list("abcdef"), "text": [""] * 6, "axis": list("xxxxyz")})
        >>> prompts = PromptSet(frame, Card("x", "y"))
        >>> sorted(prompts.sample(4, per="axis").frame["axis"].to_list())
        ['x', 'x', 'y', 'z']
        """
        columns = [per] if isinstance(per, str) else list(per)
        self._require_positive(n)
        self._require(columns)
        if n >= len(self):
            return self
        keys = pl.Series("key", row_keys(self.frame["prompt_id"], seed, "sample"))
        rows = self.frame.select("prompt_id", *(pl.col(c).cast(pl.String) for c in columns)).with_columns(
            keys, _label(columns).alias("stratum")
        )
        strata = rows.select(pl.col("stratum").unique())
        strata = strata.with_columns(stratum_key=row_keys(strata["stratum"], seed, "stratum"))
        # the first row of every stratum, then the second of every stratum, ..., so that strata are even
        drawn = (
            rows.with_row_index("row")
            .sort("key", "prompt_id")
            .with_columns(turn=pl.int_range(pl.len()).over("stratum"))
            .join(strata, on="stratum")
            .sort("turn", "stratum_key", "stratum")
            .head(n)["row"]
            .sort()
        )
        return replace(self, frame=self.frame[drawn])

    def sample_crossed(
        self,
        n: int,
        unit: str = "descriptor",
        cross: Sequence[str] = ("template", "noun"),
        per: str = "axis",
        seed: int = 0,
        least_cells: int = 1,
        balance: Sequence[str] = ("gender", "kind", "valence"),
    ) -> "PromptSet":
        """Return at most n prompts in which all groups of an axis occur in the same sentences.

        Groups can then be compared within a cell: a combination of template and noun (by default), in which the
        prompts differ only by the group. A plain random sample would leave few such comparisons.

        Parameters
        ----------
        n : int
            Maximum number of prompts, at least 1.
        unit : str, default "descriptor"
            Column of the groups that are compared.
        cross : sequence of str, default ("template", "noun")
            Columns whose combinations are the cells.
        per : str, default "axis"
            Column within whose values groups are compared.
        seed : int, default 0
            Random seed for the choice of cells (and groups).
        least_cells : int, default 1
            Minimum number of cells per group. Groups are left out, evenly over `per`, only if n is too small
            for this.
        balance : sequence of str, default ("gender", "kind", "valence")
            Columns that describe nouns or templates. The chosen cells vary in them. Columns that the set does
            not have are ignored.

        Returns
        -------
        PromptSet
            The sample, in the original row order. `evenhand.prompts.sampling.crossed_rows` documents the
            design.

        Raises
        ------
        UsageError
            n is below 1 or too small for a single cell, or a column is unknown.
        """
        self._require_positive(n)
        self._require([unit, *cross, per])
        if n >= len(self):
            return self
        rows = crossed_rows(self.frame, n, unit, cross, per, seed, least_cells, balance)
        return self._with_rows(self.frame[rows], f"a crossed sample of {n}")

    def _require_positive(self, n: int) -> None:
        if n < 1:
            raise UsageError(
                f"A sample must have at least 1 prompt, got n={n}.", "Remove the limit to use all prompts."
            )

    def _require(self, columns: Sequence[str]) -> None:
        for column in columns:
            if column not in self.frame.columns:
                raise unknown_name(f"column of prompt set '{self.card.name}'", column, self.frame.columns)

    def _with_rows(self, frame: pl.DataFrame, described: str) -> "PromptSet":
        if frame.is_empty():
            raise UsageError(
                f"No prompt is left: none of the {len(self):,} prompts of '{self.card.name}' matches {described}.",
                "Widen the selection, for example with more axes or a larger sample.",
            )
        return replace(self, frame=frame)


def _label(columns: Sequence[str]) -> pl.Expr:
    """Return one string per combination of columns; null and the empty string stay distinct."""
    if not columns:
        return pl.lit("")
    marked = [pl.lit("=") + pl.col(column).cast(pl.String) for column in columns]
    return pl.concat_str([part.fill_null("~") for part in marked], separator="\x1f")
