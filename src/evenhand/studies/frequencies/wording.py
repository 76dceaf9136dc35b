"""Sentences about a count for page and terminal."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from evenhand.reports import known, label, listing, number
from evenhand.studies.frequencies.tabulating import APART
from evenhand.studies.frequencies.view import FrequencyView

HIDDEN = ("person_noun",)
"""Kinds of terms that are counted to tell senses, not to be shown."""
PRONOUN = "pronoun"
NEAR = (
    "Near-duplicates, such as copies with one letter changed, are not detected. If they are common, intervals are "
    "too narrow."
)
REASONS = {
    "not_json": "not JSON",
    "no_text": "without the column of text",
    "empty": "empty",
    "invalid_utf8": "invalid UTF-8",
    "binary": "binary",
    "truncated": "cut off",
    "too_long": "too long (more than 64 MiB)",
    "unreadable": "unreadable",
    "other_record": "WARC records without text",
    "duplicate": "copies of a document counted before",
    "not_sampled": "documents not in the sample",
}


UNITS = {"text/line": "each line", "text/paragraph": "each paragraph", "text/file": "each file"}


def percent(share: float | None) -> str:
    """Return a share in percent with two significant digits; never 0 for a share above 0.

    >>> percent(14.4921), percent(3.5), percent(0.0341), percent(0.00002), percent(0.0), percent(None)
    ('14.5 %', '3.50 %', '0.034 %', '0.000020 %', '0 %', '–')
    """
    return f"{figures(share)} %" if known(share) else "–"


def figures(share: float | None) -> str:
    """Return the same as `percent`, without the sign.

    >>> figures(100.0), figures(0.34), figures(99.97)
    ('100', '0.34', '99.97')
    """
    if share is None or not math.isfinite(share):
        return "–"
    if share == 0 or share == 100:
        return f"{share:.0f}"
    if share >= 0.1:
        return f"{share:.1f}" if 10 <= share <= 99.9 else f"{share:.2f}"
    return f"{share:.{min(12, 1 - math.floor(math.log10(share)))}f}"


def limits(low: float | None, high: float | None) -> str:
    """Format an interval of shares; empty if it is not known. A lower bound below 1/1000 of the upper is shown as 0.

    >>> limits(0.031, 0.052), limits(None, 1.0), limits(1e-16, 100.0)
    ('0.031–0.052', '', '0–100')
    """
    if low is None or high is None or not (known(low) and known(high)):
        return ""
    return f"{figures(low if low >= high / 1000 else 0.0)}–{figures(high)}"


def factor(log_odds: float | None) -> str:
    """Return a log odds ratio as an odds ratio.

    >>> factor(0.6931471805599453), factor(None)
    ('×2.00', '–')
    """
    return f"×{number(math.exp(min(log_odds, 50.0)), 2)}" if log_odds is not None and known(log_odds) else "–"


def ratio(row: Mapping[str, Any]) -> str:
    """Return He:She of a corpus with its interval, or words if only one of them occurs."""
    if not row["documents_of"] or not row["documents_to"]:
        return "only he" if row["documents_of"] else "only she" if row["documents_to"] else "–"
    told = f"{row['ratio']:.2f}"
    return f"{told} ({row['ratio_low']:.2f}–{row['ratio_high']:.2f})" if known(row["ratio_low"]) else told


def pronoun_rows(view: FrequencyView) -> list[tuple[str, ...]]:
    """Return rows as in the paper's Table 24: corpus, documents with pronouns of each group, He:She.

    If a group has no documents, the upper bound is shown. There are no rows if pronouns were not searched.
    """
    groups = view.tables.groups.filter((pl.col("kind") == PRONOUN) & pl.col("group").is_not_null())
    if groups.is_empty():
        return []
    rows = []
    for row in view.tables.ratios.iter_rows(named=True):
        mine = groups.filter(pl.col("corpus") == row["corpus"])
        shares = dict(mine.select("group", pl.struct("share", "share_high")).iter_rows())
        told = (_with_most(**shares[name]) if name in shares else "–" for name in ("she", "he", "they"))
        rows.append((row["corpus"], *told, ratio(row)))
    return rows


def _with_most(share: float, share_high: float | None) -> str:
    return f"0 % (≤ {percent(share_high)})" if share == 0 and known(share_high) else percent(share)


def headline(view: FrequencyView) -> str:
    """Return a sentence on what was counted and how often men and women are mentioned."""
    corpora = view.tables.corpora
    documents, words = int(corpora["documents"].sum()), int(corpora["words"].sum())
    terms = view.tables.means.filter(~pl.col("kind").is_in(HIDDEN) & ~pl.col("repeats")).height
    several = f"{corpora.height} corpora" if corpora.height > 1 else "one corpus"
    told = f"{terms:,} terms in {documents:,} documents of {several} ({words:,} words)."
    ratios = [value for value in view.tables.ratios["ratio"] if known(value)]
    if not ratios:
        return told
    low, high = f"{min(ratios):.2f}", f"{max(ratios):.2f}"
    times = low if low == high else f"{low} to {high}"
    return f"{told} He-pronouns are in {times} times as many documents as she-pronouns."


def standing(view: FrequencyView) -> str:
    """Return what an interval means, for a corpus that was counted completely or sampled."""
    sampled = view.tables.sampled
    if sampled < 1:
        return (
            f"A random {100 * sampled:.4g} % of documents were counted. The 95% CIs cover the whole corpus and the "
            "source of its documents."
        )
    these = "these corpora" if view.tables.corpora.height > 1 else "this corpus"
    return (
        f"Every document was counted, so the shares are exact for {these}. The 95% CIs show how much they could differ "
        "in another sample of the same size from the same source."
    )


def copies(view: FrequencyView) -> str:
    """Return whether copies of a document count."""
    if view.facts.get("duplicates") == "drop":
        return f"Documents with the same text were counted once. {NEAR}"
    return (
        "Every copy of a document was counted. Intervals are wider if copies are common. They are too narrow for a "
        f"term in fewer than 30 documents that are copies of each other; use --duplicates drop to avoid this. {NEAR}"
    )


def units(view: FrequencyView) -> str:
    """Return a note on what a document of plain text was; empty if no plain text was read."""
    texts = view.counts.sources.filter(pl.col("kind").str.starts_with("text/")).select("corpus", "kind")
    found = texts.unique(maintain_order=True).rows()
    kinds = {kind for _, kind in found}
    if not found:
        return ""
    if len(kinds) == 1:
        return f"In plain text, {UNITS[kinds.pop()]} is one document (--documents)."
    told = listing([f"{UNITS[kind]} in {corpus}" for corpus, kind in found])
    return f"In plain text, one document is {told} (--documents). Do not compare the shares of these corpora."


def left_out(view: FrequencyView, corpus: str) -> str:
    """Return the documents of a corpus that were not counted, by reason, most frequent first; empty without any."""
    return _by_reason(view, corpus, ~pl.col("reason").is_in(list(APART.values())))


def besides(view: FrequencyView, corpus: str) -> str:
    """Return what else a corpus has: documents that were not sampled, and records that are not documents."""
    return _by_reason(view, corpus, pl.col("reason").is_in(list(APART.values())))


def _by_reason(view: FrequencyView, corpus: str, wanted: pl.Expr) -> str:
    rows = view.counts.skipped.filter((pl.col("corpus") == corpus) & (pl.col("documents") > 0) & wanted)
    by_reason = (
        rows.group_by("reason")
        .agg(pl.col("documents").sum())
        .sort("documents", "reason", descending=[True, False])
    )
    return listing([f"{n:,} {REASONS.get(reason, reason)}" for reason, n in by_reason.iter_rows()])


def damaged(view: FrequencyView) -> list[tuple[str, str]]:
    """Return files that were not read to their end: corpus, and a sentence with the file's path and the error."""
    rows = view.counts.sources.filter(pl.col("damage").fill_null("") != "").select("corpus", "damage")
    return list(rows.unique(maintain_order=True).iter_rows())


def shown_axes(view: FrequencyView) -> list[tuple[str, str]]:
    """Return kinds and axes of the terms shown individually, in table order; pronouns have a separate section."""
    kinds = view.table.terms.filter(~pl.col("kind").is_in([*HIDDEN, PRONOUN]))
    return list(kinds.select("kind", "axis").unique(maintain_order=True).sort("kind", "axis").iter_rows())


def terms_of(view: FrequencyView, kind: str, axis: str) -> pl.DataFrame:
    """Return the means of an axis, most frequent first, each spelling once."""
    return view.tables.means.filter((pl.col("kind") == kind) & (pl.col("axis") == axis) & ~pl.col("repeats"))


def axis_summary(view: FrequencyView, kind: str, axis: str) -> str:
    """Return the number of terms of an axis and of its lists, and how many were never found."""
    mine = terms_of(view, kind, axis)
    never = mine.filter(pl.col("weighted_mean") == 0).height
    lists = view.table.terms.filter((pl.col("kind") == kind) & (pl.col("axis") == axis))["source"].n_unique()
    told = f"{mine.height:,} terms" + (f" of {lists} lists" if lists > 1 else "")
    return told + (f", {never:,} never found" if never else "")


def person_words(view: FrequencyView) -> str:
    """Return what counts as another word for a person: nouns, and pronouns and names if these are among the terms."""
    kinds = set(view.table.terms["kind"])
    told = ["a noun for a person (woman, father, colleague; no occupation)"]
    told += ["a she-, he- or they-pronoun (not I, we, you)"] * (PRONOUN in kinds)
    told += ["a first name"] * ("name" in kinds)
    return " or ".join(told)


def axis_title(kind: str, axis: str) -> str:
    """Return the name of an axis, after the kind of its terms unless these are descriptors.

    >>> axis_title("descriptor", "race_ethnicity"), axis_title("name", "names"), axis_title("mine", "teams")
    ('race and ethnicity', 'names', 'mine: teams')
    """
    if (kind, axis) == ("descriptor", "nonce"):
        return "nonce: invented words"
    return label(axis) if kind in ("descriptor", "name") else f"{label(kind)}: {label(axis)}"


def rarely_of_people(view: FrequencyView) -> pl.DataFrame:
    """Return terms flagged in any corpus, most hits first: name, hits, near_person, usual, corpora, term."""
    rows = view.tables.frequencies.filter(
        pl.col("rarely_of_people").fill_null(False)
        & ~pl.col("repeats")
        & ~pl.col("kind").is_in([*HIDDEN, PRONOUN])
    )
    return (
        rows.group_by("term", "name", maintain_order=True)
        .agg(
            near_person=(pl.col("near_person") * pl.col("hits")).sum() / pl.col("hits").sum(),
            usual=pl.col("near_person_usual").max(),
            corpora=pl.col("corpus"),
            hits=pl.col("hits").sum(),
        )
        .sort("hits", "name", descending=[True, False])
    )


def leaning(view: FrequencyView, way: str) -> pl.DataFrame:
    """Return terms that lean one way in any corpus, most certain first (by the bound that is nearer to 0)."""
    rows = view.tables.leans.filter(
        (pl.col("leaning") == way) & ~pl.col("repeats") & ~pl.col("kind").is_in(HIDDEN)
    )
    return rows.with_columns(sure=pl.min_horizontal(pl.col("low").abs(), pl.col("high").abs())).sort(
        "sure", "name", descending=[True, False]
    )


def notes(view: FrequencyView) -> list[str]:
    """Return cautions for readers."""
    leans = view.tables.leans
    told = [*filter(None, [units(view)]), standing(view), *_without_intervals(view), copies(view)]
    if missing := _missing_pronouns(view):
        told.append(f"{missing}, so there is no He:She ratio and no test of leaning.")
    elif leans.height and not leans["p"].drop_nulls().len():
        told.append(
            "No term is near pronouns often enough, and in enough documents, to test whether it leans to she or he."
        )
    told.append(
        "A frequency is the number of times that a word occurs. It does not show whom the word refers to, or in which "
        "tone (see the terms that are rarely of people), and it does not show whether a corpus is biased."
    )
    return told


def _without_intervals(view: FrequencyView) -> list[str]:
    told = view.tables.frequencies.group_by("corpus", maintain_order=True).agg(
        pl.col("share_high").is_not_null().any()
    )
    few = told.filter(~pl.col("share_high"))["corpus"].to_list()
    if not few:
        return []
    return [f"No confidence intervals for {listing(few)}: there are too few documents to estimate them."]


def _missing_pronouns(view: FrequencyView) -> str:
    """Return why "she" and "he" are not both available; empty if both occur in some corpus."""
    groups = set(view.table.terms.filter(pl.col("kind") == PRONOUN)["group"])
    ratios = view.tables.ratios
    if not groups:
        return "Pronouns were not among the terms"
    missing = [
        name for name, column in (("she", "documents_to"), ("he", "documents_of")) if not ratios[column].sum()
    ]
    told = " and no ".join(f"{name}-pronoun" for name in missing)
    return f"No {told} was found" if told else ""


def named(rows: Iterable[Mapping[str, Any]], what: str) -> str:
    """Return terms with a number each, for a line of text."""
    return ", ".join(f"{row['name']} {row[what]}" for row in rows)
