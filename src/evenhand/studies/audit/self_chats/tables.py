"""Tables of conversations that begin with a name: main tables, and tables in collapsed sections."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from evenhand.reports import BenchmarkView, wording
from evenhand.studies.plain_page import PlainTable

WORDS, GROUP_WORDS, AS_PUBLISHED = 12, 6, 25
"""Number of words that are listed for each gender, for each gender and race, and for each gender as published."""
OCCUPATIONS = 12
LEAST_Z = 2.0
"""Minimum z-score of the log-odds of a word shown as typical of a group; lower values occur by chance."""
Row = Mapping[str, Any]
JUDGES = {"gender": "name visible", "gender_masked": "name hidden"}
SPLITS = {
    "tier": "link to one gender",
    "race_ethnicity": "race and ethnicity",
    "name_in_context": "name still in context",
}


@dataclass(frozen=True)
class ChatTables:
    """Tables of self-chats: those on the page and in the terminal, and those in collapsible sections of the page."""

    shown: list[PlainTable]
    folded: list[PlainTable]


def chat_tables(benchmark: BenchmarkView) -> ChatTables:
    """Return the tables that the analysis of a conversation benchmark made; empty for other benchmarks.

    They use the details `words`, `group_words`, `phrases`, `classifier_bias`, `turns`, `occupations`, `token_bins`,
    `group_bins`, `names` and `utterances` of `evenhand.benchmarks.names`.
    """
    if benchmark.detail("utterances") is None:
        return ChatTables([], [])
    shown = (
        _words(benchmark),
        _phrases(benchmark),
        _parts(benchmark),
        _turns(benchmark),
        _occupations(benchmark),
    )
    folded = (
        _group_words(benchmark),
        _published_words(benchmark),
        _all_occupations(benchmark),
        _bins(benchmark),
        _group_bins(benchmark),
        _names(benchmark),
    )
    return ChatTables([table for table in shown if table], [table for table in folded if table])


LEFT_OUT = (
    "Words that are more frequent in conversations opened with names (or descriptions) of one group, by the evidence "
    "for this (z of log-odds, 2 or more). Left out: words of the names or descriptions, and words that occur mostly "
    "with one of them. Ratio: frequency with the group, divided by the mean of both groups."
)


INFERRED = (
    "How much more often than by chance a classifier infers the gender of the name (or noun) from an utterance, in "
    "points; 0: no more often than by chance. Name hidden: the classifier reads the utterance without the name."
)
ONE_VERDICT = (
    "95% CIs treat names as a random sample. Only the first row has a verdict. Link to one gender: of the US babies "
    "with this name, the share with the gender in the name list (low: below 75%, medium: 75 to 95%, high: 95 to 99%, "
    "very high: above 99%)."
)


def _words(benchmark: BenchmarkView) -> PlainTable | None:
    table = benchmark.detail("words")
    if table is None or "of_several" not in table.columns:
        return None
    rows = [_word(row) for row in _surest(table, WORDS)]
    return PlainTable("Words of each gender", _heads("gender"), rows, (LEFT_OUT,)) if rows else None


def _group_words(benchmark: BenchmarkView) -> PlainTable | None:
    table = benchmark.detail("group_words")
    if table is None or "of_several" not in table.columns:
        return None
    rows = [_word(row) for row in _surest(table, GROUP_WORDS)]
    return PlainTable("Words of each gender and race", _heads("group"), rows, (LEFT_OUT,)) if rows else None


def _published_words(benchmark: BenchmarkView) -> PlainTable | None:
    table = benchmark.detail("words")
    if table is None:
        return None
    first = table.sort("group", "rank").filter(pl.col("rank") <= AS_PUBLISHED).iter_rows(named=True)
    rows = [[*_word(row), f"{row['lowest_rank']:,}"] for row in first]
    line = (
        "The largest ratios, including names and words of a single name. Worst rank: the lowest rank if one "
    )
    return PlainTable(
        "Words of each gender, as published",
        (*_heads("gender"), ("worst rank", "right")),
        rows,
        (f"{line}name is left out.",),
    )


def _heads(group: str) -> tuple[tuple[str, str], ...]:
    return (
        (group, "left"), ("word", "left"), ("uses", "right"), ("ratio", "right"), ("names", "right"),
        ("share of the most frequent name", "right"),
    )  # fmt: skip


def _surest(table: pl.DataFrame, most: int) -> Iterator[Row]:
    several = table.filter(pl.col("of_several") & (pl.col("z") >= LEAST_Z))
    several = several.sort("group", "z", "word", descending=[False, True, False])
    return several.group_by("group", maintain_order=True).head(most).iter_rows(named=True)


def _word(row: Row) -> list[str]:
    share = f"{wording.number(row['largest_share'], 0)} % {wording.printable(row['largest_name'], 40)}"
    return [
        row["group"],
        wording.printable(row["word"], 40),
        f"{row['count']:,}",
        wording.number(row["ratio"], 2),
        f"{row['n_names']:,}",
        share,
    ]


def _phrases(benchmark: BenchmarkView) -> PlainTable | None:
    table = benchmark.detail("phrases")
    if table is None:
        return None
    rows = []
    for row in table.iter_rows(named=True):
        name = f"{wording.number(row['largest_share'], 0)} % {wording.printable(row['largest_name'], 40)}"
        most = wording.number(row["share_" + row["group"]], 0)
        rows.append(
            [
                wording.printable(row["phrase"], 40),
                f"{row['n_uses']:,}",
                wording.number(row["gini"], 2),
                wording.number(row["gini_null_97_5"], 2),
                f"{row['group']} {most} %",
                name,
                wording.number(row["gini_without_one"], 2),
            ]
        )
    line = "Gini: how unevenly the uses of a phrase are distributed over races (0: evenly). Next to it is the 97.5% "
    line += "quantile if races are assigned to names at random. There is no verdict, because the table shows the most "
    line += "uneven phrases. A phrase of one name depends on this name, not on its race."
    heads = (
        ("phrase", "left"), ("uses", "right"), ("Gini", "right"), ("Gini by chance", "right"),
        ("race with most uses", "left"), ("name with most uses", "right"), ("Gini without this name", "right"),
    )  # fmt: skip
    return PlainTable("What first replies say about the name", heads, rows, (line,))


def _parts(benchmark: BenchmarkView) -> PlainTable | None:
    """Return a table of classifier bias in total and by speaker, tier, race and window, one column per classifier."""
    table = benchmark.detail("classifier_bias")
    if table is None:
        return None
    cells: dict[tuple[str, str], dict[str, Row]] = {}
    for row in table.iter_rows(named=True):
        cells.setdefault(_part(row), {})[row["judge"]] = row
    judges = [judge for judge in JUDGES if judge in set(table["judge"])]
    rows = []
    for (split, part), found in cells.items():
        texts = [_points(found.get(judge)) for judge in judges]
        rows.append([split, part, *texts, f"{max(row['n'] for row in found.values()):,}"])
    heads = (
        ("by", "left"),
        ("part", "left"),
        *((f"{JUDGES[judge]} (95% CI)", "right") for judge in judges),
        ("utterances", "right"),
    )
    return PlainTable("Inferred gender by part", heads, rows, (f"{INFERRED} {ONE_VERDICT}",))


def _part(row: Row) -> tuple[str, str]:
    split = row["split"]
    if split is None:
        return ("speaker", str(row["speaker"])) if row["speaker"] is not None else ("all", "")
    part = "" if row["part"] is None else str(row["part"])
    return SPLITS.get(split, str(split)), {"true": "yes", "false": "no"}.get(part.lower(), part)


def _points(row: Row | None) -> str:
    if row is None or not wording.known(row["estimate"]):
        return wording.ABSENT
    limits = wording.interval(row["low"], row["high"], 1)
    return wording.number(row["estimate"], 1) + (f" ({limits})" if limits else "")


def _turns(benchmark: BenchmarkView) -> PlainTable | None:
    table, said = benchmark.detail("turns"), benchmark.detail("utterances")
    if table is None or said is None:
        return None
    points = {(row["turn"], row["judge"]): row["estimate"] for row in table.iter_rows(named=True)}
    judges = [judge for judge in JUDGES if judge in set(table["judge"])]
    rows = []
    for row in said.sort("turn").iter_rows(named=True):
        told = [wording.number(points.get((row["turn"], judge)), 1) for judge in judges]
        window = row.get("in_context")
        sight = wording.ABSENT if window is None else f"{wording.number(100 * window, 0)} %"
        rows.append([str(row["turn"]), row["speaker"], *told, f"{row['n']:,}", sight])
    heads = (("turn", "right"), ("speaker", "left"), *((JUDGES[judge], "right") for judge in judges))
    line = "A value can fall from turn to turn only because the name is no longer in the context that the model reads."
    return PlainTable(
        "Inferred gender by turn",
        (*heads, ("utterances", "right"), ("name still in context", "right")),
        rows,
        (f"{INFERRED} {line}",),
    )


def _occupations(benchmark: BenchmarkView, most: int | None = OCCUPATIONS) -> PlainTable | None:
    table = benchmark.detail("occupations")
    if table is None:
        return None
    uses = pl.col("n_women") + pl.col("n_men")
    ordered = table.sort(uses, "occupation", descending=[True, False]).head(most or table.height)
    rows = [
        [
            row["occupation"],
            f"{wording.number(row['share'], 0)} %",
            f"{row['n_women']:,}",
            f"{row['n_men']:,}",
            f"{wording.number(row['share_said'], 0)} %",
        ]
        for row in ordered.iter_rows(named=True)
    ]
    of = (
        f"the {len(rows)} mentioned most of {table.height}"
        if table.height > len(rows)
        else f"all {len(rows)}"
    )
    line = "Women at work: women's percentage of the people who work in the occupation. Then the number of "
    line += (
        "conversations opened by women and men (by their names or descriptions) that mention it, and women's "
    )
    line += "share of these, adjusted for the number of conversations of each gender."
    heads = (
        ("occupation", "left"), ("women at work", "right"), ("conversations, women", "right"),
        ("conversations, men", "right"), ("women's share of conversations", "right"),
    )  # fmt: skip
    return PlainTable(f"Occupations mentioned ({of})", heads, rows, (line,))


def _all_occupations(benchmark: BenchmarkView) -> PlainTable | None:
    table = benchmark.detail("occupations")
    return _occupations(benchmark, None) if table is not None and table.height > OCCUPATIONS else None


CORRECTED = (
    "Corrected: words are sorted with half of the names and compared on the other half (0: no difference)."
)
_BIN_HEADS = (
    ("share of all words", "right"), ("difference, as published", "right"), ("difference, corrected", "right"),
    ("95% CI", "right"),
)  # fmt: skip


def _bins(benchmark: BenchmarkView) -> PlainTable | None:
    table = benchmark.detail("token_bins")
    if table is None:
        return None
    rows = [[str(row["bin"]), *_bin(row)] for row in table.iter_rows(named=True)]
    line = "Words are sorted from typical of women's conversations (bin 1) to typical of men's (bin 6), and cut into "
    line += "bins that are used equally often. Difference: use in women's conversations divided by the mean of both "
    line += f"genders, minus 1. {CORRECTED}"
    return PlainTable("Word distance: the six bins of words", (("bin", "right"), *_BIN_HEADS), rows, (line,))


def _group_bins(benchmark: BenchmarkView) -> PlainTable | None:
    table = benchmark.detail("group_bins")
    if table is None:
        return None
    rows = [[row["group"], *_bin(row), row["moved_most_by"] or ""] for row in table.iter_rows(named=True)]
    heads = (("group", "left"), *_BIN_HEADS, ("name with the largest effect", "left"))
    line = "The words that a group uses most, compared with the other groups. Difference: its use of these words "
    line += f"divided by the mean of all groups, minus 1. {CORRECTED}"
    return PlainTable("Word distance by gender and race", heads, rows, (line,))


def _bin(row: Row) -> list[str]:
    numbers = [wording.number(row[name], 3) for name in ("mass", "overindexing", "cross_fitted")]
    return [*numbers, wording.interval(row["cross_fitted_low"], row["cross_fitted_high"], 3)]


def _names(benchmark: BenchmarkView) -> PlainTable | None:
    table = benchmark.detail("names")
    if table is None:
        return None
    told = [name for name in _TOLD if name in table.columns]
    rows = [
        [
            *(
                wording.printable(row[name] or "", 60)
                for name in ("name", "gender", "race_ethnicity", "tier")
            ),
            f"{row['n_conversations']:,}",
            *(wording.number(row[name], 1) for name in told),
            str(row["n_compared"]),
        ]
        for row in table.sort("gender", "name", nulls_last=True).iter_rows(named=True)
    ]
    heads = (
        ("opened by", "left"), ("gender", "left"), ("race", "left"), ("link to one gender", "left"),
        ("conversations", "right"), *((f"{_TOLD[name]} %", "right") for name in told),
        ("conversations compared", "right"),
    )  # fmt: skip
    return PlainTable(f"All {len(rows):,} opening names", heads, rows, (ASSIGNED,))


ASSIGNED = (
    "Percentage of utterances that the classifier assigns to the gender of the name, and to the other gender."
)
_TOLD = {
    "own_gender": "own gender",
    "other_gender": "other gender",
    "own_gender_masked": "own, name hidden",
    "other_gender_masked": "other, name hidden",
}
