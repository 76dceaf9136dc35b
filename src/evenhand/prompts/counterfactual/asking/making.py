"""Make texts about several groups from a user's own prompts, and list the prompts that are left out."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import polars as pl

from evenhand.prompts.counterfactual.asking.axes import (
    COMPARED,
    GENDER,
    GENDERS,
    NAMES,
    ORIGIN_OF,
    SHARED,
    Axis,
    LeftOut,
    Version,
    about_gender,
    by_descriptor,
    by_gender,
    by_name,
    find_genders,
    name_block,
    parse_axis,
)
from evenhand.prompts.counterfactual.asking.slots import (
    AS_NOUN,
    DESCRIPTOR,
    LEXICON_AXES,
    NAME,
    OF_GENDER,
    fill_slots,
    find_slots,
    has_gender_slot,
    of_gender,
)
from evenhand.prompts.counterfactual.vocabulary import names_by_origin, person_noun
from evenhand.schema import DataError, UsageError, checked

EACH = 4
"""Number of first names that fill a prompt's slot, so that a group is more than one name."""
NOBODY = "the prompt mentions no group of this axis"
NO_NAME = "the prompt contains no first name of evenhand's list"
LISTED = 8
"""Number of prompts that a sentence on left-out prompts names; the others are counted."""
MADE = ("base", "axis", "group", "original", "names", "unit", "changes", "contradiction", "base_text", "text")
LEFT_OUT = {"base": pl.String, "axis": pl.String, "reason": pl.String, "base_text": pl.String}


@dataclass(frozen=True)
class AskedPrompts:
    """Counterfactual texts that were made from your prompts, and the prompts that were left out, with reasons."""

    frame: pl.DataFrame
    """One row per text. Prompts whose groups have the same first names share a ``unit``.

    Columns: prompt_id, base, axis, group, original, names, unit, changes, contradiction, base_text, text, and your own
    columns.
    """
    left_out: pl.DataFrame
    """Prompts that were left out, with the columns base, axis, reason and base_text."""
    n_base: int
    """Number of your prompts."""
    notes: tuple[str, ...] = ()
    """Sentences on what was guessed to read the file."""

    def describe_notes(self) -> list[str]:
        """Return the notes on the file, and one sentence per axis and reason on the prompts that were left out."""
        counted = self.left_out.group_by("axis", "reason", maintain_order=True).agg(
            "base", pl.col("base_text").first()
        )
        return [
            *self.notes,
            *self._contradicting(),
            *(
                f"{axis}: {len(bases)} of {self.n_base} prompts {'is' if len(bases) == 1 else 'are'} left out "
                f"({bases[0]}: {_short(text)}{_more(bases[1:])}). Reason: {reason}."
                for axis, reason, bases, text in counted.rows()
            ),
        ]

    def _contradicting(self) -> list[str]:
        """Return a sentence on texts that contain contradictions after the changes."""
        marked = self.frame.filter(pl.col("contradiction") != "")
        if marked.is_empty():
            return []
        first = marked.row(0, named=True)
        is_one = marked.height == 1
        return [
            f"{marked.height:,} of {self.frame.height:,} texts may contradict {'itself' if is_one else 'themselves'}: "
            f"{first['base']}, {first['group']}, {_short(first['text'])}, where {first['contradiction']}. The column "
            f"`contradiction` of `evenhand data build counterfactuals` marks {'it' if is_one else 'them'}."
        ]


@checked
def asked_about(own: pl.DataFrame, axes: Sequence[str]) -> AskedPrompts:
    """Make counterfactual texts from your prompts, about each group of some axes.

    People in the prompts are found by the rules of `Counterfactuals`. Slots such as `{name}` are filled for every
    group.

    Parameters
    ----------
    own : polars.DataFrame
        One row per prompt with ``base`` and ``text``, from `read_own`.
    axes : sequence of str
        gender, name, religion, ..., optionally with groups (`religion:Christian/Muslim`).

    Returns
    -------
    AskedPrompts
        The texts, and the prompts that were left out.

    Raises
    ------
    UsageError
        An axis is unknown.
    DataError
        No prompt mentions a group.

    >>> own = pl.DataFrame({"base": ["a", "b"], "text": ["She applied.", "It rained."]})
    >>> made = asked_about(own, ["gender"])
    >>> made.frame.select("group", "original", "text").rows()
    [('women', True, 'She applied.'), ('men', False, 'He applied.')]
    >>> made.describe_notes()
    ['gender: 1 of 2 prompts is left out (b: It rained.). Reason: the prompt mentions no group of this axis.']
    """
    wanted = [parse_axis(words) for words in axes]
    if not wanted or len({axis.name for axis in wanted}) < len(wanted):
        raise UsageError(
            f"Counterfactual prompts require one or more axes, each once, got {', '.join(axes) or 'none'}.",
            f"Known axes: {', '.join(COMPARED)}.",
        )
    rows, left = [], []
    asked = Counter[str]()
    for base, text in own.select("base", "text").iter_rows():
        for axis in wanted:
            try:
                versions = _versions(text, axis, asked[axis.name], str(base))
                if not versions:
                    raise LeftOut(NO_NAME if axis.name == NAMES else NOBODY)
                _check_apart(versions)
            except LeftOut as reason:
                left.append({"base": base, "axis": axis.name, "reason": str(reason), "base_text": text})
                continue
            asked[axis.name] += 1
            rows += [
                {"base": base, "axis": axis.name, "base_text": text}
                | asdict(version)
                | {"unit": version.unit or str(base)}
                for version in versions
            ]
    left_out = pl.DataFrame(left, schema=LEFT_OUT)
    if not rows:
        first = left_out.row(0, named=True)
        raise DataError(
            f"None of the {own.height} prompts can be rewritten for other groups. The first ({first['base']}: "
            f"{_short(first['base_text'])}) is left out, because {first['reason']}.",
            "Mention people in the prompts, or use slots that are filled for every group: {name}, {pronoun}, "
            "{religion}, ... (docs/how-to/audit_your_own_prompts.md).",
        )
    frame = pl.DataFrame(rows, schema_overrides={"original": pl.Boolean}).select(MADE)
    passed = own.drop("text")
    return AskedPrompts(
        with_ids(frame.join(passed, on="base", how="left", maintain_order="left")), left_out, own.height
    )


def with_ids(frame: pl.DataFrame) -> pl.DataFrame:
    """Add a `prompt_id` as the first column, from base, axis, group and number."""
    turn = pl.int_range(1, pl.len() + 1).over("base", "axis", "group")
    group = pl.col("group").str.replace_all(" ", "-")
    return frame.select(pl.format("{}/{}/{}/{}", "base", "axis", group, turn).alias("prompt_id"), pl.all())


def _versions(text: str, axis: Axis, number: int, where: str) -> list[Version]:
    """Return the versions of a text on an axis. number: number of earlier prompts that are used on the axis."""
    slots = find_slots(text, where)
    if not slots:
        return _find_versions(text, axis, number)
    if DESCRIPTOR in slots and not axis.of_lexicon:
        raise LeftOut("the slot {descriptor} of the prompt belongs to other axes")
    own_slots = {slot for slot in slots if has_gender_slot([slot])} if axis.name == GENDER else slots & {NAME}
    if axis.of_lexicon:
        own_slots = slots & {axis.name, DESCRIPTOR}
    named, genders = NAME in slots, find_genders(text)
    turns = (SHARED * len(genders) if axis.name == NAMES else EACH) if named else 1
    versions: list[Version] = []
    for turn in range(turns):
        gender, within = genders[turn % len(genders)], turn // len(genders)
        if not own_slots:
            values = _values(axis, "", number, turn, gender, within)
            told = _describe_slots(values, slots)
            versions += [
                replace(
                    one,
                    original=False,
                    names=one.names or (values[NAME] if named else ""),
                    changes="; ".join(part for part in (told, one.changes) if part),
                )
                for one in _find_versions(fill_slots(text, values), axis, number)
            ]
            continue
        unit = sampling_unit(axis.name, number) if named else ""
        for group in axis.groups:
            values = _values(axis, group, number, turn, gender, within)
            made = fill_slots(text, values)
            made = about_gender(made, group) if axis.name == GENDER else made
            versions.append(
                Version(
                    group, made, False, values[NAME] if named else "", unit, _describe_slots(values, slots)
                )
            )
    return versions


def sampling_unit(axis: str, number: int) -> str:
    """Return the sampling unit of a prompt with a slot for a name: all prompts with the same
    names, if groups differ in names.
    """
    if axis == NAMES:
        return name_block(number)[0]
    return f"names {number % (_pairs() // EACH) + 1}" if axis == GENDER else ""


def _pairs() -> int:
    return sum(map(len, names_by_origin().values()))


def _values(axis: Axis, group: str, number: int, turn: int, gender: int, within: int) -> dict[str, str]:
    """Return the values of the slots of a text about a group; slots unrelated to the axis are the
    same for all groups.
    """
    lists = names_by_origin()
    if axis.name == GENDER and group:
        gender = list(GENDERS).index(group)
    if axis.name == NAMES and group:
        names, place = lists[ORIGIN_OF[group]], name_block(number)[1] + within
    else:
        pair = (number * EACH + turn) % _pairs()
        names, place = list(lists.values())[pair % len(lists)], pair // len(lists)
    values = {NAME: names[place][gender], **of_gender(gender)}
    for other in LEXICON_AXES:
        values[other] = COMPARED[other][(number + turn) % len(COMPARED[other])]
        values[f"{other}{AS_NOUN}"] = person_noun(other, values[other])
    if axis.of_lexicon and group:
        noun = person_noun(axis.name, group)
        values |= {axis.name: group, DESCRIPTOR: group}
        values |= {f"{axis.name}{AS_NOUN}": noun, f"{DESCRIPTOR}{AS_NOUN}": noun}
    return values


def _find_versions(text: str, axis: Axis, number: int) -> list[Version]:
    if axis.name == GENDER:
        return by_gender(text, axis)
    return by_name(text, axis, number) if axis.name == NAMES else by_descriptor(text, axis)


def _describe_slots(values: Mapping[str, str], slots: frozenset[str]) -> str:
    order = [NAME, *OF_GENDER, DESCRIPTOR, *LEXICON_AXES]
    return "; ".join(f"{{{slot}}} > {values[slot]}" for slot in order if slot in slots and slot in values)


def _check_apart(versions: Sequence[Version]) -> None:
    """Raise DataError if two groups would get the same text, because they could not be compared."""
    asked: dict[str, str] = {}
    for version in versions:
        if asked.setdefault(version.text, version.group) != version.group:
            raise LeftOut(
                f"the rules create the same text for {asked[version.text]} and {version.group}",
            )


def _more(bases: Sequence[str]) -> str:
    if not bases:
        return ""
    others = f" and {len(bases) - LISTED} more" if len(bases) > LISTED else ""
    return f"; also {', '.join(bases[:LISTED])}{others}"


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 60 else f"{flat[:59]}…"
