"""The flags of a gate, shared by verbs that exit with 4 if a result fails, and their exit."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.common import say, writable

if TYPE_CHECKING:
    from evenhand.studies import StudyResult
    from evenhand.studies.audit import CheckAxes

KINDS = {
    "audit": "audit",
    "measure": "audit",
    "compare": "comparison",
    "before-after": "comparison",
    "check-consistency": "protocol",
}
"""Kind of a command's result for a gate (`evenhand.studies.gate`)."""
GATE = ("fail_if", "require_power", "junit", "summary")
"""Parameters of commands that are options of the gate, not of a study."""


def _conditions(context: typer.Context, texts: list[str] | None) -> list[str] | None:
    """Parse the conditions before anything is run, so that a typing error does not waste an audit."""
    if texts and context.info_name in KINDS:
        from evenhand.studies.gate import parse_condition

        for text in texts:
            parse_condition(text, KINDS[context.info_name])
    return texts


def _powers(texts: list[str] | None) -> list[str] | None:
    if texts:
        from evenhand.studies.gate import parse_power

        for text in texts:
            parse_power(text)
    return texts


def _junit(file: Path | None) -> Path | None:
    return None if file is None else writable("--junit", file)


def _summary(file: Path | None) -> Path | None:
    return None if file is None else writable("--summary", file)


FailIf = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-if",
        callback=_conditions,
        help="Exit with code 4 if this condition is met, such as 'disparity > 5 points' or 'biased on gender'. "
        "Repeatable. All conditions: docs/how-to/gate_a_release.md.",
    ),
]
RequirePower = Annotated[
    list[str] | None,
    typer.Option(
        "--require-power",
        callback=_powers,
        help="Exit with code 4 if no bias was detected but the minimum detectable effect is larger than this: in "
        "percentage points, or with a unit ('0.5 nats'). Repeatable, once per unit.",
    ),
]
JUnit = Annotated[
    Path | None,
    typer.Option(
        "--junit",
        callback=_junit,
        help="Write the gate results as JUnit XML, with one test case per condition and axis.",
    ),
]
Summary = Annotated[
    Path | None,
    typer.Option(
        "--summary",
        callback=_summary,
        help="Write the gate results as Markdown. Appends if the file is $GITHUB_STEP_SUMMARY.",
    ),
]


def conditions_check(
    verb: str, fail_if: list[str] | None, require_power: list[str] | None
) -> "CheckAxes | None":
    """Return a check that refuses conditions and powers that the benchmarks of a run cannot answer, or None."""
    if not (fail_if or require_power):
        return None
    from evenhand.studies.gate import check_conditions, parse_condition, parse_power

    conditions = [parse_condition(text, KINDS[verb]) for text in fail_if or ()]
    return partial(check_conditions, conditions, [parse_power(text) for text in require_power or ()])


def hold(
    result: "StudyResult",
    fail_if: list[str] | None,
    require_power: list[str] | None,
    junit: Path | None,
    summary: Path | None,
) -> None:
    """Check a finished result against the gate of its flags, if there are any; exit with 4 if it fails.

    One line on stderr gives the reason, or the minimum detectable effect.
    """
    if not (fail_if or require_power or junit or summary):
        return
    from evenhand.studies.gate import gate, write_junit, write_summary

    outcome = gate(result, fail_if or (), require_power=require_power or ())
    if junit is not None:
        write_junit(outcome, junit)
    if summary is not None:
        write_summary(outcome, summary)
    for note in outcome.notes:
        say(f"note: {note}", err=True)
    say(outcome.lines[0], err=True)
    if not outcome.passed:
        raise typer.Exit(4)
