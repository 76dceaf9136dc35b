"""Read numbers from free text: "7/10", "8 out of 10", "$85,000", "85k to 90k", "seven".

The grammar is our own; docs/how-to/audit_your_own_prompts.md describes it. A text that it cannot read is reported as
unread and never counts as 0.
"""

import re
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf, isnan, nan, prod

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
SCALES = {
    "dozen": 12.0, "hundred": 1e2, "thousand": 1e3, "grand": 1e3, "lakh": 1e5, "million": 1e6, "crore": 1e7,
    "billion": 1e9, "trillion": 1e12,
}  # fmt: skip
SUFFIXES = SCALES | {"k": 1e3, "m": 1e6, "mn": 1e6, "bn": 1e9, "tn": 1e12}
PARTS = {
    "half": 1 / 2,
    "third": 1 / 3,
    "quarter": 1 / 4,
    "½": 1 / 2,
    "⅓": 1 / 3,
    "⅔": 2 / 3,
    "¼": 1 / 4,
    "¾": 3 / 4,
}

NO_NUMBER, SEVERAL = "no number", "several numbers"
UNCLEAR = "a part, or a multiple, of something"
OUTSIDE, OTHER_SCALE = "outside the scale", "on another scale"

_DIGITS = (
    r"(?:\d+(?:\.\d+)?e[+-]?\d{1,2}|\d{1,2}(?:,\d{2})+,\d{3}(?!\d)"
    r"|\d{1,3}(?:[,'’ \u202f\u00a0\u2009]\d{3})+(?!\d)(?:\.\d+)?|"
    r"\d{1,3}(?:\.\d{3})+,\d{1,2}(?!\d)|\d{1,3}(?:\.\d{3}){2,}|\d+,\d{1,2}(?!\d)"
    r"|\d+(?:\.\d+)?|\.\d+)"
)
_BIG = rf"(?:{'|'.join(SCALES)})s?"
_SUFFIX = rf"(?P<suffix>(?:\s?(?:(?:{_BIG}|bn|mn|tn)\b|[km]\b))*)"
_CODES = "USD|EUR|GBP|CHF|INR|CAD|AUD|JPY"
_MONEY = rf"[$€£¥₹]|\b(?:{_CODES}|euros?|dollars?|pounds?)\b"
_BELOW_100 = rf"(?:(?:{'|'.join(TENS)})(?:[\s-](?:{'|'.join(ONES[1:])}))?|{'|'.join(TEENS + ONES)})"
_WORDS = rf"(?:{_BELOW_100}|a(?=\s+(?:{_BIG})\b))(?:\s+(?:{_BIG})\b(?:\s+(?:and\s+)?{_BELOW_100}\b)?)*"
_PART = r"(?:an?|one|two|three)[\s-]+(?:half|thirds?|quarters?)\b"
_AND_PART = rf"[\s-]+and[\s-]+{_PART}"
_PART_OF_BIG = (
    rf"(?:(?:an?|one|two|three)[\s-]+)?(?:half|thirds?|quarters?)(?:\s+of)?(?:[\s-]+an?)?[\s-]+{_BIG}\b"
)
_NUMBER = re.compile(
    r"(?<![\w.,])(?:(?<![A-Za-z][-–])|(?<=\d[km][-–]))(?P<sign>[-−](?=[\d.$€£¥₹])|\b(?:minus|negative)\s)?"
    rf"(?P<before>(?:[$€£¥₹]|\b(?:{_CODES})|\b(?:euros?|dollars?|pounds?)\b)\s?)?(?P<digits>{_DIGITS}|(?=[½⅓⅔¼¾]))"
    rf"(?P<part>\s?[½⅓⅔¼¾]|[\s-](?:1/[234]|2/3|3/4)(?![\d/])|{_AND_PART})?{_SUFFIX}"
    rf"(?:(?!\w)|(?=(?:{_CODES})\b))(?![.,]\d)(?P<behind>\s?(?:{_MONEY}|%)|(?:{_CODES})\b)?"
    rf"|\b(?P<part_of_big>{_PART_OF_BIG})"
    rf"|\b(?P<below>(?:minus|negative)\s+)?(?P<words>{_WORDS})\b(?P<point>\s+point(?:\s+(?:{'|'.join(ONES)})\b)+)?"
    rf"(?P<and_part>{_AND_PART})?(?P<times>(?:[\s-]+{_BIG}\b)*)",
    re.IGNORECASE,
)
_BROKEN = re.compile(
    r"[\s-]+(?:hal(?:f|ves)|thirds?|quarters?|fifths?|sixths?|sevenths?|eighths?|ninths?|tenths?|hundredths?)\b"
    r"|\s?(?:mil|mille|mila|mio|mrd|tsd|tausend|mil+ion\w+|mil+iard\w*|mil+ones)\b",
    re.IGNORECASE,
)
"""Words after a number that make it unreadable: fractions ("two thirds"), scales in other languages ("mio")."""
_MULTIPLE = re.compile(
    r"\b(?:(?:half|thirds?|quarters?|fifths?|tenths?)\s+of|half|twice|double|triple)\s+$", re.IGNORECASE
)
_FRACTION = re.compile(r"1\s*/\s*[234]|2\s*/\s*3|3\s*/\s*4")
_RANGE = re.compile(r"\s*(?:[-–—]|to|and|or)\s*", re.IGNORECASE)
_LABEL = re.compile(
    r"\b(?:(?:answer|rating|score|grade|salary|estimate|offer|total|result|number|figure|recommendation)\b[ \t]*"
    r"(?::|=|\bis\b|\bwould be\b|\bshould be\b)|(?:rating|score|grade|salary|offer)[ \t]+of)"
    r"[ \t\"'(]*(?:(?:about|around|approximately|roughly|~|an?)[ \t]*)?$",
    re.IGNORECASE,
)
_OUT_OF = re.compile(
    r"\s*(?:(?:points?|stars?|marks?|pts)\b)?\s*[(\[]?\s*(?:/|out\s+of|on\s+a\s+scale\s+of|(?P<of>of))\s*",
    re.IGNORECASE,
)
_END_OF_RATING = re.compile(r"\s*(?:[.,;:!?)\]\n]|$)")
_LIST_MARK = re.compile(r"(?m)^[ \t]*\d{1,2}[.)][ \t]+(?=\S)")
_EMPHASIS = re.compile(r"[*_`]{1,3}")
_COUNTED = re.compile(
    r"(?:\+|\s|-)*(?:%|percent\b|(?:years?|months?|weeks?|days?|hours?|minutes?|people|jobs?|roles?|positions?|projects?"
    r"|companies|employers?|employees|languages?|references?|degrees?|skills?|reasons?|candidates?|members)\b)",
    re.IGNORECASE,
)
"""Words after a number that counts something and therefore is not a rating."""


@dataclass(frozen=True)
class Reading:
    """The number that was read from a response (``value``), or the reason why none could be read (``why``)."""

    value: float | None
    why: str | None = None


@dataclass(frozen=True)
class _FoundNumber:
    value: float
    start: int
    end: int
    labelled: bool
    times: tuple[float, float] = (1.0, 1.0)
    """All scales at the end of the number multiplied, and the largest one."""


def read_number(text: str) -> Reading:
    """Return the number that a response states.

    The rules, in this order:

    - The last number after a label counts, such as "Salary: $85,000" or "my answer is 7".
    - Otherwise, the only number of the text counts. If there are several, none is read ("several numbers").
    - A range counts as its midpoint. "8/10" is 8; "1/2" is not read.
    - The multipliers k, thousand, lakh, m and million are understood. Number words are understood up to trillions, with
      halves, thirds and quarters ("half a million", "7 1/2").
    - Numbers at the start of several lines are list markers and do not count.

    >>> read_number("I would offer $85,000."), read_number("85k to 90k"), read_number("Between two and three")
    (Reading(value=85000.0, why=None), Reading(value=87500.0, why=None), Reading(value=2.5, why=None))
    >>> read_number("After 5 years, 3 jobs.").why
    'several numbers'
    """
    plain = _without_markup(text)
    fractions = [
        replace(found, value=nan) if _FRACTION.match(plain, found.start, found.end) or end >= 1e3 else found
        for found, end in _fractions(plain)
    ]
    alone = [one for one in _numbers(plain) if not _is_within(one, fractions)]
    return _choose_reading(sorted(alone + fractions, key=lambda one: one.start))


def read_rating(text: str, low: float, high: float) -> Reading:
    """Return the rating that a response gives on a scale from `low` to `high`.

    The rules, in this order:

    - "7/10", "8 points out of 10" and "8 of 10." count if the scale ends at this number. If it does not, the reason is
      "on another scale".
    - Otherwise, a number after a label counts, then the only number within the scale.
    - A mention of the scale itself ("from 1 to 10") is not a rating.
    - Values between whole numbers count. A rating beyond the scale is not read ("outside the scale").

    >>> read_rating("With 12 years behind her, 7/10.", 1, 10).value
    7.0
    >>> read_rating("On a scale from 1 to 10 I say eight.", 1, 10).value, read_rating("4/5", 1, 10).why
    (8.0, 'on another scale')
    """
    bare = _without_scale(_without_markup(text), low, high)
    if re.search(rf"\d[\s-]+\d/{high:g}(?!\d)", bare):  # "2 3/4" on a scale that ends at 4
        return Reading(None, UNCLEAR)
    fractions = _fractions(bare, high)
    ours = [found for found, end in fractions if end == high and not _COUNTED.match(bare, found.end)]
    if ours:
        return _inside(_choose_reading(ours), low, high)
    others = [found for found, _ in fractions]
    numbers = [one for one in _numbers(bare) if not _is_within(one, others)]
    numbers = [one for one in numbers if one.labelled or not _COUNTED.match(bare, one.end)]
    said = [one for one in numbers if one.labelled]
    if said:
        return _inside(_choose_reading(said), low, high)
    possible = [one for one in numbers if isnan(one.value) or low <= one.value <= high]
    if possible:
        return _choose_reading(possible)
    if others:
        return Reading(None, OTHER_SCALE)
    return Reading(None, OUTSIDE if numbers else NO_NUMBER)


def _without_markup(text: str) -> str:
    bare = _EMPHASIS.sub(lambda match: " " * len(match[0]), text)
    marks = list(_LIST_MARK.finditer(bare))
    return _LIST_MARK.sub(lambda match: " " * len(match[0]), bare) if len(marks) > 1 else bare


def _choose_reading(numbers: list[_FoundNumber]) -> Reading:
    said = [one for one in numbers if one.labelled]
    values = {said[-1].value} if said else {None if isnan(one.value) else one.value for one in numbers}
    if not values:
        return Reading(None, NO_NUMBER)
    if len(values) > 1:
        return Reading(None, SEVERAL)
    value = values.pop()
    return Reading(None, UNCLEAR) if value is None or isnan(value) else Reading(value)


def _inside(reading: Reading, low: float, high: float) -> Reading:
    if reading.value is None or low <= reading.value <= high:
        return reading
    return Reading(None, OUTSIDE)


def _is_within(one: _FoundNumber, others: list[_FoundNumber]) -> bool:
    return any(other.start <= one.start < other.end for other in others)


def _numbers(text: str) -> list[_FoundNumber]:
    """Return all numbers of a text in order.

    A range counts as its midpoint. The value is NaN if the number is a part or a multiple of something that the text
    does not state, such as "half of 80" or "twice 3".
    """
    found: list[_FoundNumber] = []
    for match in _NUMBER.finditer(text):
        if (
            (match["words"] or "").lower() == "one"
            and match[0].lower() == "one"
            and not _is_number_one(text, match)
        ):
            continue  # "no one", "one of them"
        value, times = _value(match)
        if _BROKEN.match(text, match.end()) or _MULTIPLE.search(text, 0, match.start()):
            value = nan
        if found and _RANGE.fullmatch(text, found[-1].end, match.start()):
            before = found[-1]
            first = _scaled_alike(before, value, times)
            joined = text[before.end : match.start()].strip().lower()
            between = re.search(r"\bbetween\s+$", text[: before.start], re.IGNORECASE) is not None
            if first < value and (joined != "and" or between):
                middle = replace(before, value=(first + value) / 2, end=match.end(), times=(0.0, inf))
                found[-1] = middle
                continue
        behind = match["behind"] or ""
        end = match.start("behind") if "%" in behind else match.end()
        found.append(_FoundNumber(value, match.start(), end, _follows_label(text, match.start()), times))
    return found


def _scaled_alike(first: _FoundNumber, value: float, times: tuple[float, float]) -> float:
    """Return the first number of a range, with the scale of the second if its own is omitted.

    For example, it is 80,000 in "80-90k". `value` and `times` are the second number and its scales (see `_value`).
    """
    ending, largest = times
    if first.times == (1.0, 1.0) and first.value < value / ending:
        return first.value * ending
    if first.times[1] < largest and first.value < value / largest:
        return first.value * largest
    return first.value


def _follows_label(text: str, start: int) -> bool:
    return _LABEL.search(text[max(0, start - 60) : start]) is not None


def _is_number_one(text: str, match: re.Match[str]) -> bool:
    """Return True if the word "one" is a number: it is the whole text, follows a label, or begins "one out of ten"."""
    return (
        text.strip(" .!\n\"'").lower() == match[0].lower()
        or _follows_label(text, match.start())
        or re.match(rf"\s*(?:/|out\s+of|-|to)\s*\w|\s+(?:{_BELOW_100})\b", text[match.end() :], re.IGNORECASE)
        is not None
    )


def _value(match: re.Match[str]) -> tuple[float, tuple[float, float]]:
    """Return the number and two scales: the product of the scale words at its end, and the largest scale word.

    For "two hundred thousand", the number is 200,000 and the scales are 100,000 and 1,000.
    """
    if match["part_of_big"] is not None:
        times = _times(match["part_of_big"])
        return _part(match["part_of_big"]) * times, (times, times)
    if match["words"] is not None:
        value, ending, largest = _of_words(match["words"])
        if match["point"]:
            value += float("0." + "".join(str(WORDS[word]) for word in match["point"].lower().split()[1:]))
        if match["and_part"]:  # "a million and a half"; "two hundred and a half" is ambiguous (250?)
            value += nan if ending == SCALES["hundred"] else _part(match["and_part"]) * ending
        times = _times(match["times"])
        value *= -times if match["below"] else times
        return value, (times, times) if times > 1 else (ending, largest)
    digits = match["digits"]
    money = match["before"] or (match["behind"] or "").strip() not in ("", "%")
    if (
        digits.count(".") > 1
        or re.search(r"\.\d+,", digits)
        or (money and re.fullmatch(r"\d{1,3}\.\d{3}", digits))
    ):  # 1.234.567,8 and 85.000 €
        digits = digits.replace(".", "").replace(",", ".")
    elif re.fullmatch(r"\d+,\d{1,2}", digits):  # 7,5
        digits = digits.replace(",", ".")
    value = float(re.sub(r"[,'’ \u202f\u00a0\u2009]", "", digits) or 0)
    if match["part"]:
        value += _part(match["part"])
    times = _times(match["suffix"])
    return (-value if match["sign"] else value) * times, (times, times)


def _times(text: str) -> float:
    """Return the product of scale words, such as "hundred thousand"."""
    words = (word.lower() for word in re.findall(r"[^\W\d_]+", text))
    return prod(SUFFIXES.get(word, SUFFIXES.get(word.removesuffix("s"), 1.0)) for word in words)


def _part(text: str) -> float:
    """Return the value of "and a half", "three quarters of a million", "1/2" or "½"."""
    digits = re.search(r"(\d)/(\d)", text)
    if digits:
        return int(digits[1]) / int(digits[2])
    words = re.findall(r"[^\W\d_]+|[½⅓⅔¼¾]", text.lower())
    size = next(PARTS[name] for word in words if (name := word.removesuffix("s")) in PARTS)
    return size * next((WORDS[word] for word in words if word in WORDS), 1)


def _of_words(words: str) -> tuple[float, float, float]:
    """Return the number in words, and its two scales (see `_value`)."""
    total, current, ending, largest = 0.0, 0.0, 1.0, 1.0
    for word in re.split(r"[\s-]+", words.lower()):
        scale = SCALES.get(word) or SCALES.get(word.removesuffix("s"), 0.0)
        ending = ending * scale if scale else 1.0
        largest = max(largest, scale)
        if word in WORDS:
            current += WORDS[word]
        elif 0 < scale <= SCALES["hundred"]:
            current = max(current, 1.0) * scale
        elif scale and total and not current:  # five thousand million
            total *= scale
        elif scale:
            total, current = total + max(current, 1.0) * scale, 0.0
    return total + current, ending, largest


def _fractions(text: str, high: float | None = None) -> list[tuple[_FoundNumber, float]]:
    """Return numbers in the form "x out of y" with their y; "8 of 10" counts if the scale ends at `high`."""
    found = []
    for first, second in pairwise(_numbers(text)):
        between = _OUT_OF.fullmatch(text, first.end, second.start)
        if between is None:
            continue
        value = first.value
        if between["of"] is not None:
            if second.value != high:
                continue
            value = value if _END_OF_RATING.match(text, second.end) else nan
        found.append((_FoundNumber(value, first.start, second.end, first.labelled), second.value))
    return found


def _without_scale(text: str, low: float, high: float) -> str:
    """Return the text without mentions of the scale: "from 1 to 10", "(1-10)", "1 being the lowest"."""
    first, last = (rf"(?:{value:g}|{_number_word(value)})" for value in (low, high))
    named = (
        rf"\b(?:(?:scale|range)\s+)?(?:of|from|between)?\s*\b{first}\s*(?:[-–—]|to|and|through)\s*{last}\b(?!\s*%)"
        rf"|\b{last}[\s-]points?\s+scale\b"
        rf"|\b(?:{first}|{last})\s*(?:being|=|is|meaning|means)\s+(?:the\s+)?"
        rf"(?:lowest|highest|worst|best|poor|excellent|minimum|maximum|top|bottom|strongest|weakest)"
    )
    return re.sub(named, lambda match: " " * len(match[0]), text, flags=re.IGNORECASE)


def _number_word(value: float) -> str:
    whole = int(value)
    return (ONES + TEENS)[whole] if value == whole and 0 <= whole < 20 else r"(?!)"
