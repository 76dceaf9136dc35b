"""Rewrite phrases for the other group or with the other attribute, and find words that were not replaced.

The published rules replace pairs one after the other, wherever their letters occur. The corrected rules
replace whole words with the engine of `prompts.counterfactual`.
"""

import re
from collections.abc import Callable, Iterable

import polars as pl

from evenhand.prompts.counterfactual import Change, Counterfactuals
from evenhand.prompts.redditbias.bias_types import Pair, Specification

MARK = "\0"
"""Placeholder for T1 while T2 becomes T1; no cleaned comment contains it."""
RESIDUES = ("target_left", "target_before", "unchanged", "attribute_unchanged")
Rewrite = Callable[[str], str]
SEVERAL = re.compile(r"[\s-]")


def make_counterpart(text: str, specification: Specification) -> str:
    """Return a text about the minoritised group as a text about the dominant group, by the published rules.

    The pairs of `target_pairs` are replaced one after the other: T1 becomes T2. For a two-way type, T2 also becomes
    T1, unless the text contains a string of the pair's exception at that moment. Matches can be parts of words, so
    "blacksmith" becomes "whitesmith". Spaces in a pair must match, so the pair "jews " does not change "jews.".
    Source: Barikeri et al. 2021, section 2, and its published code.

    >>> from evenhand.prompts.redditbias import specification
    >>> make_counterpart("black tea and white tea", specification("race"))
    'white tea and black tea'
    """
    one_way = {exception.pair: exception.where for exception in specification.exceptions}
    for pair in specification.target_pairs:
        first, second = pair
        if specification.two_way and not any(words in text for words in one_way.get(pair, ())):
            text = text.replace(first, MARK).replace(second, first).replace(MARK, second)
        else:
            text = text.replace(first, second)
    return text


def with_attributes_swapped(text: str, specification: Specification) -> str:
    """Return a text with attributes of A1 replaced by those of A2, one pair after the other, also inside words.

    Source: Barikeri et al. 2021, section 2, and its published code.

    >>> from evenhand.prompts.redditbias import specification
    >>> with_attributes_swapped("a lazy dog", specification("race"))
    'a active dog'
    """
    for first, second in specification.attribute_pairs:
        text = text.replace(first, second)
    return text


def by_words(
    pairs: Iterable[Pair], *, two_way: bool = False, axis: tuple[str, str, str] | None = None
) -> Rewrite:
    """Return a rewriter that replaces whole words and their plurals, all at once.

    A word that a replacement created is not replaced again. `pairs` are (T1, T2) or (A1, A2); spaces around them are
    ignored. Terms of several words are replaced before single words. If several pairs have the same first word, or its
    singular, the first pair is used. With `two_way`, T2 also becomes T1. `axis` is the name of an axis of
    `prompts.counterfactual`, followed by two of its groups. If given, the pairs are ignored, and words of the first
    group become words of the second.

    >>> by_words([("jews ", "christians "), ("jew ", "christian ")], two_way=True)("some christians, two jews.")
    'some jews, two christians.'
    """
    if axis is not None:
        name, source, target = axis
        whole = Counterfactuals(name, source=source, target=target)
        return lambda text: whole.of(text).text
    stripped = [(first.strip(), second.strip()) for first, second in pairs]
    directions = [stripped, [(second, first) for first, second in stripped]][: 2 if two_way else 1]
    engines = [
        Counterfactuals.from_pairs(part)
        for several in (True, False)
        for listed in map(_remove_repeated, directions)
        if (part := [pair for pair in listed if several == bool(SEVERAL.search(pair[0]))])
    ]

    def rewrite(text: str) -> str:
        changes: list[Change] = []
        for engine in engines:
            changes += [
                new for new in engine.of(text).changes if not any(_overlap(new, old) for old in changes)
            ]
        pieces, done = [], 0
        for change in sorted(changes, key=lambda change: change.start):
            pieces += [text[done : change.start], change.after]
            done = change.end
        return "".join([*pieces, text[done:]])

    return rewrite


def with_counterparts(
    phrases: pl.DataFrame, specification: Specification, *, as_published: bool = False
) -> pl.DataFrame:
    """Return phrases with their counterparts about the other group and with the other attributes.

    `phrases` has the column comments_processed. With `as_published`, `make_counterpart` and `with_attributes_swapped`
    rewrite the phrases. Otherwise `by_words` does, with the axis of the specification if it has one. New columns:

    - counterpart: the phrase about the other group;
    - attribute_swap: the phrase with the other attributes;
    - initial_demo and replaced_demo: T1 and T2 of the pairs whose T1 occurs in the phrase, also inside words;
    - initial_attr and replaced_attr: A1 and A2 of the pairs whose A1 occurs in the phrase;
    - target_left: whether the counterpart still contains a term of T1, also inside a word;
    - target_before: whether the phrase already contained a term of T2;
    - unchanged and attribute_unchanged: whether counterpart and attribute_swap equal the phrase.
    """
    texts = phrases["comments_processed"].to_list()
    if as_published:
        counterparts = [make_counterpart(text, specification) for text in texts]
        swaps = [with_attributes_swapped(text, specification) for text in texts]
    else:
        axis = (specification.axis, *specification.groups) if specification.axis else None
        rewrite = by_words(specification.target_pairs, two_way=specification.two_way, axis=axis)
        swap = by_words(specification.attribute_pairs)
        counterparts, swaps = [rewrite(text) for text in texts], [swap(text) for text in texts]
    first, second = (tuple(pair[side].strip() for pair in specification.target_pairs) for side in (0, 1))
    return phrases.with_columns(
        *_standing("demo", texts, specification.target_pairs),
        pl.Series("counterpart", counterparts, dtype=pl.String),
        *_standing("attr", texts, specification.attribute_pairs),
        pl.Series("attribute_swap", swaps, dtype=pl.String),
        _holds("target_left", counterparts, first),
        _holds("target_before", texts, second),
        _equal("unchanged", texts, counterparts),
        _equal("attribute_unchanged", texts, swaps),
    )


def residues(phrases: pl.DataFrame, specification: Specification) -> pl.DataFrame:
    """Return how many counterparts have a defect of each kind, for the published and for the corrected rules.

    `phrases` has the column comments_processed. The result has the columns kind (one of the boolean columns of
    `with_counterparts`), as_published and by_words (number of phrases), and of (number of all phrases).
    """
    both = [with_counterparts(phrases, specification, as_published=published) for published in (True, False)]
    rows = [(kind, *(int(pairs[kind].sum()) for pairs in both), phrases.height) for kind in RESIDUES]
    names = ("as_published", "by_words", "of")
    return pl.DataFrame(rows, schema={"kind": pl.String, **dict.fromkeys(names, pl.Int64)}, orient="row")


def _overlap(one: Change, other: Change) -> bool:
    return one.start < other.end and other.start < one.end


def _remove_repeated(pairs: Iterable[Pair]) -> list[Pair]:
    """Return the pairs without those whose first word or its singular is the first word of an earlier pair.

    A pair with a singular also removes an earlier pair with its plural in -s.
    """
    kept: dict[str, str] = {}
    for first, second in pairs:
        if first not in kept and first.removesuffix("s") not in kept:
            kept.pop(f"{first}s", None)
            kept[first] = second
    return list(kept.items())


def _standing(kind: str, texts: Iterable[str], pairs: tuple[Pair, ...]) -> list[pl.Series]:
    """Return, for each text, the first and the second words of the pairs whose first word occurs in the text.

    The result is two columns of lists: initial_<kind> and replaced_<kind>.
    """
    found = [[pair for pair in pairs if pair[0] in text] for text in texts]
    return [
        pl.Series(f"{name}_{kind}", [[pair[side] for pair in row] for row in found], dtype=pl.List(pl.String))
        for side, name in enumerate(("initial", "replaced"))
    ]


def _holds(name: str, texts: Iterable[str], words: tuple[str, ...]) -> pl.Series:
    return pl.Series(name, [any(word in text for word in words) for text in texts], dtype=pl.Boolean)


def _equal(name: str, texts: Iterable[str], others: Iterable[str]) -> pl.Series:
    return pl.Series(name, [a == b for a, b in zip(texts, others, strict=True)], dtype=pl.Boolean)
