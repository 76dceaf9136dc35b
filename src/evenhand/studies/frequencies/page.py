"""Render the page of a count: corpora, pronouns, axes, co-occurrences, doubtful terms, sources."""

from pathlib import Path

import polars as pl

from evenhand.corpus.counting import NEAR
from evenhand.measures import MEASURES
from evenhand.reports import bytes_of, rendered
from evenhand.schema import VERSION
from evenhand.studies.frequencies.as_published import difference_rows, pronouns_both_ways
from evenhand.studies.frequencies.sections import (
    axis_sections,
    doubtful_terms,
    group_rows,
    lean_rows,
    shown_corpora,
    together_rows,
)
from evenhand.studies.frequencies.view import FrequencyView
from evenhand.studies.frequencies.wording import (
    REASONS,
    besides,
    damaged,
    headline,
    left_out,
    notes,
    person_words,
    pronoun_rows,
)
from evenhand.studies.provenance import citations, provenance

SOURCES = 40
CITED = ("term_share", "normalised_pmi", "pronoun_lean")
BRIEFLY = 12
"""Characters of a hash that are shown."""


def render_html(view: FrequencyView) -> str:
    """Return the page as one HTML document that needs no network. All text is escaped and control characters are made
    visible.
    """
    pronouns, pronoun_axis = group_rows(view, pronouns=True)
    groups, group_axis = group_rows(view, pronouns=False)
    leans, lean_axis = lean_rows(view)
    sources = view.counts.sources.sort("bytes", descending=True)
    wrong = damaged(view)
    return rendered(
        Path(__file__).with_name("frequencies.html.j2"),
        headline=headline(view),
        facts=_facts(view),
        notes=notes(view),
        corpora=_corpora(view),
        shown=shown_corpora(view),
        pronouns=pronouns,
        pronoun_axis=pronoun_axis,
        pronoun_table=_pronouns(view),
        groups=groups,
        group_axis=group_axis,
        axes=axis_sections(view),
        leans=leans,
        lean_axis=lean_axis,
        tested=view.tables.leans["p"].drop_nulls().len(),
        window=view.counts.options.window,
        near=NEAR,
        person_words=person_words(view),
        together=together_rows(view),
        doubtful=doubtful_terms(view),
        as_published=view.counts.options.published,
        pronouns_twice=pronouns_both_ways(view),
        differences=difference_rows(view),
        sources=[_source(row) for row in sources.head(SOURCES).iter_rows(named=True)],
        more_sources=max(0, sources.height - SOURCES),
        damaged=wrong[:SOURCES],
        more_damaged=max(0, len(wrong) - SOURCES),
        skipped=_skipped(view),
        blocks=provenance(_blocks(view)),
        citations=citations(
            (name, MEASURES[name].card.citation, MEASURES[name].card.licence) for name in CITED
        ),
        several=view.tables.corpora.height > 1,
    )


def _facts(view: FrequencyView) -> list[tuple[str, str]]:
    sampled = view.tables.sampled
    return [
        ("documents", f"{int(view.tables.corpora['documents'].sum()):,}"),
        ("sampled", "all" if sampled == 1 else f"{100 * sampled:.4g} %"),
        ("window", f"{view.counts.options.window} words"),
        ("terms", f"{len(view.table):,} ({view.table.content_hash[:BRIEFLY]})"),
        ("evenhand", VERSION),
    ]


def _corpora(view: FrequencyView) -> list[tuple[str, ...]]:
    return [
        (
            row["corpus"],
            f"{row['documents']:,}",
            f"{row['words']:,}",
            f"{row['words'] / row['documents']:,.0f}",
            f"{row['left_out']:,}",
            left_out(view, row["corpus"]),
            besides(view, row["corpus"]),
        )
        for row in view.tables.corpora.iter_rows(named=True)
    ]


def _pronouns(view: FrequencyView) -> list[tuple[str, ...]]:
    """Return rows of corpus, documents, documents with pronouns of each group, and He:She."""
    documents = dict(view.tables.corpora.select("corpus", "documents").iter_rows())
    return [(corpus, f"{documents[corpus]:,}", *told) for corpus, *told in pronoun_rows(view)]


def _source(row: dict[str, object]) -> tuple[str, ...]:
    size = row["bytes"]
    whole = row["last"] is None and not row["first"]
    part = "" if whole else f" [{row['first']}:{'' if row['last'] is None else row['last']}]"
    return (
        str(row["corpus"]),
        f"{row['address']}{part}",
        str(row["kind"]),
        bytes_of(float(size)) if isinstance(size, int) else "–",
        f"{row['documents']:,}" if isinstance(row["documents"], int) else "–",
        str(row["sha256"])[:BRIEFLY] if row["sha256"] else "–",
    )


def _skipped(view: FrequencyView) -> list[tuple[str, str, str]]:
    rows = view.counts.skipped.filter(pl.col("documents") > 0).sort(
        "corpus", "documents", descending=[False, True]
    )
    return [(corpus, REASONS.get(reason, reason), f"{n:,}") for corpus, reason, n in rows.iter_rows()]


def _blocks(view: FrequencyView) -> dict[str, dict[str, object]]:
    kinds = view.table.terms.group_by("kind", "source").len().sort("kind", "source")
    lists: dict[str, object] = {f"{kind} ({source})": f"{n:,}" for kind, source, n in kinds.iter_rows()}
    return {
        "how it was counted": dict(view.facts),
        "lists of terms": {**lists, "hash of the table": view.table.content_hash},
    }
