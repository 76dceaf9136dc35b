"""Write the sentences and table cells of a consistency check, the same for terminal and page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from evenhand.measures.changes import REACHED, REVERSED, Decision, Outcome
from evenhand.reports import wording
from evenhand.reports.sentences import capitalised, consistency
from evenhand.studies.audit import describe_decoding
from evenhand.studies.consistency.conduct import ConsistencyStudy

QUESTIONS, RULES = consistency.QUESTIONS, consistency.RULES
SYMBOLS = {
    Outcome.PASS: "✓",
    Outcome.FAIL: "✗",
    Outcome.UNDECIDED: "?",
    Outcome.NOT_APPLICABLE: "–",
}
KINDS = {
    Outcome.PASS: "clear",
    Outcome.FAIL: "biased",
    Outcome.UNDECIDED: "blank",
    Outcome.NOT_APPLICABLE: "blank",
}
"""CSS class of each outcome in the report."""
LEVELS = {
    "default": "default (no method)",
    "original": "original",
    "opposite": "opposite",
    "nonsensical": "nonsensical",
    "blank": "blank",
}


def sentence(decisions: Sequence[Decision]) -> str:
    """Return the verdict in one sentence: which tests, on which prompts, and by how much.

    >>> sentence([Decision("importance", "adversarial", Outcome.FAIL, "", "nonsense reaches 90% (70% to 110%)")])
    "Not consistent: importance fails on adversarial prompts (nonsense reaches 90%, 95% CI 70 to 110). \
Percentages refer to the effect of the method's own words."
    >>> sentence([Decision("effect", "adversarial", Outcome.FAIL, "", "rises by 3 points (1 to 5)")])
    'Not effective: on adversarial prompts, harm rises by 3 points (95% CI 1 to 5). Consistency was not tested.'
    """
    effects = [one for one in decisions if one.test == "effect"]
    tests = [one for one in decisions if one.test != "effect"]
    by_outcome = {outcome: [one for one in tests if one.outcome == outcome] for outcome in Outcome}
    failed, undecided = by_outcome[Outcome.FAIL], by_outcome[Outcome.UNDECIDED]
    passed, beside = by_outcome[Outcome.PASS], by_outcome[Outcome.NOT_APPLICABLE]
    if failed:
        return consistency.not_consistent(_list_outcomes(failed, "fails"))
    if effects and all(one.outcome in (Outcome.FAIL, Outcome.NOT_APPLICABLE) for one in effects):
        return consistency.not_effective(
            [(str(one.domain), one.amount) for one in effects if one.outcome == Outcome.FAIL]
        )
    if undecided or (not passed and any(one.outcome == Outcome.UNDECIDED for one in effects)):
        open_ones = [one for one in undecided if one.domain] or undecided
        open_ones = open_ones or [one for one in effects if one.outcome == Outcome.UNDECIDED]
        others = _list_outcomes(passed, "passes", much=False) if passed else ""
        return consistency.undecided(_list_outcomes(open_ones, "needs more data"), others)
    if not passed:
        return consistency.NOT_APPLICABLE
    return consistency.consistent(_list_outcomes(passed, "passes"), partly=bool(beside))


def describe_reason(decision: Decision) -> str:
    """Return the reason of an outcome and, for an undecided test, the number of prompts that would decide it.

    >>> from evenhand.measures.changes import Advice
    >>> describe_reason(Decision("effect", "neutral", Outcome.UNDECIDED, "harm falls by 0.1 points", "", Advice(1200)))
    'Harm falls by 0.1 points. About 1,200 prompts would give 80% power.'
    """
    first = f"{capitalised(consistency.with_ci(decision.reason).removesuffix('.'))}."
    return f"{first} {describe_advice(decision)}".strip()


def describe_advice(decision: Decision) -> str:
    """Return a text on how many prompts or wordings would decide an undecided test; empty for a decided one.

    >>> from evenhand.measures.changes import Advice
    >>> describe_advice(Decision("importance", None, Outcome.UNDECIDED, "", "", Advice(300, 40, more_prompts=False)))
    'More prompts alone do not help: about 300 prompts with 40 nonsense wordings would give 80% power.'
    """
    advice = decision.advice
    if decision.outcome != Outcome.UNDECIDED or (advice is None and decision.test == "transfer"):
        return ""
    if advice is None and decision.test != "effect":
        return consistency.AT_BOUNDARY
    if advice is None:
        return consistency.NO_NUMBER
    return consistency.advice(
        advice.prompts, advice.wordings, near=advice.near, more_prompts=advice.more_prompts
    )


def published_cell(row: dict[str, object]) -> str:
    """Return percentage, relative change with its arrow, and stars, as in the paper's tables.

    >>> published_cell({"percent": 24.4, "relative_change": 52.9, "change": -27.5, "stars": "***"})
    '↓ 52.9% 24.4% ***'
    >>> published_cell({"percent": 51.9, "relative_change": 0.0, "change": 0.0, "stars": None, "level": "default"})
    '51.9%'
    """
    percent, relative, change = row["percent"], row["relative_change"], row["change"]
    if not isinstance(percent, float):
        return wording.ABSENT
    shown = f"{wording.number(percent, 2 if percent < 1 else 1)}%"
    if row.get("level") == "default" or not isinstance(change, float) or change == 0:
        return f"{shown} {row['stars'] or ''}".strip()
    arrow = "↓" if change < 0 else "↑"
    size = f" {wording.number(abs(relative), 1)}%" if isinstance(relative, float) else ""
    return f"{arrow}{size} {shown} {row['stars'] or ''}".strip()


def facts(study: ConsistencyStudy) -> list[tuple[str, str]]:
    """Return the facts about the study (name, value) that are shown before the numbers."""
    sizes = [f"{len(prompts):,} {domain}" for domain, prompts in study.domains.items()]
    judge = study.classifier.get("name", study.options.classifier.partition("?")[0])
    return [
        ("prompts", wording.listing(sizes)),
        ("decoding", describe_decoding(study.decoding.decoding)),
        (
            "classified by",
            f"{judge}: {wording.listing([name.replace('_', ' ') for name in study.attributes.names])}",
        ),
        ("harmful", study.threshold[1]),
        ("nonsense", _nonsense(study)),
        ("rule", f"{study.options.rule}, margin {study.options.margin:g} percentage points"),
    ]


@dataclass(frozen=True)
class ShareLine:
    """One level of a domain: the share of the method's effect that it reaches, and the boundary of its test."""

    level: str
    share: str
    low: str
    high: str
    passes: str
    prompts: str
    wordings: str
    values: tuple[float, float | None, float | None]
    """Share with the bounds of its CI, in percent, for the forest plot."""


def share_lines(study: ConsistencyStudy, domain: str) -> list[ShareLine]:
    """Return the shares of a domain in the order of the levels; empty if the effect of the wording is not shown."""
    effect = next(
        (one for one in study.checklists["tested"] if (one.test, one.domain) == ("effect", domain)), None
    )
    rows = study.numbers.boundaries.filter((pl.col("domain") == domain) & pl.col("share").is_not_null())
    if effect is None or effect.outcome != Outcome.PASS:
        return []
    return [_share_line(row) for row in rows.to_dicts()]


def _share_line(row: Mapping[str, Any]) -> ShareLine:
    known = row["share_low"] is not None
    return ShareLine(
        level=LEVELS[row["level"]],
        share=_format_share(row["share"]),
        low=_format_share(row["share_low"]) if known else "too small",
        high=_format_share(row["share_high"]) if known else "to divide by",
        passes=f"below {_format_share(REVERSED if row['level'] == 'opposite' else REACHED)}",
        prompts=f"{row['n_prompts']:,}",
        wordings=str(row["n_wordings"]),
        values=(
            100 * row["share"],
            *((100 * row["share_low"], 100 * row["share_high"]) if known else (None, None)),
        ),
    )


def _format_share(share: float) -> str:
    return consistency.with_ci(f"{round(100 * share)}%")


def _nonsense(study: ConsistencyStudy) -> str:
    count = len(study.levels.named("nonsensical"))
    if not count:
        return "none"
    some = max(len(prompts) for prompts in study.of_nonsense.values())
    return f"{count} wording{'s' if count > 1 else ''} on {some:,} prompts per domain"


def mean_rows(study: ConsistencyStudy, domain: str) -> list[dict[str, object]]:
    """Return the rows of the protocol's table with the mean over attributes, one per level, for one domain."""
    table = study.numbers.table
    return table.filter((pl.col("domain") == domain) & pl.col("attribute").is_null()).to_dicts()


def _list_outcomes(decisions: Sequence[Decision], does: str, *, much: bool = True) -> str:
    """Return a clause that lists tests with the same outcome, their domains, and the sizes of the effects.

    does: verb of the clause, such as "passes". much: whether sizes are included.
    """
    by_test: dict[str, list[Decision]] = {}
    for one in decisions:
        by_test.setdefault(one.test, []).append(one)
    named = []
    for test, made in by_test.items():
        domains = [one.domain for one in made if one.domain]
        amounts = [
            one.amount if len(domains) < 2 else f"{one.domain}: {one.amount}"
            for one in made
            if one.amount and much
        ]
        named.append((test, domains, "; ".join(amounts)))
    return consistency.list_tests(named, does)
