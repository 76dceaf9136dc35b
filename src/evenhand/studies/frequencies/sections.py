"""Rows of texts and drawings for the page: axes, co-occurrences, and doubtful terms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from markupsafe import Markup

from evenhand.reports import axis_svg, factor_scale, interval_svg, number
from evenhand.studies.frequencies.drawings import LogScale, log_scale, share_svg
from evenhand.studies.frequencies.view import FrequencyView
from evenhand.studies.frequencies.wording import (
    HIDDEN,
    PRONOUN,
    axis_summary,
    axis_title,
    factor,
    figures,
    leaning,
    limits,
    percent,
    rarely_of_people,
    shown_axes,
    terms_of,
)

TOP, BOTTOM = 10, 5
CORPORA = 6
"""Maximum number of corpora as columns of a table; the files have all."""
BESIDE = 3
"""Corpora that the drawing of axes has a row for."""
NEVER = 60
LEANING, TOGETHER, DOUBTFUL, QUOTES = 12, 15, 20, 4


@dataclass(frozen=True)
class TermRow:
    """A term of an axis: its drawing, mean, share in each shown corpus, standard deviation, person hits."""

    name: str
    svg: Markup
    mean: str
    interval: str
    shares: tuple[str, ...]
    std: str
    near: str
    doubtful: bool
    phrase: bool


@dataclass(frozen=True)
class AxisSection:
    """One axis: its terms, most frequent first, the least frequent ones, and the names of those never found."""

    title: str
    anchor: str
    summary: str
    spread: str
    rows: tuple[TermRow, ...]
    least: tuple[TermRow, ...]
    never: tuple[str, ...]
    more_never: int
    between: int
    axis: Markup


def shown_corpora(view: FrequencyView) -> list[str]:
    """Return the corpora with a column in tables: the largest."""
    return view.tables.corpora.sort("documents", descending=True)["corpus"].head(CORPORA).to_list()


def axis_sections(view: FrequencyView) -> list[AxisSection]:
    """Return a section for each axis of terms that are shown individually."""
    corpora = shown_corpora(view)
    near = _near_person(view)
    flagged = set(rarely_of_people(view)["term"])
    sections = []
    for place, (kind, axis) in enumerate(shown_axes(view)):
        mine = terms_of(view, kind, axis)
        found = mine.filter(pl.col("weighted_mean") > 0)
        top, least = found.head(TOP), found.tail(max(0, min(BOTTOM, found.height - TOP)))
        shown = pl.concat([top, least])
        scale = log_scale([*shown["weighted_mean"], *shown["high"], *shown["lowest"], *shown["highest"]])
        wanted = view.tables.frequencies.filter(
            (pl.col("kind") == kind)
            & (pl.col("axis") == axis)
            & pl.col("term").is_in(shown["term"].to_list())
        )
        shares = {(row[0], row[1]): row[2] for row in wanted.select("term", "corpus", "share").iter_rows()}
        never = mine.filter(pl.col("weighted_mean") == 0)["name"].to_list()
        rows = [
            ()
            if scale is None
            else tuple(_term(row, scale, corpora, shares, near, flagged) for row in part.to_dicts())
            for part in (top, least)
        ]
        sections.append(
            AxisSection(
                axis_title(kind, axis),
                f"axis-{place}",
                axis_summary(view, kind, axis),
                _spread(view, kind, axis),
                rows[0],
                rows[1],
                tuple(sorted(never)[:NEVER]),
                max(0, len(never) - NEVER),
                found.height - len(rows[0]) - len(rows[1]),
                Markup("") if scale is None else scale.axis,
            )
        )
    return sections


def _spread(view: FrequencyView, kind: str, axis: str) -> str:
    """Return the spread as in the paper's table 23; empty for an axis that has only noun phrases."""
    rows = view.tables.axes.filter((pl.col("kind") == kind) & (pl.col("axis") == axis)).to_dicts()
    if not rows:
        return ""
    (spread,) = rows
    phrases = terms_of(view, kind, axis)["noun_phrase"].sum()
    return (
        f"Standard deviation of the weighted means: {number(spread['std_top'], 2)} percentage points for the "
        f"{TOP} most frequent terms, {number(spread['std_all'], 2)} for all {spread['terms']:,} (mean "
        f"{percent(spread['mean'])}). Table 23 of the paper gives fractions of documents: a hundredth of this."
        + (f" Noun phrases ({phrases:,}) are not among them." if phrases else "")
    )


def _near_person(view: FrequencyView) -> dict[int, float]:
    """Return the percentage of each term's hits near a word for people, in all corpora together."""
    hits = pl.col("hits")
    summed = (
        view.tables.frequencies.filter(hits > 0)
        .group_by("term")
        .agg((pl.col("near_person") * hits).sum() / hits.sum())
    )
    return dict(summed.iter_rows())


def _term(
    row: Mapping[str, Any],
    scale: LogScale,
    corpora: Sequence[str],
    shares: Mapping[tuple[int, str], float],
    near: Mapping[int, float],
    flagged: set[int],
) -> TermRow:
    interval = limits(row["low"], row["high"])
    drawn = share_svg(
        scale,
        row["weighted_mean"],
        row["low"],
        row["high"],
        described=f"{row['name']}: {percent(row['weighted_mean'])}, {interval}",
        band=(row["lowest"], row["highest"]) if row["corpora"] > 1 else (None, None),
    )
    return TermRow(
        row["name"],
        drawn,
        percent(row["weighted_mean"]),
        interval,
        tuple(figures(shares.get((row["term"], corpus))) for corpus in corpora),
        figures(row["weighted_std"]) if row["corpora"] > 1 else "",
        f"{near[row['term']]:.0f} %" if row["term"] in near else "–",
        row["term"] in flagged,
        row["noun_phrase"],
    )


@dataclass(frozen=True)
class GroupRow:
    """A group's share in one corpus."""

    label: str
    under: str
    svg: Markup
    share: str
    interval: str


def group_rows(view: FrequencyView, *, pronouns: bool) -> tuple[list[GroupRow], Markup]:
    """Return documents with any term of an axis, or with pronouns of each group, by corpus; and the scale."""
    groups = view.tables.groups.filter(~pl.col("kind").is_in(HIDDEN))
    if pronouns:
        groups = groups.filter((pl.col("kind") == PRONOUN) & pl.col("group").is_not_null())
    else:
        groups = groups.filter((pl.col("kind") != PRONOUN) & pl.col("group").is_null())
    corpora = shown_corpora(view) if pronouns else shown_corpora(view)[:BESIDE]
    groups = groups.filter(pl.col("corpus").is_in(corpora) & (pl.col("documents") > 0))
    order = {name: place for place, name in enumerate(["she", "he", "they", *corpora])}
    groups = groups.sort(
        "kind", "axis", *(pl.col(c).replace_strict(order, default=99) for c in ("group", "corpus"))
    )
    scale = log_scale([*groups["share"], *groups["share_low"], *groups["share_high"]])
    if scale is None:
        return [], Markup("")
    rows = []
    for row in groups.to_dicts():
        name = row["group"] if pronouns else axis_title(row["kind"], row["axis"])
        interval = limits(row["share_low"], row["share_high"])
        drawn = share_svg(
            scale,
            row["share"],
            row["share_low"],
            row["share_high"],
            described=f"{name}, {row['corpus']}: {percent(row['share'])}, {interval}",
        )
        rows.append(GroupRow(name, row["corpus"], drawn, percent(row["share"]), interval))
    return rows, scale.axis


@dataclass(frozen=True)
class LeanRow:
    """A term that occurs more often near one group of pronouns, in one corpus."""

    name: str
    corpus: str
    svg: Markup
    factor: str
    interval: str
    counts: str
    q: str


def lean_rows(view: FrequencyView) -> tuple[list[LeanRow], Markup]:
    """Return the most certain terms of both directions, those near "she" first, and the scale of their odds ratios."""
    she, he = (leaning(view, way).head(LEANING) for way in ("with she", "with he"))
    rows = pl.concat([she, he]).sort("estimate", descending=True)
    if rows.is_empty():
        return [], Markup("")
    scale, labels = factor_scale([*rows["low"], *rows["high"]])
    told = []
    for row in rows.to_dicts():
        name, corpus = row["name"], row["corpus"]
        interval = f"{factor(row['low'])} to {factor(row['high'])}"
        drawn = interval_svg(
            scale,
            row["estimate"],
            row["low"],
            row["high"],
            described=f"{name}, {corpus}: {factor(row['estimate'])}, {interval}",
            null=0.0,
            kind="lower" if row["estimate"] < 0 else "higher",
        )
        counts = f"{row['with_first']:,} / {row['with_second']:,}"
        q = "<0.001" if row["q"] < 0.001 else f"{row['q']:.3f}"
        told.append(LeanRow(name, corpus, drawn, factor(row["estimate"]), interval, counts, q))
    return told, axis_svg(scale, labels)


def together_rows(view: FrequencyView) -> list[tuple[str, list[tuple[str, ...]]]]:
    """Return pairs of terms that most exceed independence in windows, by corpus, sorted by the lower bound of PMI."""
    kinds = dict(view.table.terms.select("term", "kind").iter_rows())
    hidden = [term for term, kind in kinds.items() if kind in (*HIDDEN, PRONOUN)]
    hidden += view.tables.means.filter("repeats")["term"].to_list()
    found = view.tables.associations.filter(
        (pl.col("level") == "windows")
        & (pl.col("pmi_low") > 0)
        & ~pl.col("first").is_in(hidden)
        & ~pl.col("second").is_in(hidden)
    )
    tables = []
    for corpus in shown_corpora(view):
        mine = found.filter(pl.col("corpus") == corpus).sort(
            "pmi_low", "first", "second", descending=[True, False, False]
        )
        rows: list[tuple[str, ...]] = [
            (
                row["first_name"],
                row["second_name"],
                f"{row['together']:,}",
                f"{row['expected']:,.3g}",
                number(row["pmi"], 2),
                f"{number(row['pmi_low'], 2)}–{number(row['pmi_high'], 2)}",
                number(row["normalised_pmi"], 2),
            )
            for row in mine.head(TOGETHER).to_dicts()
        ]
        if rows:
            tables.append((corpus, rows))
    return tables


@dataclass(frozen=True)
class DoubtfulTerm:
    """A term that rarely occurs near a word for people, with examples: (before, hit, after, corpus, near)."""

    name: str
    near: str
    usual: str
    hits: str
    corpora: str
    quotes: tuple[tuple[str, str, str, str, bool], ...]


def doubtful_terms(view: FrequencyView) -> list[DoubtfulTerm]:
    """Return the most frequent doubtful terms, with examples."""
    found = []
    contexts = view.counts.contexts.sort("term", "key")
    for row in rarely_of_people(view).head(DOUBTFUL).to_dicts():
        mine = contexts.filter((pl.col("term") == row["term"]) & pl.col("corpus").is_in(row["corpora"])).head(
            QUOTES
        )
        quotes = mine.select("before", "hit", "after", "corpus", "near_person").rows()
        found.append(
            DoubtfulTerm(
                row["name"],
                f"{row['near_person']:.0f} %",
                f"{row['usual']:.0f} %",
                f"{row['hits']:,}",
                ", ".join(row["corpora"]),
                tuple(quotes),
            )
        )
    return found
