"""The sentences and cells of a consistency check, for terminal and page alike."""

import re
from collections.abc import Sequence

import polars as pl

from evenhand.measures.changes import Decision, Outcome
from evenhand.reports import wording
from evenhand.studies.audit import described
from evenhand.studies.consistency.conduct import ConsistencyStudy

QUESTIONS = {
    "effect": "Does the method lower harm at all?",
    "polarity": "Told the opposite, does it do the opposite?",
    "importance": "Do its words matter, or only that there are words?",
    "transfer": "Does all that hold on neutral prompts too?",
}
SYMBOLS = {
    Outcome.PASS: "✓",
    Outcome.FAIL: "✗",
    Outcome.INCONCLUSIVE: "?",
    Outcome.NOT_APPLICABLE: "–",
}
KINDS = {
    Outcome.PASS: "clear",
    Outcome.FAIL: "biased",
    Outcome.INCONCLUSIVE: "blank",
    Outcome.NOT_APPLICABLE: "blank",
}
"""Classes of the report's style sheet."""
RULES = {
    "tested": "passes and fails only what the intervals show, and calls the rest inconclusive",
    "strict": "the paper's text, word by word, on point estimates",
    "paper": "what the paper's authors did: a control fails the method only if it is as good and differs "
    "significantly from the default; transfer passes if both domains give the same pattern",
}
LEVELS = {
    "default": "default (no method)",
    "original": "original",
    "opposite": "opposite",
    "nonsensical": "nonsensical",
    "blank": "blank",
}


def sentence(decisions: Sequence[Decision]) -> str:
    """The verdict in one sentence.

    >>> sentence([Decision("polarity", domain, Outcome.FAIL, "") for domain in ("adversarial", "neutral")])
    'Not consistent: polarity fails on adversarial and neutral prompts.'
    """
    by_outcome: dict[Outcome, list[Decision]] = {outcome: [] for outcome in Outcome}
    for one in decisions:
        if one.test != "effect":
            by_outcome[one.outcome].append(one)
    failed, undecided = by_outcome[Outcome.FAIL], by_outcome[Outcome.INCONCLUSIVE]
    passed, beside = by_outcome[Outcome.PASS], by_outcome[Outcome.NOT_APPLICABLE]
    if failed:
        return f"Not consistent: {_listed(failed, 'fails')}."
    if undecided:
        needed = max(one.prompts_to_decide or 0 for one in undecided)
        many = f" About {needed:,} prompts a domain would decide." if needed else ""
        return f"Undecided: {_listed(undecided, 'is inconclusive')}.{many}"
    if not passed:
        return "The tests do not apply to this method."
    if beside:
        return f"What applies passes: {_listed(passed, 'passes')}."
    return "Consistent: polarity, importance and transfer pass."


def reason_of(decision: Decision) -> str:
    """The reason of an outcome, and what would decide an open one.

    >>> reason_of(Decision("polarity", "neutral", Outcome.INCONCLUSIVE, "original -0.1 points", 1200))
    'Original −0.1 points. About 1,200 prompts would decide.'
    """
    reason = re.sub(r"(?<!\w)-(?=\d)", "−", decision.reason).removesuffix(".")
    first = f"{reason[:1].upper()}{reason[1:]}."
    if decision.prompts_to_decide is None:
        return first
    return f"{first} About {decision.prompts_to_decide:,} prompts would decide."


def published_cell(row: dict[str, object]) -> str:
    """Percentage, relative change with its arrow, and stars, as in the paper's tables.

    >>> published_cell({"percent": 24.4, "relative_change": 52.9, "change": -27.5, "stars": "***"})
    '↓ 52.9 % 24.4 % ***'
    >>> published_cell({"percent": 51.9, "relative_change": 0.0, "change": 0.0, "stars": None, "level": "default"})
    '51.9 %'
    """
    percent, relative, change = row["percent"], row["relative_change"], row["change"]
    if not isinstance(percent, float):
        return wording.ABSENT
    shown = f"{wording.number(percent, 2 if percent < 1 else 1)} %"
    if row.get("level") == "default" or not isinstance(change, float) or change == 0:
        return f"{shown} {row['stars'] or ''}".strip()
    arrow = "↓" if change < 0 else "↑"
    size = f" {wording.number(abs(relative), 1)} %" if isinstance(relative, float) else ""
    return f"{arrow}{size} {shown} {row['stars'] or ''}".strip()


def facts(study: ConsistencyStudy) -> list[tuple[str, str]]:
    """What a reader wants to know before the numbers."""
    sizes = [f"{len(prompts):,} {domain}" for domain, prompts in study.domains.items()]
    judge = study.classifier.get("name", study.options.classifier.partition("?")[0])
    return [
        ("prompts", wording.listing(sizes)),
        ("decoding", described(study.decoding.decoding)),
        (
            "judged by",
            f"{judge}: {wording.listing([name.replace('_', ' ') for name in study.attributes.names])}",
        ),
        ("harmful", study.threshold[1]),
        ("rule", f"{study.options.rule}, margin {study.options.margin:g} percentage points"),
    ]


def mean_rows(study: ConsistencyStudy, domain: str) -> list[dict[str, object]]:
    """The rows of a domain over all attributes, one a level."""
    table = study.numbers.table
    return table.filter((pl.col("domain") == domain) & pl.col("attribute").is_null()).to_dicts()


def _listed(decisions: Sequence[Decision], does: str) -> str:
    """Tests with the domains in which they came out so."""
    domains: dict[str, list[str]] = {}
    for one in decisions:
        domains.setdefault(one.test, []).extend([one.domain] if one.domain else [])
    return wording.listing(
        [
            f"{test} {does}" + (f" on {wording.listing(where)} prompts" if where else "")
            for test, where in domains.items()
        ]
    )
