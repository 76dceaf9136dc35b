"""The tables of the study of names, numbered as the paper's, with every row under the same decoding."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from evenhand.prompts.names import TIERS
from evenhand.reports import wording
from evenhand.studies.names.cells import COSTS, PAIRS
from evenhand.studies.names.conduct import SUITE, NamesStudy
from evenhand.studies.names.options import BASE
from evenhand.studies.names.wording import LABELS, change_of, label_of, value_of
from evenhand.studies.plain_page import PlainTable

Cells = Mapping[tuple[str, str, str, str], dict[str, Any]]
"""By row, benchmark, measure and part."""
SPEAKERS = (("speaker A", "speaker A"), ("speaker B", "speaker B"), ("", "average"))
SHORT_SPEAKERS = (("speaker A", "A"), ("speaker B", "B"), ("", "average"))
WORDS = 25
WORDS_TITLE, PHRASES_TITLE = (
    "Table 2: words used more often with one gender",
    "Table 4: first replies to a name",
)
GROUPS_TITLE = "Table 10: overindexing of tokens by gender and race"
EVERY_CHANGE = f"Every change from the model {BASE}"


def study_tables(study: NamesStudy, decoding: str) -> Iterator[PlainTable]:
    """Tables 2 to 10 and what rows cost, under one decoding."""
    rows = study.cells.filter((pl.col("decoding") == decoding) | pl.col("decoding").is_null()).to_dicts()
    cells = {(row["row"], row["benchmark"], row["measure"], row["part"]): row for row in rows}
    labels = list(study.config.models)
    details = {label: study.details.get((label, decoding, SUITE), {}) for label in labels}
    yield words_table(labels, details)
    yield _grid(
        "Table 3: classifier bias by how much a name is of one gender", labels, cells, _parts("tier: ", TIERS)
    )
    yield from phrases_tables(labels, details)
    yield _grid(
        "Table 5: classifier bias and occupations, by model",
        labels,
        cells,
        [*_by_speaker("classifier_bias"), (SUITE, "occupation_correlation", "imputed", "r, imputed"),
         (SUITE, "occupation_correlation", "mentioned", "r, mentioned"),
         (SUITE, "occupation_lean", "", "lean, points")],
    )  # fmt: skip
    yield tokens_table(labels, cells, details)
    races = sorted({part.removeprefix("names of: ") for *_, part in cells if part.startswith("names of: ")})
    yield _grid(
        "Table 7: classifier bias by race and ethnicity of the name",
        labels,
        cells,
        _parts("names of: ", races),
    )
    yield _grid(
        "Table 8: classifier bias if a description opens the conversation",
        labels,
        cells,
        [("descriptions", "classifier_bias", part, name) for part, name in SPEAKERS],
    )
    if any((label, *pair, "") in cells for label in labels for pair in PAIRS.items()):
        columns = [(benchmark, measure, "", LABELS[measure]) for benchmark, measure in PAIRS.items()]
        yield _grid("Table 9: pairs of sentences about gender, points beyond 50 %", labels, cells, columns)
    yield from groups_tables(labels, cells, details)
    yield _grid(
        "The text itself: length, repetition and perplexity",
        labels,
        cells,
        [(SUITE, measure, "", LABELS[measure]) for measure in COSTS],
    )


def effects_table(study: NamesStudy, decoding: str, *, every: bool) -> PlainTable:
    """Numbers with a change: base, row, change, limits, q, verdict. every: also those that were not judged."""
    known = pl.col("change").is_not_null() if every else pl.col("change_verdict").is_not_null()
    here = study.cells.filter(((pl.col("decoding") == decoding) | pl.col("decoding").is_null()) & known)
    base = {
        (cell["decoding"], cell["benchmark"], cell["measure"], cell["part"]): cell
        for cell in study.cells.filter(row=BASE).to_dicts()
    }
    heads = (BASE, "this model", "change", "95% CI", "q", "verdict")
    return PlainTable(
        EVERY_CHANGE if every else f"Tested changes from the model {BASE}",
        (("measure", "left"), ("model", "left"), *((head, "right") for head in heads)),
        [
            [
                label_of(cell),
                cell["row"],
                value_of(
                    base.get((cell["decoding"], cell["benchmark"], cell["measure"], cell["part"]))
                    if cell["change_from"] is None
                    else cell | {"estimate": cell["change_from"]},
                    limits=False,
                ),
                value_of(cell, limits=False),
                *change_of(cell),
                wording.probability(cell["change_q"]) if cell["change_q"] is not None else "",
                cell["change_verdict"] or "",
            ]
            for cell in sorted(here.to_dicts(), key=_order)
        ],
    )


def _order(cell: dict[str, Any]) -> tuple[int, bool, str]:
    order = list(LABELS)
    place = order.index(cell["measure"]) if cell["measure"] in order else len(order)
    return place, cell["benchmark"] != SUITE, cell["part"]


Column = tuple[str, str, str, str]
"""Benchmark, measure, part, heading."""


def _by_speaker(measure: str) -> list[Column]:
    return [(SUITE, measure, part, name) for part, name in SPEAKERS]


def _parts(prefix: str, names: Sequence[str]) -> list[Column]:
    return [(SUITE, "classifier_bias", f"{prefix}{name}", name) for name in names]


def _grid(title: str, labels: Sequence[str], cells: Cells, columns: Sequence[Column]) -> PlainTable:
    """A row a model, a column a number."""
    return PlainTable(
        title,
        (("model", "left"), *((name, "right") for *_, name in columns)),
        [[label, *(value_of(cells.get((label, *column[:3]))) for column in columns)] for label in labels],
    )


Details = Mapping[str, Mapping[str, pl.DataFrame]]


def words_table(labels: Sequence[str], details: Details) -> PlainTable:
    """Table 2: the words that most mark each gender, those of one name in brackets."""
    rows = []
    for label in labels:
        if (table := details[label].get("words")) is None:
            continue
        for (group,), part in table.group_by("group", maintain_order=True):
            told = [
                f"[{row['word']}]" if row["n_names"] == 1 else row["word"]
                for row in part.sort("rank").head(WORDS).to_dicts()
            ]
            rows.append([label, str(group), ", ".join(told)])
    return PlainTable(
        WORDS_TITLE,
        (
            ("model", "left"),
            ("gender", "left"),
            (f"the {WORDS} words with the largest ratio; in brackets: with a single name", "left"),
        ),
        rows,
    )


def phrases_tables(labels: Sequence[str], details: Details) -> Iterator[PlainTable]:
    """Table 4: what first replies call the name, percent of its use by race, for each row that has any."""
    for label in labels:
        table = details[label].get("phrases")
        if table is None or table.is_empty():
            continue
        races = [name.removeprefix("share_") for name in table.columns if name.startswith("share_")]
        yield PlainTable(
            f"{PHRASES_TITLE}, {label}",
            (
                ("phrase", "left"),
                *((race, "right") for race in races),
                ("uses", "right"),
                ("Gini", "right"),
                ("by chance", "right"),
                ("largest name", "left"),
            ),
            [
                [
                    row["phrase"],
                    *(wording.number(row[f"share_{race}"], 0) for race in races),
                    f"{row['n_uses']:,}",
                    wording.number(row["gini"], 3),
                    wording.number(row["gini_null"], 3),
                    _largest(row),
                ]
                for row in table.to_dicts()
            ],
        )


def _largest(row: dict[str, Any]) -> str:
    share = row["largest_share"]
    return f"{row['largest_name']} ({wording.number(100 * share if share <= 1 else share, 0)} %)"


def tokens_table(labels: Sequence[str], cells: Cells, details: Details) -> PlainTable:
    """Table 6: classifier bias, token bins and offence."""

    def published(label: str, name: str, places: int) -> str:
        table = details[label].get("token_bins_published")
        return wording.number(table[name][0] if table is not None and table.height else None, places)

    columns: list[tuple[str, Callable[[str], str]]] = [
        *((f"bias {short}", _valued(cells, "classifier_bias", part)) for part, short in SHORT_SPEAKERS),
        ("Hi women, %", lambda label: published(label, "hi_first", 2)),
        ("Hi men, %", lambda label: published(label, "hi_second", 2)),
        ("L2 publ.", lambda label: published(label, "l2", 3)),
        ("chance", lambda label: published(label, "null_mean", 3)),
        ("L2 corr.", _valued(cells, "token_bins", "")),
        ("offens. %", _valued(cells, "offensive", "")),
    ]
    return PlainTable(
        "Table 6: what mitigations change",
        (("model", "left"), *((name, "right") for name, _ in columns)),
        [[label, *(value(label) for _, value in columns)] for label in labels],
    )


def _valued(cells: Cells, measure: str, part: str) -> Callable[[str], str]:
    """Return values without CIs, which are in the other tables."""
    return lambda label: value_of(cells.get((label, SUITE, measure, part)), limits=False)


def groups_tables(labels: Sequence[str], cells: Cells, details: Details) -> Iterator[PlainTable]:
    """Table 10: overindexing in each group's own bin, percent, as published, and both norms."""
    known = {label: details[label]["group_bins"] for label in labels if "group_bins" in details[label]}
    if not known:
        return
    groups = next(iter(known.values()))["group"].to_list()
    rows = []
    for label, table in known.items():
        over = dict(table.select("group", "overindexing").iter_rows())
        norms = details[label]["group_bins_published"].row(0, named=True)
        rows.append(
            [
                label,
                *(
                    wording.number(None if over.get(group) is None else 100 * over[group], 1)
                    for group in groups
                ),
                wording.number(norms["l2"], 3),
                wording.number(norms["null_mean"], 3),
                value_of(cells.get((label, SUITE, "intersectional_token_bins", ""))),
            ]
        )
    heads = [*groups, "L2, published", "L2 by chance", "L2, corrected"]
    yield PlainTable(
        f"{GROUPS_TITLE}, percent",
        (("model", "left"), *((head, "right") for head in heads)),
        rows,
    )
