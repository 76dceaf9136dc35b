"""Check conditions against evidence: which fail, which pass, and which lack power."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from evenhand.reports import decimals, known, label, listing, number, sentences
from evenhand.schema import UsageError, unknown_name
from evenhand.studies.compare import SILENT
from evenhand.studies.gate.audits import effect_units
from evenhand.studies.gate.evidence import (
    BLANK,
    CHANGE,
    FOUND,
    LEVEL,
    NEW,
    REFUSALS,
    STANDING,
    TEST,
    Evidence,
    Part,
)
from evenhand.studies.gate.grammar import (
    AUDIT,
    BIASED,
    COMPARISON,
    DISPARITY,
    LEVEL as OVER_ALL,
    MAY_EXCEED,
    NEW_BIASED,
    POINTS,
    REFUSALS as SILENCE,
    Condition,
    Power,
)

ABOUT = {BIASED: STANDING, NEW_BIASED: NEW, OVER_ALL: LEVEL, SILENCE: REFUSALS}
"""Question that a condition asks of the evidence, by its subject. For others, the type of the result decides."""
FAILED, PASSED, UNSEEN = "failed", "passed", "could not have been seen"
"""Values of the status of a condition on one axis."""
SHOWN_AS = {SILENT: "empty or refused responses"}


@dataclass(frozen=True)
class Case:
    """A release condition, checked on one axis of one benchmark.

    `status` is FAILED, PASSED or UNSEEN ("could not have been seen"). `reason` is a sentence that does not name the
    axis. `smallest` is the minimum detectable effect in `unit`; None if it is not known. `ends` is True if the case
    makes the gate fail.
    """

    condition: str
    benchmark: str
    axis: str | None
    status: str
    reason: str
    model: str | None = None
    outcome: str | None = None
    unit: str | None = None
    smallest: float | None = None
    ends: bool = False

    @property
    def place(self) -> str:
        """Return the model, outcome, axis and benchmark of the case as text.

        >>> Case("worse", "regard", "race_ethnicity", FAILED, "", model="v2", outcome="regard").place
        'v2, regard, race and ethnicity'
        """
        names = dict.fromkeys([self.model, self.benchmark, self.outcome])
        axis = [] if self.axis is None else [label(self.axis)]
        return ", ".join([*(label(SHOWN_AS.get(name, name)) for name in names if name), *axis])


def check_condition(
    condition: Condition, evidence: Sequence[Evidence], kind: str, power: Sequence[Power]
) -> list[Case]:
    """Check a condition on each piece of evidence to which it applies, and return one case for each.

    Raises UsageError if an axis or a benchmark does not exist, if the result has no evidence for the condition, or if
    no evidence has the condition's unit.

    kind: type of the result (AUDIT, COMPARISON or PROTOCOL). power: requirements of `--require-power`.
    """
    mine = _in_place(condition, asked_about(condition, evidence, kind), evidence)
    if condition.unit is not None:
        units = dict.fromkeys(one.unit for one in mine if one.unit)
        if units and condition.unit not in units:
            raise UsageError(
                f"{_quote_condition(condition)}: no result has the unit {condition.unit}.",
                f"Units of the results: {' and '.join(filter(None, units))}.",
            )
        mine = [one for one in mine if one.unit in (condition.unit, None)]
    required = {one.unit: one.amount for one in power}
    return [_check_evidence(condition, one, required) for one in mine]


def check_conditions(
    conditions: Sequence[Condition],
    power: Sequence[Power],
    axes: Mapping[str, Sequence[str] | None],
) -> None:
    """Refuse conditions and power requirements that no benchmark of a run can answer.

    It runs before the model does.

    Parameters
    ----------
    conditions : sequence of Condition
        The parsed conditions of `--fail-if`.
    power : sequence of Power
        The parsed effects of `--require-power`.
    axes : mapping of str to sequence of str, or None
        The axes of each selected benchmark; None if a benchmark finds its axes only in the responses.

    Raises
    ------
    UsageError
        No selected benchmark has a name (the message lists the names that exist), or none of them measures
        effects in a unit (the message lists their units).
    """
    for condition in conditions:
        if condition.benchmark is not None and condition.benchmark not in axes:
            raise _add_place(
                _quote_condition(condition),
                unknown_name("benchmark in this audit", condition.benchmark, axes),
            )
        own = {
            name: known
            for name, known in axes.items()
            if condition.benchmark is None or condition.benchmark == name
        }
        if condition.unit is not None and condition.subject in (DISPARITY, MAY_EXCEED):
            _check_unit(_quote_condition(condition), condition.unit, own)
        # a pair of axes ("gender × age") is named only after the analysis
        if condition.axis is None or "×" in condition.axis or not all(own.values()):
            continue
        known_axes = dict.fromkeys(axis for one in own.values() for axis in one or ())
        if not any(is_axis(condition.axis, axis) for axis in known_axes):
            raise _add_place(
                _quote_condition(condition), unknown_name("axis in this audit", condition.axis, known_axes)
            )
    for one in power:
        _check_unit(f'`--require-power "{one.amount:g} {one.unit}"`', one.unit, axes)


def _check_unit(quoted: str, unit: str, benchmarks: Iterable[str]) -> None:
    """Raise UsageError if no benchmark measures effects in a unit.

    A benchmark whose units are not known yet may measure in any unit.
    """
    units = {name: effect_units(name) for name in benchmarks}
    if not units or any(known is None or unit in known for known in units.values()):
        return
    listed = (f"{name} in {listing(sorted(known or ()))}" for name, known in units.items())
    raise UsageError(
        f"{quoted}: no benchmark of this audit measures effects in {unit}.",
        f"Effects are measured as follows: {', '.join(listed)}.",
    )


def is_axis(given: str, axis: str) -> bool:
    """Return whether `given` names an axis: by its stored name, with or without underscores, or by its display name.

    >>> [is_axis(given, "race_ethnicity") for given in ("race_ethnicity", "Race ethnicity", "Race and ethnicity")]
    [True, True, True]
    """
    names = {name.replace("_", " ").casefold() for name in (axis, label(axis))}
    return given.replace("_", " ").casefold() in names


def asked_about(condition: Condition, evidence: Sequence[Evidence], kind: str) -> list[Evidence]:
    """Return the pieces of evidence that answer the question of a condition."""
    about = ABOUT.get(condition.subject, {AUDIT: STANDING, COMPARISON: CHANGE}.get(kind, TEST))
    return [one for one in evidence if one.about == about]


def _in_place(condition: Condition, mine: list[Evidence], everything: Sequence[Evidence]) -> list[Evidence]:
    quoted = _quote_condition(condition)
    if not mine:
        raise UsageError(
            f"{quoted}: this result does not support the condition.",
            "Verdicts and new verdicts exist for runs of evenhand only, changes between groups only if the "
            "prompts name groups, and refusals only for generated text.",
        )  # fmt: skip
    if condition.benchmark is not None:
        names = dict.fromkeys(one.benchmark for one in everything)
        if condition.benchmark not in names:
            raise _add_place(quoted, unknown_name("benchmark in this result", condition.benchmark, names))
        mine = [one for one in mine if one.benchmark == condition.benchmark]
    if condition.axis is not None:
        axes = dict.fromkeys(one.axis for one in mine if one.axis is not None)
        if not any(is_axis(condition.axis, axis) for axis in axes):
            raise _add_place(quoted, unknown_name("axis for this condition", condition.axis, axes))
        mine = [one for one in mine if one.axis is not None and is_axis(condition.axis, one.axis)]
    elif mine[0].about == LEVEL:
        mine = [one for one in mine if one.axis is None]
    if not mine:
        raise UsageError(
            f"{quoted}: this result does not support the condition for that axis or benchmark.",
            "Remove `on` or `in`.",
        )
    return mine


def _check_evidence(condition: Condition, one: Evidence, required: Mapping[str, float]) -> Case:
    status, reason = _answer(condition, one)
    asked = None if one.about == TEST else required.get(one.unit or POINTS)
    seen = asked is None or (one.smallest is not None and one.smallest <= asked)
    if status == PASSED and asked is not None and not seen:
        status, reason = UNSEEN, _too_little(one, asked)
    outcome = one.outcome if one.about in (CHANGE, LEVEL, TEST) and one.outcome != one.benchmark else None
    return Case(
        condition.text, one.benchmark, one.axis, status, reason, one.model, outcome, one.unit, one.smallest,
        ends=status == FAILED or (status == UNSEEN and asked is not None),
    )  # fmt: skip


def _answer(condition: Condition, one: Evidence) -> tuple[str, str]:
    if one.verdict == BLANK:
        return UNSEEN, _strip_sentence(one.told) or sentences.NO_REASON
    if one.about in (TEST, NEW) or condition.subject == BIASED:
        return (FAILED if one.verdict == FOUND else PASSED), _strip_sentence(one.told)
    if not one.parts:  # the axis has a verdict, but its groups have none
        found = one.verdict == FOUND
        return (UNSEEN, sentences.UNNAMED) if found else (PASSED, "")
    if condition.subject == MAY_EXCEED:
        beyond = [part for part in one.parts if part.possible > condition.amount]
        if not beyond:
            return PASSED, f"no group is worse by more than {_size(condition.amount, one.unit)}"
        told = [
            f"{part.name} (up to {_size(part.possible, one.unit)})" for part in _largest(beyond, "possible")
        ]
        return FAILED, sentences.exceeded(f"may be worse{_describe_baseline(one)} for", told)
    anyhow = condition.unit is None  # "worse" and "higher" have no size, so any amount violates them
    beyond = [part for part in one.parts if part.found and (anyhow or part.shown > condition.amount)]
    if not beyond:
        return PASSED, ""
    return FAILED, sentences.exceeded(
        _describe_direction(one, beyond), [_describe_part(one, part) for part in _largest(beyond, "shown")]
    )


def _describe_baseline(one: Evidence) -> str:
    if one.about != CHANGE:
        return ""
    of_groups = any(part.name != label(one.axis) for part in one.parts)
    return " than before relative to the other groups" if of_groups else " than before"


def _describe_direction(one: Evidence, parts: Sequence[Part]) -> str:
    if one.about == LEVEL:
        return "higher than before:"
    if one.about == REFUSALS:
        return "more than before:"
    word = "different" if all(part.harmful == "either" for part in parts) else "worse"
    return f"{word}{_describe_baseline(one)} for"


def _describe_part(one: Evidence, part: Part) -> str:
    places = decimals([part.estimate, part.low, part.high])
    size = f"{number(part.estimate, places)} {one.unit or ''}".strip()
    limits = f"{size}, 95% CI {number(part.low, places)} to {number(part.high, places)}"
    return limits if one.about in (LEVEL, REFUSALS) else f"{part.name} ({limits})"


def _largest(parts: Sequence[Part], by: str) -> list[Part]:
    return sorted(parts, key=lambda part: -float(getattr(part, by)))


def _too_little(one: Evidence, asked: float) -> str:
    if one.smallest is None:
        return sentences.too_little_power(None, _size(asked, one.unit))
    told = sentences.too_little_power(_size(one.smallest, one.unit), _size(asked, one.unit))
    needed = one.units_needed(asked)
    if needed is None:
        return told
    what = "prompts" if one.unit == POINTS else "prompts or pairs"
    return f"{told}; {sentences.prompts_needed(_size(asked, one.unit), *needed, what)}"


def _size(value: float, unit: str | None) -> str:
    return "anything" if not known(value) else f"{number(value, decimals([value]))} {unit or ''}".strip()


def _strip_sentence(told: str) -> str:
    return " ".join(told.split()).rstrip(".")


def _quote_condition(condition: Condition) -> str:
    return f'--fail-if "{condition.text}"'


def _add_place(quoted: str, error: UsageError) -> UsageError:
    return UsageError(f"{quoted}: {error.message}", error.hint)
