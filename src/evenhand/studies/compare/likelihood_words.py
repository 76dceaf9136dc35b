"""Sentences on changed likelihoods that one test alone would tell wrongly: of pairs by two units, of groups beside an
axis."""

from collections.abc import Mapping, Sequence
from math import exp
from typing import Any

from evenhand.reports import HIGHER, LOWER, NOT_DETECTED, NOT_MEASURABLE, known, number

EFFECT_SIZE, LIKELIER = "redditbias_effect_size_change", "redditbias_likelier_change"
"""Rows beside the change of a log-perplexity: the same in units of its spread, and in percent of phrases."""
MOST_NATS = 20.0
"""Beyond this a likelihood is not told in times as likely."""
OWN_LEVEL = 0.05
"""Over all groups of an axis, at which a group's own test is told although that of the axis found nothing."""
Row = Mapping[str, Any]


def odds(nats: float) -> float:
    """How many times as likely: e to a difference of log-likelihoods, whichever side it is on."""
    return exp(min(abs(nats), MOST_NATS))


def log_perplexity_text(row: Row, rows: Sequence[Row], told: str) -> str:
    """What became of stereotypes in pairs about two groups: said of them only where nats, spread and share agree.

    row: a change found, in nats per token. rows: of CHANGES, with EFFECT_SIZE and LIKELIER of the axis. told: before
    and after in words. Whatever makes a model surer of all texts, or less sure, makes every difference of
    log-perplexities smaller, or larger, with it, and leaves both others as they are.
    """
    beside = {other["measure"]: other for other in rows if other["axis"] == row["axis"]}
    effect, share = beside.get(EFFECT_SIZE), beside.get(LIKELIER)
    side = 1.0 if row["verdict"] == HIGHER else -1.0
    word = "less" if side > 0 else "more"  # a log-perplexity: the higher the less likely
    text = f"stereotypes have become {word} likely of the stereotyped group, beside the other: {told}"
    if effect is None or share is None:
        return text
    spreads = f"{_went(effect, 2)} standard deviations"
    shares = f"{_went(share, 0)} % of phrases likelier of the stereotyped group"
    ends = [effect[name] for name in ("low", "high")]
    agrees = all(known(end) and side * end > 0 for end in ends) and side * share["estimate"] <= 0
    if agrees:
        return f"{text}; {spreads}; {shares}"
    return (
        f"the difference in nats per token moved {'up' if side > 0 else 'down'}: {told}; in units of its spread no "
        f"such change is shown ({spreads}; {shares}), so that this may be what any training does to likelihoods"
    )


def _went(row: Row, places: int) -> str:
    ends = [row["before"], row["after"]]
    return " → ".join(number(end, places) if known(end) else "–" for end in ends)


def clear_groups(row: Row, groups: Sequence[Row]) -> list[Row]:
    """Groups of an axis that was not found whose own tests exclude no change, all groups together at OWN_LEVEL.

    row: the axis', groups: its groups'. Each comes with the verdict that says which way it moved.
    """
    if row["verdict"] not in (NOT_DETECTED, NOT_MEASURABLE):
        return []
    return [
        {**group, "verdict": HIGHER if group["estimate"] > 0 else LOWER}
        for group in groups
        if known(group.get("p")) and known(group["low"]) and group["p"] * len(groups) <= OWN_LEVEL
    ]


def unsettled_text(row: Row, moved: str) -> str:
    """That an axis was not found, why, and what its groups' own intervals say. moved: of `clear_groups`, in words."""
    why = (
        (row["note"] or "").rstrip(".")
        if row["verdict"] == NOT_MEASURABLE
        else "the test of the whole axis, which allows for pairs that disagree how much, shows no change"
    )
    return (
        f"no more can be said of other sentences like these: {why[:1].lower()}{why[1:]}. In those that were asked, "
        f"intervals of groups by themselves exclude no change: {moved}"
    )
