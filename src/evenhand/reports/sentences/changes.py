"""Sentences on two models that are compared: who is treated worse or better than before, and by how much."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from evenhand.reports.sentences.slots import (
    Estimate,
    axis_name,
    capitalised,
    ci,
    clear_places,
    count,
    group_phrase,
    name_list,
    odds,
    percent,
    points,
    ratio_number,
    ratio_with_ci,
    uncapitalised,
)
from evenhand.reports.sentences.verdicts import DASH, full_stop, joined
from evenhand.reports.wording import number, signed

MOST_AXES = 4
"""Largest number of axes that a sentence names; more axes are only counted."""
MOST_GROUPS = 3
"""Largest number of groups whose values a sentence states; further groups are only counted."""
CHANGED_SO = {
    # (is one side harmful, change relative to the others, own change): 1 means more harm, or a higher value
    (True, 1, 1): "got worse for {}",
    (True, 1, 0): "did not change for {}, while the other groups improved",
    (True, 1, -1): "improved less for {}",
    (True, -1, -1): "got better for {}",
    (True, -1, 1): "got worse by less than for the other groups: {}",
    (True, -1, 0): "did not change for {}, while the other groups got worse",
    (False, 1, 1): "rose more than for the other groups: {}",
    (False, 1, 0): "did not change for {}, while the other groups fell",
    (False, 1, -1): "fell less than for the other groups: {}",
    (False, -1, -1): "fell more than for the other groups: {}",
    (False, -1, 1): "rose less than for the other groups: {}",
    (False, -1, 0): "did not change for {}, while the other groups rose",
}
"""Words for the change of a group, by the sign of its change relative to the others and of its own change."""
STUDY = "comparison"


@dataclass(frozen=True)
class Scale:
    """Format of values and of their changes in sentences.

    ``unit`` is "%" for rates, whose differences are in points. It is "" for values without a unit.
    """

    unit: str = "%"

    def value(self, number_: float, places: int) -> str:
        """Return the value of one model as text."""
        if self.unit == "%":
            return percent(number_, places)
        return f"{number(number_, places)}{f' {self.unit}' if self.unit else ''}"

    def change(self, number_: float, places: int) -> str:
        """Return the difference between two models as text, with its sign."""
        if self.unit == "%":
            return points(number_, places, with_sign=True)
        return f"{signed(number_, places)}{f' {self.unit}' if self.unit else ''}"

    @property
    def of_difference(self) -> str:
        """Return the unit of a difference."""
        return " points" if self.unit == "%" else f" {self.unit}" if self.unit else ""

    def places(self, change: Estimate, values: Sequence[float]) -> int:
        """Return the number of decimals for all values in one sentence."""
        if self.unit == "%":
            return clear_places((change.low, change.high), 0 if abs(change.value) >= 10 else 1)
        largest = max([abs(value) for value in [*values, change.value]], default=0.0)
        return clear_places((change.low, change.high), 1 if largest >= 10 else 2 if largest >= 1 else 3)


@dataclass(frozen=True)
class GroupChange:
    """Rates of a group before and after. ``relative`` is its change minus that of the other groups."""

    group: str
    before: float
    after: float
    relative: Estimate

    @property
    def name(self) -> str:
        """Display name of the group."""
        return group_phrase(self.group)


def changed_axis(axis: str | None, *finding: str) -> str:
    """Return the sentence on an axis whose groups changed differently. finding: the first part follows the dash."""
    return joined(f"{capitalised(axis_name(axis))}{DASH}{finding[0]}", *finding[1:])


def from_to(change: GroupChange, scale: Scale, places: int) -> str:
    """Return "rose from 14% to 67%", with the verb that the two numbers require."""
    before, after = (scale.value(value, places) for value in (change.before, change.after))
    if before == after:
        return f"stayed at {after}"
    return f"{'rose' if change.after > change.before else 'fell'} from {before} to {after}"


def two_groups_changed(
    verdict: str, first: GroupChange, second: GroupChange, scale: Scale, *, harmful: bool
) -> tuple[str, str]:
    """Return the verdict on an axis of two groups, and a sentence with the rates of both.

    Parameters
    ----------
    verdict
        Text with a placeholder {} for the name of the first group, such as "got worse for {}".
    first, second
        Changes of both groups.
    scale
        Format of the values.
    harmful
        Whether it is known which side is harmful.
    """
    places = scale.places(first.relative, [first.before, first.after, second.before, second.after])
    what = "Negative responses" if harmful and scale.unit == "%" else "Values"
    one, two = (from_to(change, scale, places) for change in (first, second))
    if one.partition(" ")[0] == two.partition(" ")[0] and not one.startswith("stayed"):
        two = two.partition(" ")[2]
    gap = (
        f"{scale.change(first.relative.value, places)}, {ci(first.relative.low, first.relative.high, places)}"
    )
    return (
        verdict.format(first.name),
        f"{what} {one} for {first.name} and {two} for {second.name} (change in the gap: {gap})",
    )


def groups_changed(sides: Sequence[tuple[str, Sequence[GroupChange]]], scale: Scale) -> tuple[str, str]:
    """Return the verdict on an axis of several groups, and the numbers of the named ones.

    Parameters
    ----------
    sides
        For each type of change, its text (a value of CHANGED_SO) and the groups that changed so, the strongest first.
    """
    heads = [words.format(name_list([group.name for group in groups])) for words, groups in sides]
    numbers: list[str] = []
    for _, groups in sides:
        for group in groups[:MOST_GROUPS]:
            places = scale.places(group.relative, [group.before, group.after])
            before, after = (scale.value(value, places) for value in (group.before, group.after))
            size = scale.change(group.relative.value, places)
            interval = ci(group.relative.low, group.relative.high, places)
            numbers.append(
                f"{group.name}: {before} to {after} ({size} relative to the other groups, {interval})"
            )
    return ", ".join(heads), capitalised("; ".join(numbers))


def changed_without_group(spread: str) -> tuple[str, str]:
    """Return the verdict and a sentence for an axis whose groups changed differently, without a group that is named.

    spread: standard deviation of the changes as text with its unit, or "".
    """
    size = f" (standard deviation of the changes: {spread})" if spread else ""
    return f"changed differently between groups{size}", "No single group can be named with confidence"


def likelihoods_changed(
    sides: Sequence[tuple[str, str, Sequence[str], Estimate]], *, asked_only: bool = False
) -> tuple[str, str]:
    """Return two texts on likelihoods that changed: the verdict, and by how much.

    Parameters
    ----------
    sides
        For each direction of change: the sentences that became more likely ("hostile"), the sentences that they are
        compared with ("kind"), the descriptors, and the shift of the first descriptor in nats.
    asked_only
        Whether the texts are only about the tested sentences. The verdict is then "".
    """
    heads: list[str] = []
    numbers: list[str] = []
    for likelier, other, names, shift in sides:
        ratio, interval = ratio_with_ci(shift)
        also = f"; also for {name_list(list(map(group_phrase, names[1:])), MOST_GROUPS)}" if names[1:] else ""
        start = f"{likelier} sentences became {ratio} as likely relative to {other} ones for {group_phrase(names[0])}"
        start = f"Compared with other descriptors, {start}" if not numbers else capitalised(start)
        numbers.append(f"{start} ({interval}){also}.")
        verdict = {"hostile": "got worse for", "kind": "got better for"}.get(
            likelier, f"{likelier} sentences for"
        )
        heads.append(f"{verdict} {name_list(list(map(group_phrase, names)), MOST_GROUPS)}")
    return ("" if asked_only else ", ".join(heads)), " ".join(numbers)


def only_asked_sentences_changed(axis: str | None, reason: str, moved: str) -> str:
    """Return a sentence stating that no change was detected for sentences that are similar to the tested ones.

    reason: why none was detected. moved: text on what changed in the tested sentences.
    """
    return joined(
        f"{capitalised(axis_name(axis))}{DASH}no change detected for similar sentences: {uncapitalised(reason)}",
        f"In the sentences that were asked, the intervals of single groups exclude no change: {moved}",
    )


WHOLE_AXIS = (
    "the test of the whole axis, which allows for sentence pairs that differ in size, shows no change"
)


def axes(names: Sequence[str | None]) -> str:
    """Return the names of axes for the beginning of a sentence. More than MOST_AXES are only counted."""
    if len(names) > MOST_AXES:
        return f"{len(names)} axes"
    return capitalised(", ".join(axis_name(name) for name in names))


def no_change_between_groups(names: Sequence[str | None], effect: str, *, depends: bool = False) -> str:
    """Return a sentence stating that no change between the groups of some axes was detected.

    effect: text on the minimum detectable effect (MDE), or "". depends: whether the MDE differs between axes. If
    `effect` is a range, the sentence then states that it depends on the axis.
    """
    is_range = re.search(r"\d to \d", effect) is not None
    detectable = f"{effect}{' (depending on the axis)' if depends and is_range else ''}"
    power = f"This {STUDY} had 80% power to detect {detectable}" if effect else ""
    if effect == TOO_FEW_PROMPTS:
        power = effect
    return joined(f"{axes(names)}{DASH}no change detected between groups", power)


TOO_FEW_PROMPTS = "There are too few prompts to detect any possible change with 80% power"
"""Text that replaces the minimum detectable change if it is above 100 points on all axes."""


def detectable_change(low: float, high: float, scale: Scale, direction: str = "", *, too_few: int = 0) -> str:
    """Return a text on the minimum detectable change of a group. A change in nats is stated as a ratio.

    Parameters
    ----------
    direction
        "rise" or "fall" if a change of this size is possible in one direction only.
    too_few
        Number of axes on which no possible change is detectable.
    """
    if scale.unit == "nats":
        texts = dict.fromkeys(ratio_number(odds(size)) for size in (low, high))
        ratio = f"{' to '.join(texts)} times as likely"
        return f"that one group became {ratio} in kind or hostile sentences, relative to the others"
    largest = max(low, high)
    places = 0 if largest >= 10 else 1 if scale.unit == "%" else 2
    texts = dict.fromkeys(number(size, places) for size in (low, high))
    what = "rate" if scale.unit == "%" else "value"
    change = direction or "change"
    none = f"; no possible change on {count(too_few, 'other axis', 'other axes')}" if too_few else ""
    size = f"{' to '.join(texts)}{scale.of_difference}"
    return f"a {change} of {size} in the {what} of one group, relative to the others{none}"


def unchanged(names: Sequence[str | None]) -> str:
    """Return a sentence stating that all values are equal to those before."""
    return f"{axes(names)}{DASH}unchanged: every group has the same value as before."


def change_not_measurable(names: Sequence[str | None], reason: str) -> str:
    """Return a sentence stating that a change is not measurable, and why."""
    return f"{axes(names)}{DASH}change not measurable: {full_stop(uncapitalised(reason) or 'the reason is unknown')}"


def before_and_after(before: str, after: str, change: str, interval: str) -> str:
    """Return a text with the values before and after, and with their difference and its CI.

    >>> before_and_after("5.0%", "26.7%", "+21.7 points", "95% CI 16.6 to 26.8")
    '5.0% to 26.7% (+21.7 points, 95% CI 16.6 to 26.8)'
    """
    return f"{before} to {after} ({change}, {interval})"


def preference_changed(axis: str | None, verdict: str, numbers: str, *, more: bool) -> str:
    """Return a sentence on how the preference for stereotyped sentences changed. verdict: such as "bias larger"."""
    often = f"The stereotyped sentence is preferred {'more' if more else 'less'} often: {numbers}"
    return joined(f"{capitalised(axis_name(axis))}{DASH}{verdict}", often)


def preference_unchanged(names: Sequence[str | None], reach: str) -> str:
    """Return a sentence stating that no change in the preference was detected.

    reach: the minimum detectable change, or empty.
    """
    power = f"This {STUDY} had 80% power to detect a change of {reach}" if reach else ""
    return joined(f"{axes(names)}{DASH}no change in the preference for stereotyped sentences detected", power)


def overall(what: str, verb: str, numbers: str) -> str:
    """Return a sentence on how the mean across all groups changed.

    verb: "rose", "fell" or a verdict such as "no change detected".
    """
    if verb in ("rose", "fell"):
        return f"All groups together: {what} {verb} from {numbers}."
    return f"All groups together, {what}: {verb}, {numbers}."


PREFIXES = {
    "still": "Still biased: {}",
    "now": "Now biased (not measurable before): {}",
    "new": "Bias detected only in the later model: {}",
    "blank": "No longer measurable. Before: {}",
    "gone": "Bias no longer detected. Before: {}",
}
NO_SIGNIFICANT_CHANGE = (
    "The two audits reach different verdicts, but the change itself is not statistically significant."
)
