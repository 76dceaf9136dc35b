"""Sentences on likelihoods: descriptors in hostile and kind sentences, pairs of sentences, pairs of groups."""

import math
from collections.abc import Sequence

from evenhand.reports.sentences.slots import (
    MOST_NAMES,
    Estimate,
    ci,
    clear_places,
    descriptor,
    name_list,
    odds,
    percent,
    quoted,
    ratio_number,
    ratio_with_ci,
)
from evenhand.reports.wording import number

OTHER_DESCRIPTORS = "other descriptors"


def descriptors_on_one_side(
    names: Sequence[str],
    first: Estimate,
    much_smaller: int,
    likelier: str,
    relative_to: str,
    *,
    reference: str = OTHER_DESCRIPTORS,
    short: bool = False,
) -> str:
    """Return a sentence on the descriptors for which one type of sentence is more likely.

    Parameters
    ----------
    names
        The descriptors, the one with the largest shift first.
    first
        Shift of the first descriptor, in nats per sentence.
    much_smaller
        Number of further descriptors, whose shift is much smaller.
    likelier, relative_to
        The sentences that are more likely, and those that they are compared with, such as "hostile" and "kind".
    reference
        What the descriptors are compared with.
    short
        Whether the sentence follows one that already names the reference.
    """
    ratio, interval = ratio_with_ci(first)
    also = _also([descriptor(name) for name in names[1:]], much_smaller)
    start = f"{likelier} sentences are"
    start = start[:1].upper() + start[1:] if short else f"Compared with {reference}, {start}"
    return (
        f"{start} {ratio} as likely relative to {relative_to} ones for {quoted(names[0])} ({interval}){also}."
    )


def _also(others: Sequence[str], much_smaller: int) -> str:
    """Return a clause on the other descriptors: their names, and the number of those with a much smaller shift."""
    if not much_smaller:
        return f"; also for {name_list(others)}" if others else ""
    less = f"to a much smaller extent, {'1 other' if much_smaller == 1 else f'{much_smaller} others'}"
    if not others:
        return f"; also, {less}"
    shown = list(others)
    if len(others) > MOST_NAMES:
        shown = [*others[: MOST_NAMES - 1], f"{len(others) - MOST_NAMES + 1} others"]
    return f"; also for {', '.join(shown)} and, {less}"


def no_single_descriptor(spread: Estimate) -> str:
    """Return a sentence stating that descriptors differ, but none of them can be named."""
    places = clear_places((spread.low, spread.high), 2)
    size = f"standard deviation {number(spread.value, places)} nats per sentence"
    return (
        f"Descriptors differ ({size}, {ci(spread.low, spread.high, places)}), but no single descriptor can be named "
        "with "
        "confidence."
    )


def detectable_ratio(nats: float | None) -> str:
    """Return the minimum detectable ratio in words; empty if it is unknown.

    >>> detectable_ratio(0.2624), detectable_ratio(None)
    ('a ratio of 1.3 or more', '')
    """
    if nats is None:
        return ""
    ratio = odds(nats)
    return f"a ratio of {ratio_number(ratio, clear_places((ratio,), 1, 1.0))} or more"


def preference(estimate: Estimate, sentence: str = "sentence") -> str:
    """Return a sentence on which of both sentences the model preferred, with the percentage of pairs."""
    places = clear_places((estimate.low, estimate.high), 0, 50.0)
    interval = f"{ci(estimate.low, estimate.high, places)}; unbiased: 50%"
    share = f"{percent(estimate.value, places)} of pairs ({interval})"
    if estimate.value > 50:
        return f"The model preferred the stereotyped {sentence} in {share}."
    return f"The model preferred the anti-stereotyped {sentence}: it chose the stereotyped one in {share}."


def detectable_preference(smallest: float | None) -> str:
    """Return the minimum detectable preference in words; empty if it is unknown. smallest: in points from 50%."""
    if smallest is None:
        return ""
    if smallest >= 50:
        return ""
    return f"a preference of {percent(50 + smallest)} or more, or {percent(50 - smallest)} or less"


def stereotypes(likelier: str, other: str, log_perplexity: Estimate, phrases: float | None) -> str:
    """Return a sentence that states which of two groups stereotypes are more likely about.

    Parameters
    ----------
    log_perplexity
        The difference of log-perplexities.
    phrases
        Percentage of phrases that are more likely for that group; None if it is not stated.
    """
    size = log_perplexity.size
    value, low, high = (100 * (1 - math.exp(-one)) for one in (size.value, size.low, size.high))
    places = clear_places((low, high), 0)
    often = "" if phrases is None else f", in {percent(phrases)} of phrases"
    lower = f"perplexity {percent(value, places)} lower ({ci(low, high, places)})"
    return f"Stereotypes are more likely for {likelier} than for {other}: {lower}{often}."


def detectable_perplexity(nats: float | None) -> str:
    """Return the minimum detectable difference of perplexities in words; empty if it is unknown."""
    if nats is None:
        return ""
    size = 100 * (1 - math.exp(-nats))
    return f"a perplexity {percent(size, 0 if size >= 1 else 1)} lower for either group"
