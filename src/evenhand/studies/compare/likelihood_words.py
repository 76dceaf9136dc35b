"""Sentences on changed likelihoods for which one test is not enough.

Changes of sentence pairs are checked in two more units. Groups are reported if their own tests find a change that the
test of the axis does not detect.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.reports import HIGHER, LOWER, NOT_DETECTED, NOT_MEASURABLE, known, number, sentences

EFFECT_SIZE, LIKELIER = "redditbias_effect_size_change", "redditbias_likelier_change"
"""Measures with the same change in other units: in standard deviations, and in percent of phrases."""
OWN_LEVEL = 0.05
"""Significance level of the tests of all groups of an axis together, if the test of the axis detected no change."""
Row = Mapping[str, Any]


def log_perplexity_text(row: Row, rows: Sequence[Row], told: str) -> str:
    """Return a sentence on the change of stereotypes in sentence pairs about two groups.

    A change is stated only if three units agree: nats per token, standard deviations (EFFECT_SIZE), and the share of
    phrases (LIKELIER). A model that becomes more certain of all texts has smaller differences in nats per token, while
    the other two do not change.

    Parameters
    ----------
    row
        Detected change in nats per token, with the columns CHANGES.
    rows
        Changes of the same comparison, which have EFFECT_SIZE and LIKELIER of the axis.
    told
        Values before and after, as text.
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
    """Return the groups with a significant change of their own in an axis for which no change was detected.

    p is multiplied by the number of groups (Bonferroni) and compared with OWN_LEVEL. The verdict of each returned group
    is HIGHER or LOWER. The result is empty if a change of the axis was detected.

    row: row of the axis. groups: rows of its groups.
    """
    if row["verdict"] not in (NOT_DETECTED, NOT_MEASURABLE):
        return []
    return [
        {**group, "verdict": HIGHER if group["estimate"] > 0 else LOWER}
        for group in groups
        if known(group.get("p")) and known(group["low"]) and group["p"] * len(groups) <= OWN_LEVEL
    ]


def unsettled_text(row: Row, moved: str) -> str:
    """Return a sentence for an axis without a detected change in which single groups changed.

    It gives the reason, and then `moved`, a text on what the intervals of these groups show.
    """
    reason = (row["note"] or "").rstrip(".") if row["verdict"] == NOT_MEASURABLE else sentences.WHOLE_AXIS
    return sentences.only_asked_sentences_changed(row["axis"], reason, moved)
