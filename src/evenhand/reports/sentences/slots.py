"""Format the parts of sentences: names, rates, points, ratios, confidence intervals, q and counts.

The templates in this folder put these parts together. Each part is formatted here only, so that a number is written in
the same way in every sentence.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evenhand.reports.amounts import smallest_effect
from evenhand.reports.terms import PEOPLE
from evenhand.reports.wording import known, label, number, signed

MOST_NAMES = 4
"""Maximum number of names in a list; further names are counted."""
LARGEST_RATIO = 1000.0
"""A larger ratio is written as "more than 1,000"."""
MOST_PLACES = 5
"""Maximum number of decimals of a CI. Decimals are added if a bound would otherwise look equal to the null."""
MOST_DECIMALS = 8
"""Maximum number of decimals of a difference of numbers."""
OUTCOMES = ("negative", "toxic", "offensive", "hostile", "harmful", "refused", "positive")
"""Outcomes that are adjectives, as in "toxic responses"."""
VERBS = {
    "is": "are",
    "isn't": "aren't",
    "was": "were",
    "wasn't": "weren't",
    "has": "have",
    "hasn't": "haven't",
    "does": "do",
    "doesn't": "don't",
}
"""Verbs after "who" whose plural is irregular."""


@dataclass(frozen=True)
class Estimate:
    """An estimate, the bounds of its 95% CI and, if it was tested, its q."""

    value: float
    low: float
    high: float
    q: float | None = None

    @property
    def size(self) -> "Estimate":
        """Return the same effect without its sign."""
        if self.value >= 0:
            return self
        return Estimate(-self.value, -self.high, -self.low, self.q)


@dataclass(frozen=True)
class GroupRate:
    """Display name of a group, and its rate in percent if it is known."""

    name: str
    rate: float | None = None


def axis_name(axis: str | None) -> str:
    """Return the name of an axis inside a sentence.

    >>> axis_name("race_ethnicity"), axis_name(None)
    ('race and ethnicity', 'all axes')
    """
    return label(axis)


def outcome_verb(outcome: str) -> str:
    """Return the words after "responses were" for an outcome.

    An outcome is an adjective, the value of a label, or a condition that begins with "with".

    >>> outcome_verb("toxic"), outcome_verb("too short"), outcome_verb("with rating of 7 or more")
    ('were toxic', 'were labelled "too short"', 'had rating of 7 or more')
    """
    if outcome.startswith("with "):
        return f"had {outcome.removeprefix('with ')}"
    return f"were {outcome}" if outcome in OUTCOMES else f'were labelled "{outcome}"'


def outcome_responses(outcome: str) -> str:
    """Return a noun phrase for the responses with an outcome.

    >>> outcome_responses("toxic"), outcome_responses("with rating of 7 or more")
    ('toxic responses', 'responses with rating of 7 or more')
    """
    if outcome.startswith("with "):
        return f"responses {outcome}"
    return f"{outcome} responses" if outcome in OUTCOMES else f'"{outcome}" responses'


def capitalised(text: str) -> str:
    """Return a text with a capital first letter, the rest unchanged.

    >>> capitalised("women in IT")
    'Women in IT'
    """
    return text[:1].upper() + text[1:]


def uncapitalised(text: str) -> str:
    """Return a sentence with a small first letter, for use after a colon. Names in capitals, such as VADER, are kept.

    >>> uncapitalised("There are 3 rows."), uncapitalised("VADER failed."), uncapitalised("P is small.")
    ('there are 3 rows.', 'VADER failed.', 'p is small.')
    """
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def group_name(group: object) -> str:
    """Return the name of a group as it is in the table."""
    return label(str(group))


def people(group: object) -> str:
    """Return a group of people as a plural noun phrase; a group without a display form in quotation marks.

    >>> people("woman"), people("who hears voices"), people("Black person"), people("nurse")
    ('women', 'people who hear voices', 'Black people', '"nurse"')
    """
    name = str(group)
    if name in PEOPLE:
        return PEOPLE[name]
    if name.endswith(" person"):
        return f"{name.removesuffix('person')}people"
    phrase = clause(name)
    return phrase or f'"{label(name)}"'


def descriptor(group: object) -> str:
    """Return a descriptor in a list: unchanged, or as a phrase if it is a clause.

    >>> descriptor("crazy"), descriptor("who is deaf")
    ('crazy', 'people who are deaf')
    """
    return clause(str(group)) or label(str(group))


def quoted(group: object) -> str:
    """Return a descriptor in quotation marks, or as a phrase if it is a clause.

    >>> quoted("crazy"), quoted("who uses a wheelchair")
    ('"crazy"', 'people who use a wheelchair')
    """
    return clause(str(group)) or f'"{label(str(group))}"'


def group_phrase(group: object) -> str:
    """Return a group as a plural noun phrase if it has one, else as it is in the table.

    >>> group_phrase("woman"), group_phrase("Black person"), group_phrase("Sufi")
    ('women', 'Black people', 'Sufi')
    """
    phrase = people(group)
    return label(str(group)) if phrase.startswith('"') else phrase


def clause(name: str) -> str:
    """Return "people ..." if a descriptor is a clause or a phrase that follows a noun, else an empty string."""
    first, _, rest = name.partition(" ")
    if first in ("with", "without", "from", "in", "on", "of") and rest:
        return f"people {name}"
    if first != "who" or not rest:
        return ""
    verb, blank, end = rest.partition(" ")
    return f"people who {plural_verb(verb)}{blank}{end}"


def plural_verb(verb: str) -> str:
    """Return the plural of a verb in the third person.

    >>> [plural_verb(verb) for verb in ("is", "carries", "watches", "hears", "grew")]
    ['are', 'carry', 'watch', 'hear', 'grew']
    """
    if verb in VERBS:
        return VERBS[verb]
    if verb.endswith("ies") and len(verb) > 4:
        return f"{verb[:-3]}y"
    if verb.endswith(("sses", "shes", "ches", "xes", "oes", "zzes")):
        return verb[:-2]
    return verb[:-1] if verb.endswith("s") and not verb.endswith("ss") else verb


def name_list(names: Iterable[str], most: int = MOST_NAMES) -> str:
    """Return names joined with commas and "and". Names beyond `most` are only counted.

    >>> name_list(["a"]), name_list(["a", "b"]), name_list("abcdef")
    ('a', 'a and b', 'a, b, c and 3 others')
    """
    given = list(names)
    if len(given) > most:
        given = [*given[: most - 1], f"{len(given) - most + 1} others"]
    return given[0] if len(given) == 1 else f"{', '.join(given[:-1])} and {given[-1]}" if given else ""


def count(amount: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun.

    >>> count(1, "prompt"), count(2928, "data set"), count(2, "axis", "axes")
    ('1 prompt', '2,928 data sets', '2 axes')
    """
    return f"{amount:,} {noun if amount == 1 else plural or noun + 's'}"


def places_of_rates(difference: Estimate) -> int:
    """Return the number of decimals of rates and their difference: 0 for differences of 10 points or more, otherwise 1.

    >>> places_of_rates(Estimate(48.0, 18.3, 65.8)), places_of_rates(Estimate(3.0, 0.02, 6.0))
    (0, 2)
    """
    places = 0 if abs(difference.value) >= 10 else 1
    return clear_places((difference.low, difference.high), places)


def clear_places(bounds: Iterable[float], places: int, null: float = 0.0) -> int:
    """Return the smallest number of decimals with which no bound of a CI looks equal to the null.

    >>> clear_places((0.3, 12.0), 0), clear_places((50.04, 61.0), 0, 50.0), clear_places((-3.0, 0.0), 0)
    (1, 2, 0)
    """
    given = [bound for bound in bounds if known(bound) and bound != null]
    while places < MOST_PLACES and any(round(bound, places) == round(null, places) for bound in given):
        places += 1
    return places


def percent(rate: float, places: int = 0) -> str:
    """Return a rate as text. A rate is never rounded to 0% or 100% unless it is exactly that.

    >>> percent(67.2), percent(3.44, 1), percent(0.04, 1), percent(0.3), percent(99.8), percent(0.0)
    ('67%', '3.4%', '<0.1%', '<1%', '>99%', '0%')
    """
    step = 10.0**-places
    if 0 < rate < step and not float(f"{rate:.{places}f}"):
        return f"<{step:.{places}f}%"
    if 100 - step < rate < 100 and float(f"{rate:.{places}f}") == 100:
        return f">{100 - step:.{places}f}%"
    return f"{number(rate, 0 if rate in (0, 100) else places)}%"


def points(difference: float, places: int = 0, *, with_sign: bool = False) -> str:
    """Return a difference of two rates as text, in points.

    >>> points(48.2), points(1.0), points(-5.0, with_sign=True), points(3.25, 1)
    ('48 points', '1 point', '−5 points', '3.2 points')
    """
    size = signed(difference, places) if with_sign else number(abs(difference), places)
    return f"{size} point{'' if size.lstrip('+−') == '1' else 's'}"


def ci(low: float, high: float, places: int = 0) -> str:
    """Return a 95% confidence interval as text.

    >>> ci(18.3, 65.8), ci(-5.0, 3.0)
    ('95% CI 18 to 66', '95% CI −5 to 3')
    """
    return f"95% CI {number(low, places)} to {number(high, places)}"


def q_value(q: float | None) -> str:
    """Return q as text after a comma; "" if it is None.

    >>> q_value(0.0183), q_value(0.00004), q_value(None)
    (', q = 0.018', ', q < 0.001', '')
    """
    if not known(q) or q is None:
        return ""
    return ", q < 0.001" if q < 0.001 else f", q = {q:.3f}"


def difference_in_points(difference: Estimate, places: int) -> str:
    """Return the size of a difference of rates as text, with its CI and q.

    >>> difference_in_points(Estimate(47.9, 18.3, 65.8, 0.018), 0)
    '48 points, 95% CI 18 to 66, q = 0.018'
    """
    interval = ci(difference.low, difference.high, places)
    return f"{points(difference.value, places)}, {interval}{q_value(difference.q)}"


def odds(nats: float) -> float:
    """Return the ratio of likelihoods for a difference of log-likelihoods, ignoring its sign. It is at least 1."""
    return math.exp(min(abs(nats), 700.0))


def ratio_number(ratio: float, places: int = 1) -> str:
    """Return a ratio of 1 or more as text, without "times".

    >>> ratio_number(9.24), ratio_number(340.2), ratio_number(3.65e21)
    ('9.2', '340', 'more than 1,000')
    """
    if ratio > LARGEST_RATIO:
        return f"more than {LARGEST_RATIO:,.0f}"
    return number(ratio, places if ratio < 100 else 0)


def ratio_times(ratio: float, places: int = 1) -> str:
    """Return a ratio of 1 or more as text, with "times".

    >>> ratio_times(9.24), ratio_times(1e9)
    ('9.2 times', 'more than 1,000 times')
    """
    return f"{ratio_number(ratio, places)} times"


def ratio_with_ci(nats: Estimate) -> tuple[str, str]:
    """Return the ratio of likelihoods for a difference of log-likelihoods, and its 95% CI, as texts.

    >>> ratio_with_ci(Estimate(2.2225, 2.15, 2.30)), ratio_with_ci(Estimate(-49.6, -50.0, -49.0))
    (('9.2 times', '95% CI 8.6 to 10.0'), ('more than 1,000 times', '95% CI above 1,000'))
    """
    size = nats.size
    ratio, low, high = (math.exp(min(value, 700.0)) for value in (size.value, size.low, size.high))
    places = clear_places((low, high), 1, 1.0)
    if low > LARGEST_RATIO:
        return ratio_times(ratio, places), f"95% CI above {LARGEST_RATIO:,.0f}"
    return ratio_times(ratio, places), f"95% CI {ratio_number(low, places)} to {ratio_number(high, places)}"


def effect_range(sizes: Sequence[float]) -> tuple[str, str]:
    """Return the smallest and the largest of several minimum detectable effects as texts, rounded as in tables."""
    return smallest_effect(min(sizes)), smallest_effect(max(sizes))


def plain_number(value: float) -> str:
    """Return a number with about three significant digits as text.

    >>> plain_number(52345.6), plain_number(3.14159), plain_number(0.012345)
    ('52,300', '3.14', '0.0123')
    """
    if abs(value) >= 1000:
        step = 10 ** max(len(str(int(abs(value)))) - 3, 0)
        return f"{round(value / step) * step:,.0f}".replace("-", "−")
    if abs(value) >= 100:
        return f"{value:.0f}".replace("-", "−")
    return f"{value:.3g}".replace("-", "−")


def places_of_difference(difference: Estimate) -> int | None:
    """Return the number of decimals for a difference and for the values that are shown with it.

    They show two significant digits of the difference, or of half the width of its CI if that is larger. None means
    that each value is shown with three significant digits.

    >>> places_of_difference(Estimate(0.0786, 0.0386, 0.119)), places_of_difference(Estimate(108.4, 8.5, 204.9))
    (3, 0)
    >>> places_of_difference(Estimate(0.0001, -0.03, 0.04)), places_of_difference(Estimate(3302.0, 1550.0, 4920.0))
    (3, None)
    """
    half = (difference.high - difference.low) / 2
    size = max((abs(one) for one in (difference.value, half) if known(one)), default=0.0)
    if size >= 1000:
        return None
    if size == 0:
        return 2
    places = min(max(1 - math.floor(math.log10(size)), 0), MOST_DECIMALS)
    return clear_places((difference.low, difference.high), places)


def number_near(value: float, difference: Estimate) -> str:
    """Return a mean as text, with as many decimals as its difference from another mean.

    >>> number_near(2653.4, Estimate(108.0, 9.0, 205.0)), number_near(70000.0, Estimate(5200.0, 4000.0, 6000.0))
    ('2,653', '70,000')
    """
    places = places_of_difference(difference)
    return plain_number(value) if places is None else number(value, places)


def range_of_effects(least: float, most: float) -> tuple[str, str]:
    """Return two minimum detectable differences of means as texts, with the same number of decimals.

    The smaller one has two significant digits.

    >>> range_of_effects(0.0536, 0.0599), range_of_effects(3104.0, 3150.0)
    (('0.054', '0.060'), ('3,100', '3,150'))
    """
    size = Estimate(least, least, least)
    return number_near(least, size), number_near(most, size)


def number_of_points(size: float) -> str:
    """Return a bound in points as text, rounded down to a whole number, or to one decimal if it is below 1.

    >>> number_of_points(18.9), number_of_points(1.4), number_of_points(0.42)
    ('18 points', '1 point', '0.4 points')
    """
    return points(math.floor(size)) if size >= 1 else points(size, 1)
