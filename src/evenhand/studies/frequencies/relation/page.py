"""Render relation.html: relations of a run's outcomes with frequencies, with a scatter plot for each outcome."""

from collections.abc import Iterator

import polars as pl
from markupsafe import Markup

from evenhand.reports import SCATTER_STYLE, ScatterPoint, label, scatter_key, scatter_svg
from evenhand.studies.frequencies.relation.joined import Joined, JoinedBenchmark
from evenhand.studies.frequencies.relation.wording import answer, axes_of, notes, tables_of, told
from evenhand.studies.plain_page import plain_page


def relation_page(relation: Joined) -> str:
    """Return the relation as one HTML document that needs no network; every text is escaped."""
    figures = [figure for one in relation.benchmarks for figure in _figures(one)]
    if figures:
        figures[0] = (figures[0][0], SCATTER_STYLE + figures[0][1])
    return plain_page(
        "frequencies and treatment",
        f"Does the treatment follow the frequency? {relation.model}",
        [*tables_of(relation), *axes_of(relation)],
        lines=[answer(relation), *(f"{symbol} {sentence}" for symbol, sentence in told(relation))],
        notes=notes(relation),
        figures=figures,
    )


def _figures(one: JoinedBenchmark) -> Iterator[tuple[str, Markup]]:
    for outcome in one.asked.outcomes:
        points = one.found.points.filter(pl.col("outcome") == outcome.name)
        axes = points["axis"].unique().sort().to_list()
        drawn = [
            ScatterPoint(
                row["descriptor"],
                row["log_frequency"],
                row["value"],
                axes.index(row["axis"]),
                never=row["documents"] == 0,
            )
            for row in points.iter_rows(named=True)
        ]
        caption = f"{one.asked.name}: {outcome.name} ({outcome.unit}) of each descriptor, by how often it is written"
        picture = scatter_svg(
            drawn,
            described=caption,
            across="share of documents with the descriptor, logarithmic",
            unit=outcome.unit,
        )
        if picture is not None:
            yield caption, scatter_key([label(axis) for axis in axes]) + picture
