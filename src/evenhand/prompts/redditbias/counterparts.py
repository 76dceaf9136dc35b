"""The same phrase about the other group, and with the other attribute, by the published pairs; and what that leaves.

The pairs are replaced one after the other in the running text, wherever their letters stand.
"""

from collections.abc import Callable, Iterable

import polars as pl

from evenhand.prompts.redditbias.bias_types import Pair, Specification

MARK = "\0"
"""Stands in for T1 while T2 becomes T1; no cleaned comment holds it."""
RESIDUES = ("target_left", "target_before", "unchanged")


def counterpart_of(text: str, specification: Specification) -> str:
    """A text about the minoritised group as one about the dominant group, as published.

    Each pair of `target_pairs` in turn: T1 becomes T2 and, where the type is two-way and no exception holds for the
    text as it stands by then, T2 becomes T1. Letters count, not words: "blacksmith" becomes "whitesmith"; and spaces
    count: "jews." stays.
    Source: methods/redditbias_selfdebias_consistency.md, section 1.1, step 6.

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
    """A text with the attributes of A1 replaced by those of A2, in order, wherever their letters stand.

    Source: methods/redditbias_selfdebias_consistency.md, section 1.1, step 11.

    >>> from evenhand.prompts.redditbias import specification
    >>> with_attributes_swapped("a lazy dog", specification("race"))
    'a active dog'
    """
    for first, second in specification.attribute_pairs:
        text = text.replace(first, second)
    return text


def with_counterparts(
    phrases: pl.DataFrame,
    specification: Specification,
    rewrite: Callable[[str], str] | None = None,
) -> pl.DataFrame:
    """Phrases beside the same about the other group, and beside the same with the other attributes.

    phrases: comments_processed. rewrite: what makes the text about the other group, by `counterpart_of` if None (and
    `prompts.counterfactual` has an engine that keeps to words). Returns them with counterpart and attribute_swap; with
    initial_demo and replaced_demo (the pairs that stand in the phrase), initial_attr and replaced_attr likewise; and
    with what the counterpart leaves: target_left (letters of a word of T1 still stand in it), target_before (letters of
    T2 stood in the phrase already), unchanged.
    """
    texts = phrases["comments_processed"].to_list()
    rewrite = rewrite or (lambda text: counterpart_of(text, specification))
    counterparts = [rewrite(text) for text in texts]
    swaps = [with_attributes_swapped(text, specification) for text in texts]
    first, second = (tuple(pair[side].strip() for pair in specification.target_pairs) for side in (0, 1))
    same = [text == other for text, other in zip(texts, counterparts, strict=True)]
    return phrases.with_columns(
        *_standing("demo", texts, specification.target_pairs),
        pl.Series("counterpart", counterparts, dtype=pl.String),
        *_standing("attr", texts, specification.attribute_pairs),
        pl.Series("attribute_swap", swaps, dtype=pl.String),
        _holds("target_left", counterparts, first),
        _holds("target_before", texts, second),
        pl.Series("unchanged", same, dtype=pl.Boolean),
    )


def residues(pairs: pl.DataFrame) -> pl.DataFrame:
    """How many counterparts leave something, as a table of kind, count and of.

    pairs: as `with_counterparts` gives them.

    >>> residues(pl.DataFrame({"target_left": [True], "target_before": [False], "unchanged": [False]})).rows()
    [('target_left', 1, 1), ('target_before', 0, 1), ('unchanged', 0, 1)]
    """
    rows = [(kind, int(pairs[kind].sum()), pairs.height) for kind in RESIDUES]
    return pl.DataFrame(rows, schema={"kind": pl.String, "count": pl.Int64, "of": pl.Int64}, orient="row")


def _standing(kind: str, texts: Iterable[str], pairs: tuple[Pair, ...]) -> list[pl.Series]:
    """The pairs whose first words stand in each text, as two columns of lists."""
    found = [[pair for pair in pairs if pair[0] in text] for text in texts]
    return [
        pl.Series(f"{name}_{kind}", [[pair[side] for pair in row] for row in found], dtype=pl.List(pl.String))
        for side, name in enumerate(("initial", "replaced"))
    ]


def _holds(name: str, texts: Iterable[str], words: tuple[str, ...]) -> pl.Series:
    return pl.Series(name, [any(word in text for word in words) for text in texts], dtype=pl.Boolean)
