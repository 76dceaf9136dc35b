"""Axes on which a user's prompts are asked about other groups: their groups, and how each is put into a text."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from evenhand.prompts.counterfactual.changes import Change
from evenhand.prompts.counterfactual.contradictions import contradiction
from evenhand.prompts.counterfactual.engine import Counterfactuals
from evenhand.prompts.counterfactual.vocabulary import name_origins, names_by_origin, words_of
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
"""The groups of each axis unless the user names others: few, so that each is asked about often."""
SHARED = 2
"""Pairs of first names (a woman's, a man's) in a block: two names a group if the prompt says the gender, else four."""
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
    """A text about one group."""

    group: str
    text: str
    original: bool = False
    """Whether it is the user's own wording."""
    names: str = ""
    """The first names that were put in."""
    unit: str = ""
    """What was sampled: prompts that share first names count as one; empty where each stands for itself."""
    changes: str = ""
    contradiction: str = ""
    """What the rules left and does not fit the changed words."""


@dataclass(frozen=True)
class Axis:
    """An axis with the groups compared on it."""

    name: str
    groups: tuple[str, ...]

    @property
    def of_lexicon(self) -> bool:
        """Whether its groups are descriptors of the lexicon."""
        return self.name not in (GENDER, NAMES)


def axis_of(words: str) -> Axis:
    """An axis as the user names it: `religion`, or with its groups, `religion:Christian/Muslim`.

    Raises UsageError for an axis or a group there is not, and for fewer than two groups.

    >>> axis_of("religion:muslim/Jewish").groups
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
            f"{words}: at least two groups are required, got {len(groups)}.", f"{name}:FIRST/SECOND"
        )
    return Axis(name, groups)


def _group(axis: Axis, word: str) -> str:
    if axis.of_lexicon:
        return words_of(axis.name, word, ())[0][0] if word not in axis.groups else word
    short = {group.removesuffix(" names").lower(): group for group in axis.groups}
    short |= {spelt: group for group, spelt in GENDERS.items()} if axis.name == GENDER else {}
    key = word.lower().replace("_", " ").removesuffix(" names")
    if key not in short:
        raise unknown_name(f"group on the axis {axis.name}", word, short)
    return short[key]


@cache
def _engine(axis: str, target: str, source: tuple[str, ...] | None = None) -> Counterfactuals:
    return Counterfactuals(axis, target=target, source=source)


def listed(changes: Iterable[Change]) -> str:
    """Changes in a few words, for who reviews them."""
    return "; ".join(f"{change.before} > {change.after}" for change in changes if change.rule != "article")


def places(changes: Iterable[Change]) -> frozenset[int]:
    """Where words were replaced, articles aside."""
    return frozenset(change.start for change in changes if change.rule != "article")


def by_gender(text: str, axis: Axis) -> list[Version]:
    """A text that speaks of women, or of men, and the same about the others."""
    made = {group: _engine(GENDER, spelt).of(text) for group, spelt in GENDERS.items()}
    changed = [group for group, one in made.items() if places(one.changes)]
    if not changed:
        return []
    if word := NOT_BOTH.search(text):
        raise LeftOut(f"'{word[0]}' cannot be used for both women and men")
    if len(changed) == 2:
        raise LeftOut("it mentions both women and men")
    return [
        Version(
            group,
            made[group].text,
            group not in changed,
            changes=listed(made[group].changes),
            contradiction=contradiction(made[group].text, made[group].changes, GENDERS[group]),
        )
        for group in axis.groups
    ]


def about_gender(text: str, group: str) -> str:
    """A text whose slots are filled for a group, the words around them made to fit."""
    if word := NOT_BOTH.search(text):
        raise LeftOut(f"'{word[0]}' cannot be used for both women and men")
    return _engine(GENDER, GENDERS[group]).of(text).text


def genders_of(text: str) -> tuple[int, ...]:
    """Which genders a text speaks of: 0 women, 1 men; both where it says neither."""
    female, male = (bool(places(_engine(GENDER, target).of(text).changes)) for target in ("male", "female"))
    return (0,) if female and not male else (1,) if male and not female else (0, 1)


def by_name(text: str, axis: Axis, number: int) -> list[Version]:
    """A text with its first names replaced by those of each origin, gender kept.

    number: of the prompt, by which names are chosen: those of `block_of`.
    """
    found: dict[int, Change] = {}
    for target in list(names_by_origin())[:2]:  # each leaves its own names; between them none is left
        found |= {c.start: c for c in _engine("name_origin", target).of(text).changes if c.rule == "name"}
    if not found:
        return []
    spans = [found[start] for start in sorted(found)]
    own = [_known(change.before) for change in spans]
    people = list(dict.fromkeys(name.lower() for name in own))
    known = [name_origins()[name] for name in people]
    origins = {origin for origin, _ in known}
    unit, first = block_of(number)
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
            made = _renamed(text, spans, own, chosen)
            versions.append(Version(group, made, False, ", ".join(chosen.values()), unit, told))
    return versions


def block_of(number: int) -> tuple[str, int]:
    """What a prompt's names make of it: the unit it belongs to, and the place of the first of its names in the lists.

    The pairs of names are dealt out in blocks of SHARED; prompts of the same block count as one unit, so that what a
    single name does to answers is not taken for what its group does.

    >>> block_of(3), block_of(13)
    (('names 4', 6), ('names 4', 6))
    """
    block = number % (min(map(len, names_by_origin().values())) // SHARED)
    return f"names {block + 1}", block * SHARED


def _known(before: str) -> str:
    """The name in what was replaced, without what is tied to it ("Charles'")."""
    match = KNOWN_NAME.match(before)
    return match[0] if match else before


def _renamed(text: str, spans: Sequence[Change], own: Sequence[str], chosen: dict[str, str]) -> str:
    pieces, done = [], 0
    for change, name in zip(spans, own, strict=True):
        new = chosen[name.lower()]
        new = new.upper() if name.isupper() and len(name) > 1 else new
        tail = change.before[len(name) :]
        pieces += [text[done : change.start], new, "'s" if tail.strip() in ("'", "’") else tail]
        done = change.end
    return "".join([*pieces, text[done:]])


def by_descriptor(text: str, axis: Axis) -> list[Version]:
    """A text that speaks of a group of the lexicon, and the same about the others."""
    made, own = {}, {}
    for group in axis.groups:
        mine, others = words_of(axis.name, group, axis.groups)
        made[group] = _engine(axis.name, group, others).of(text)
        other = next(one for one in axis.groups if one != group)
        own[group] = places(_engine(axis.name, other, mine).of(text).changes)
    spoken_of = [group for group in axis.groups if own[group]]
    everywhere = frozenset().union(*own.values(), *(places(one.changes) for one in made.values()))
    if not everywhere:
        return []
    if len(spoken_of) > 1 or (spoken_of and own[spoken_of[0]] != everywhere):
        raise LeftOut("it mentions several groups")
    for group in axis.groups:
        if places(made[group].changes) | own[group] != everywhere:
            raise LeftOut(f"the rules cannot rewrite it for {group}")
    return [
        Version(group, made[group].text, group in spoken_of, changes=listed(made[group].changes))
        for group in axis.groups
    ]
