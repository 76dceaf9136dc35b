"""The page of the study of names: the results of each row, the figures, and the tables with the paper's numbers."""

from collections.abc import Iterator

import polars as pl
from markupsafe import Markup

from evenhand.reports import listing
from evenhand.studies.names.cells import JUDGED
from evenhand.studies.names.conduct import SUITE, NamesStudy
from evenhand.studies.names.figures import STYLE, draw_legend, levels_chart, occupations_svg, turns_svg
from evenhand.studies.names.tables import effects_table, study_tables
from evenhand.studies.names.wording import (
    NOTES,
    PAPER,
    by_chance,
    by_names,
    format_value,
    label_cell,
    lost_replies,
    sentences,
    study_opening,
)
from evenhand.studies.plain_page import PlainTable, plain_page

SHOWN_JUDGE = "gender"
IN_POINTS = {"classifier_bias": "inferred gender", "occupation_lean": "occupations"}
"""Measures in percentage points, with their names, which share the scale of the chart at the top of the page."""


def names_page(study: NamesStudy) -> str:
    """Return the whole study as one HTML document that needs no network; every text is escaped."""
    tables = all_tables(study)
    options = [
        [name, str(value)]
        for name, value in study.config.model_dump(mode="json").items()
        if value is not None
    ]
    tables.append(PlainTable("Options", (("option", "left"), ("value", "left")), options))
    headline, *further = (f"{mark} {sentence}" for mark, sentence in sentences(study))
    lines = [headline, study_opening(study), *further]
    figures = [*levels(study), *drawings(study)]
    if figures:
        figures[0] = (figures[0][0], STYLE + figures[0][1])
    title = f"Names study: {study.config.model}"
    return plain_page("names study", title, tables, lines=lines, notes=write_notes(study), figures=figures)


def all_tables(study: NamesStudy) -> list[PlainTable]:
    """Return the tables of every decoding preset."""
    several = len(study.config.decoding) > 1
    return [
        PlainTable(
            f"{table.title} ({decoding})" if several else table.title, table.heads, table.rows, table.lines
        )
        for decoding in study.config.decoding
        for table in (
            effects_table(study, decoding, every=False),
            *study_tables(study, decoding),
            effects_table(study, decoding, every=True),
        )
        if table.rows or table.lines
    ]


def levels(study: NamesStudy) -> Iterator[tuple[str, Markup]]:
    """Yield the differences between women's and men's names in points, for every model and decoding, in one chart."""
    rows = []
    for measure, name in IN_POINTS.items():
        mine = study.cells.filter((pl.col("measure") == measure) & (pl.col("benchmark") == SUITE))
        for cell in mine.filter((pl.col("part") == "") & pl.col("low").is_not_null()).to_dicts():
            several = len(study.config.decoding) > 1 and cell["decoding"] is not None
            under = f", {cell['decoding']}" if several else ""
            rows.append((f"{name}, {cell['row']}{under}", cell, format_value(cell)))
    if rows:
        caption = (
            "Replies to women's and men's names: difference in points, with 95% CI. Dashed line: no difference. Hollow "
            "dot: the CI contains no difference."
        )
        yield caption, levels_chart(rows)


def drawings(study: NamesStudy) -> Iterator[tuple[str, Markup]]:
    """Yield caption and drawing of figures 1 and 2 for every decoding preset."""
    several = len(study.config.decoding) > 1
    labels = list(study.config.models)
    for decoding in study.config.decoding:
        under = f", {decoding}" if several else ""
        details = {label: study.details.get((label, decoding, SUITE), {}) for label in labels}
        for number, label in enumerate(labels):
            table = details[label].get("occupations")
            caption = (
                f"Figure 1: occupations that {label}{under} mentions. Vertical: share of women's names among the "
                "conversations that mention it. Horizontal: share of women among people who work in it."
            )
            if table is not None and (drawn := occupations_svg(table, caption, number)) is not None:
                yield caption, drawn
        turns = {
            label: found["turns"].filter(judge=SHOWN_JUDGE)
            for label, found in details.items()
            if "turns" in found
        }
        for speaker in ("A", "B"):
            caption = (
                "Figure 2: how much more often than by chance a classifier infers the gender of the name, in points "
                f"(0: no more often), by place of the utterance in the conversation. Speaker {speaker}{under}."
            )
            if (drawn := turns_svg(turns, speaker, caption)) is not None:
                yield caption, draw_legend(list(turns)) + drawn


def write_notes(study: NamesStudy) -> list[str]:
    """Return cautions for readers, and sentences on what was not measured or not tested, with the reasons."""
    left_out = [f"Not measured: {one}." for one in study.left_out]
    return [
        *NOTES,
        by_names(study),
        *by_chance(study),
        *left_out,
        *(f"Not measurable for {rows}: {what}" for what, rows in _list_reasons(study.cells, "obstacle")),
        *(
            f"Change not tested for {rows}: {what}"
            for what, rows in _list_reasons(study.cells, "change_obstacle")
        ),
        *lost_replies(study),
        f"Tables and figures as in: {PAPER}",
    ]


def _list_reasons(cells: pl.DataFrame, column: str) -> list[tuple[str, str]]:
    """Return each measure with the reason in a column (obstacle or change_obstacle), and a list of rows as text."""
    told: dict[str, list[str]] = {}
    for row in cells.filter(pl.col(column).is_not_null()).to_dicts():
        if column == "change_obstacle" and (row["part"] or row["measure"] not in JUDGED):
            continue
        named = told.setdefault(f"{label_cell(row)}: {row[column]}", [])
        if row["row"] not in named:
            named.append(row["row"])
    return [(what, listing(rows)) for what, rows in told.items()]
