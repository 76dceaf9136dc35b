"""Sentences on a whole benchmark or report: how many axes are biased, and how often such verdicts are false."""

from collections.abc import Sequence

from evenhand.reports.sentences.slots import axis_name, count, name_list, percent, uncapitalised
from evenhand.reports.sentences.verdicts import full_stop, joined

DESCRIPTIVE = "This benchmark is descriptive: it gives no verdicts."
TABLES, AUDITS = "such analyses", "audits"
"""Words for what an error rate is a share of: analyses of the user's own responses, or audits."""


def axes_biased(biased: int, total: int) -> str:
    """Return a sentence on the number of axes on which bias was detected.

    >>> axes_biased(3, 13), axes_biased(1, 1)
    ('Bias detected on 3 of 13 axes.', 'Bias detected on the one axis that was measured.')
    """
    if total == 1:
        return "Bias detected on the one axis that was measured."
    return f"Bias detected on {biased} of {count(total, 'axis', 'axes')}."


def axes_combined(total: int) -> str:
    """Return a sentence stating that bias was detected across all axes, but on no single one."""
    alone = "not on the one axis alone" if total == 1 else "on no single axis"
    return f"Bias detected across all axes combined, but {alone}."


def axes_clear(total: int) -> str:
    """Return a sentence stating that no bias was detected on any axis."""
    where = "the one axis that was measured" if total == 1 else f"any of the {total} axes"
    return f"No bias detected on {where}."


def axes_partly_measurable(clear: int, blank: Sequence[str | None], reason: str) -> str:
    """Return sentences on the number of axes without detected bias, and on the axes that were not measurable.

    reason: the reason if it is the same for all of the latter, otherwise "".
    """
    names = name_list([axis_name(axis) for axis in blank], most=len(blank))
    were = "was" if len(blank) == 1 else "were"
    why = f": {full_stop(uncapitalised(reason))}" if reason else "."
    return (
        f"No bias detected on {count(clear, 'axis', 'axes')}. {count(len(blank), 'axis', 'axes')} ({names}) {were} not "
        f"measurable{why}"
    )


def axes_not_measurable(total: int) -> str:
    """Return a sentence stating that bias could not be measured on any axis."""
    return f"Bias could not be measured on {'the only axis' if total == 1 else f'any of the {total} axes'}."


def axes_depend(pairs: Sequence[str], alone: int | None = None) -> str:
    """Return a sentence that names the pairs of axes for which the gap on one axis depends on the other.

    alone: number of tested axes if no single axis is biased, otherwise None.
    """
    names = ", ".join(pairs)
    if alone is None:
        return f"The gap on one axis depends on the other for {names}."
    where = "the one axis" if alone == 1 else f"any of the {alone} axes"
    return f"Bias detected in combinations of groups ({names}), but not on {where} alone."


def no_group_worse(*, tested: bool) -> str:
    """Return a sentence for findings that do not show which group is treated worse.

    tested: whether rates of negative responses were compared.
    """
    if not tested:
        return "Whether a group gets more negative responses is not measurable; the lines below state what differs."
    return "No group was found to get more negative responses than the others; the lines below state what differs."


def error_control(axes: int, alpha: float, repeated: str = AUDITS, pairs: int = 0) -> str:
    """Return a sentence on how often a benchmark without any difference would be reported as biased.

    repeated: TABLES or AUDITS. pairs: number of pairs of axes whose interaction was tested, at a separate level
    `alpha`.

    >>> error_control(13, 0.05)
    'Target: if no axis had a difference, at most 5% of audits would report bias on any of the 13 axes.'
    """
    chance = f"at most {100 * alpha:g}% of {repeated} would report"
    whole = (
        f"Target: if there were no difference, {chance} bias."
        if axes == 1
        else f"Target: if no axis had a difference, {chance} bias on any of the {axes} axes."
    )
    if not pairs:
        return whole
    which = "the pair" if pairs == 1 else f"any of the {pairs} pairs"
    return joined(whole, f"If no gap depended on another axis, {chance} a dependence for {which}")


def reliability(tests: int, false: float, n: int, worst: float, designs: int, failing: Sequence[str]) -> str:
    """Return a sentence on how often the tests of a benchmark raised a false alarm in simulations.

    Parameters
    ----------
    tests
        Number of tests.
    false
        False-positive rate in all `n` simulated data sets.
    worst
        Largest rate in any of the `designs`, which are simulated settings.
    failing
        Names of the tests whose rate is too high in some design.

    Examples
    --------
    >>> print(reliability(1, 0.031, 9000, 0.055, 40, []))
    How reliable is this? In simulations without bias, this test raised a false alarm in 5.5% of data sets in the worst
    of 40 designs (kinds of data), and in 3.1% of all 9,000 data sets.
    >>> print(reliability(2, 0.031, 9000, 0.31, 40, ["CrowS-Pairs"]))
    How reliable is this? In simulations without bias, these tests raised a false alarm in 31.0% of data sets in the
    worst of 40 designs (kinds of data), and in 3.1% of all 9,000 data sets. The measure CrowS-Pairs misses a
    requirement on error rate, coverage or power in at least one design.
    """
    which = "this test" if tests == 1 else "these tests"
    share = f"{100 * false:.1f}% of {'all ' if designs > 1 else ''}{n:,} data sets"
    where = (
        f"in {share}"
        if designs == 1
        else f"in {100 * worst:.1f}% of data sets in the worst of {designs} designs (kinds of data), and in {share}"
    )
    text = f"How reliable is this? In simulations without bias, {which} raised a false alarm {where}."
    if not failing:
        return text
    measures = "The measure" if len(failing) == 1 else "The measures"
    misses = "misses" if len(failing) == 1 else "each miss"
    return (
        f"{text} {measures} {name_list(failing, most=len(failing))} {misses} a requirement on error rate, coverage or "
        "power in at least one design."
    )


def expected_false(measures: int, alpha: float) -> str:
    """Return a sentence on how many axes of a whole report may be falsely called biased.

    Empty with fewer than two measures.
    """
    if measures < 2:
        return ""
    return (
        f"This report contains {measures} measures with verdicts. The expected number of axes falsely called biased "
        "is at "
        f"most {alpha * measures:.2g}."
    )


def not_validated(measures: Sequence[str], total: int) -> str:
    """Return a sentence on which measures with verdicts were never tested in simulations.

    total: measures with verdicts.
    """
    if not measures:
        return ""
    whose = (
        "These verdicts"
        if len(measures) == total
        else f"The verdicts of {name_list(measures, len(measures))}"
    )
    return f"{whose} have not been tested in simulations with known bias yet (evenhand calibrate)."


def bias_score_published(score: float) -> str:
    """Return the published BiasScore, which has no verdict. score: in percent."""
    return (
        f"BiasScore (as published): {percent(score, 1)}. This is the share of groups whose rate is not significantly "
        "below the overall rate. It has no verdict, because a high score does not show bias: if a model is unbiased, "
        "hardly any group is significantly below the overall rate, so the score is near 100%."
    )


def bias_score_pooled(suite: str, score: float, groups: int) -> str:
    """Return the BiasScore of a suite over the groups of all its data sets."""
    share = f"{percent(score, 1)} of {groups:,} groups (no verdict)"
    return f"BiasScore of {suite} as published, all data sets pooled: {share}."
