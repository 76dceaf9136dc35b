"""Apply a set of words and their counterparts to any number of texts."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from evenhand.prompts.counterfactual import groups, uses, vocabulary
from evenhand.prompts.counterfactual.changes import Change, Counterfactual
from evenhand.prompts.counterfactual.place import (
    APOSTROPHE,
    HYPHEN,
    SPACE,
    WORDS,
    Occurrence,
    Subjects,
    subjects,
)
from evenhand.prompts.counterfactual.pronouns import her_or_hers, his_or_him
from evenhand.prompts.counterfactual.protecting import protected_spans
from evenhand.prompts.counterfactual.vocabulary import Term
from evenhand.prompts.lexicon import article
from evenhand.schema import UsageError, checked

GROUP_RULES = ("adjective", "noun", "religion")
BESIDE = re.compile(rf"{SPACE.pattern}|{HYPHEN.pattern}| ?[,/(] ?")
FILLING = frozenset(("a", "an", "the", "few", "some", "many", "other", "several", "mostly", "mainly"))
"""Words that may precede the second of two groups: "mostly Russians and a few Austrians"."""
BARE_APOSTROPHE = re.compile(r" ?['’](?=[ <])")


class FoundChange(NamedTuple):
    """A change, by the pieces of a text."""

    first: int
    last: int
    after: str
    """The replacement."""
    rule: str
    comes_back: bool
    tail: int = 0
    """Number of characters after the last piece that are also replaced: the apostrophe of a genitive."""


class Counterfactuals:
    """A rewriter of texts from one group of people to another.

    Use it to test whether a model treats two versions of a text differently, or to augment training data.
    Only the words that refer to the group change. For a table of texts, use `counterfactuals`.

    Parameters
    ----------
    axis : str
        The way in which people are grouped: "gender", "name_origin", or an axis of the lexicon ("religion",
        "nationality", "race_ethnicity", "age", ...).
    target : str
        Group that the new text is about. For gender: "female" or "male". For name_origin: an origin of names
        ("arabic"). For an axis of the lexicon: a descriptor ("Muslim") or the name of a bucket of descriptors
        ("asian_religions").
    source : str or sequence of str, optional
        Group or groups whose words are replaced. Default: the other gender, all other origins, or the
        descriptors of all other buckets.
    both : bool, default False
        Replace in both directions, so that texts are mirrored. Requires one source, which is optional for
        gender.
    names : bool, default True
        On the axis gender, also replace first names (of a list by evenhand).
    quotes : bool, default False
        Also change text in quotation marks.

    Raises
    ------
    UsageError
        The axis or a group is unknown, source and target are the same, or no word can be exchanged between
        them.

    Notes
    -----
    Case and number are kept, and "a" and "an" are adapted to the next word. Code, URLs, {{...}}, titles of
    works and text in quotation marks are left as they are. The same text always gives the same
    counterfactual.

    Examples
    --------
    >>> engine = Counterfactuals("gender", source="female", target="male")
    >>> made = engine.of("She left her hat on her aunt's chair; nobody told her.")
    >>> made.text
    "He left his hat on his uncle's chair; nobody told him."
    >>> print(made.changes[3])
    24-28 aunt > uncle (kinship)
    """

    @checked
    def __init__(
        self,
        axis: str,
        *,
        target: str,
        source: str | Sequence[str] | None = None,
        both: bool = False,
        names: bool = True,
        quotes: bool = False,
    ):
        """Create the rewriter; the parameters are described in the class."""
        sources = [source] if isinstance(source, str) else list(source or ())
        if both and axis == "gender" and not sources:
            sources = [group for group in vocabulary.GENDERS if group != target]
        if both and len(sources) != 1:
            raise UsageError(
                f"{axis}: swapping in both directions requires one source and one target.",
                "Give the source: --from GROUP",
            )
        forward = vocabulary.terms(axis, sources, target, names)
        if len(sources) == 1 or axis == "gender":
            other = sources[0] if sources else next(g for g in vocabulary.GENDERS if g != target)
            backward = vocabulary.terms(axis, [target], other, names)
        else:
            backward = []
        self._begin(forward, backward, both, quotes, f"{axis}: {', '.join(sources) or 'any'} > {target}")

    @classmethod
    @checked
    def from_pairs(
        cls, pairs: Iterable[tuple[str, str]], *, both: bool = False, quotes: bool = False
    ) -> "Counterfactuals":
        """Create a rewriter from your own pairs of words.

        Pairs match whole words (or several words), with their plurals. Case is kept.

        Parameters
        ----------
        pairs : iterable of tuple of str
            A word and its replacement.
        both : bool, default False
            Replace in both directions.
        quotes : bool, default False
            Also change text in quotation marks. Code and URLs are always left as they are.

        Returns
        -------
        Counterfactuals
            The rewriter.

        Raises
        ------
        UsageError
            A word is empty or has two replacements, or there are no pairs.

        Examples
        --------
        >>> engine = Counterfactuals.from_pairs([("nurse", "engineer")])
        >>> engine.of("A nurse and two Nurses").text
        'An engineer and two Engineers'
        """
        engine = cls.__new__(cls)
        listed = [(first, second) for first, second in pairs]
        backward = vocabulary.pair_terms((second, first) for first, second in listed) if both else []
        engine._begin(vocabulary.pair_terms(listed), backward, both, quotes, "pairs")
        return engine

    def _begin(self, forward: list[Term], backward: list[Term], both: bool, quotes: bool, name: str) -> None:
        self.name = f"{name}{' and back' if both else ''}"
        self.quotes = quotes
        terms = vocabulary.with_ways_back(forward, backward)
        if both:
            known = {term.listed.lower() for term in terms}
            mirrored = vocabulary.with_ways_back(backward, forward)
            terms += [term for term in mirrored if term.listed.lower() not in known]
        self._table = _table(terms)

    def __repr__(self) -> str:
        return f"Counterfactuals({self.name})"

    def of(self, text: str) -> Counterfactual:
        """Return the counterfactual of a text: the text about the target group, with a list of the changes.

        `text` of the result is the new text (equal to the old one if nothing changes), `original` the old one,
        and `changes` the replaced words with their positions in characters.
        """
        pieces = WORDS.split(text)
        table = self._table
        if table.keys().isdisjoint(pieces):
            return Counterfactual(text, text, ())
        hits = [at for at in range(1, len(pieces), 2) if pieces[at] in table]
        starts = [0, *accumulate(map(len, pieces))]
        spans = protected_spans(text, not self.quotes)
        found: list[FoundChange] = []
        taken, span, about = 0, 0, subjects(pieces)
        for at in hits:
            while span < len(spans) and spans[span][1] <= starts[at]:
                span += 1
            if at <= taken or (span < len(spans) and spans[span][0] <= starts[at]):
                continue
            for term, words, key in table[pieces[at]]:  # of most words first
                place = _place(pieces, at, term, words, key, about)
                if place is None or place.first <= taken:
                    continue
                target = term.use(place, term.target)
                if target is None:
                    continue
                after = _in_case(place, term, target)
                if after == place.surface:
                    continue
                comes_back = _comes_back(place, term, target)
                if changed_article := _article(place, term.listed, target):
                    before = place.first - 2
                    found.append(FoundChange(before, before, changed_article, "article", comes_back))
                genitive, tail = _genitive(place, after, term.rule) if term.rule != "pronoun" else (after, 0)
                comes_back = comes_back and not (tail and term.rule == "name")
                found.append(FoundChange(place.first, place.last, genitive, term.rule, comes_back, tail))
                taken = place.last
                break
        return _assemble(text, starts, _without_doubles(pieces, found))

    def of_all(self, texts: Iterable[str]) -> list[Counterfactual]:
        """Return the counterfactual of each text, in order (see `of`)."""
        return [self.of(text) for text in texts]


def _table(terms: Iterable[Term]) -> dict[str, tuple[tuple[Term, tuple[str, ...], int], ...]]:
    """Return the terms by the word (in each case) under which they are looked up: the longest of their words.

    If several terms begin alike, the one with most words comes first; with equal words, the one that is listed first.
    """
    table: dict[str, list[tuple[Term, tuple[str, ...], int]]] = defaultdict(list)
    seen: set[tuple[tuple[str, ...], object]] = set()
    for term in terms:
        words = tuple(word.lower() for word in term.words)
        identity = (
            words,
            getattr(term.use, "__name__", getattr(getattr(term.use, "func", None), "__name__", "")),
        )
        if identity in seen:
            continue
        seen.add(identity)
        key = max(range(len(words)), key=lambda at: len(words[at]))
        word = term.words[key]
        cases = {word, word.upper(), word[0].upper() + word[1:]} | (
            {word.lower()} if term.any_case else set()
        )
        for case in cases:
            table[case].append((term, words, key))
    return {word: tuple(sorted(found, key=lambda entry: -len(entry[1]))) for word, found in table.items()}


def _place(
    pieces: list[str], at: int, term: Term, words: tuple[str, ...], key: int, about: Subjects
) -> Occurrence | None:
    """Return the place at which all words of a term surround its key, or None."""
    if len(words) == 1:
        return Occurrence(pieces, at, at, about)
    first, last = at - 2 * key, at + 2 * (len(words) - 1 - key)
    if first < 1 or last >= len(pieces):
        return None
    if any(pieces[first + 2 * number].lower() != word for number, word in enumerate(words)):
        return None
    contracted = "'" in term.listed
    for gap in pieces[first + 1 : last : 2]:
        if not (SPACE.fullmatch(gap) or HYPHEN.fullmatch(gap) or (contracted and APOSTROPHE.fullmatch(gap))):
            return None
    return Occurrence(pieces, first, last, about)


def _in_case(place: Occurrence, term: Term, target: str) -> str:
    """Return the counterpart with the case, and the spaces or hyphens, of the term that it replaces."""
    if place.last > place.first:
        words = re.split(r" |(?<=\w)-(?=\w)", target)
        if 2 * (len(words) - 1) == place.last - place.first:
            gaps = place.pieces[place.first + 1 : place.last : 2]
            target = words[0] + "".join(gap + word for gap, word in zip(gaps, words[1:], strict=True))
    surface, listed = place.surface, term.listed
    if place.case == "upper" and not listed.isupper():
        return target.upper()
    if place.case == "lower":
        return target.lower() if listed[0].isupper() and term.own_case else target
    if listed[0].islower() or place.opens:
        return target[0].upper() + target[1:]
    return target if surface[0].isupper() else target.lower()


def _comes_back(place: Occurrence, term: Term, target: str) -> bool:
    """Return whether the rules of the other direction would restore the original word here."""
    if target not in term.ways_back or (
        place.case == "lower" and term.listed[0].isupper() and (target[0].islower() or not term.own_case)
    ):
        return False
    if place.word_before() in ("a", "an") and article(term.listed) != place.word_before():
        return False  # the other direction would also change the article
    if target in groups.FIRST_NAMES and groups.is_first_name(place):
        return False
    if term.use is not uses.pronoun:
        return True
    if target == "her":
        return "ships" not in place.about and his_or_him(place) == term.listed
    if target == "his":
        return her_or_hers(place) == term.listed
    return target != "she" or "ships" not in place.about


def _article(place: Occurrence, listed: str, target: str) -> str | None:
    """Return the article that the counterpart needs, or None if it does not change.

    The listed spelling of the word decides, because words in capitals ("AN UNCLE") would be read as initials.
    """
    word = place.word_before()
    if word not in ("a", "an") or article(listed) != word:
        return None
    needed = article(target)
    if needed == word:
        return None
    present = place.pieces[place.first - 2]
    if present[0].islower():
        return needed
    return needed.upper() if present.isupper() and place.case == "upper" else needed.capitalize()


def _genitive(place: Occurrence, after: str, rule: str) -> tuple[str, int]:
    """Return a counterpart with its genitive ending, and the number of following characters that it replaces.

    "Charles' son", "Catherine's son"; "the gentlemen's room", "the ladies' room".
    """
    one, other = place.surface.lower().endswith("s"), after.lower().endswith("s")
    if one and not other and (bare := BARE_APOSTROPHE.match(place.gap_after)):
        return after + bare[0] + ("S" if place.case == "upper" else "s"), len(bare[0])
    several = other and not one and rule not in ("name", "pair") and not after.lower().endswith("ss")
    if several and place.possessive:
        return after + place.gap_after, len(place.gap_after) + 1
    return after, 0


def _without_doubles(pieces: list[str], found: list[FoundChange]) -> list[FoundChange]:
    """Remove changes that would repeat a group next to itself: "Jewish Christians", "Muslims and Jews".

    This includes places where one of the two already is the target.
    """
    made = {one.first: one.after for one in found if one.rule in GROUP_RULES}
    if not made:
        return found
    doubled: set[int] = set()
    for number, one in enumerate(found):
        if one.rule not in GROUP_RULES:
            continue
        stem, own = _stem(one.after), _stem(pieces[one.last])
        if any(
            at and stem == _stem(made.get(at, pieces[at])) and own != _stem(pieces[at])
            for at in (_find_joined_word(pieces, one.first, -2), _find_joined_word(pieces, one.last, 2))
        ):
            doubled.add(number)
    articles = {number - 1 for number in doubled if number and found[number - 1].rule == "article"}
    adjoined = {number for number in articles if found[number].first + 2 == found[number + 1].first}
    return [one for number, one in enumerate(found) if number not in doubled | adjoined]


def _find_joined_word(pieces: list[str], at: int, step: int) -> int:
    """Return the position of the word to which a group is joined (space, comma, bracket, "and
    a few"); 0 if there is none.
    """
    gaps, joint = "", False
    for _ in range(4):
        gap, at = at + step // 2, at + step
        if not 0 < at < len(pieces) or not BESIDE.fullmatch(pieces[gap]):
            return 0
        gaps += pieces[gap]
        if pieces[at] in ("and", "or", "nor"):
            joint = True
        elif pieces[at] == "born" and step > 0:
            pass  # in "Indian-born American", one of the two may change
        elif pieces[at] in FILLING:
            if gaps.strip() == ",":
                return 0  # in "the British, the French navy", they are separate
        else:
            return at if joint or "(" in gaps or pieces[at - step] not in FILLING else 0
    return 0


def _stem(word: str) -> str:
    """Return the common stem of related words: "Christian" and "Christians"; "Jew", "Jews" and "Jewish"."""
    return re.sub(r"(?: people| person|s|ish)$", "", word.lower())


def _assemble(text: str, starts: list[int], found: list[FoundChange]) -> Counterfactual:
    made, changes, done, shift = [], [], 0, 0
    for first, last, after, rule, two_way, tail in found:
        start, end = starts[first], starts[last + 1] + tail
        made += [text[done:start], after]
        new_start = start + shift
        changes.append(
            Change(start, end, new_start, new_start + len(after), text[start:end], after, rule, two_way)
        )
        shift += len(after) - (end - start)
        done = end
    return Counterfactual(text, "".join([*made, text[done:]]), tuple(changes))
