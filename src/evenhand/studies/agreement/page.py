"""Make the tables of each pair of classifiers, and the page with all of them."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

from evenhand.reports import wording
from evenhand.studies.agreement.conduct import ClassifierPair
from evenhand.studies.plain_page import PlainTable, plain_page

MEASURES = {
    "agreement": "same verdict",
    "negative_agreement": "agreement on negative texts",
    "positive_agreement": "agreement on other texts",
    "rate_a": "negative, by a",
    "rate_b": "negative, by b",
    "harsher": "difference, a minus b",
    "pearson": "correlation of scores",
    "spearman": "rank correlation of scores",
}


def pair_table(pair: ClassifierPair) -> PlainTable:
    """Return the table of the overall agreement of a pair."""
    rows = [
        (
            MEASURES.get(row["measure"], wording.label(row["measure"])),
            *(wording.number(row[name], 2) for name in ("estimate", "low", "high")),
            f"{row['n']:,}",
            f"{row['n_missing']:,}",
        )
        for row in pair.result.overall.to_dicts()
    ]
    numbers = ("est.", "low", "high", "texts", "miss.")
    return PlainTable(
        f"{pair.benchmark}: {wording.label(pair.role)}",
        (("", "left"), *((name, "right") for name in numbers)),
        rows,
        (f"a: {unquote(pair.first)}", f"b: {unquote(pair.second)}"),
    )


def group_table(pair: ClassifierPair) -> PlainTable:
    """Return the table of groups by disagreement of a pair, the largest first."""
    lines = ["Texts on which the classifiers disagree, in percent (q: compared with all other groups)"]
    if (p := pair.result.groups_p) is not None:
        lines.append(f"Test that all groups have the same rate: p = {wording.probability(p)}")
    ordered = pair.result.groups.sort("q", "estimate", descending=[False, True], nulls_last=True)
    rows = [
        (
            wording.label(row["axis"]),
            wording.label(row["group"]),
            *(wording.number(row[name], 1) for name in ("estimate", "low", "high")),
            wording.probability(row["q"]),
            wording.number(row["kappa"], 2),
            *(wording.number(row[name], 1) for name in ("only_a", "only_b")),
            f"{row['n']:,}",
        )
        for row in ordered.to_dicts()
    ]
    numbers = ("differ", "low", "high", "q", "kappa", "only a", "only b", "texts")
    heads = (("axis", "left"), ("group", "left"), *((name, "right") for name in numbers))
    return PlainTable("", heads, rows, tuple(lines))


def agreement_page(run: Path, pairs: Sequence[ClassifierPair], notes: Sequence[str]) -> str:
    """Return one HTML document with all pairs and all their groups; every text is escaped."""

    def tables() -> Iterator[PlainTable]:
        for pair in pairs:
            yield pair_table(pair)
            if pair.result.groups.height:
                yield group_table(pair)

    reasons = [f"Not compared: {note}" for note in notes]
    return plain_page(
        "agreement of classifiers", f"Classifiers of {run.absolute().name}", [*tables()], notes=reasons
    )
