"""The words that an engine searches, each with its counterpart and the rule that decides whether it applies."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from evenhand.prompts.counterfactual import groups, uses
from evenhand.prompts.counterfactual.targets import KnownNames, Target, Use
from evenhand.prompts.lexicon import Descriptor, load_lexicon, pluralise
from evenhand.schema import UsageError, unknown_name

GENDERS = ("female", "male")
CAPITALISED_AXES = ("religion", "nationality", "race_ethnicity")
"""Axes whose words are mostly names of peoples and religions; their capital distinguishes them from other senses."""
_PARTS_OF_THE_WORLD = ("african", "north african", "asian", "east asian", "south asian", "southeast asian")
OF_PERSON = frozenset(("black", "deaf", "middle eastern", *_PARTS_OF_THE_WORLD))
"""Words with a capital in the lexicon that have other senses (such as a region) in most texts."""
FOLDER, YEAR_OLD, OLDEST = Path(__file__).parent, "-year-old", 120


@dataclass(frozen=True)
class Term:
    """One or several words, as listed, with their replacement."""

    listed: str
    target: Target
    rule: str
    use: Use
    any_case: bool = True
    """Whether it is also searched in lower case, although it is listed with a capital."""
    own_case: bool = True
    """Whether the word always needs its capital. Lower case is then a slip, which its counterpart repeats."""
    two_way: bool = True
    """False if a list states another counterpart for the other direction."""
    ways_back: frozenset[str] = frozenset()
    """Counterparts from which the other direction leads back to this term."""

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(re.findall(r"\w+", self.listed))


def axes() -> tuple[str, ...]:
    """Return the axes on which texts can be changed.

    >>> axes()[:2]
    ('gender', 'name_origin')
    """
    return ("gender", "name_origin", *_read("forms"))


@cache
def names_by_origin() -> dict[str, tuple[tuple[str, str], ...]]:
    """Return first names [female, male] by the region where they are common, equally many of each.

    >>> names_by_origin()["arabic"][0]
    ('Fatima', 'Mohammed')
    """
    lists = _read("names")
    shortest = min(map(len, lists.values()))
    return {origin: tuple((w, m) for w, m in pairs[:shortest]) for origin, pairs in lists.items()}


@cache
def name_origins() -> dict[str, tuple[str, int]]:
    """Return the origin and gender (0: women's) of every first name of our list, by the name in lower case."""
    known: dict[str, tuple[str, int]] = {}
    for origin, pairs in _read("names").items():
        for pair in pairs:
            for gender, name in enumerate(pair):
                known.setdefault(name.lower(), (origin, gender))
    return known


def split_descriptors(
    axis: str, group: str, compared: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the descriptors that mean a group of an axis of the lexicon, and those that mean other groups.

    compared: the groups that are compared. "Catholic" means Christian if no other group of that bucket is compared.
    Raises UsageError for an unknown group.
    """
    descriptors = load_lexicon().select([axis]).descriptors
    left_out = _read("forms")[axis].get("left_out", ())
    (aim, *_), others = _members(axis, group), [_members(axis, one)[0] for one in compared if one != group]
    alone = all(other.bucket != aim.bucket for other in others)
    own = {d.descriptor for d in descriptors if alone and d.bucket == aim.bucket} | {aim.descriptor}
    words = [word for d in descriptors if (word := d.descriptor) not in left_out or word == aim.descriptor]
    return tuple(word for word in words if word in own), tuple(word for word in words if word not in own)


def terms(axis: str, sources: Sequence[str], target: str, names: bool) -> list[Term]:
    """Return all terms to search for one direction. sources: groups that are replaced; empty: all others of the axis.

    names: whether first names are replaced on the axis gender. Raises UsageError for unknown axes and groups.
    """
    if axis not in axes():
        raise unknown_name("axis of counterfactuals", axis, axes())
    if axis == "gender":
        for group in (*sources, target):
            _check_gender(group)
        if sources and target in sources:
            raise _same(axis, target)
        return list(_gender(target, names))
    if axis == "name_origin":
        origins = _read("names")
        for group in (*sources, target):
            if group not in origins:
                raise unknown_name("origin of names", group, origins)
        if target in sources:
            raise _same(axis, target)
        return list(_origins(sources or [origin for origin in origins if origin != target], target))
    return list(_groups(axis, sources, target))


def _same(axis: str, group: str) -> UsageError:
    return UsageError(
        f"{axis}: source and target are the same group, {group!r}.", "Give two different groups."
    )


def _check_gender(group: str) -> None:
    if group == "nonbinary":
        raise UsageError(
            "gender: only female and male are supported as targets. 'They' also changes verbs ('she runs', 'they "
            "run'), which the rules cannot do reliably.",
            "Use --to female or --to male.",
        )
    if group not in GENDERS:
        raise unknown_name("gender", group, GENDERS)


@cache
def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def known_names() -> KnownNames:
    """Return known first names, peoples and religions, in lower case."""
    first = {name.lower() for pairs in _read("names").values() for pair in pairs for name in pair}
    peoples: set[str] = set()
    compounds: set[tuple[str, ...]] = set()
    for descriptor in load_lexicon().descriptors:
        if descriptor.axis in CAPITALISED_AXES and descriptor.form == "adjective":
            words = tuple(descriptor.descriptor.lower().split())
            if len(words) == 2:
                compounds.add(words)
            if len(words) == 1 and descriptor.descriptor[0].isupper():
                peoples.update(words)
    for axis in CAPITALISED_AXES:
        peoples.update(noun.lower() for entry in _read("forms")[axis]["nouns"] for noun in entry[1:])
    return KnownNames(frozenset(first), frozenset(peoples), frozenset(compounds))


@cache
def _names_and_peers(axis: str) -> KnownNames:
    """Return the known names and the words for groups of an axis; those of peoples and nations are combined."""
    together = ("nationality", "race_ethnicity")
    peers: set[str] = set()
    for one in together if axis in together else (axis,):
        words = (descriptor.descriptor for descriptor in load_lexicon().select([one]).descriptors)
        forms = _read("forms")[one]
        peers.update(word.lower() for word in words if word[0].isupper())
        peers.update(noun.lower() for entry in forms.get("nouns", ()) for noun in entry[1:])
        peers.update(name.lower() for _, name in forms.get("names", ()))
    return replace(known_names(), peers=frozenset(peers))


PRONOUNS = {
    "female": {"he": "she", "him": "her", "his": "her/hers", "himself": "herself"},
    "male": {"she": "he", "her": "his/him", "hers": "his", "herself": "himself"},
}


def _gender(target: str, with_names: bool) -> Iterator[Term]:
    old, new = (1, 0) if target == "male" else (0, 1)
    pairs_of_names = [pair for pairs in _read("names").values() for pair in pairs] if with_names else []
    names = replace(known_names(), replaced=frozenset(pair[new].lower() for pair in pairs_of_names))
    for word, counterpart in PRONOUNS[target].items():
        yield Term(word, Target(counterpart), "pronoun", uses.pronoun)
    how: dict[str, Use] = {
        "kinship": uses.kin,
        "person": uses.noun,
        "occupation": uses.noun,
        "quality": uses.noun,
        "royal": partial(uses.royal, names=names),
        "honorific": partial(uses.honorific, names=names),
        "address": uses.address,
    }
    for rule, lists in _read("gender").items():
        one_way = [(pair, False) for pair in lists.get(f"to_{target}", ())]
        for pair, two_way in [*((pair, True) for pair in lists.get("pairs", ())), *one_way]:
            yield Term(pair[old], Target(pair[new]), rule, how[rule], two_way=two_way)
            if rule not in ("honorific", "address"):
                plurals = Target(pluralise(pair[new]))
                yield Term(pluralise(pair[old]), plurals, rule, how[rule], two_way=two_way)
        for pair in lists.get("adjectives", ()):
            yield Term(pair[old], Target(pair[new]), rule, how[rule])
    seen: set[str] = set()
    for pair in pairs_of_names:
        if pair[new] not in seen:
            seen.add(pair[new])
            use = partial(uses.name, names=names)
            yield Term(pair[new], Target(pair[old]), "name", use, any_case=False)


def _origins(sources: Sequence[str], target: str) -> Iterator[Term]:
    origins = _read("names")
    seen: set[str] = {name for pair in origins[target] for name in pair}
    replaced = {
        name.lower() for source in sources for pair in origins[source] for name in pair if name not in seen
    }
    names = replace(known_names(), replaced=frozenset(replaced))
    for source in sources:
        for number, pair in enumerate(origins[source]):
            counterparts = origins[target][number % len(origins[target])]
            for word, counterpart in zip(pair, counterparts, strict=True):
                if word not in seen:
                    seen.add(word)
                    two_way = number < len(origins[target])
                    use = partial(uses.name, names=names)
                    yield Term(word, Target(counterpart), "name", use, any_case=False, two_way=two_way)


def _groups(axis: str, sources: Sequence[str], target: str) -> Iterator[Term]:
    aims = _members(axis, target)
    members = [d for source in sources for d in _members(axis, source)]
    if not sources:
        members = [d for d in load_lexicon().select([axis]).descriptors if d.bucket != aims[0].bucket]
    members = [d for d in members if d.descriptor not in {aim.descriptor for aim in aims[:1]}]
    forms = _read("forms")[axis]
    members = [d for d in members if d.descriptor in sources or d.descriptor not in forms.get("left_out", ())]
    if not members:
        raise _same(axis, target)
    nouns = _nouns(axis)
    of_faith = dict(forms.get("names", ()))
    by_form = {aim.form: aim for aim in reversed(aims)}
    for member in members:
        aim = by_form.get(member.form)
        if aim is None:
            continue
        if member.form != "adjective":
            use = uses.phrase
            yield Term(member.descriptor, Target(aim.descriptor), member.form, use)
            if member.plural != member.descriptor:
                yield Term(member.plural, Target(aim.plural), member.form, use)
            continue
        for one in _in_years(axis, member):
            yield from _adjective(axis, one, aim, nouns)
            age, ends, _ = one.descriptor.partition(YEAR_OLD)
            old, use = f"{age} years old", groups.years_old
            if ends:
                yield Term(old, Target(aim.descriptor), "adjective", use, two_way=False)
        for word, other in forms.get("also", ()):
            if word == member.descriptor:
                use = partial(groups.group_noun, names=_names_and_peers(axis))
                yield Term(other, Target(aim.descriptor), "adjective", use, two_way=False)
        if member.descriptor in of_faith and aim.descriptor in of_faith:
            use = partial(groups.faith, names=_names_and_peers(axis))
            yield Term(of_faith[member.descriptor], Target(of_faith[aim.descriptor]), "religion", use)
    if not any(member.form in by_form for member in members):
        raise UsageError(
            f"{axis}: {', '.join(sources) or 'the other groups'} and {target} have different positions in a sentence.",
            "Choose two adjectives ('blind', 'deaf'), two phrases ('with autism', 'with epilepsy'), or two nouns.",
        )


def _in_years(axis: str, member: Descriptor) -> Iterator[Descriptor]:
    """Yield the descriptor; a descriptor in years stands for all ages up to the next that is listed."""
    if axis != "age" or not member.descriptor.endswith(YEAR_OLD):
        yield member
        return
    words = (one.descriptor for one in load_lexicon().select([axis]).descriptors)
    listed = sorted(int(word.removesuffix(YEAR_OLD)) for word in words if word.endswith(YEAR_OLD))
    age = int(member.descriptor.removesuffix(YEAR_OLD))
    first = 1 if age == listed[0] else age
    last = next((one for one in listed if one > age), OLDEST + 1)
    for years in (age, *(one for one in range(first, last) if one != age)):
        yield replace(member, descriptor=f"{years}{YEAR_OLD}")


def _adjective(
    axis: str, member: Descriptor, aim: Descriptor, nouns: dict[str, tuple[str, str]]
) -> Iterator[Term]:
    names, word = _names_and_peers(axis), member.descriptor
    lower_too = (
        axis != "nationality" or word.lower() not in _read("forms")["nationality"]["ambiguous_in_lower_case"]
    )
    as_group = (
        axis in CAPITALISED_AXES and word.lower() not in OF_PERSON and (word[0].isupper() or word in nouns)
    )
    if word == "white":
        as_group = False
    noun, plural = nouns.get(aim.descriptor, (f"{aim.descriptor} person", f"{aim.descriptor} people"))
    own = nouns.get(word)
    if as_group:
        languages = frozenset(language.lower() for language in _read("forms")["nationality"]["languages"])
        spoken = languages if axis == "nationality" else frozenset[str]()
        countable = own is not None and own[0] == word
        several = not countable and (own is None or axis == "nationality")  # "the British", but "the Jews"
        fitting = Target(aim.descriptor, noun if countable else "", plural if several else "")
        use: Use = partial(groups.group, names=names, languages=spoken)
    else:
        fitting, use = Target(aim.descriptor), partial(groups.of_person, names=names)
    written_lower = word in _read("forms")[axis].get("lower_too", ())
    yield Term(word, fitting, "adjective", use, any_case=lower_too, own_case=not written_lower)
    if own:
        as_noun = partial(groups.group_noun, names=names)
        if own[0] != word and " " not in own[0].replace(word, "", 1):
            one = partial(groups.singular_noun, names=names)
            yield Term(own[0], Target(noun), "noun", one, any_case=own[0].lower() not in _AMBIGUOUS)
        yield Term(own[1], Target(plural), "noun", as_noun, any_case=own[1].lower() not in _AMBIGUOUS)


_AMBIGUOUS = frozenset(("pole", "poles", "scot", "scots", "swede", "swedes", "turk", "blacks"))


def _nouns(axis: str) -> dict[str, tuple[str, str]]:
    listed = {adjective: (one, several) for adjective, one, several in _read("forms")[axis].get("nouns", ())}
    if endings := {"nationality": ("an", "i"), "religion": ("an", "ist")}.get(axis):
        for descriptor in load_lexicon().select([axis]).descriptors:
            word = descriptor.descriptor
            if word not in listed and word.endswith(endings) and descriptor.form == "adjective":
                listed[word] = (word, f"{word}s")
    return listed


def person_noun(axis: str, descriptor: str) -> str:
    """Return the singular noun for a person of a group of the lexicon.

    >>> person_noun("religion", "Jewish"), person_noun("age", "young")
    ('Jew', 'young person')
    """
    return _nouns(axis).get(descriptor, (f"{descriptor} person", ""))[0]


def _members(axis: str, group: str) -> list[Descriptor]:
    """Return the descriptors for a group's name: one with that spelling, those of a bucket, or one in another case."""
    descriptors = load_lexicon().select([axis]).descriptors
    for matches in (
        [d for d in descriptors if d.descriptor == group],
        [d for d in descriptors if d.bucket == group],
        [d for d in descriptors if d.descriptor.lower() == group.lower()],
    ):
        if matches:
            return matches
    known = [d.descriptor for d in descriptors] + [d.bucket for d in descriptors]
    raise unknown_name(f"group on the axis {axis}", group, dict.fromkeys(known))


def pair_terms(pairs: Iterable[tuple[str, str]]) -> list[Term]:
    """Return the user's own words with their counterparts, also in the plural.

    If a pair of personal pronouns has two counterparts ("her"), the context decides, provided that the pair is one of
    English: ("her", "his") or ("his", "her").
    """
    made: dict[str, Term] = {}
    plurals: list[Term] = []
    for source, target in pairs:
        old, new = source.strip(), target.strip()
        if not re.search(r"\w", old) or not re.search(r"\w", new):
            raise UsageError(
                f"{(source, target)!r} is not a pair of words.", "Give two words: ('doctor', 'lawyer')"
            )
        direction = next((g for g, known in PRONOUNS.items() if new in known.get(old, "").split("/")), None)
        if direction:
            term = Term(old, Target(PRONOUNS[direction][old]), "pair", uses.pronoun)
        else:
            term = Term(old, Target(new), "pair", uses.anything)
            plurals.append(Term(pluralise(old), Target(pluralise(new)), "pair", uses.anything))
        if old.lower() in made and made[old.lower()].target != term.target:
            raise UsageError(
                f"{old!r} has two counterparts, {made[old.lower()].target.word!r} and {new!r}.", "Remove one."
            )
        made[old.lower()] = term
    for term in plurals:
        made.setdefault(term.listed.lower(), term)
    if not made:
        raise UsageError("The list of pairs is empty.", "Give at least one pair: [('doctor', 'lawyer')]")
    return list(made.values())


def with_ways_back(forward: Sequence[Term], backward: Sequence[Term]) -> list[Term]:
    """Return terms with their counterparts from which the terms of the other direction lead back to them."""
    back: dict[str, str] = {}
    for term in backward:
        back.setdefault(term.listed, term.target.word)
    return [
        replace(term, ways_back=frozenset(word for word in term.target.words if _leads(back.get(word), term)))
        for term in forward
    ]


def _leads(found: str | None, term: Term) -> bool:
    return term.two_way and found is not None and (found == term.listed or term.listed in found.split("/"))
