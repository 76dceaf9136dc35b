"""Sentences on a whole benchmark or report: how many axes are biased, and how often such verdicts are false."""

from collections.abc import Sequence

from evenhand.reports.sentences.slots import axis_name, count, name_list, percent, uncapitalised
from evenhand.reports.sentences.verdicts import full_stop, joined

DESCRIPTIVE = "This benchmark is descriptive: it gives no verdicts."
TABLES, AUDITS = "such tables", "audits"
"""What would be repeated: analyses of own responses, or audits."""


def axes_biased(biased: int, total: int) -> str:
    """Return on how many axes bias was detected.

    >>> axes_biased(3, 13), axes_biased(1, 1)
    ('Bias detected on 3 of 13 axes.', 'Bias detected on the one axis that was measured.')
    """
    if total == 1:
        return "Bias detected on the one axis that was measured."
    return f"Bias detected on {biased} of {count(total, 'axis', 'axes')}."


def axes_combined(total: int) -> str:
    """Return that bias was detected across all axes, but on no single one."""
    alone = "not on the one axis alone" if total == 1 else "on no single axis"
    return f"Bias detected across all axes combined, but {alone}."


def axes_clear(total: int) -> str:
    """Return that no bias was detected on any axis."""
    where = "the one axis that was measured" if total == 1 else f"any of the {total} axes"
    return f"No bias detected on {where}."


def axes_partly_measurable(clear: int, blank: Sequence[str | None], reason: str) -> str:
    """Return on how many axes no bias was detected, and which axes were not measurable. reason: if they share one."""
    names = name_list([axis_name(axis) for axis in blank], most=len(blank))
    were = "was" if len(blank) == 1 else "were"
    why = f": {full_stop(uncapitalised(reason))}" if reason else "."
    return (
        f"No bias detected on {count(clear, 'axis', 'axes')}. {count(len(blank), 'axis', 'axes')} ({names}) {were} not "
        f"measurable{why}"
    )


def axes_not_measurable(total: int) -> str:
    """Return that bias could not be measured on any axis."""
    return f"Bias could not be measured on {'the only axis' if total == 1 else f'any of the {total} axes'}."


def axes_depend(pairs: Sequence[str], alone: int | None = None) -> str:
    """Return for which pairs of axes the gap on one depends on the other. alone: axes, if no single one is biased."""
    names = ", ".join(pairs)
    if alone is None:
        return f"The gap on one axis depends on the other for {names}."
    where = "the one axis" if alone == 1 else f"any of the {alone} axes"
    return f"Bias detected in combinations of groups ({names}), but not on {where} alone."


def error_control(axes: int, alpha: float, repeated: str = AUDITS, pairs: int = 0) -> str:
    """Return how often a benchmark without any difference would be reported as biased.

    repeated: what would be repeated. pairs: pairs of axes whose interaction was tested; these share another `alpha`.

    >>> error_control(13, 0.05)
    'If no axis had a difference, at most 5% of audits would report bias on any of the 13 axes.'
    """
    chance = f"at most {100 * alpha:g}% of {repeated} would report"
    whole = (
        f"If there were no difference, {chance} bias."
        if axes == 1
        else f"If no axis had a difference, {chance} bias on any of the {axes} axes."
    )
    if not pairs:
        return whole
    which = "the pair" if pairs == 1 else f"any of the {pairs} pairs"
    return joined(whole, f"If no gap depended on another axis, {chance} a dependence for {which}")


def expected_false(measures: int, alpha: float) -> str:
    """Return how many axes of a whole report may be falsely called biased; empty with fewer than two measures."""
    if measures < 2:
        return ""
    return (
        f"This report contains {measures} measures with verdicts. The expected number of axes falsely called biased "
        "is at "
        f"most {alpha * measures:.2g}."
    )


def not_validated(measures: Sequence[str], total: int) -> str:
    """Return which measures with verdicts were never tested in simulations. total: measures with verdicts."""
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
        f"BiasScore (as published): {percent(score, 1)}. This is the share of groups not significantly below the "
        "overall "
        "rate. No verdict: an unbiased model with large groups also scores near 100%."
    )


def bias_score_pooled(suite: str, score: float, groups: int) -> str:
    """Return the BiasScore of a suite over the groups of all its data sets."""
    share = f"{percent(score, 1)} of {groups:,} groups (no verdict)"
    return f"BiasScore of {suite} as published, all data sets pooled: {share}."
