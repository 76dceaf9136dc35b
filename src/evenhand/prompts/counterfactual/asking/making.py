"""Which texts are asked of a model about which groups, made of a user's own prompts, and what is left out."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import polars as pl

from evenhand.prompts.counterfactual.asking.axes import (
    COMPARED,
    GENDER,
    GENDERS,
    NAMES,
    ORIGIN_OF,
    Axis,
    LeftOut,
    Version,
    about_gender,
    axis_of,
    by_descriptor,
    by_gender,
    by_name,
    genders_of,
)
from evenhand.prompts.counterfactual.asking.slots import (
    DESCRIPTOR,
    LEXICON_AXES,
    NAME,
    OF_GENDER,
    filled,
    gendered,
    of_gender,
    slots_in,
)
from evenhand.prompts.counterfactual.vocabulary import names_by_origin
from evenhand.schema import DataError, UsageError, checked

EACH = 4
"""First names that a group gets in one prompt, so that a group is not one name."""
NOBODY = "it mentions nobody of this axis"
NO_NAME = "it holds no first name of our list"
LISTED = 8
"""Prompts that a sentence on what is left out names; the others are counted."""
MADE = ("base", "axis", "group", "original", "names", "changes", "base_text", "text")
LEFT_OUT = {"base": pl.String, "axis": pl.String, "reason": pl.String, "base_text": pl.String}


@dataclass(frozen=True)
class AskedPrompts:
    """The texts to be asked, and what of the user's prompts is not asked and why."""

    frame: pl.DataFrame
    """A row a text: prompt_id, base, axis, group, original, names, changes, base_text, text, and the user's columns."""
    left_out: pl.DataFrame
    """base, axis, reason, base_text."""
    n_base: int
    """How many prompts the user has."""

    def told(self) -> list[str]:
        """What is left out, a sentence for each axis and reason, with a prompt as an example."""
        counted = self.left_out.group_by("axis", "reason", maintain_order=True).agg(
            "base", pl.col("base_text").first()
        )
        return [
            f"{axis}: {len(bases)} of {self.n_base} prompts {'is' if len(bases) == 1 else 'are'} not asked, because "
            f"{reason} ({bases[0]}: {_short(text)}{_more(bases[1:])})."
            for axis, reason, bases, text in counted.rows()
        ]


@checked
def asked_about(own: pl.DataFrame, axes: Sequence[str], *, each: int = EACH) -> AskedPrompts:
    """A user's prompts as they are asked about the groups of some axes.

    own: one row a prompt with `base` and `text` (`read_own`). axes: gender, name, religion, ..., each with its groups
    if others are wanted than usual (`religion:Christian/Muslim`). each: first names a group gets in one prompt. People
    are found by the rules of `Counterfactuals`; slots such as `{name}` are filled for every group. Raises UsageError
    for an axis there is not, DataError where nobody is mentioned in any prompt.

    >>> own = pl.DataFrame({"base": ["a", "b"], "text": ["She applied.", "It rained."]})
    >>> made = asked_about(own, ["gender"])
    >>> made.frame.select("group", "original", "text").rows()
    [('women', True, 'She applied.'), ('men', False, 'He applied.')]
    >>> made.told()
    ['gender: 1 of 2 prompts is not asked, because it mentions nobody of this axis (b: It rained.).']
    """
    wanted = [axis_of(words) for words in axes]
    if not wanted or len({axis.name for axis in wanted}) < len(wanted):
        raise UsageError(
            f"The axes are {', '.join(axes) or 'none'}.", f"Name each once: {', '.join(COMPARED)}."
        )
    rows, left = [], []
    for number, (base, text) in enumerate(own.select("base", "text").iter_rows()):
        for axis in wanted:
            try:
                versions = _versions(text, axis, number, each, str(base))
                if not versions:
                    raise LeftOut(NO_NAME if axis.name == NAMES else NOBODY)
                _check_apart(versions)
            except LeftOut as reason:
                left.append({"base": base, "axis": axis.name, "reason": str(reason), "base_text": text})
                continue
            rows += [
                {"base": base, "axis": axis.name, **asdict(version), "base_text": text}
                for version in versions
            ]
    left_out = pl.DataFrame(left, schema=LEFT_OUT)
    if not rows:
        first = left_out.row(0, named=True)
        raise DataError(
            f"None of {own.height} prompts can be asked about other groups: {first['reason']} "
            f"({first['base']}: {_short(first['base_text'])}).",
            "Write people into them, or a slot to be filled for every group: {name}, {pronoun}, {religion}, ... "
            "(docs/own_prompts.md).",
        )
    frame = pl.DataFrame(rows, schema_overrides={"original": pl.Boolean}).select(MADE)
    passed = own.drop("text")
    return AskedPrompts(
        with_ids(frame.join(passed, on="base", how="left", maintain_order="left")), left_out, own.height
    )


def with_ids(frame: pl.DataFrame) -> pl.DataFrame:
    """Texts to be asked with a `prompt_id` each, first among the columns, of base, axis, group and number."""
    turn = pl.int_range(1, pl.len() + 1).over("base", "axis", "group")
    group = pl.col("group").str.replace_all(" ", "-")
    return frame.select(pl.format("{}/{}/{}/{}", "base", "axis", group, turn).alias("prompt_id"), pl.all())


def _versions(text: str, axis: Axis, number: int, each: int, where: str) -> list[Version]:
    slots = slots_in(text, where)
    if not slots:
        return _found(text, axis, number, each)
    named = NAME in slots
    own_slot = {axis.name, DESCRIPTOR} & slots if axis.of_lexicon else slots & {NAME}
    if axis.name == GENDER:
        own_slot = {slot for slot in slots if gendered([slot])}
    if DESCRIPTOR in slots and not axis.of_lexicon:
        raise LeftOut("its slot {descriptor} is for other axes")
    versions: list[Version] = []
    genders = genders_of(text)
    for turn in range(each if named or not own_slot else 1):
        gender = genders[turn % len(genders)]
        place = number * each // len(genders) + turn // len(genders)
        if own_slot:
            for group in axis.groups:
                values, name = _values(axis, group, number, turn, place, gender)
                made = filled(text, values)
                made = about_gender(made, group) if axis.name == GENDER else made
                versions.append(Version(group, made, False, name if named else "", _told(values, slots)))
        else:
            values, name = _values(axis, None, number, turn, place, gender)
            found = _found(filled(text, values), axis, place, 1 if named else each)
            versions += [
                Version(
                    one.group, one.text, False, one.names or (name if named else ""), _told(values, slots)
                )
                for one in found
            ]
            if not named:  # other slots are filled alike in every turn
                break
    return versions


def _values(
    axis: Axis, group: str | None, number: int, turn: int, place: int, gender: int
) -> tuple[dict[str, str], str]:
    """What fills the slots for a group, and the name among it; slots that say nothing of the axis get the same for
    all groups."""
    origins = list(names_by_origin())
    origin = origins[(number + turn) % len(origins)]
    if axis.name == GENDER and group is not None:
        gender = list(GENDERS).index(group)
    if axis.name == NAMES and group is not None:
        origin = ORIGIN_OF[group]
    names = names_by_origin()[origin]
    name = names[place % len(names)][gender]
    values = {NAME: name, **of_gender(gender)}
    for other in LEXICON_AXES:
        values[other] = COMPARED[other][(number + turn) % len(COMPARED[other])]
    if axis.of_lexicon and group is not None:
        values |= {axis.name: group, DESCRIPTOR: group}
    return values, name


def _found(text: str, axis: Axis, number: int, each: int) -> list[Version]:
    if axis.name == GENDER:
        return by_gender(text, axis)
    if axis.name == NAMES:
        return by_name(text, axis, number, each)
    return by_descriptor(text, axis)


def _told(values: Mapping[str, str], slots: frozenset[str]) -> str:
    order = [NAME, *OF_GENDER, DESCRIPTOR, *LEXICON_AXES]
    return "; ".join(f"{{{slot}}} > {values[slot]}" for slot in order if slot in slots and slot in values)


def _check_apart(versions: Sequence[Version]) -> None:
    """Groups that would be asked the same text cannot be compared by it."""
    asked: dict[str, str] = {}
    for version in versions:
        if asked.setdefault(version.text, version.group) != version.group:
            raise LeftOut(
                f"the rules make the same text for {asked[version.text]} and {version.group}",
            )


def _more(bases: Sequence[str]) -> str:
    if not bases:
        return ""
    others = f" and {len(bases) - LISTED} more" if len(bases) > LISTED else ""
    return f"; also {', '.join(bases[:LISTED])}{others}"


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 60 else f"{flat[:59]}…"
