"""Make the same phrase about the other group, or with the other attribute, and find words that were missed.

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


def counterpart_of(text: str, specification: Specification) -> str:
    """Return a text about the minoritised group as a text about the dominant group, by the published rules.

    Each pair of `target_pairs` is replaced in turn. T1 becomes T2. If the type is two-way and no exception
    holds for the text at that moment, T2 becomes T1. Letters count, not words: "blacksmith" becomes
    "whitesmith". Spaces count: "jews." stays. Source: Barikeri et al. 2021, section 2, and its published
    code.

    >>> from evenhand.prompts.redditbias import specification
    >>> counterpart_of("black tea and white tea", specification("race"))
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
    """Return a text with attributes of A1 replaced by those of A2, in order, wherever their letters occur.

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

    A word that a replacement created is not replaced again. `pairs` are (T1, T2) or (A1, A2); spaces around
    them are ignored. Pairs of several words come before single words, and the first pair of a word, or of its
    singular, counts. With `two_way`, T2 also becomes T1. `axis` is an axis of `prompts.counterfactual` and
    two groups. It replaces the pairs: words of the first group become those of the second.

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
        for listed in map(_once, directions)
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

    `phrases` has comments_processed. With `as_published`, the rules are `counterpart_of` and
    `with_attributes_swapped`. Otherwise they are `by_words`, with the words of `specification.axis` if it has
    one. New columns:

    - counterpart and attribute_swap;
    - initial_demo and replaced_demo: the pairs whose letters occur in the phrase; initial_attr and
      replaced_attr likewise;
    - target_left: whether letters of a word of T1 are still in the counterpart;
    - target_before: whether letters of T2 were already in the phrase;
    - unchanged and attribute_unchanged: whether the counterpart or the swap equals the phrase.
    """
    texts = phrases["comments_processed"].to_list()
    if as_published:
        counterparts = [counterpart_of(text, specification) for text in texts]
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
    """Return how many counterparts have a residue of each kind (see `with_counterparts`), by both rules.

    The columns are kind, as_published, by_words and of. `phrases` has comments_processed.
    """
    both = [with_counterparts(phrases, specification, as_published=published) for published in (True, False)]
    rows = [(kind, *(int(pairs[kind].sum()) for pairs in both), phrases.height) for kind in RESIDUES]
    names = ("as_published", "by_words", "of")
    return pl.DataFrame(rows, schema={"kind": pl.String, **dict.fromkeys(names, pl.Int64)}, orient="row")


def _overlap(one: Change, other: Change) -> bool:
    return one.start < other.end and other.start < one.end


def _once(pairs: Iterable[Pair]) -> list[Pair]:
    """Return the pairs without those whose first word, or its singular, has occurred before."""
    kept: dict[str, str] = {}
    for first, second in pairs:
        if first not in kept and first.removesuffix("s") not in kept:
            kept.pop(f"{first}s", None)
            kept[first] = second
    return list(kept.items())


def _standing(kind: str, texts: Iterable[str], pairs: tuple[Pair, ...]) -> list[pl.Series]:
    """Return the pairs whose first words occur in each text, as two columns of lists."""
    found = [[pair for pair in pairs if pair[0] in text] for text in texts]
    return [
        pl.Series(f"{name}_{kind}", [[pair[side] for pair in row] for row in found], dtype=pl.List(pl.String))
        for side, name in enumerate(("initial", "replaced"))
    ]


def _holds(name: str, texts: Iterable[str], words: tuple[str, ...]) -> pl.Series:
    return pl.Series(name, [any(word in text for word in words) for text in texts], dtype=pl.Boolean)


def _equal(name: str, texts: Iterable[str], others: Iterable[str]) -> pl.Series:
    return pl.Series(name, [a == b for a, b in zip(texts, others, strict=True)], dtype=pl.Boolean)
