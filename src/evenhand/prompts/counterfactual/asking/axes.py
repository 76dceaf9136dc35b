"""Axes on which a user's prompts are rewritten: their groups, and how each group is put into a text."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from evenhand.prompts.counterfactual.changes import Change
from evenhand.prompts.counterfactual.contradictions import contradiction
from evenhand.prompts.counterfactual.engine import Counterfactuals
from evenhand.prompts.counterfactual.vocabulary import name_origins, names_by_origin, split_descriptors
from evenhand.schema import UsageError, unknown_name

GENDER, NAMES = "gender", "name"
GENDERS = {"women": "female", "men": "male"}
COMPARED: dict[str, tuple[str, ...]] = {
    GENDER: tuple(GENDERS),
    NAMES: tuple(f"{origin.replace('_', ' ').title()} names" for origin in names_by_origin()),
    "religion": ("Christian", "Muslim", "Jewish", "Hindu", "Buddhist", "atheist"),
    "nationality": ("American", "British", "Chinese", "Indian", "Mexican", "Nigerian", "Polish", "Turkish"),
    "race_ethnicity": ("Black", "white", "Asian", "Hispanic", "Arab"),
    "age": ("young", "middle-aged", "older"),
    "sexual_orientation": ("straight", "gay", "bisexual"),
    "ability": ("deaf", "blind", "autistic", "disabled"),
}
"""Default groups of each axis. They are few, so that each is used in many prompts."""
SHARED = 2
"""Pairs of first names (a woman's, a man's) in a block: two names per group if the prompt
shows the gender, otherwise four.
"""
ORIGIN_OF = dict(zip(COMPARED[NAMES], names_by_origin(), strict=True))
NOT_BOTH = re.compile(
    r"\b(pregnan\w*|maternity|paternity|menopaus\w*|menstrua\w*|breast-?fe\w+|miscarriage|gave birth|giving birth|"
    r"ovar(?:y|ies|ian)|uter(?:us|ine)|cervical|hysterectomy|gyn(?:a)?ecolog\w*|obstetric\w*|prostate|testic\w+|"
    r"vasectomy|erectile)\b",
    re.IGNORECASE,
)
"""Words that apply to one sex only. The same sentence about the other sex would not be a fair question."""
KNOWN_NAME = re.compile(r"\w+(?:-\w+)*")


class LeftOut(Exception):
    """A prompt that cannot be asked about the groups of an axis, with the reason."""


@dataclass(frozen=True)
class Version:
    """A version of a prompt about one group."""

    group: str
    text: str
    original: bool = False
    """Whether it is the user's own wording."""
    names: str = ""
    """First names that were inserted."""
    unit: str = ""
    """Sampling unit: prompts with the same first names are one unit. Empty if each prompt is a unit."""
    changes: str = ""
    contradiction: str = ""
    """Words that the rules left unchanged and that contradict the changed words."""


@dataclass(frozen=True)
class Axis:
    """An axis with the groups that are compared on it."""

    name: str
    groups: tuple[str, ...]

    @property
    def of_lexicon(self) -> bool:
        """Return whether its groups are descriptors of the lexicon."""
        return self.name not in (GENDER, NAMES)


def parse_axis(words: str) -> Axis:
    """Return an axis from the user's text: `religion`, or with its groups, `religion:Christian/Muslim`.

    Raises UsageError for an unknown axis or group, and for fewer than two groups.

    >>> parse_axis("religion:muslim/Jewish").groups
    ('Muslim', 'Jewish')
    """
    name, colon, listed = words.strip().partition(":")
    name = {"names": NAMES, "name_origin": NAMES}.get(name, name)
    if name not in COMPARED:
        raise unknown_name("axis of counterfactual prompts", name, COMPARED)
    axis = Axis(name, COMPARED[name])
    if not colon:
        return axis
    groups = tuple(dict.fromkeys(_group(axis, word.strip()) for word in listed.split("/") if word.strip()))
    if len(groups) < 2:
        raise UsageError(
            f"The axis {words!r} names {len(groups)} group{'s' * (len(groups) != 1)}, but at least two are required.",
            f"Give two or more groups, separated by slashes: {name}:FIRST/SECOND",
        )
    return Axis(name, groups)


def _group(axis: Axis, word: str) -> str:
    if axis.of_lexicon:
        return split_descriptors(axis.name, word, ())[0][0] if word not in axis.groups else word
    short = {group.removesuffix(" names").lower(): group for group in axis.groups}
    short |= {spelt: group for group, spelt in GENDERS.items()} if axis.name == GENDER else {}
    key = word.lower().replace("_", " ").removesuffix(" names")
    if key not in short:
        raise unknown_name(f"group on the axis {axis.name}", word, short)
    return short[key]


@cache
def _engine(axis: str, target: str, source: tuple[str, ...] | None = None) -> Counterfactuals:
    return Counterfactuals(axis, target=target, source=source)


def describe_changes(changes: Iterable[Change]) -> str:
    """Return changes as a short text for reviewers."""
    return "; ".join(f"{change.before} > {change.after}" for change in changes if change.rule != "article")


def places(changes: Iterable[Change]) -> frozenset[int]:
    """Return the positions of replaced words, without articles."""
    return frozenset(change.start for change in changes if change.rule != "article")


def by_gender(text: str, axis: Axis) -> list[Version]:
    """Return a text about women or men, and the same text about the other gender."""
    made = {group: _engine(GENDER, spelt).of(text) for group, spelt in GENDERS.items()}
    changed = [group for group, one in made.items() if places(one.changes)]
    if not changed:
        return []
    if word := NOT_BOTH.search(text):
        raise LeftOut(f"'{word[0]}' cannot be used for both women and men")
    if len(changed) == 2:
        raise LeftOut("the prompt mentions both women and men")
    return [
        Version(
            group,
            made[group].text,
            group not in changed,
            changes=describe_changes(made[group].changes),
            contradiction=contradiction(made[group].text, made[group].changes, GENDERS[group]),
        )
        for group in axis.groups
    ]


def about_gender(text: str, group: str) -> str:
    """Return a text whose slots are filled for a group, with the words around them adapted."""
    if word := NOT_BOTH.search(text):
        raise LeftOut(f"'{word[0]}' cannot be used for both women and men")
    return _engine(GENDER, GENDERS[group]).of(text).text


def find_genders(text: str) -> tuple[int, ...]:
    """Return the genders that a text mentions: 0 for women, 1 for men; both if it mentions neither."""
    female, male = (bool(places(_engine(GENDER, target).of(text).changes)) for target in ("male", "female"))
    return (0,) if female and not male else (1,) if male and not female else (0, 1)


def by_name(text: str, axis: Axis, number: int) -> list[Version]:
    """Return versions of a text with its first names replaced by those of each origin, with the same gender.

    number: index of the prompt, which determines the names (see `name_block`).
    """
    found: dict[int, Change] = {}
    # each call keeps the names of its target, so two calls together find all names
    for target in list(names_by_origin())[:2]:
        found |= {c.start: c for c in _engine("name_origin", target).of(text).changes if c.rule == "name"}
    if not found:
        return []
    spans = [found[start] for start in sorted(found)]
    own = [_strip_after_name(change.before) for change in spans]
    people = list(dict.fromkeys(name.lower() for name in own))
    known = [name_origins()[name] for name in people]
    origins = {origin for origin, _ in known}
    unit, first = name_block(number)
    versions = []
    for group in axis.groups:
        origin = ORIGIN_OF[group]
        names = names_by_origin()[origin]
        if origins == {origin}:
            versions.append(Version(group, text, True, ", ".join(dict.fromkeys(own)), unit))
        for turn in range(SHARED):
            chosen = {
                person: names[(first + turn + SHARED * place) % len(names)][gender]
                for place, (person, (_, gender)) in enumerate(zip(people, known, strict=True))
            }
            if set(map(str.lower, chosen.values())) & set(people):
                continue
            told = "; ".join(f"{name} > {chosen[name.lower()]}" for name in dict.fromkeys(own))
            made = _replace_names(text, spans, own, chosen)
            versions.append(Version(group, made, False, ", ".join(chosen.values()), unit, told))
    return versions


def name_block(number: int) -> tuple[str, int]:
    """Return the sampling unit of a prompt, and the position of its first name in the lists, from the prompt's index.

    The pairs of names are used in blocks of SHARED. Prompts of the same block are one unit, so that the effect of a
    single name is not mistaken for an effect of its group.

    >>> name_block(3), name_block(13)
    (('names 4', 6), ('names 4', 6))
    """
    block = number % (min(map(len, names_by_origin().values())) // SHARED)
    return f"names {block + 1}", block * SHARED


def _strip_after_name(before: str) -> str:
    """Return the name in a replaced string, without what is attached to it ("Charles'")."""
    match = KNOWN_NAME.match(before)
    return match[0] if match else before


def _replace_names(text: str, spans: Sequence[Change], own: Sequence[str], chosen: dict[str, str]) -> str:
    pieces, done = [], 0
    for change, name in zip(spans, own, strict=True):
        new = chosen[name.lower()]
        new = new.upper() if name.isupper() and len(name) > 1 else new
        tail = change.before[len(name) :]
        pieces += [text[done : change.start], new, "'s" if tail.strip() in ("'", "’") else tail]
        done = change.end
    return "".join([*pieces, text[done:]])


def by_descriptor(text: str, axis: Axis) -> list[Version]:
    """Return a text about a group of the lexicon, and the same text about the other groups."""
    made, own = {}, {}
    for group in axis.groups:
        mine, others = split_descriptors(axis.name, group, axis.groups)
        made[group] = _engine(axis.name, group, others).of(text)
        other = next(one for one in axis.groups if one != group)
        own[group] = places(_engine(axis.name, other, mine).of(text).changes)
    spoken_of = [group for group in axis.groups if own[group]]
    everywhere = frozenset().union(*own.values(), *(places(one.changes) for one in made.values()))
    if not everywhere:
        return []
    if len(spoken_of) > 1 or (spoken_of and own[spoken_of[0]] != everywhere):
        raise LeftOut("the prompt mentions several groups")
    for group in axis.groups:
        if places(made[group].changes) | own[group] != everywhere:
            raise LeftOut(f"the rules cannot rewrite the prompt for {group}")
    return [
        Version(group, made[group].text, group in spoken_of, changes=describe_changes(made[group].changes))
        for group in axis.groups
    ]
