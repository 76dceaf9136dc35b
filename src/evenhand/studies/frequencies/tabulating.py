"""Convert counts to tables: every measure of frequencies, with the names of the terms."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import polars as pl

from evenhand.corpus import Counts, TermTable
from evenhand.corpus.reading import Reason
from evenhand.measures import (
    across_corpora,
    associations,
    axis_spread,
    counting_differences,
    group_shares,
    pronoun_leans,
    sense_shares,
    share_ratios,
    term_frequencies,
)
from evenhand.schema import DataError, UsageError, for_spreadsheets, write_table

PRONOUN = "pronoun"
APART = {"not_drawn": str(Reason.NOT_SAMPLED), "without_text": str(Reason.OTHER_RECORD)}
"""What is no document that was left out, by the columns that count it."""
NAMED = ("name", "kind", "axis", "group")
SPREADSHEETS = (
    *(
        "corpora",
        "frequencies",
        "means",
        "axes",
        "groups",
        "ratios",
        "leans",
        "published",
        "published_groups",
    ),
)
"""Tables that are also written as CSV. Pairs are not, because there may be millions; contexts are in the counts."""


@dataclass(frozen=True)
class FrequencyTables:
    """Tables of a finished count. Shares are percentages of documents, with 95% CIs."""

    sampled: float
    """Share of documents that was sampled for counting (0 to 1; 1.0: all)."""
    corpora: pl.DataFrame
    """One row per corpus: documents, sentences, words, characters, and numbers of documents that were not counted.

    ``left_out``: empty, broken or duplicate. ``not_drawn``: not in the sample. ``without_text``: WARC records that are
    not documents.
    """
    frequencies: pl.DataFrame
    """One row per corpus and term: the columns of `term_frequencies` and `sense_shares`, with names and flags as in
    `means`.
    """
    means: pl.DataFrame
    """One row per term: `across_corpora`, most frequent first, with name, kind, axis, group and three flags. ambiguous:
    it has other senses. repeats: another term of the axis has the same spelling and is shown for both. noun_phrase:
    HolisticBias lists it as a noun phrase, not as a descriptor."""
    axes: pl.DataFrame
    """One row per kind and axis: `axis_spread` of its descriptors, without noun phrases. Each spelling is used once."""
    groups: pl.DataFrame
    """One row per corpus and group: the columns of `group_shares`. Groups of pronouns are included even if they were
    not found.
    """
    ratios: pl.DataFrame
    """One row per corpus: documents with "he" pronouns divided by those with "she" pronouns (`share_ratios`)."""
    associations: pl.DataFrame
    """One row per corpus, level and pair: the columns of `associations`, with the names of both terms.

    If groups or axes share a term, only its first entry is used, here and in `leans`, so that each pair is tested once.
    """
    leans: pl.DataFrame
    """One row per corpus and term: `pronoun_leans` of "she" against "he", with name, kind, axis and group."""
    published: pl.DataFrame
    """One row per corpus and term that was also counted as published: `counting_differences`, with name and axis."""
    published_groups: pl.DataFrame
    """The same for groups: documents with any term of a group."""

    def write(self, folder: Path) -> dict[str, Path]:
        """Write each table as Parquet, and those for people also as CSV; return paths by file name."""
        return dict(self._written(folder))

    def _written(self, folder: Path) -> Iterator[tuple[str, Path]]:
        for field in fields(self):
            table = getattr(self, field.name)
            if isinstance(table, pl.DataFrame):
                yield f"{field.name}.parquet", write_table(folder / f"{field.name}.parquet", table)
                if field.name in SPREADSHEETS:
                    yield (
                        f"{field.name}.csv",
                        write_table(folder / f"{field.name}.csv", for_spreadsheets(table)),
                    )


def frequency_tables(counts: Counts, table: TermTable, *, sampled: float) -> FrequencyTables:
    """Return all tables of a count.

    Parameters
    ----------
    counts : Counts
        Counts of all corpora.
    table : TermTable
        Terms by which they were counted.
    sampled : float
        Share of documents that was sampled (0 to 1).

    Returns
    -------
    FrequencyTables
        The tables.

    Raises
    ------
    DataError
        The counts have no documents, or belong to other terms.
    UsageError
        `sampled` is out of range.
    """
    if counts.table_hash != table.content_hash:
        raise DataError(
            f"The table of terms ({table.content_hash}) is not the one that the counts were made with "
            f"({counts.table_hash}).",
            "Use the table in the folder of the counts.",
        )
    if not 0 < sampled <= 1:
        raise UsageError(
            f"frequency_tables: `sampled` must be above 0 and at most 1, got {sampled}.",
            "Give the share of documents that were counted.",
        )
    totals = counts.totals
    frequencies = term_frequencies(totals, counts.terms, n_terms=len(table))
    senses = (
        sense_shares(totals, counts.terms, table.terms)
        .drop("documents", "hits")
        .rename({"low": "near_person_low", "high": "near_person_high", "usual": "near_person_usual"})
    )
    marked = _named(table)
    names = marked.drop("alone")
    sizes = totals.group_by("corpus", maintain_order=True).agg(
        pl.col("documents", "sentences", "words", "characters").sum()
    )
    apart = {name: pl.col("reason") == reason for name, reason in APART.items()}
    skipped = counts.skipped.group_by("corpus").agg(
        left_out=pl.col("documents").filter(~pl.any_horizontal(apart.values())).sum(),
        **{name: pl.col("documents").filter(reason).sum() for name, reason in apart.items()},
    )
    means = across_corpora(frequencies, sizes).join(names, on="term", how="left", maintain_order="left")
    return FrequencyTables(
        sampled=sampled,
        corpora=sizes.join(skipped, on="corpus", how="left", maintain_order="left").with_columns(
            pl.col("left_out", *APART).fill_null(0)
        ),
        frequencies=_first(
            frequencies.join(senses, on=["corpus", "term"], how="left", maintain_order="left").join(
                names, on="term", how="left", maintain_order="left"
            ),
            "corpus",
        ),
        means=_first(means.sort("weighted_mean", "term", descending=[True, False])),
        axes=_axes(means),
        groups=group_shares(totals, _with_pronouns(counts, table)),
        ratios=share_ratios(totals, counts.groups, of="he", to="she", kind=PRONOUN),
        associations=_associations(counts, marked),
        leans=_leans(counts, table, marked),
        published=_first(
            counting_differences(totals, counts.published).join(
                names, on="term", how="left", maintain_order="left"
            ),
            "corpus",
        ),
        published_groups=counting_differences(totals, counts.published_groups),
    )


def _with_pronouns(counts: Counts, table: TermTable) -> pl.DataFrame:
    """Return counts of groups, with a row of zeros for each searched group of pronouns that is in no document."""
    key = ["kind", "axis", "group"]
    looked_for = table.terms.filter(pl.col("kind") == PRONOUN).select(key).unique().sort(key)
    missing = looked_for.cast({name: counts.groups.schema[name] for name in key}).join(
        counts.groups, on=key, how="anti"
    )
    there = counts.totals.filter(pl.col("documents") > 0).select("corpus", "fold").head(1)
    zeros = missing.join(there, how="cross").with_columns(
        pl.lit(0).alias(name) for name in counts.groups.columns if name not in (*key, *there.columns)
    )
    return pl.concat([counts.groups, zeros.select(counts.groups.columns).cast(counts.groups.schema)])


def _named(table: TermTable) -> pl.DataFrame:
    """Return the names of terms, and whether they are shown and form their axis (see `FrequencyTables.means`).

    alone: whether one term represents all terms of its kind with the same spelling, on any axis.
    """
    spelt = table.surfaces.group_by("term").agg(
        spelling=pl.col("text").sort_by("surface").first(), spellings=pl.len()
    )
    terms = table.terms.join(spelt, on="term", how="left", maintain_order="left")
    # the descriptor before the noun phrase, and the one with plurals before the one without
    standing = pl.col("term").sort_by(
        pl.col("group").is_null(), "spellings", "term", descending=[False, True, False]
    )
    return terms.select(
        "term",
        *NAMED,
        "ambiguous",
        repeats=pl.col("term") != standing.first().over("kind", "axis", "spelling"),
        alone=pl.col("term") == standing.first().over("kind", "spelling"),
        noun_phrase=pl.col("source").str.contains(r"^holisticbias-.*-nouns$"),
    )


def _first(frame: pl.DataFrame, *before: str) -> pl.DataFrame:
    """Move the columns that identify a row to the front."""
    named = [*before, "term", *NAMED]
    return frame.select(*named, pl.exclude(named))


def _axes(means: pl.DataFrame) -> pl.DataFrame:
    listed = means.filter(~pl.col("repeats") & ~pl.col("noun_phrase"))
    parts = listed.sort("kind", "axis").partition_by("kind", maintain_order=True)
    found = [axis_spread(part).with_columns(kind=pl.lit(part["kind"][0])) for part in parts]
    return pl.concat(found).select("kind", pl.exclude("kind"))


def _associations(counts: Counts, names: pl.DataFrame) -> pl.DataFrame:
    pairs = counts.pairs.filter(
        pl.col(side).is_in(names.filter("alone")["term"].to_list()) for side in ("first", "second")
    )
    found = associations(counts.totals, counts.terms, pairs, window=max(1, counts.options.window))
    for side in ("first", "second"):
        named = names.select(pl.col("term").alias(side), pl.col("name").alias(f"{side}_name"))
        found = found.join(named, on=side, how="left", maintain_order="left")
    return found.select(
        "corpus",
        "level",
        "first_name",
        "second_name",
        pl.exclude("first_name", "second_name", "corpus", "level"),
    )


def _leans(counts: Counts, table: TermTable, names: pl.DataFrame) -> pl.DataFrame:
    pronouns = table.terms.filter(pl.col("kind") == PRONOUN)
    she, he = (pronouns.filter(pl.col("group") == group)["term"].to_list() for group in ("she", "he"))
    others = names.filter((pl.col("kind") != PRONOUN) & pl.col("alone"))["term"].to_list()
    # without pronouns among the terms, the table is empty, and the page gives the reason
    pairs = counts.pairs if she and he else counts.pairs.clear()
    found = pronoun_leans(
        counts.totals, counts.terms, pairs, first=she or [len(table)], second=he or [len(table)], of=others
    )
    named = names.drop("ambiguous", "noun_phrase", "alone")
    return _first(found.join(named, on="term", how="left", maintain_order="left"), "corpus")
