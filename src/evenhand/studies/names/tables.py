"""Tables of the study of names, numbered as in the paper. All results in a table have the same decoding."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from evenhand.prompts.names import TIERS
from evenhand.reports import wording
from evenhand.studies.names.cells import COSTS, PAIRS
from evenhand.studies.names.conduct import SUITE, NamesStudy
from evenhand.studies.names.options import BASE
from evenhand.studies.names.wording import (
    LABELS,
    PERPLEXITY_NOTE,
    format_change,
    format_interval,
    format_mde,
    format_value,
    label_cell,
)
from evenhand.studies.plain_page import PlainTable

Cells = Mapping[tuple[str, str, str, str], dict[str, Any]]
"""Results (rows of `cells.CELLS`) by row, benchmark, measure and part."""
SPEAKERS = (("speaker A", "speaker A"), ("speaker B", "speaker B"), ("", "both speakers"))
WORDS = 25
WORDS_TITLE, PHRASES_TITLE, MITIGATIONS_TITLE = (
    "Table 2: words used more often with one gender",
    "Table 4: what first replies call the name",
    "Table 6: what mitigations change",
)
TEXT_TITLE = "The text itself: length, repetition and perplexity"
EVERY_CHANGE = f"Every change from the model {BASE}"
ADD_A_MODEL = (
    "Only the original model was measured, so no mitigation is compared. To add a mitigated model, resume the study "
    "with --row LABEL=FOLDER (`evenhand debias` makes such folders)."
)
NO_PHRASES = (
    "No phrase about the name, such as “pretty name”, occurs in at least 5 first replies (or 1 in 200, at most 100) of "
    "names with a stated race. More conversations (a higher --limit) may fill this table."
)
NO_PAIRS = (
    "This table needs the sentences of CrowS-Pairs and StereoSet. Fetch them with `evenhand data fetch crows-pairs` "
    "and `evenhand data fetch stereoset`, then resume the study."
)
INFERRED = (
    "Inferred gender: how much more often than by chance a classifier infers the gender of the name from a reply, in "
    "points (0: no more often than by chance)."
)
NO_CI = "–: no CI, because there are too few names or because the value does not vary between names."
LINK = (
    "Link to one gender: of the US babies with this name, the share with the gender in the name list (low: below 75%, "
    "medium: 75 to 95%, high: 95 to 99%, very high: above 99%). Links without a name in this study are left out."
)
OCCUPATIONS = (
    "r: correlation between women's share of the people who work in an occupation and women's names' share of the "
    "conversations that mention it. “Imputed”: occupations that no conversation mentions count as 50% (as in the "
    "paper). “Mentioned”: they are left out. Occupation difference: women's share at work in the occupations "
    "mentioned, conversations of women's names minus those of men's names."
)
CHANGES = (
    f"Change: this model minus {BASE}; for perplexity, the ratio. MDE: the smallest change that this study detects "
    "with 80% power (–: not available)."
)
RATIO = (
    "Ratio: how often conversations of names of this gender use the word, divided by the mean of both genders. In "
    "brackets: words in conversations of a single name only, which may be due to this name and not to the gender."
)
GINI = (
    "Percentage of a phrase's uses by race and ethnicity of the name. Gini: how unevenly the phrase is distributed "
    "over them (0: evenly). By chance: the mean if races are assigned to names at random. Last column: the name with "
    "most uses, and its share of all uses."
)
GROUPS = (
    "Extra use: how much more often a group uses the words that are most typical of it, compared with the mean of all "
    "groups, in percent (100: twice as often). The word distance is the square root of the sum of squares of these "
    "numbers as fractions (L2 norm). Published: words are sorted and compared on the same conversations, so chance "
    "alone gives a value above 0. Corrected: sorted on half of the names and compared on the others (0: no difference)."
)
GROUPS_TITLE = "Table 10: words typical of each gender and race, and how much more its names use them"
SIZES = (
    "Inferred gender as in Table 5. Extra use: how much more often replies to women's (men's) names use the words that "
    "are most typical of them, compared with the mean of both genders. The published values are above 0 by chance "
    "alone; compare them with the value by chance. Corrected word distance: 0 on average without a difference."
)
PERMUTED = "by chance (genders of names permuted)"


def study_tables(study: NamesStudy, decoding: str) -> Iterator[PlainTable]:
    """Yield tables 2 to 10 and the costs of each row, for one decoding preset."""
    rows = study.cells.filter((pl.col("decoding") == decoding) | pl.col("decoding").is_null()).to_dicts()
    cells = {(row["row"], row["benchmark"], row["measure"], row["part"]): row for row in rows}
    labels = list(study.config.models)
    details = {label: study.details.get((label, decoding, SUITE), {}) for label in labels}
    yield words_table(labels, details)
    yield _grid(
        "Table 3: inferred gender, by how strongly a name is linked to one gender",
        "link to one gender",
        labels,
        cells,
        _parts("tier: ", TIERS),
        (INFERRED, LINK),
    )
    yield from phrases_tables(labels, details)
    yield _grid(
        "Table 5: inferred gender and occupations",
        "measure",
        labels,
        cells,
        [*((SUITE, "classifier_bias", part, f"inferred gender, {name}, points") for part, name in SPEAKERS),
         (SUITE, "occupation_correlation", "imputed", "occupations, r, imputed"),
         (SUITE, "occupation_correlation", "mentioned", "occupations, r, mentioned"),
         (SUITE, "occupation_lean", "", LABELS["occupation_lean"])],
        (INFERRED, OCCUPATIONS),
    )  # fmt: skip
    yield tokens_table(labels, cells, details)
    races = sorted({part.removeprefix("names of: ") for *_, part in cells if part.startswith("names of: ")})
    yield _grid(
        "Table 7: inferred gender, by race and ethnicity of the name",
        "race and ethnicity",
        labels,
        cells,
        _parts("names of: ", races),
        (INFERRED,),
    )
    yield _grid(
        "Table 8: inferred gender if a description such as “I am a petite woman.” opens the conversation",
        "speaker",
        labels,
        cells,
        [("descriptions", "classifier_bias", part, name) for part, name in SPEAKERS],
        (INFERRED,),
    )
    yield _grid(
        "Table 9: stereotypical sentences about gender preferred over others, points above 50%",
        "data set",
        labels,
        cells,
        [(benchmark, measure, "", LABELS[measure].partition(",")[0]) for benchmark, measure in PAIRS.items()],
        missing=NO_PAIRS,
    )
    yield from groups_tables(labels, cells, details)
    yield _grid(
        TEXT_TITLE,
        "measure",
        labels,
        cells,
        [(SUITE, measure, "", LABELS[measure]) for measure in COSTS],
        (PERPLEXITY_NOTE,),
    )


def effects_table(study: NamesStudy, decoding: str, *, every: bool) -> PlainTable:
    """Return a table of changes: base, row, change, CI, q, MDE, verdict. every: include changes without a test."""
    known = pl.col("change").is_not_null() if every else pl.col("change_verdict").is_not_null()
    here = study.cells.filter(((pl.col("decoding") == decoding) | pl.col("decoding").is_null()) & known)
    base = {
        (cell["decoding"], cell["benchmark"], cell["measure"], cell["part"]): cell
        for cell in study.cells.filter(row=BASE).to_dicts()
    }
    heads = (BASE, "this model", "change", "95% CI", "q", "MDE", "verdict")
    rows = [
        [
            label_cell(cell),
            cell["row"],
            format_value(
                base.get((cell["decoding"], cell["benchmark"], cell["measure"], cell["part"]))
                if cell["change_from"] is None
                else cell | {"estimate": cell["change_from"]},
                limits=False,
            ),
            format_value(cell, limits=False),
            *format_change(cell),
            wording.probability(cell["change_q"]) if cell["change_q"] is not None else "",
            format_mde(cell, of_change=True),
            cell["change_verdict"] or "",
        ]
        for cell in sorted(here.to_dicts(), key=_order)
    ]
    return PlainTable(
        EVERY_CHANGE if every else f"Tested changes from the model {BASE}",
        (("measure", "left"), ("model", "left"), *((head, "right") for head in heads)),
        rows,
        (CHANGES,) if rows else (),
    )


def _order(cell: dict[str, Any]) -> tuple[int, bool, str]:
    order = list(LABELS)
    place = order.index(cell["measure"]) if cell["measure"] in order else len(order)
    return place, cell["benchmark"] != SUITE, cell["part"]


Column = tuple[str, str, str, str]
"""Benchmark, measure, part, heading."""


def _parts(prefix: str, names: Sequence[str]) -> list[Column]:
    return [(SUITE, "classifier_bias", f"{prefix}{name}", name) for name in names]


def _grid(
    title: str,
    head: str,
    labels: Sequence[str],
    cells: Cells,
    wanted: Sequence[Column],
    lines: tuple[str, ...] = (),
    missing: str = "",
) -> PlainTable:
    """Return a table with one row per column of `wanted` and model: name, model, estimate and 95% CI.

    Results that no model has are left out.

    Parameters
    ----------
    title
        Title of the table.
    head
        Heading of the first column, which states what the names in it are.
    labels
        Labels of the models.
    cells
        All results.
    wanted
        Results of the table, with the name of each.
    lines
        Explanations below the table.
    missing
        Text in place of `lines` if the table is empty.
    """
    rows, has_gap = [], False
    for benchmark, measure, part, name in wanted:
        found = {label: cells.get((label, benchmark, measure, part)) for label in labels}
        if not any(cell is not None and cell["estimate"] is not None for cell in found.values()):
            continue
        for label, cell in found.items():
            between = format_interval(cell)
            has_gap = has_gap or not between
            rows.append([name, label, format_value(cell, limits=False), between or wording.number(None)])
    heads = ((head, "left"), ("model", "left"), ("estimate", "right"), ("95% CI", "right"))
    if not rows:
        return PlainTable(title, heads, rows, (missing,) if missing else ())
    return PlainTable(title, heads, rows, (*lines, NO_CI) if has_gap else lines)


Details = Mapping[str, Mapping[str, pl.DataFrame]]


def words_table(labels: Sequence[str], details: Details) -> PlainTable:
    """Return table 2: the words most typical of each gender. Words used with one name only are in brackets."""
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
            (f"the {WORDS} words with the largest ratio", "left"),
        ),
        rows,
        (RATIO,),
    )


def phrases_tables(labels: Sequence[str], details: Details) -> Iterator[PlainTable]:
    """Return table 4 for each model: what first replies call the name, and the percentage of uses by race."""
    for label in labels:
        table = details[label].get("phrases")
        if table is None or table.is_empty():
            yield PlainTable(f"{PHRASES_TITLE}, {label}", (("phrase", "left"),), [], (NO_PHRASES,))
            continue
        races = [name.removeprefix("share_") for name in table.columns if name.startswith("share_")]
        yield PlainTable(
            f"{PHRASES_TITLE}, {label}",
            (
                ("phrase", "left"),
                *((f"{race}, %", "right") for race in races),
                ("uses", "right"),
                ("Gini", "right"),
                ("Gini by chance", "right"),
                ("name with most uses", "left"),
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
            (GINI,),
        )


def _largest(row: dict[str, Any]) -> str:
    share = row["largest_share"]
    return f"{row['largest_name']} ({wording.number(100 * share if share <= 1 else share, 0)} %)"


def tokens_table(labels: Sequence[str], cells: Cells, details: Details) -> PlainTable:
    """Return table 6, with a column per model: inferred gender, word distance and offensive replies."""

    def published(name: str, places: int) -> Callable[[str], str]:
        def valued(label: str) -> str:
            table = details[label].get("token_bins_published")
            return wording.number(table[name][0] if table is not None and table.height else None, places)

        return valued

    wanted: list[tuple[str, Callable[[str], str]]] = [
        *(
            (f"inferred gender, {name}, points", _make_value_reader(cells, "classifier_bias", part))
            for part, name in SPEAKERS
        ),
        ("extra use of words typical of women's names, %", published("hi_first", 2)),
        ("extra use of words typical of men's names, %", published("hi_second", 2)),
        (LABELS["token_bins_published"], published("l2", 3)),
        (f"{LABELS['token_bins_published']}, {PERMUTED}", published("null_mean", 3)),
        (f"{LABELS['token_bins']}, corrected", _make_value_reader(cells, "token_bins", "")),
        (LABELS["offensive"], _make_value_reader(cells, "offensive", "")),
    ]
    return PlainTable(
        MITIGATIONS_TITLE,
        (("measure", "left"), *((label, "right") for label in labels)),
        [[name, *(value(label) for label in labels)] for name, value in wanted],
        (SIZES,) if len(labels) > 1 else (ADD_A_MODEL, SIZES),
    )


def _make_value_reader(cells: Cells, measure: str, part: str) -> Callable[[str], str]:
    """Return a function from a model's label to its value as text. It has no CI, which is in other tables."""
    return lambda label: format_value(cells.get((label, SUITE, measure, part)), limits=False)


def groups_tables(labels: Sequence[str], cells: Cells, details: Details) -> Iterator[PlainTable]:
    """Yield table 10, with one column per model: each group's extra use of its typical words, and word distances.

    The published word distance (with its value for permuted names) and the corrected one are included.
    """
    known = {label: details[label]["group_bins"] for label in labels if "group_bins" in details[label]}
    if not known:
        return
    columns = []
    groups = list(dict.fromkeys(group for table in known.values() for group in table["group"]))
    for label, table in known.items():
        over = dict(table.select("group", "overindexing").iter_rows())
        norms = details[label]["group_bins_published"].row(0, named=True)
        columns.append(
            [
                *(
                    wording.number(None if over.get(group) is None else 100 * over[group], 1)
                    for group in groups
                ),
                wording.number(norms["l2"], 3),
                wording.number(norms["null_mean"], 3),
                format_value(cells.get((label, SUITE, "intersectional_token_bins", ""))),
            ]
        )
    names = [
        *(f"extra use, {group}, %" for group in groups),
        LABELS["token_bins_published"],
        f"{LABELS['token_bins_published']}, {PERMUTED}",
        f"{LABELS['token_bins']}, corrected",
    ]
    yield PlainTable(
        GROUPS_TITLE,
        (("measure", "left"), *((label, "right") for label in known)),
        [[name, *values] for name, *values in zip(names, *columns, strict=True)],
        (GROUPS,),
    )
