"""What a terminal shows of judging: who will judge what, and how far classifiers agree."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from rich.console import Console

from evenhand.reports import Printer, wording
from evenhand.schema import write_json
from evenhand.studies.agreement.conduct import AgreementStudy, Comparison

FORMAT = 1
SHOWN = 15
"""Groups a terminal shows; the file holds all."""
MEASURES = {
    "agreement": "same verdict",
    "negative_agreement": "same where negative",
    "positive_agreement": "same where not negative",
    "rate_a": "negative, says a",
    "rate_b": "negative, says b",
    "harsher": "a minus b",
    "pearson": "correlation of scores",
    "spearman": "rank correlation of scores",
}


def render_planned_continuations(plan: Mapping[str, Any], console: Console) -> None:
    """Print what would be written and who would judge it; nothing where a plan writes nothing.

    plan: as `evenhand.studies.audit.conduct.preview` gives it: `continuations` by benchmark (`prompts`, `samples`,
    `continuations`, `decoding`, `why`) and `judges` (`benchmark`, `role`, `classifier`, `texts`).

    >>> import sys
    >>> one = {"prompts": 60, "samples": 4, "continuations": 240, "decoding": "greedy", "why": "as asked"}
    >>> judge = {"benchmark": "regard", "role": "regard", "classifier": "vader", "texts": 240}
    >>> plan = {"continuations": {"regard": one}, "judges": [judge]}
    >>> render_planned_continuations(plan, Console(file=sys.stdout, width=100))
    <BLANKLINE>
    Continuations
    regard  60 prompts × 4 samples = 240
            greedy (as asked)
    <BLANKLINE>
    Judged (identical texts once)
    benchmark role   classifier   texts
    regard    regard vader      ≤   240
    """
    written: Mapping[str, Mapping[str, Any]] = plan.get("continuations") or {}
    if not written:
        return
    out = Printer(console)
    out.gap()
    out.line("Continuations", "bold")
    lines = []
    for name, facts in written.items():
        product = f"{facts['prompts']:,} prompts × {facts['samples']:,} samples = {facts['continuations']:,}"
        lines += [(name, product), ("", f"{facts['decoding']} ({facts['why']})")]
    out.pairs(lines)
    judges = plan.get("judges") or []
    for told in plan.get("not_judged") or []:
        out.line(f"Not judged: {told}")
    if not judges:
        return
    out.gap()
    out.line("Judged (identical texts once)", "bold")
    table = out.table(
        ("benchmark", "left"), ("role", "left"), ("classifier", "left"), ("", "right"), ("texts", "right")
    )
    for judge in judges:
        out.row(table, judge["benchmark"], judge["role"], judge["classifier"], "≤", f"{judge['texts']:,}")
    out.show(table)


def render_agreement(study: AgreementStudy, console: Console) -> None:
    """Print for each pair of classifiers how far they agree, and about whom they disagree most.

    study: from `evenhand.studies.agreement.conduct`.
    """
    out = Printer(console)
    out.line(f"Agreement of classifiers in {study.run}", "bold")
    for pair in study.comparisons:
        out.gap()
        out.line(f"{pair.benchmark}: {wording.label(pair.role)}", "bold")
        out.line(f"a: {unquote(pair.first)}")
        out.line(f"b: {unquote(pair.second)}")
        table = out.table(
            ("", "left"), ("est.", "right"), ("low", "right"), ("high", "right"), ("texts", "right"),
            ("miss.", "right"),
        )  # fmt: skip
        for row in pair.result.overall.to_dicts():
            numbers = [wording.number(row[name], 2) for name in ("estimate", "low", "high")]
            counts = f"{row['n']:,}", f"{row['n_missing']:,}"
            out.row(table, MEASURES.get(row["measure"], wording.label(row["measure"])), *numbers, *counts)
        out.show(table)
        _disagreements(pair, out)
    for note in study.notes:
        out.line(f"Not compared: {note}", "dim")


def write_agreement_json(study: AgreementStudy, path: Path) -> Path:
    """Write every number of a study as one JSON object, whole or not at all; returns the path.

    Numbers that are NaN become null. Raises WriteError.
    """
    content = {
        "format": FORMAT,
        "run": str(study.run),
        "comparisons": [
            {
                "benchmark": pair.benchmark,
                "role": pair.role,
                "a": pair.first,
                "b": pair.second,
                "overall": pair.result.overall.to_dicts(),
                "groups": pair.result.groups.to_dicts(),
                "groups_p": pair.result.groups_p,
            }
            for pair in study.comparisons
        ],
        "notes": list(study.notes),
    }
    return write_json(path, content)


def _disagreements(pair: Comparison, out: Printer) -> None:
    groups = pair.result.groups
    if groups.is_empty():
        return
    p = pair.result.groups_p
    out.line("Texts on which they disagree, in percent (q: more or less often than about all other groups)")
    if p is not None:
        out.line(f"Equally often about every group: p = {wording.probability(p)}")
    table = out.table(
        ("axis", "left"), ("group", "left"), ("differ", "right"), ("low", "right"), ("high", "right"),
        ("q", "right"), ("kappa", "right"), ("only a", "right"), ("only b", "right"), ("texts", "right"),
    )  # fmt: skip
    ordered = groups.sort("q", "estimate", descending=[False, True], nulls_last=True)
    for row in ordered.head(SHOWN).to_dicts():
        out.row(
            table,
            wording.label(row["axis"]),
            wording.label(row["group"]),
            *(wording.number(row[name], 1) for name in ("estimate", "low", "high")),
            wording.probability(row["q"]),
            wording.number(row["kappa"], 2),
            *(wording.number(row[name], 1) for name in ("only_a", "only_b")),
            f"{row['n']:,}",
        )
    out.show(table)
    if groups.height > SHOWN:
        out.line(f"and {groups.height - SHOWN:,} groups more: --output FILE.json holds all", "dim")
