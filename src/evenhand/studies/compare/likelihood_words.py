"""Sentences on changed likelihoods that a single test could misrepresent: pairs in two units, groups within an axis."""

from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.reports import HIGHER, LOWER, NOT_DETECTED, NOT_MEASURABLE, known, number, sentences

EFFECT_SIZE, LIKELIER = "redditbias_effect_size_change", "redditbias_likelier_change"
"""Rows that give the change of a log-perplexity in other units: standard deviations, and percent of phrases."""
OWN_LEVEL = 0.05
"""Adjusted level at which the test of one group is reported although the test of its axis found nothing."""
Row = Mapping[str, Any]


def log_perplexity_text(row: Row, rows: Sequence[Row], told: str) -> str:
    """Return how stereotypes changed in pairs about two groups, if nats, spread and share agree.

    `row` is a detected change, in nats per token. `rows` are CHANGES with EFFECT_SIZE and LIKELIER of the axis. `told`
    has the values before and after in words. The three must agree because a model that becomes more certain of all
    texts has smaller differences of log-perplexities, while the spread and the share do not change.
    """
    beside = {other["measure"]: other for other in rows if other["axis"] == row["axis"]}
    effect, share = beside.get(EFFECT_SIZE), beside.get(LIKELIER)
    side = 1.0 if row["verdict"] == HIGHER else -1.0
    word = "less" if side > 0 else "more"  # the higher a log-perplexity, the less likely
    text = f"stereotypes have become {word} likely for the stereotyped group, relative to the other: {told}"
    if effect is None or share is None:
        return text
    spreads = f"effect size {_went(effect, 2)} standard deviations"
    shares = f"phrases more likely for the stereotyped group: {_went(share, 0, '%')}"
    ends = [effect[name] for name in ("low", "high")]
    agrees = all(known(end) and side * end > 0 for end in ends) and side * share["estimate"] <= 0
    if agrees:
        return f"{text}; {spreads}; {shares}"
    return (
        f"the difference in nats per token moved {'up' if side > 0 else 'down'}: {told}. In standard deviations no "
        "such "
        f"change is shown ({spreads}; {shares}). Any training can change likelihoods in this way"
    )


def _went(row: Row, places: int, unit: str = "") -> str:
    ends = [row["before"], row["after"]]
    return " to ".join(f"{number(end, places)}{unit}" if known(end) else "–" for end in ends)


def clear_groups(row: Row, groups: Sequence[Row]) -> list[Row]:
    """Return the groups whose own tests exclude no change, although the test of the axis detected none.

    All groups together have the level OWN_LEVEL. Each has the verdict that states its direction. `row` is the axis, and
    `groups` are its groups.
    """
    if row["verdict"] not in (NOT_DETECTED, NOT_MEASURABLE):
        return []
    return [
        {**group, "verdict": HIGHER if group["estimate"] > 0 else LOWER}
        for group in groups
        if known(group.get("p")) and known(group["low"]) and group["p"] * len(groups) <= OWN_LEVEL
    ]


def unsettled_text(row: Row, moved: str) -> str:
    """Return that the axis shows no change, why, and what the intervals of its groups (`moved`) show."""
    reason = (row["note"] or "").rstrip(".") if row["verdict"] == NOT_MEASURABLE else sentences.WHOLE_AXIS
    return sentences.only_asked_sentences_changed(row["axis"], reason, moved)
