"""Sentences on pairs of group columns: where the gap between two groups differs, or which combination is unexpected."""

from collections.abc import Sequence
from dataclasses import dataclass

from evenhand.reports.sentences.numbers import size_of
from evenhand.reports.sentences.slots import (
    Estimate,
    capitalised,
    ci,
    clear_places,
    count,
    effect_range,
    name_list,
    number_near,
    outcome_responses,
    percent,
    plain_number,
    points,
    q_value,
    range_of_effects,
)

SHOWN_COMBINATIONS = 4
"""Maximum number of groups or combinations in a sentence. The others are in the detail tables."""
HEADS = {
    "reverses": "The gap between {low} and {high} reverses with {inside}.",
    "only among": "The gap between {low} and {high} depends on {inside}.",
    "larger among": "The gap between {low} and {high} is not the same in each group of {inside}.",
    "differs": "The gap between {low} and {high} depends on {inside}, but it is not clear in which group there is one.",
}
"""Beginning of the sentence for each pattern of the gaps."""
STUDY = "analysis"


@dataclass(frozen=True)
class Outcome:
    """Name of an outcome in sentences, and format of its values.

    Differences are in percentage points if `is_rate` is True, otherwise in the unit of the outcome.
    """

    what: str
    is_rate: bool

    @property
    def mean(self) -> str:
        """Return the name of the compared quantity: a rate, or the mean of the outcome."""
        return f"the rate of {outcome_responses(self.what)}" if self.is_rate else f"the mean of {self.what}"

    def value(self, number: float, difference: Estimate | None = None) -> str:
        """Return a rate or a mean as text. A mean gets the same number of decimals as `difference`, if given."""
        if self.is_rate:
            return percent(number)
        return plain_number(number) if difference is None else number_near(number, difference)

    def size(self, estimate: Estimate) -> str:
        """Return a difference with its interval."""
        if not self.is_rate:
            return size_of(estimate)
        places = clear_places((estimate.low, estimate.high), 0)
        interval = ci(estimate.low, estimate.high, places)
        return f"{points(estimate.value, places)}, {interval}{q_value(estimate.q)}"


@dataclass(frozen=True)
class Gap:
    """The gap between two groups within one group (`level`) of another column.

    `first` and `second` are (group, mean). `size` is the first mean minus the second.
    """

    level: str
    first: tuple[str, float]
    second: tuple[str, float]
    size: Estimate


def gap_inside(other: str, gap: Estimate | None, *, detected: bool, in_each: bool, is_rate: bool) -> str:
    """Return a sentence on the average gap within the groups of another axis.

    Parameters
    ----------
    other
        Name of the other axis.
    gap
        The average gap; None if it is not measurable.
    detected
        Whether the gap was detected.
    in_each
        Whether it was detected within each group of the other axis.
    is_rate
        Whether the outcome is a rate.
    """
    if gap is None:
        return f"Within the groups of {other}, the gap is not measurable."
    size = Outcome("", is_rate).size(gap)
    if not detected:
        return f"On average over the groups of {other}, no difference was detected (gap {size})."
    if in_each:
        return f"The gap remains within each group of {other} (average {size})."
    return f"A gap remains on average over the groups of {other} ({size})."


def gap_depends(other: str, pair: str) -> str:
    """Return a sentence stating that the gap depends on another column. It replaces a sentence on the average gap.

    other: name of the other column. pair: heading of the sentence on the interaction.
    """
    return f"But the gap depends on {other}: see {pair}."


def gap_pattern(pattern: str, low: str, high: str, inside: str) -> str:
    """Return a sentence on how the gap between two groups depends on another column. pattern: a key of HEADS."""
    return HEADS[pattern].format(low=low, high=high, inside=inside)


def gaps(given: Sequence[Gap], outcome: Outcome, adjusted_for: Sequence[str] = ()) -> str:
    """Return sentences with the gap in each group of another column. More than SHOWN_COMBINATIONS are only counted.

    Parameters
    ----------
    given
        The gaps.
    outcome
        Format of the outcome.
    adjusted_for
        Columns for which the gaps are adjusted. The means of groups are not adjusted.
    """
    parts = [_gap(gap, outcome, adjusted=bool(adjusted_for)) for gap in given[:SHOWN_COMBINATIONS]]
    if len(given) > SHOWN_COMBINATIONS:
        parts.append(
            f"{count(len(given) - SHOWN_COMBINATIONS, 'more group is', 'more groups are')} in the table "
            "interaction_gaps."
        )
    if adjusted_for:
        what = "rates" if outcome.is_rate else "means"
        parts.append(f"Differences are adjusted for {name_list(adjusted_for)}; {what} are not.")
    return " ".join(parts)


def difference_of_gaps(levels: tuple[str, str], difference: Estimate, outcome: Outcome) -> str:
    """Return a sentence on the difference between the gaps in two groups (`levels`): the first minus the second."""
    return f"Difference between the two gaps ({levels[0]} minus {levels[1]}): {outcome.size(difference)}."


def direction_of_interaction(
    pair: str, groups: tuple[str, str], minuend: tuple[str, float], rest: tuple[str, float], outcome: Outcome
) -> str:
    """Return a sentence on the two gaps whose difference is the estimate of an interaction, with their sizes.

    Parameters
    ----------
    pair
        Heading of the two columns.
    groups
        The gap is the first group minus the second.
    minuend, rest
        A group of the other column, or "the other groups of ...", with its gap. The estimate is the first minus the
        second.
    """

    def write_gap(gap: float) -> str:
        return points(gap, 1, with_sign=True) if outcome.is_rate else plain_number(gap)

    return (
        f"{capitalised(pair)}: the estimate is the gap ({groups[0]} minus {groups[1]}) for {minuend[0]} "
        f"({write_gap(minuend[1])}), minus the gap for {rest[0]} ({write_gap(rest[1])})."
    )


def _gap(gap: Gap, outcome: Outcome, *, adjusted: bool) -> str:
    first, second, size = gap.first, gap.second, gap.size
    if size.value < 0:  # the larger gap first, so that the difference is positive
        first, second = second, first
        size = Estimate(-size.value, -size.high, -size.low)
    (more, most), (less, least) = first, second
    values = [outcome.value(mean, size) for mean in (most, least)]
    raw = f"unadjusted: {more} {values[0]}, {less} {values[1]}"
    if size.low <= 0 <= size.high:
        if adjusted:
            inside = f"adjusted difference, {more} minus {less}: {outcome.size(size)}; {raw}"
        else:
            inside = f"{more} {values[0]}, {less} {values[1]}; difference {outcome.size(size)}"
        return f"For {gap.level}, no difference was detected ({inside})."
    if adjusted:
        return (
            f"For {gap.level}, {outcome.mean} is higher for {more} than for {less} (adjusted difference "
            f"{outcome.size(size)}; {raw})."
        )
    return (
        f"For {gap.level}, {outcome.mean} is higher for {more} ({values[0]}) than for {less} "
        f"({values[1]}; difference {outcome.size(size)})."
    )


def highest_combination(first: str, second: str, outcome: Outcome, mean: float | None = None) -> str:
    """Return a sentence naming the combination of two groups with the highest mean. mean: its mean, if known."""
    size = "" if mean is None else f" ({outcome.value(mean)})"
    return f"{capitalised(outcome.mean)} is highest for {first} × {second}{size}."


def no_single_combination(first: str, second: str, size: Estimate, outcome: Outcome) -> str:
    """Return a sentence stating that differences depend on another column, but no single combination is named."""
    return (
        f"The differences between the groups of {first} depend on {second} (root mean square departure "
        f"{outcome.size(size)}), but no single combination can be named with confidence."
    )


def combination(
    first: str,
    second: str,
    mean: float,
    excess: Estimate,
    mirrors: Sequence[str],
    outcome: Outcome,
    adjusted_for: Sequence[str] = (),
) -> str:
    """Return a sentence on how far the mean of one combination is from what both columns explain separately.

    Parameters
    ----------
    first, second
        The two groups of the combination.
    mean
        Mean of the combination.
    excess
        Difference of the mean from what both columns explain.
    mirrors
        Combinations that may differ in the opposite direction instead, because the data cannot distinguish them.
    outcome
        Format of the outcome.
    adjusted_for
        Columns for which the difference is adjusted. The mean is not adjusted.
    """
    way = "more" if excess.value > 0 else "less"
    unclear = (
        f" It may instead be the opposite for {name_list(mirrors)}: these data cannot distinguish them."
        if mirrors
        else ""
    )
    size = outcome.size(excess.size)
    amount, _, interval = size.partition(", ")
    value = outcome.value(mean, excess)
    departs = f"{amount} {way} than both columns explain ({interval})"
    if adjusted_for:
        return f"{first} × {second}: {value}. Adjusted for {name_list(adjusted_for)}, this is {departs}.{unclear}"
    return f"{first} × {second}: {value}, which is {departs}.{unclear}"


def combinations(named: int, shown: Sequence[str]) -> str:
    """Return sentences on the combinations that differ from what both columns explain.

    named: number of all such combinations. shown: sentences of `combination` on some of them.
    """
    head = "One combination differs" if named == 1 else f"{named} combinations differ"
    more = named - len(shown)
    rest = [f"{count(more, 'more is', 'more are')} in the table interaction_cells."] if more else []
    return " ".join([f"{head} from what both columns explain.", *shown, *rest])


def pairs_tested(pairs: int) -> str:
    """Return a sentence on the control of the false-positive rate if several pairs of columns were tested."""
    return f"The false-positive rate is controlled over all {pairs} pairs of columns (Holm)."


def no_interaction(*, of_gaps: bool, least: float, most: float, blind: int, outcome: Outcome) -> str:
    """Return sentences stating that no interaction was detected, with the minimum detectable effect (MDE).

    Parameters
    ----------
    of_gaps
        Whether two gaps were compared. Otherwise, combinations were compared with what both columns explain.
    least, most
        Smallest and largest MDE of the combinations.
    blind
        Number of combinations that are too small for any difference to be detected.
    """
    small, large = effect_range((least, most)) if outcome.is_rate else range_of_effects(least, most)
    unit = " points" if outcome.is_rate else ""
    size = f"{large}{unit} or more"
    if most > 1.25 * least:
        size = f"{small} to {large}{unit} or more, depending on the size of the combination"
    what, where = (
        ("No difference between the gaps was detected", "a difference between the gaps of")
        if of_gaps
        else ("No combination was found to differ from what both columns explain", "an excess of")
    )
    rest = (
        f" {count(blind, 'combination is', 'combinations are')} too small for any departure to be detected."
        if blind
        else ""
    )
    return f"{what}. This {STUDY} had 80% power to detect {where} {size}.{rest}"
