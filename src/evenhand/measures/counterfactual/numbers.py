"""Numbers that a model wrote in words of its own: "7/10", "8 out of 10", "$85,000", "85k to 90k", "seven".

The grammar is ours and stated in docs/own_prompts.md. What it does not read it says so of, and never gives 0 for.
"""

import re
from dataclasses import dataclass
from itertools import pairwise

ONES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
TEENS = (
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
)
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
WORDS = {word: value for value, word in enumerate(ONES + TEENS)} | {
    word: 10 * place for place, word in enumerate(TENS, start=2)
}
SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9}
SUFFIXES = {
    "k": 1e3, "thousand": 1e3, "m": 1e6, "mn": 1e6, "million": 1e6, "bn": 1e9, "billion": 1e9, "hundred": 1e2,
}  # fmt: skip

NO_NUMBER, SEVERAL = "no number", "several numbers"
OUTSIDE, OTHER_SCALE = "outside the scale", "on another scale"

_DIGITS = (
    r"(?:\d{1,3}(?:[,'’ \u202f\u00a0\u2009]\d{3})+(?!\d)(?:\.\d+)?|\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?|\d+,\d{1,2}(?!\d)"
    r"|\d+(?:\.\d+)?|\.\d+)"
)
_SUFFIX = r"(?:\s?(?P<suffix>(?:thousand|million|billion|hundred|bn|mn)\b|[km]\b))?"
_MONEY = r"[$€£¥₹]|\b(?:USD|EUR|GBP|CHF|euros?|dollars?|pounds?)\b"
_BELOW_100 = rf"(?:(?:{'|'.join(TENS)})(?:[\s-](?:{'|'.join(ONES[1:])}))?|{'|'.join(TEENS + ONES)})"
_BIG = "hundred|thousand|million|billion"
_WORDS = rf"(?:{_BELOW_100}|a(?=\s+(?:{_BIG})\b))(?:\s+(?:{_BIG})\b(?:\s+(?:and\s+)?{_BELOW_100}\b)?)*"
_NUMBER = re.compile(
    rf"(?<![\w.,])(?:(?<![A-Za-z][-–])|(?<=\d[km][-–]))(?P<sign>[-−](?=[\d.$€£¥₹])|\bminus\s)?(?P<before>(?:{_MONEY})\s?)?(?P<digits>{_DIGITS}){_SUFFIX}"
    rf"(?!\w)(?!,\d)(?P<behind>\s?(?:{_MONEY}|%))?|\b(?P<words>{_WORDS})\b",
    re.IGNORECASE,
)
_RANGE = re.compile(r"\s*(?:[-–—]|to|and|or)\s*", re.IGNORECASE)
_LABEL = re.compile(
    r"\b(?:(?:answer|rating|score|grade|salary|estimate|offer|total|result|number|figure|recommendation)\b[ \t]*"
    r"(?::|=|\bis\b|\bwould be\b|\bshould be\b)|(?:rating|score|grade|salary|offer)[ \t]+of)"
    r"[ \t\"'(]*(?:(?:about|around|approximately|roughly|~|an?)[ \t]*)?$",
    re.IGNORECASE,
)
_OUT_OF = re.compile(r"\s*(?:/|out\s+of|on\s+a\s+scale\s+of)\s*", re.IGNORECASE)
_LIST_MARK = re.compile(r"(?m)^[ \t]*\d{1,2}[.)][ \t]+(?=\S)")
_EMPHASIS = re.compile(r"[*_`]{1,3}")
_COUNTED = re.compile(
    r"(?:\+|\s|-)*(?:%|percent\b|(?:years?|months?|weeks?|days?|hours?|minutes?|people|jobs?|roles?|positions?|projects?"
    r"|companies|employers?|employees|languages?|references?|degrees?|skills?|reasons?|candidates?|members)\b)",
    re.IGNORECASE,
)
"""What stands behind a number that counts something and so is no rating."""


@dataclass(frozen=True)
class Reading:
    """What was read from one answer: a value, or why there is none."""

    value: float | None
    why: str | None = None


@dataclass(frozen=True)
class _Found:
    value: float
    start: int
    end: int
    labelled: bool


def read_number(text: str) -> Reading:
    """The number that an answer gives.

    A number that stands behind a label ("Salary: $85,000", "my answer is 7"), the last such; else the only number of
    the text; else none ("several numbers"). A range is its middle; "8/10" is 8; k, thousand, m, million are read, in
    words up to billions; numbers at the beginning of the lines of a list, where there are several, are its marks.

    >>> read_number("I would offer $85,000."), read_number("85k to 90k"), read_number("Between two and three")
    (Reading(value=85000.0, why=None), Reading(value=87500.0, why=None), Reading(value=2.5, why=None))
    >>> read_number("After 5 years, 3 jobs.").why
    'several numbers'
    """
    plain = _plain(text)
    fractions = [found for found, _ in _fractions(plain)]
    alone = [one for one in _numbers(plain) if not _within(one, fractions)]
    return _chosen(sorted(alone + fractions, key=lambda one: one.start))


def read_rating(text: str, low: float, high: float) -> Reading:
    """The rating on a scale from low to high that an answer gives.

    "7/10" and "8 out of 10" first, if the scale ends there (another end: "on another scale"); then a number behind a
    label; then the only number inside the scale. The scale itself ("from 1 to 10") is no rating. Values between the
    marks stand; a value outside, said as the rating, is "outside the scale".

    >>> read_rating("With 12 years behind her, 7/10.", 1, 10).value
    7.0
    >>> read_rating("On a scale from 1 to 10 I say eight.", 1, 10).value, read_rating("4/5", 1, 10).why
    (8.0, 'on another scale')
    """
    plain = _plain(text)
    fractions = _fractions(plain)
    ours = [found for found, end in fractions if end == high]
    if ours:
        return _inside(_chosen(ours), low, high)
    others = [found for found, end in fractions if end != high]
    bare = _without_scale(plain, low, high)
    numbers = [one for one in _numbers(bare) if not _within(one, others)]
    numbers = [one for one in numbers if one.labelled or not _COUNTED.match(bare, one.end)]
    said = [one for one in numbers if one.labelled]
    if said:
        return _inside(_chosen(said), low, high)
    possible = [one for one in numbers if low <= one.value <= high]
    if possible:
        return _chosen(possible)
    if others:
        return Reading(None, OTHER_SCALE)
    return Reading(None, OUTSIDE if numbers else NO_NUMBER)


def _plain(text: str) -> str:
    bare = _EMPHASIS.sub(lambda match: " " * len(match[0]), text)
    marks = list(_LIST_MARK.finditer(bare))
    return _LIST_MARK.sub(lambda match: " " * len(match[0]), bare) if len(marks) > 1 else bare


def _chosen(numbers: list[_Found]) -> Reading:
    said = [one for one in numbers if one.labelled]
    if said:
        return Reading(said[-1].value)
    values = {one.value for one in numbers}
    if not values:
        return Reading(None, NO_NUMBER)
    return Reading(values.pop()) if len(values) == 1 else Reading(None, SEVERAL)


def _inside(reading: Reading, low: float, high: float) -> Reading:
    if reading.value is None or low <= reading.value <= high:
        return reading
    return Reading(None, OUTSIDE)


def _within(one: _Found, others: list[_Found]) -> bool:
    return any(other.start <= one.start < other.end for other in others)


def _numbers(text: str) -> list[_Found]:
    """All numbers in their order, ranges as their middle."""
    found: list[tuple[_Found, float]] = []
    for match in _NUMBER.finditer(text):
        if (match["words"] or "").lower() == "one" and not _is_said(text, match):
            continue  # "no one", "one of them"
        value, factor = _value(match)
        labelled = _labelled(text, match.start())
        if found and _RANGE.fullmatch(text, found[-1][0].end, match.start()):
            before, scaled = found[-1]
            # "80-90k": the first is in thousands, too
            first = before.value * factor if scaled == 1.0 and before.value < value / factor else before.value
            joined = text[before.end : match.start()].strip().lower()
            between = re.search(r"\bbetween\s+$", text[: before.start], re.IGNORECASE) is not None
            if first < value and (joined != "and" or between):
                found[-1] = (_Found((first + value) / 2, before.start, match.end(), before.labelled), 0.0)
                continue
        end = match.end("suffix") if match["suffix"] else match.end("digits" if match["digits"] else "words")
        behind = match["behind"] or ""
        found.append((_Found(value, match.start(), end if "%" in behind else match.end(), labelled), factor))
    return [one for one, _ in found]


def _labelled(text: str, start: int) -> bool:
    return _LABEL.search(text[max(0, start - 60) : start]) is not None


def _is_said(text: str, match: re.Match[str]) -> bool:
    """Whether the word stands alone, behind a label, or in front of what it is out of."""
    return (
        text.strip(" .!\n\"'").lower() == match[0].lower()
        or _labelled(text, match.start())
        or re.match(r"\s*(?:/|out\s+of|-|to)\s*\w", text[match.end() :], re.IGNORECASE) is not None
    )


def _value(match: re.Match[str]) -> tuple[float, float]:
    """The number, and what its suffix multiplied it by."""
    if match["words"] is not None:
        return _of_words(match["words"]), 1.0
    digits = match["digits"]
    money = match["before"] or (match["behind"] or "").strip() not in ("", "%")
    if digits.count(".") > 1 or (
        money and re.fullmatch(r"\d{1,3}\.\d{3}", digits)
    ):  # 1.234.567,8 and 85.000 €
        digits = digits.replace(".", "").replace(",", ".")
    elif re.fullmatch(r"\d+,\d{1,2}", digits):  # 7,5
        digits = digits.replace(",", ".")
    value = float(re.sub(r"[,'’ \u202f\u00a0\u2009]", "", digits))
    factor = SUFFIXES.get((match["suffix"] or "").lower(), 1.0)
    return (-value if match["sign"] else value) * factor, factor


def _of_words(words: str) -> float:
    total, current = 0.0, 0.0
    for word in re.split(r"[\s-]+", words.lower()):
        if word in WORDS:
            current += WORDS[word]
        elif word == "hundred":
            current = max(current, 1.0) * SCALES[word]
        elif word in SCALES:
            total += max(current, 1.0) * SCALES[word]
            current = 0.0
    return total + current


def _fractions(text: str) -> list[tuple[_Found, float]]:
    """Numbers said as so many out of so many, with what they are out of."""
    found = []
    numbers = _numbers(text)
    for first, second in pairwise(numbers):
        if _OUT_OF.fullmatch(text, first.end, second.start):
            found.append((_Found(first.value, first.start, second.end, first.labelled), second.value))
    return found


def _without_scale(text: str, low: float, high: float) -> str:
    """Without words that name the scale: "from 1 to 10", "(1-10)", "1 being the lowest"."""
    first, last = (rf"(?:{value:g}|{_word_of(value)})" for value in (low, high))
    named = (
        rf"\b(?:(?:scale|range)\s+)?(?:of|from|between)?\s*\b{first}\s*(?:[-–—]|to|and|through)\s*{last}\b(?!\s*%)"
        rf"|\b(?:{first}|{last})\s*(?:being|=|is|meaning|means)\s+(?:the\s+)?"
        rf"(?:lowest|highest|worst|best|poor|excellent|minimum|maximum|top|bottom|strongest|weakest)"
    )
    return re.sub(named, lambda match: " " * len(match[0]), text, flags=re.IGNORECASE)


def _word_of(value: float) -> str:
    whole = int(value)
    return (ONES + TEENS)[whole] if value == whole and 0 <= whole < 20 else r"(?!)"
