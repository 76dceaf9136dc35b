"""Find the groups that a later model treats worse in its own run, and whether the first model's run found this too."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from evenhand.reports import BIASED, CHANGED, HIGHER, LOWER, NOT_DETECTED, NOT_MEASURABLE, sentences
from evenhand.studies.compare.changes import LEVEL_CHANGE

STANDING = dict.fromkeys(("model", "benchmark", "axis", "verdict", "sentence"), pl.String)
"""Columns of the table. `verdict` is that of the later model's own run (biased, not detected or not measurable)."""
BY_ITSELF = f" {sentences.NO_SIGNIFICANT_CHANGE}"
"""Sentence added if one run detects a bias and the other does not, but the change itself is not significant."""
Key = tuple[Any, ...]


def standing(first: pl.DataFrame, others: Mapping[str, pl.DataFrame], changes: pl.DataFrame) -> pl.DataFrame:
    """Return one sentence for each axis on which bias was detected in at least one of both runs (columns: STANDING).

    Sentences with "Still" and "New" give the verdict of the later run, those with "No longer found" the verdict of the
    first. If both runs have headlines of a benchmark, an axis missing in one of them is not biased in it.

    Parameters
    ----------
    first, others
        Tables of verdicts (columns: HEADLINES) of the first run and, by model, of later ones; empty if a run has none.
    changes
        Changes of the comparison (columns: CHANGES). Only their benchmarks are included.
    """
    lines = []
    for model, headlines in others.items():
        paired = changes.filter(pl.col("model") == model)
        for benchmark in paired["benchmark"].unique(maintain_order=True):
            before, after = (_index_headlines(table, benchmark) for table in (first, headlines))
            shown = _find_changed_axes(paired.filter(pl.col("benchmark") == benchmark))
            if before and after:
                lines += [
                    {"model": model, "benchmark": benchmark, "axis": key[1]} | line
                    for key in dict.fromkeys([*after, *before])
                    if (line := _line(before.get(key), after.get(key), key[1] in shown)) is not None
                ]
    return pl.DataFrame(lines, schema=STANDING)


def _line(
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None, shown: bool
) -> dict[str, str] | None:
    was, now = (None if row is None else row["verdict"] for row in (before, after))
    own = "" if shown else BY_ITSELF
    if after is not None and now == BIASED:
        # the prefix states the verdict, so the sentence on the axis does not repeat it
        finding = sentences.joined(*sentences.split_verdict(after["sentence"]))
        prefix = {BIASED: "still", NOT_MEASURABLE: "now"}.get(str(was), "new")
        text = sentences.PREFIXES[prefix].format(finding)
        return {"verdict": BIASED, "sentence": text + (own if prefix == "new" else "")}
    if before is None or was != BIASED:
        return None
    if now == NOT_MEASURABLE:
        return {
            "verdict": NOT_MEASURABLE,
            "sentence": sentences.PREFIXES["blank"].format(before["sentence"]),
        }
    reach = "" if after is None else f" Now: {sentences.split_verdict(after['sentence'])[1]}"
    return {
        "verdict": NOT_DETECTED,
        "sentence": sentences.PREFIXES["gone"].format(before["sentence"]) + reach + own,
    }


def _index_headlines(headlines: pl.DataFrame, benchmark: str) -> dict[Key, dict[str, Any]]:
    """Return the headlines of a benchmark by measure, axis and running number.

    Sentences on the contrast of regard are left out for axes that also have a verdict on rates.
    """
    of_rates = pl.col("axis").is_in(headlines.filter(measure="disparity")["axis"].implode())
    beside = (pl.col("measure") == "regard_contrast") & of_rates
    mine = headlines.filter((pl.col("benchmark") == benchmark) & ~beside)
    places = mine.with_columns(place=pl.int_range(pl.len()).over("measure", "axis"))
    return {(row["measure"], row["axis"], row["place"]): row for row in places.to_dicts()}


def _find_changed_axes(changes: pl.DataFrame) -> set[str | None]:
    """Return the axes with a reported change."""
    found = changes.filter(
        pl.col("verdict").is_in([CHANGED, LOWER, HIGHER])
        & pl.col("group").is_null()
        & (pl.col("measure") != LEVEL_CHANGE)
    )
    return set(found["axis"])
