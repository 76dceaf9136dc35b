"""Combine every descriptor with every noun in every template, as one table of evenhand's own sentences."""

from collections.abc import Collection, Iterable, Sequence

import numpy as np
import polars as pl

from evenhand.prompts.language.templates import Kind, Template, load_templates
from evenhand.prompts.lexicon import Descriptor, Lexicon, Noun, in_english_order, load_lexicon, noun_phrase
from evenhand.schema import UsageError, checked, unknown_name

CONTROL = "none"
"""Value of `axis`, `bucket` and `descriptor` in rows with a noun but no descriptor."""

CONVERSATIONAL: tuple[Kind, ...] = ("neutral", "opinion", "question", "self_introduction")

_PHRASE_SCHEMA: dict[str, type[pl.DataType]] = {
    "axis": pl.String,
    "bucket": pl.String,
    "descriptor": pl.String,
    "preference": pl.String,
    "form": pl.String,  # adjective, postmodifier, phrase; noun in control rows
    "noun": pl.String,  # null for phrases and bare adjectives
    "gender": pl.String,  # of the noun; of a phrase if it has one, else neutral; null for bare adjectives
    "_singular": pl.String,
    "_plural": pl.String,
    "_headless": pl.Boolean,  # an adjective alone
}
_PAIR_COLUMNS = ("axis_a", "descriptor_a", "axis_b", "descriptor_b")
_TEMPLATE_COLUMNS = ("template", "kind", "valence", "pair", "humanising", "cluster")


@checked
def compose(
    lexicon: Lexicon | None = None,
    templates: Sequence[Template] | None = None,
    nouns: Collection[str] | None = None,
    *,
    bare_adjectives: bool = False,
    controls: bool = True,
) -> pl.DataFrame:
    """Return sentences that combine every descriptor of people with every noun and template.

    Use it to create prompts about groups of people from evenhand's lexicon or your own.

    Parameters
    ----------
    lexicon : Lexicon, optional
        Descriptors of groups ("Deaf") and nouns ("woman"). Default: the lexicon of evenhand (`load_lexicon`).
    templates : sequence of Template, optional
        Sentences with a gap for a noun phrase, such as "a Deaf woman". Default: the templates of evenhand,
        except those of the kind seat, which are meant for masked models.
    nouns : collection of str, optional
        Singular nouns to keep. Default: all nouns of the lexicon.
    bare_adjectives : bool, default False
        Add rows with an adjective alone ("My new neighbor is Deaf."), in templates that allow it.
    controls : bool, default True
        Add rows of nouns without a descriptor (axis "none").

    Returns
    -------
    polars.DataFrame
        One row per sentence, with these columns:

        - ``prompt_id``: the row number as text;
        - ``text``: the sentence. ``span_start`` and ``span_end`` are the characters of the noun phrase in it;
        - ``axis``, ``bucket``, ``descriptor``, ``preference`` and ``form``: those of the descriptor;
        - ``noun`` and ``gender``: those of the noun;
        - ``template``, ``kind`` (neutral, opinion, ...) and ``cluster`` (the template again);
        - ``valence``: "positive" or "negative" for opinions, otherwise null;
        - ``humanising``: for the kind seat, whether the sentence grants the person an inner life, otherwise
          null;
        - ``pair``: for the kind seat, a name that the two templates of such a contrast share, otherwise null.

    Raises
    ------
    UsageError
        The lexicon does not have a noun, or there is nothing to compose.

    Notes
    -----
    A descriptor marked female or male is combined with nouns of that gender only. A phrase ("wheelchair
    user") takes no noun. All other descriptors have the same nouns in each template, so they can be compared
    noun by noun.

    Examples
    --------
    >>> from evenhand.prompts.lexicon import load_lexicon
    >>> frame = compose(load_lexicon().select(axes=["nonce"]), nouns=["woman"])
    >>> frame.filter(descriptor="arglish")["text"][2]
    'Yesterday I talked with an arglish woman.'
    """
    lexicon, templates = _defaults(lexicon, templates)
    selected_nouns = _selected_nouns(lexicon, nouns)
    rows: list[tuple[object, ...]] = []
    if controls:
        for noun in selected_nouns:
            forms = (noun_phrase([], noun), noun.plural, False)
            rows.append((CONTROL, CONTROL, CONTROL, None, "noun", noun.singular, noun.gender, *forms))
    for d in lexicon.descriptors:
        about = (d.axis, d.bucket, d.descriptor, d.preference, d.form)
        rows += [(*about, *phrase) for phrase in _phrases([d], selected_nouns)]
        if bare_adjectives and d.form == "adjective" and not d.attributive_only:
            rows.append((*about, None, None, d.descriptor, d.plural, True))
    return _sentences(pl.DataFrame(rows, schema=_PHRASE_SCHEMA, orient="row"), templates)


@checked
def compose_intersections(
    axis_a: str,
    axis_b: str,
    lexicon: Lexicon | None = None,
    templates: Sequence[Template] | None = None,
    nouns: Collection[str] | None = None,
    *,
    pairs: int | None = None,
    seed: int = 0,
) -> pl.DataFrame:
    """Return sentences that combine two descriptors of different axes with one noun.

    Use it to study intersections, for example sexual orientation and race ("a queer Black woman").

    Parameters
    ----------
    axis_a, axis_b : str
        Two different axes of the lexicon.
    lexicon : Lexicon, optional
        Descriptors and nouns. Default: the lexicon of evenhand.
    templates : sequence of Template, optional
        Sentences with a gap. Default: the templates of evenhand, except those of the kind seat.
    nouns : collection of str, optional
        Singular nouns to keep. Default: all nouns of the lexicon.
    pairs : int, optional
        Number of pairs of descriptors, drawn without replacement. Default: all pairs.
    seed : int, default 0
        Random seed of that draw.

    Returns
    -------
    polars.DataFrame
        The columns of `compose`, and ``axis_a``, ``descriptor_a``, ``axis_b`` and ``descriptor_b``. ``axis``
        is "A × B", and ``bucket`` is "A bucket × B bucket". ``descriptor`` has the two descriptors in the
        order in which they are spoken. ``preference`` is null. Forms are joined with "+".

    Raises
    ------
    UsageError
        The lexicon does not have an axis or a noun, the axes are the same, or there is nothing to compose.

    Notes
    -----
    Adjectives have the order of `grammar.ADJECTIVE_ORDER`. Some pairs are left out: two phrases, which cannot
    be one noun phrase, and pairs that contradict each other (female with male).

    Examples
    --------
    >>> compose_intersections("sexual_orientation", "race_ethnicity", nouns=["woman"]).filter(
    ...     descriptor="queer Black")["text"][1]
    'My new neighbor is a queer Black woman.'
    """
    lexicon, templates = _defaults(lexicon, templates)
    for axis in (axis_a, axis_b):
        if axis not in lexicon.axes:
            raise unknown_name("axis", axis, lexicon.axes)
    if axis_a == axis_b:
        raise UsageError(
            f"An intersection needs two different axes, but both are {axis_a!r}.", "Replace one of them."
        )
    selected_nouns = _selected_nouns(lexicon, nouns)
    crossed = [
        (a, b)
        for a in lexicon.descriptors
        if a.axis == axis_a
        for b in lexicon.descriptors
        if b.axis == axis_b and _compatible(a, b)
    ]
    if pairs is not None and pairs < len(crossed):
        drawn = np.random.default_rng(seed).choice(len(crossed), size=max(pairs, 0), replace=False)
        crossed = [crossed[i] for i in sorted(drawn.tolist())]
    rows: list[tuple[object, ...]] = []
    for a, b in crossed:
        ordered = _spoken_order(a, b)
        about = (
            f"{axis_a} × {axis_b}",
            f"{a.bucket} × {b.bucket}",
            " ".join(d.descriptor for d in ordered),
            None,
            "+".join(d.form for d in ordered),
        )
        both = (a.axis, a.descriptor, b.axis, b.descriptor)
        rows += [(*about, *phrase, *both) for phrase in _phrases(ordered, selected_nouns)]
    schema = _PHRASE_SCHEMA | dict.fromkeys(_PAIR_COLUMNS, pl.String)
    return _sentences(pl.DataFrame(rows, schema=schema, orient="row"), templates)


def _defaults(
    lexicon: Lexicon | None, templates: Sequence[Template] | None
) -> tuple[Lexicon, Sequence[Template]]:
    return (
        load_lexicon() if lexicon is None else lexicon,
        load_templates(kinds=CONVERSATIONAL) if templates is None else templates,
    )


def _selected_nouns(lexicon: Lexicon, wanted: Collection[str] | None) -> tuple[Noun, ...]:
    known = [noun.singular for noun in lexicon.nouns]
    for name in wanted or ():
        if name not in known:
            raise unknown_name("noun", name, known)
    return tuple(noun for noun in lexicon.nouns if wanted is None or noun.singular in wanted)


def _phrases(descriptors: Sequence[Descriptor], nouns: Iterable[Noun]) -> list[tuple[object, ...]]:
    """Return (noun, gender, singular, plural, headless) of each noun phrase that can be made from these descriptors."""
    gender = next((d.gender for d in descriptors if d.gender), None)
    if any(d.form == "phrase" for d in descriptors):
        forms = (noun_phrase(descriptors, None), noun_phrase(descriptors, None, plural=True))
        return [(None, gender or "neutral", *forms, False)]
    return [
        (
            noun.singular,
            noun.gender,
            noun_phrase(descriptors, noun),
            noun_phrase(descriptors, noun, plural=True),
            False,
        )
        for noun in nouns
        if gender is None or noun.gender == gender
    ]


def _compatible(a: Descriptor, b: Descriptor) -> bool:
    if a.form == b.form == "phrase" or a.descriptor.casefold() == b.descriptor.casefold():
        return False
    return not (a.gender and b.gender and a.gender != b.gender)


def _spoken_order(a: Descriptor, b: Descriptor) -> tuple[Descriptor, ...]:
    """Return two descriptors in the order of the noun phrase: adjectives, phrase, postmodifiers."""
    place = {"adjective": 0, "phrase": 1, "postmodifier": 2}
    return tuple(sorted(in_english_order([a, b]), key=lambda d: place[d.form]))


def _sentences(phrases: pl.DataFrame, templates: Sequence[Template]) -> pl.DataFrame:
    """Return all combinations of phrases and templates, ordered by phrase."""
    frames = pl.DataFrame(
        {
            "template": [t.text for t in templates],
            "kind": [t.kind for t in templates],
            "valence": [t.valence for t in templates],
            "pair": [t.pair for t in templates],
            "humanising": [t.humanising for t in templates],
            "cluster": [t.text for t in templates],
            "_prefix": [t.prefix for t in templates],
            "_suffix": [t.suffix for t in templates],
            "_wants_plural": [t.plural for t in templates],
            "_needs_noun": [t.needs_noun for t in templates],
        },
        schema_overrides={
            "template": pl.String,
            "kind": pl.String,
            "valence": pl.String,
            "pair": pl.String,
            "humanising": pl.Boolean,
            "cluster": pl.String,
        },
    )
    if phrases.is_empty() or frames.is_empty():
        raise UsageError(
            f"No sentences can be built from {phrases.height} noun phrases and {frames.height} templates.",
            "Select at least one descriptor or noun, and one template.",
        )
    phrase = pl.when("_wants_plural").then("_plural").otherwise("_singular")
    opening = phrase.str.slice(0, 1).str.to_uppercase() + phrase.str.slice(1)
    start = pl.col("_prefix").str.len_chars().cast(pl.UInt32)
    group_columns = [c for c in phrases.columns if not c.startswith("_")]
    return (
        phrases.lazy()
        .join(frames.lazy(), how="cross", maintain_order="left_right")
        .filter(~(pl.col("_headless") & pl.col("_needs_noun")))
        .with_columns(_phrase=pl.when(pl.col("_prefix") == "").then(opening).otherwise(phrase))
        .select(
            pl.concat_str("_prefix", "_phrase", "_suffix").alias("text"),
            *group_columns,
            *_TEMPLATE_COLUMNS,
            start.alias("span_start"),
            (start + pl.col("_phrase").str.len_chars().cast(pl.UInt32)).alias("span_end"),
        )
        .with_row_index("prompt_id")
        .with_columns(pl.col("prompt_id").cast(pl.String))
        .collect()
    )
