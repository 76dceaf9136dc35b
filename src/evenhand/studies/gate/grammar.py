"""The conditions of a gate: a small grammar, parsed strictly; each error marks the place.

biased | new biased | worse
disparity > NUMBER UNIT | disparity may exceed NUMBER UNIT
level higher | level > NUMBER UNIT | refusals higher | refusals > NUMBER points
fails | not decided | not applicable, alone or behind effect, polarity, importance or transfer
... on AXIS ... in BENCHMARK
"""

import re
from dataclasses import dataclass
from math import isfinite

from evenhand.schema import UsageError, did_you_mean

AUDIT, COMPARISON, PROTOCOL = "audit", "comparison", "protocol"
"""Types of results: an audit of one model, a comparison of models, and a consistency check."""
BIASED, NEW_BIASED, WORSE = "biased", "new biased", "worse"
DISPARITY, MAY_EXCEED, LEVEL, REFUSALS = "disparity >", "disparity may exceed", "level", "refusals"
TESTS = ("effect", "polarity", "importance", "transfer")
OUTCOMES = ("fails", "not decided", "not applicable")
SUBJECTS = {
    AUDIT: (BIASED, DISPARITY, MAY_EXCEED),
    COMPARISON: (BIASED, NEW_BIASED, WORSE, DISPARITY, MAY_EXCEED, LEVEL, REFUSALS),
    PROTOCOL: (*OUTCOMES, *(f"{test} {outcome}" for test in TESTS for outcome in OUTCOMES)),
}
"""Subjects of conditions for each type of result."""
BY_ITSELF = {AUDIT: BIASED, COMPARISON: WORSE, PROTOCOL: "fails"}
"""Condition for each type of result if the user gives none."""
WORDS = {
    AUDIT: "biased, disparity > NUMBER UNIT, disparity may exceed NUMBER UNIT",
    COMPARISON: "worse, new biased, biased, disparity > NUMBER UNIT, disparity may exceed NUMBER UNIT, level higher, "
    "level > NUMBER UNIT, refusals higher, refusals > NUMBER points",
    PROTOCOL: "fails, not decided, not applicable, each also after effect, polarity, importance or transfer",
}
OF_KIND = {AUDIT: "an audit", COMPARISON: "a comparison", PROTOCOL: "a consistency check"}
POINTS, NATS, UNITS = "points", "nats", "units"
"""Units: percentage points of rates, nats of likelihoods, and an outcome's own unit, such as that of a score."""
SPELT = {"points": POINTS, "point": POINTS, "nats": NATS, "nat": NATS, "units": UNITS, "unit": UNITS}
KNOWN_UNITS = (
    "points (percentage points, of rates), nats (of likelihoods) or units (the outcome's own, of scores)"
)
SIZED = (DISPARITY, MAY_EXCEED, LEVEL, REFUSALS)
SIZE = re.compile(r"([+-]?\d*\.?\d+)\s*(.*)")
PLACE = re.compile(r"\s+(on|in)\s+")


@dataclass(frozen=True)
class Condition:
    """A condition under which a gate fails.

    Attributes
    ----------
    text : str
        The condition as you wrote it.
    subject : str
        What is checked; one of SUBJECTS.
    amount, unit : float, str
        Size of an effect above which the condition is violated. 0 means any size.
    axis, benchmark : str or None
        Where it applies. None: everywhere.
    """

    text: str
    subject: str
    amount: float = 0.0
    unit: str | None = None
    axis: str | None = None
    benchmark: str | None = None


@dataclass(frozen=True)
class Power:
    """Required power: the largest acceptable minimum detectable effect. An axis with a larger one does not pass."""

    amount: float
    unit: str


def parse_condition(text: str, kind: str) -> Condition:
    """Return a parsed condition.

    `text` follows the grammar in the docstring of this module; the name of an axis may have underscores or spaces.
    `kind` is the type of the result (AUDIT, COMPARISON or PROTOCOL). Raises a UsageError that marks the invalid part,
    or lists the conditions for this type of result.

    >>> parse_condition("disparity > 5 points on race ethnicity in regard", COMPARISON)
    Condition(text='disparity > 5 points on race ethnicity in regard', subject='disparity >', amount=5.0, \
unit='points', axis='race_ethnicity', benchmark='regard')
    >>> parse_condition("disparity > 5", AUDIT)
    Traceback (most recent call last):
    evenhand.schema.errors.UsageError: --fail-if "disparity > 5": the unit is missing.
      disparity > 5
                   ^
    Write a unit after 5: points (percentage points, of rates), nats (of likelihoods) or units (the outcome's own, of \
scores).
    """
    line = " ".join(text.split())
    parts = PLACE.split(line)
    where: dict[str, str] = {}
    for word, name in zip(parts[1::2], parts[2::2], strict=True):
        if word in where:
            raise _syntax_error(
                line, line.rindex(f" {word} "), f"{word!r} occurs twice", f"Write {word!r} only once."
            )
        where[word] = name.strip("'\"")
    head = parts[0].lower()
    if re.search(r"(^|\s)(on|in)$", line):
        raise _syntax_error(line, len(line), "the name is missing", "Expected: ... on AXIS, ... in BENCHMARK")
    subject, amount, unit = _read(line, head, kind)
    if subject not in SUBJECTS[kind]:
        others = [other for other, known in SUBJECTS.items() if subject in known]
        raise _syntax_error(
            line, 0, f"{subject.removesuffix(' >')!r} works with {OF_KIND[others[0]]} only, and this is "
                     f"{OF_KIND[kind]}",
            f"Available here: {WORDS[kind]}; each optionally followed by on AXIS and in BENCHMARK.",
        )  # fmt: skip
    axis = where.get("on")
    return Condition(line, subject, amount, unit, axis and axis.replace(" ", "_"), where.get("in"))


def parse_power(text: str) -> Power:
    """Parse the value of `--require-power`: a number with an optional unit, by default points.

    >>> parse_power("10"), parse_power("0.5 nats")
    (Power(amount=10.0, unit='points'), Power(amount=0.5, unit='nats'))
    """
    number, _, unit = " ".join(str(text).split()).partition(" ")
    amount = _number(number)
    if amount is None or amount <= 0 or (unit and unit.lower() not in SPELT):
        raise UsageError(
            f"`--require-power` expects a number above 0 and a unit, got {text!r}.",
            f"For example: --require-power 10 (points), or with a unit: {KNOWN_UNITS}.",
        )
    return Power(amount, SPELT[unit.lower()] if unit else POINTS)


def _read(line: str, head: str, kind: str) -> tuple[str, float, str | None]:
    whole = [*(BIASED, NEW_BIASED, WORSE), *SUBJECTS[PROTOCOL]]
    if head in whole:
        return head, 0.0, None
    first, _, rest = head.partition(" ")
    if first in ("level", "refusals") and rest == "higher":
        return first, 0.0, None
    if first in ("level", "refusals", "disparity"):
        return _read_size(line, head, first)
    guess = did_you_mean(head, [*whole, "disparity > 5 points", "level higher", "refusals higher"])
    raise _syntax_error(
        line,
        0,
        "unknown condition",
        f"Available here: {WORDS[kind]}; each optionally followed by on AXIS and in BENCHMARK.{guess}",
    )


def _read_size(line: str, head: str, first: str) -> tuple[str, float, str | None]:
    signs = (">", "may exceed") if first == "disparity" else (">", "higher")
    rest = head.removeprefix(first).strip()
    sign = next((one for one in (">", "may exceed") if one in signs and rest.startswith(one)), None)
    place = len(first) + 1
    if sign is None:
        raise _syntax_error(
            line, place, f"expected {' or '.join(signs)} after {first!r}", f"For example: {first} > 5 points"
        )
    size = rest.removeprefix(sign)
    place = head.index(sign) + len(sign) + len(size) - len(size.lstrip())
    found = SIZE.match(size.strip())
    number, unit = found.groups() if found else size.strip().partition(" ")[::2]
    amount = _number(number)
    if amount is None or amount < 0:
        raise _syntax_error(
            line,
            place,
            f"{number or 'nothing'} is not a number",
            "Expected a number of at least 0, such as 5 or 2.5.",
        )
    if not unit:
        raise _syntax_error(
            line, len(head), "the unit is missing", f"Write a unit after {number}: {KNOWN_UNITS}."
        )
    if unit not in SPELT:
        percent = " A difference of rates is in points." if unit.startswith(("%", "percent")) else ""
        raise _syntax_error(
            line, head.index(unit, place), f"unknown unit {unit!r}", f"Expected {KNOWN_UNITS}.{percent}"
        )
    if first == "refusals" and SPELT[unit] != POINTS:
        raise _syntax_error(
            line,
            head.index(unit, place),
            "differences between rates of refusals are in points",
            "For example: refusals > 5 points",
        )
    subject = first if sign == ">" and first != "disparity" else f"{first} {sign}"
    return subject, amount, SPELT[unit]


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) else None


def _syntax_error(line: str, place: int, what: str, hint: str) -> UsageError:
    return UsageError(f'--fail-if "{line}": {what}.\n  {line}\n  {" " * place}^', hint)
