"""Sentences on a release gate: which condition failed, and what a passed gate could have detected."""

from collections.abc import Sequence

from evenhand.reports.sentences.slots import count, name_list

MOST_REASONS = 3
"""Largest number of groups that a reason names; further groups are only counted."""
NO_REASON = "not measurable"
UNNAMED = "groups differ, but no group is named and no size is known"


def gate_passed(
    conditions: Sequence[str], seen: int, total: int, blank: int, sizes: Sequence[str], levels: Sequence[str]
) -> str:
    """Return a sentence stating that a gate passed.

    Parameters
    ----------
    seen, total, blank
        Number of checks that passed, of all checks, and of checks that were not measurable.
    sizes
        Minimum detectable effects, one text for each unit.
    levels
        Sentences on levels that rose although no condition is about levels.

    Examples
    --------
    >>> gate_passed(["worse"], 3, 3, 0, ["4.02 to 7.95 points"], [])
    'gate passed (worse): no violation in 3 of 3 checks. Minimum detectable effect (80% power): 4.02 to 7.95 points'
    """
    were = "was" if blank == 1 else "were"
    aside = f"; {count(blank, 'check')} {were} not measurable" if blank else ""
    reach = f". Minimum detectable effect (80% power): {name_list(sizes, len(sizes))}" if sizes else ""
    risen = f". Not a condition of this gate: {'; '.join(levels)}" if levels else ""
    named = name_list(conditions, len(conditions))
    return f"gate passed ({named}): no violation in {seen} of {count(total, 'check')}{aside}{reach}{risen}"


def gate_failed(condition: str, place: str, reason: str, more: int, *, found: bool) -> str:
    """Return a sentence stating that a gate did not pass, with the first reason.

    more: number of further failures. found: whether a condition is violated (otherwise a violation could not have been
    detected).
    """
    word = "failed" if found else "not passed, because a violation could not have been detected"
    rest = f" And {count(more, 'more failure')}." if more else ""
    return f"gate {word} ({condition}): {place} — {reason}.{rest}"


def case_line(status: str, place: str, reason: str, condition: str) -> str:
    """Return a line with the outcome of one check and its reason."""
    return f"{status} ({condition}): {place} — {reason}"


def not_applicable(condition: str, benchmark: str, unit: str) -> str:
    """Return a sentence stating that a condition does not apply to a benchmark, which has another unit."""
    return f'"{condition}" does not apply to {benchmark}, which is measured in {unit}'


def exceeded(what: str, groups: Sequence[str]) -> str:
    """Return a text on which groups exceed a limit. what: such as "worse than before for"."""
    return f"{what} {name_list(groups, MOST_REASONS + 1)}"


def too_little_power(smallest: str | None, asked: str) -> str:
    """Return a text stating that a check could not detect an effect as small as required.

    smallest: minimum detectable effect, or None if it is unknown. asked: required effect.
    """
    if smallest is None:
        return f"no violation detected, but the minimum detectable effect is unknown ({asked} required)"
    return f"no violation detected, but only effects of {smallest} or more were detectable"


def prompts_needed(asked: str, needed: int, present: int, what: str) -> str:
    """Return a text on how many prompts each group needs to detect an effect.

    asked: the effect. needed, present: required and existing number per group. what: what is counted, such as
    "prompts".
    """
    return f"{asked} requires about {needed:,} {what} per group instead of {present:,}"
