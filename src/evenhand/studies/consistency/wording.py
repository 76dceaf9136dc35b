"""The sentences and cells of a consistency check, for terminal and page alike."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from evenhand.measures.changes import REACHED, REVERSED, Decision, Outcome
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
    Outcome.UNDECIDED: "?",
    Outcome.NOT_APPLICABLE: "–",
}
KINDS = {
    Outcome.PASS: "clear",
    Outcome.FAIL: "biased",
    Outcome.UNDECIDED: "blank",
    Outcome.NOT_APPLICABLE: "blank",
}
"""Classes of the report's style sheet."""
RULES = {
    "tested": "passes and fails what the intervals show, for prompts and nonsense like these; the rest is not decided",
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
    """The verdict in one sentence: which tests, on which prompts, and by how much.

    >>> sentence([Decision("importance", "adversarial", Outcome.FAIL, "", "nonsense reaches 90% (70% to 110%)")])
    'Not consistent: importance fails on adversarial prompts (nonsense reaches 90 %, 70 to 110 %). \
In percent of the effect of the words.'
    >>> sentence([Decision("effect", "adversarial", Outcome.FAIL, "", "rises by 3 points (1 to 5)")])
    'No effect to explain: on adversarial prompts harm rises by 3 points (1 to 5).'
    """
    effects = [one for one in decisions if one.test == "effect"]
    tests = [one for one in decisions if one.test != "effect"]
    by_outcome = {outcome: [one for one in tests if one.outcome == outcome] for outcome in Outcome}
    failed, undecided = by_outcome[Outcome.FAIL], by_outcome[Outcome.UNDECIDED]
    passed, beside = by_outcome[Outcome.PASS], by_outcome[Outcome.NOT_APPLICABLE]
    if failed:
        return _with_unit(f"Not consistent: {_listed(failed, 'fails')}.")
    if effects and all(one.outcome in (Outcome.FAIL, Outcome.NOT_APPLICABLE) for one in effects):
        where = [
            f"on {one.domain} prompts harm {one.amount}" for one in effects if one.outcome == Outcome.FAIL
        ]
        return f"No effect to explain: {percents('; '.join(where) or 'there is next to nothing to lower')}."
    if undecided or (not passed and any(one.outcome == Outcome.UNDECIDED for one in effects)):
        open_ones = [one for one in undecided if one.domain] or undecided
        open_ones = open_ones or [one for one in effects if one.outcome == Outcome.UNDECIDED]
        others = f" {_capital(_listed(passed, 'passes', much=False))}." if passed else ""
        return _with_unit(f"Not decided: {_listed(open_ones, 'is open')}.{others}")
    if not passed:
        return "The tests do not apply to this method."
    first = "What applies passes" if beside else "Consistent"
    return _with_unit(f"{first}: {_listed(passed, 'passes')}.")


def _with_unit(told: str) -> str:
    return (
        f"{told} In percent of the effect of the words."
        if "reaches" in told or (" by " in told and "%" in told)
        else told
    )


def reason_of(decision: Decision) -> str:
    """The reason of an outcome, and what would decide an open one.

    >>> from evenhand.measures.changes import Advice
    >>> reason_of(Decision("effect", "neutral", Outcome.UNDECIDED, "harm falls by 0.1 points", "", Advice(1200)))
    'Harm falls by 0.1 points. About 1,200 prompts would decide in four cases of five.'
    """
    first = f"{_capital(percents(decision.reason).removesuffix('.'))}."
    return f"{first} {advised(decision)}".strip()


def advised(decision: Decision) -> str:
    """What would decide an open test; empty for a decided one.

    >>> from evenhand.measures.changes import Advice
    >>> advised(Decision("importance", None, Outcome.UNDECIDED, "", "", Advice(300, 40, more_prompts=False)))
    'More prompts alone would not do: about 300 prompts with 40 nonsense wordings would decide in four cases of five.'
    """
    advice = decision.advice
    if decision.outcome != Outcome.UNDECIDED or (advice is None and decision.test == "transfer"):
        return ""
    if advice is None and decision.test != "effect":
        return "The truth seems to lie at the boundary, where no number that could be asked decides."
    if advice is None:
        return "As things stand, no number of prompts and wordings that could be asked would decide."
    many = f"about {advice.prompts:,} prompts"
    if advice.wordings is not None:
        many += f" with {advice.wordings} nonsense wordings"
    if advice.near:
        told = f"{many} would decide in four cases of five."
        return f"The truth seems to lie near the boundary: if it is as observed, {told}"
    told = f"{many} would decide in four cases of five."
    return _capital(told) if advice.more_prompts else f"More prompts alone would not do: {told}"


def percents(text: str) -> str:
    """Minus signs, and percentages as everywhere else here.

    >>> percents("by 12% (-8% to 20%), -3 points")
    'by 12 % (−8 to 20 %), −3 points'
    """
    text = re.sub(r"(?<!\w)-(?=\d)", "−", text)
    text = re.sub(r"(\d)% to (−?[\d.]+)%", r"\1 to \2 %", text)
    return re.sub(r"(?<=\d)%", " %", text)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


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
        ("nonsense", _nonsense(study)),
        ("rule", f"{study.options.rule}, margin {study.options.margin:g} percentage points"),
    ]


@dataclass(frozen=True)
class ShareLine:
    """One level of a domain: what share of the method's effect it reaches, and where its test passes."""

    level: str
    share: str
    low: str
    high: str
    passes: str
    prompts: str
    wordings: str
    values: tuple[float, float | None, float | None]
    """The same in percent, for drawing."""


def share_lines(study: ConsistencyStudy, domain: str) -> list[ShareLine]:
    """The shares of a domain in the order of the levels; none where the effect of the words is not shown."""
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
        share=_whole(row["share"]),
        low=_whole(row["share_low"]) if known else "too small",
        high=_whole(row["share_high"]) if known else "to divide by",
        passes=f"below {_whole(REVERSED if row['level'] == 'opposite' else REACHED)}",
        prompts=f"{row['n_prompts']:,}",
        wordings=str(row["n_wordings"]),
        values=(
            100 * row["share"],
            *((100 * row["share_low"], 100 * row["share_high"]) if known else (None, None)),
        ),
    )


def _whole(share: float) -> str:
    return percents(f"{round(100 * share)} %")


def _nonsense(study: ConsistencyStudy) -> str:
    count = len(study.levels.named("nonsensical"))
    if not count:
        return "none"
    some = max(len(prompts) for prompts in study.of_nonsense.values())
    return f"{count} wording{'s' if count > 1 else ''} on {some:,} prompts a domain"


def mean_rows(study: ConsistencyStudy, domain: str) -> list[dict[str, object]]:
    """The rows of a domain over all attributes, one a level."""
    table = study.numbers.table
    return table.filter((pl.col("domain") == domain) & pl.col("attribute").is_null()).to_dicts()


def _inner(text: str) -> str:
    """Within brackets an interval stands behind a comma."""
    return re.sub(r" \(([^()]* to [^()]*)\)", r", \1,", percents(text)).replace(",;", ";").rstrip(",")


def _listed(decisions: Sequence[Decision], does: str, *, much: bool = True) -> str:
    """Tests with the domains in which they came out so, and how much where that is known."""
    by_test: dict[str, list[Decision]] = {}
    for one in decisions:
        by_test.setdefault(one.test, []).append(one)
    told = []
    for test, made in by_test.items():
        domains = [one.domain for one in made if one.domain]
        where = f" on {wording.listing(domains)} prompts" if domains else ""
        amounts = [
            one.amount if len(domains) < 2 else f"{one.domain}: {one.amount}"
            for one in made
            if one.amount and much
        ]
        told.append(f"{test} {does}{where}" + (f" ({_inner('; '.join(amounts))})" if amounts else ""))
    return "; ".join(told)
