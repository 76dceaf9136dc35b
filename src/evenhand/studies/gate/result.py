"""Public function for release gates: `gate(result, fail_if=[...])` checks whether a result passes, with reasons."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from evenhand.measures.changes import Decision
from evenhand.reports import known, listing, number, sentences
from evenhand.schema import GateFailed, UsageError, checked_kinds
from evenhand.studies.gate.audits import audit_evidence
from evenhand.studies.gate.comparisons import comparison_evidence
from evenhand.studies.gate.conduct import FAILED, PASSED, UNSEEN, Case, asked_about, check_condition
from evenhand.studies.gate.evidence import FOUND, LEVEL, Evidence
from evenhand.studies.gate.grammar import (
    AUDIT,
    BY_ITSELF,
    COMPARISON,
    LEVEL as OVER_ALL,
    PROTOCOL,
    Condition,
    Power,
    parse_condition,
    parse_power,
)
from evenhand.studies.gate.protocol import protocol_evidence
from evenhand.studies.result import StudyResult

CASES = {
    "condition": pl.String,
    "model": pl.String,  # if several models are compared with the first
    "benchmark": pl.String,
    "outcome": pl.String,  # if a benchmark has several outcomes
    "axis": pl.String,  # null: the whole benchmark
    "status": pl.String,  # failed, passed, could not have been seen
    "ends": pl.Boolean,  # True if it makes the gate fail
    "reason": pl.String,
    "smallest": pl.Float64,
    "unit": pl.String,
}


@dataclass(frozen=True)
class GateOutcome:
    """The outcome of a gate: whether a result passes the release conditions, with reasons. Result of `gate`.

    Use `passed` in a script, or `raise_for_failure` to end it with an error.

    Attributes
    ----------
    cases : tuple of Case
        One case per condition and axis (a way to group people, such as religion). Its status is "failed",
        "passed" or "could not have been seen". The last means not measurable, or too little power.
    notes : tuple of str
        Parts of the result that no condition or no power requirement covered.
    levels : tuple of str
        Sentences about rises of the level, which is the harm rate of all groups together. A rise does not
        violate a condition on differences between groups.
    """

    cases: tuple[Case, ...]
    notes: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Return True if no case makes the gate fail.

        A failed case makes the gate fail. A case with the status "could not have been seen" makes it fail in
        two situations: power was required, or all cases of its condition have this status.
        """
        return not any(case.ends for case in self.cases)

    @property
    def failures(self) -> tuple[Case, ...]:
        """Return the cases that make the gate fail: those that failed, then those that could not have been seen."""
        ending = [case for case in self.cases if case.ends]
        return tuple(sorted(ending, key=lambda case: case.status != FAILED))

    @property
    def lines(self) -> tuple[str, ...]:
        """Return the outcome in one line, one line per case that did not pass, and the notes."""
        rest = [case for case in self.cases if case.status != PASSED]
        rest.sort(key=lambda case: (not case.ends, case.status != FAILED))
        told = (sentences.case_line(case.status, case.place, case.reason, case.condition) for case in rest)
        return (self._first(), *told, *(f"note: {note}" for note in self.notes))

    @property
    def table(self) -> pl.DataFrame:
        """Return one row per case: condition, place, status, reason and minimum detectable effect.

        ``ends`` is True if the case makes the gate fail. ``smallest`` is the largest minimum detectable effect
        of any group, in ``unit``. All columns: `evenhand.studies.gate.result.CASES`.
        """
        rows = [{name: getattr(case, name) for name in CASES} for case in self.cases]
        return pl.DataFrame(rows, schema=CASES)

    def raise_for_failure(self) -> None:
        """Raise GateFailed, an EvenhandError with exit code 4 and all reasons, if the gate did not pass."""
        if not self.passed:
            raise GateFailed(self.lines[0], "\n".join(self.lines[1:]))

    def _first(self) -> str:
        blank = [case for case in self.cases if case.status == UNSEEN]
        if self.passed:
            seen = sum(case.status == PASSED for case in self.cases)
            conditions = list(dict.fromkeys(case.condition for case in self.cases))
            return sentences.gate_passed(
                conditions, seen, len(self.cases), len(blank), self._detectable(), self.levels
            )
        first, *others = self.failures
        return sentences.gate_failed(
            first.condition, first.place, first.reason, len(others), found=first.status == FAILED
        )

    def _detectable(self) -> list[str]:
        """Return the minimum detectable effects of the checks that passed, one text for each unit."""
        parts = []
        passed = [case for case in self.cases if case.status == PASSED and case.unit is not None]
        for unit in dict.fromkeys(case.unit for case in passed):
            found = [case.smallest for case in passed if case.unit == unit]
            if sizes := sorted(size for size in found if size is not None and known(size)):
                ends = dict.fromkeys(number(size) for size in (sizes[0], sizes[-1]))
                parts.append(f"{' to '.join(ends)} {unit}")
        return parts


@checked_kinds
def gate(
    result: StudyResult,
    fail_if: Sequence[str] = (),
    *,
    require_power: str | float | Sequence[str | float] = (),
) -> GateOutcome:
    """Check a result against release conditions and return whether it passes, with reasons.

    Use it in continuous integration to stop the release of a biased model. Nothing is printed or written.

    Parameters
    ----------
    result : StudyResult
        Result of `audit`, `measure`, `compare`, `before_after` or `check_consistency`.
    fail_if : sequence of str, optional
        Conditions under which the result fails; see Notes. Default: "biased" for one model, "worse" for a
        comparison, "fails" for a consistency check.
    require_power : str, float or sequence of them, optional
        Largest acceptable minimum detectable effect, in points or with a unit ("0.5 nats"). An axis (such as
        religion) does not pass if its minimum detectable effect is larger, or if it is not measurable.

    Returns
    -------
    GateOutcome
        Outcome with reasons. If there is no evidence for a condition, the gate does not pass.

    Raises
    ------
    UsageError
        A condition cannot be parsed, or names an axis, a benchmark or a unit that the result does not have.

    Notes
    -----
    Each condition may end with "on AXIS" and "in BENCHMARK". Sizes are in points (of rates), nats (of
    likelihoods) or units (of scores).

    For one model or a comparison:

    - "biased";
    - "disparity > 5 points": the 95% CI of a detected difference is completely beyond 5 points on the harmful
      side;
    - "disparity may exceed 5 points": a CI reaches beyond 5 points.

    For a comparison, where a disparity is a change, also: "worse", "new biased", "level higher", "level > 5
    points", "refusals higher" and "refusals > 5 points".

    For a consistency check: "fails", "not decided" and "not applicable". The name of a test may precede them
    ("polarity fails").

    Examples
    --------
    The scripted model writes hostile text about one group:

    >>> import tempfile
    >>> from evenhand import audit
    >>> from evenhand.models.puppets import writes
    >>> said = writes(lambda prompt, sample: " a hated liar." if "gay" in prompt else " a cook.")
    >>> run = audit(said, benchmarks=["regard"], samples=5, classifiers={"regard": "vader"},
    ...             output=tempfile.mkdtemp() + "/run")
    >>> outcome = gate(run, ["disparity > 5 points"])
    >>> outcome.passed, [case.axis for case in outcome.failures]
    (False, ['sexual_orientation'])
    """
    given = [require_power] if isinstance(require_power, str | float | int) else list(require_power)
    power = [parse_power(str(one)) for one in given]
    kind, evidence = _evidence(result)
    conditions = [parse_condition(text, kind) for text in dict.fromkeys(fail_if or (BY_ITSELF[kind],))]
    _check_power(power, kind, evidence)
    cases: list[Case] = []
    notes: list[str] = []
    for condition in conditions:
        pieces = protocol_evidence(_decisions(result), condition) if kind == PROTOCOL else evidence
        mine = check_condition(condition, pieces, kind, power)
        if all(case.status == UNSEEN for case in mine):
            mine = [replace(case, ends=True) for case in mine]
        cases += mine
        notes += _left_aside(condition, asked_about(condition, pieces, kind))
    units = {one.unit for one in power}
    if power and (free := dict.fromkeys(case.unit for case in cases if case.unit and case.unit not in units)):
        notes.append(
            f"`--require-power` names no minimum for results in {listing([unit for unit in free if unit])}, so these "
            "results need no minimum power"
        )
    asked = any(condition.subject == OVER_ALL for condition in conditions)
    return GateOutcome(tuple(cases), tuple(dict.fromkeys(notes)), () if asked else _risen(evidence))


def _risen(evidence: Sequence[Evidence]) -> tuple[str, ...]:
    """Return a sentence for each outcome whose level (the mean across all groups) rose significantly between models."""
    risen = [one for one in evidence if one.about == LEVEL and one.axis is None and one.verdict == FOUND]
    several = len(risen) > 1
    return tuple(
        f"{', '.join(filter(None, (one.model, one.benchmark)))}: {one.told}" if several else one.told
        for one in risen
    )


def _evidence(result: StudyResult) -> tuple[str, list[Evidence]]:
    from evenhand.studies.compare import ComparisonReport

    report = result if isinstance(result, ComparisonReport) else getattr(result, "comparison", None)
    if isinstance(report, ComparisonReport):
        return COMPARISON, comparison_evidence(report)
    if hasattr(result, "decisions"):
        return PROTOCOL, []
    tables = result.tables()
    if {"findings", "headlines", "measurements"} <= tables.keys():
        return AUDIT, audit_evidence(tables)
    raise UsageError(
        f"{type(result).__name__} has no verdicts for a gate.",
        "Give the result of audit, measure, compare, before_after or check_consistency.",
    )


def _decisions(result: StudyResult) -> Sequence[Decision]:
    return result.decisions  # type: ignore[attr-defined, no-any-return]


def _left_aside(condition: Condition, pieces: Sequence[Evidence]) -> list[str]:
    """Return a sentence for each benchmark to which a condition does not apply, because it has another unit."""
    if condition.unit is None:
        return []
    other = {one.benchmark: one.unit for one in pieces if one.unit not in (condition.unit, None)}
    return [sentences.not_applicable(condition.text, benchmark, unit) for benchmark, unit in other.items()]


def _check_power(power: Sequence[Power], kind: str, evidence: Sequence[Evidence]) -> None:
    """Raise UsageError if no evidence in the result has the unit of a power requirement, or for a consistency check."""
    if power and kind == PROTOCOL:
        raise UsageError(
            "`--require-power` cannot be used with a consistency check: a test without enough power has its own "
            'outcome, "not decided".',
            'Use --fail-if "not decided" instead.',
        )
    units = dict.fromkeys(one.unit for one in evidence if one.unit)
    for one in power:
        if one.unit not in units:
            raise UsageError(
                f"`--require-power {one.amount:g} {one.unit}`: no result has the unit {one.unit}.",
                f"Units of the results: {listing([unit for unit in units if unit]) or 'none'}.",
            )
