"""Print a count: corpora, pronouns, the most and least frequent terms of each axis, and doubtful terms."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl
from rich.console import Console

from evenhand.reports import Printer
from evenhand.studies.frequencies.as_published import most_different, pronouns_both_ways
from evenhand.studies.frequencies.view import FrequencyView
from evenhand.studies.frequencies.wording import (
    axis_summary,
    axis_title,
    besides,
    damaged,
    factor,
    figures,
    headline,
    leaning,
    left_out,
    limits,
    notes,
    percent,
    pronoun_rows,
    rarely_of_people,
    shown_axes,
    terms_of,
)

TOP, BOTTOM = 5, 3
DOUBTFUL, LEANING, DAMAGED, DIFFERENT = 8, 6, 5, 6
AXES = 20
PHRASE = "*"


def render_terminal(view: FrequencyView, console: Console, paths: Mapping[str, Path] | None = None) -> None:
    """Print the count in a short form, at any width; `paths` are files that are listed at the end."""
    out = Printer(console)
    out.line(headline(view), "bold")
    out.gap()
    _corpora(view, out)
    _pronouns(view, out)
    _axes(view, out)
    _doubtful(view, out)
    _leans(view, out)
    _as_published(view, out)
    out.gap()
    for note in notes(view):
        out.line(note, "dim")
    out.paths(paths)


def _corpora(view: FrequencyView, out: Printer) -> None:
    table = out.table(("corpus", "left"), ("documents", "right"), ("words", "right"), ("left out", "right"))
    for row in view.tables.corpora.to_dicts():
        out.row(table, row["corpus"], *(f"{row[name]:,}" for name in ("documents", "words", "left_out")))
    out.show(table)
    for row in view.tables.corpora.filter(pl.col("left_out") > 0).to_dicts():
        out.line(f"{row['corpus']}: left out {left_out(view, row['corpus'])}", "dim")
    for corpus in view.tables.corpora["corpus"]:
        if apart := besides(view, corpus):
            out.line(f"{corpus}: besides, {apart}", "dim")
    wrong = damaged(view)
    if wrong:
        out.line("Damaged files (what could be read of them counts):", "bold")
    for _, what in wrong[:DAMAGED]:
        out.line(what)
    if len(wrong) > DAMAGED:
        out.line(f"and {len(wrong) - DAMAGED:,} more on the page", "dim")


def _pronouns(view: FrequencyView, out: Printer) -> None:
    rows = pronoun_rows(view)
    if not rows:
        return
    out.gap()
    out.line("Documents with pronouns", "bold")
    table = out.table(
        ("corpus", "left"), ("she", "right"), ("he", "right"), ("they", "right"), ("He:She (95 %)", "right")
    )
    for row in rows:
        out.row(table, *row)
    out.show(table)


def _axes(view: FrequencyView, out: Printer) -> None:
    axes = shown_axes(view)
    several = "weighted mean of the corpora" if view.tables.corpora.height > 1 else "of documents"
    out.gap()
    out.line(f"Most frequent terms, % {several} (95 %)", "bold")
    for kind, axis in axes[:AXES]:
        mine = terms_of(view, kind, axis)
        found = mine.filter(pl.col("weighted_mean") > 0)
        out.line(f"{axis_title(kind, axis)} ({axis_summary(view, kind, axis)})", "bold")
        if found.is_empty():
            continue
        out.line(_terms(found.head(TOP)))
        if found.height > TOP:
            out.line(
                f"least: {', '.join(_names(found.tail(min(BOTTOM, found.height - TOP)).reverse()))}", "dim"
            )
    if len(axes) > AXES:
        out.line(f"and {len(axes) - AXES} more axes on the page", "dim")
    if view.tables.corpora.height > 1:
        out.line("Each corpus by itself: on the page, and in tables/frequencies.csv", "dim")
    if view.tables.means["noun_phrase"].any():
        out.line(f"{PHRASE} a noun phrase of HolisticBias, not a descriptor", "dim")


def _names(rows: pl.DataFrame) -> list[str]:
    return [name + PHRASE * phrase for name, phrase in rows.select("name", "noun_phrase").iter_rows()]


def _terms(rows: pl.DataFrame) -> str:
    told = []
    for name, row in zip(_names(rows), rows.to_dicts(), strict=True):
        interval = limits(row["low"], row["high"])
        told.append(f"{name} {figures(row['weighted_mean'])}" + (f" ({interval})" if interval else ""))
    return ", ".join(told)


def _doubtful(view: FrequencyView, out: Printer) -> None:
    rows = rarely_of_people(view)
    if rows.is_empty():
        return
    out.gap()
    out.line("Rarely of people (share of hits near a word for people, and the usual share)", "bold")
    told = [
        f"{row['name']} {row['near_person']:.0f} % (usual {row['usual']:.0f} %)"
        for row in rows.head(DOUBTFUL).to_dicts()
    ]
    more = rows.height - len(told)
    out.line(", ".join(told) + (f", and {more} more" if more > 0 else ""))


def _leans(view: FrequencyView, out: Printer) -> None:
    for way, pronoun, sign in (("with she", "she than he", 1), ("with he", "he than she", -1)):
        rows = leaning(view, way).unique("term", keep="first", maintain_order=True)
        if rows.is_empty():
            continue
        out.gap()
        out.line(f"Nearer to {pronoun} than pronouns of the corpus are (odds, q ≤ 0.05)", "bold")
        told = [f"{row['name']} {factor(sign * row['estimate'])}" for row in rows.head(LEANING).to_dicts()]
        more = rows.height - len(told)
        out.line(", ".join(told) + (f", and {more} more" if more > 0 else ""))


def _as_published(view: FrequencyView, out: Printer) -> None:
    if not view.counts.options.published:
        return
    out.gap()
    out.line("The paper's way of counting (word tokens), and here", "bold")
    if pronouns := pronouns_both_ways(view):
        table = out.table(
            ("corpus", "left"),
            ("counted", "left"),
            ("she", "right"),
            ("he", "right"),
            ("they", "right"),
            ("He:She", "right"),
        )
        for row in pronouns:
            out.row(table, *row)
        out.show(table)
    rows = most_different(view)
    if rows.is_empty():
        out.line("No term's share of documents differs.")
        return
    several = view.tables.corpora.height > 1
    told = [
        f"{row['name']}{' (' + row['corpus'] + ')' if several else ''} {percent(row['share_published'])}, here "
        f"{percent(row['share_here'])}"
        for row in rows.head(DIFFERENT).to_dicts()
    ]
    more = rows.height - len(told)
    out.line("Terms that differ most: " + "; ".join(told) + (f"; and {more:,} more" if more > 0 else ""))
