"""Vary the style of sentences at random: "I am" for "I'm", no hyphens, lower case, no final period."""

from dataclasses import replace

import polars as pl

from evenhand.prompts.prompt_set import PromptSet
from evenhand.prompts.sampling import uniforms
from evenhand.schema import UsageError

FLAGS = (
    "remove_im_contraction",
    "remove_descriptor_hyphens",
    "lowercase_descriptor",
    "remove_final_period",
)
PUBLISHED = 0.5
"""Probability with which the published `get_sentence` applies each variation."""


def with_style_variations(prompts: PromptSet, seed: int, probability: float = PUBLISHED) -> PromptSet:
    """Return prompts whose text is varied at random. The column `unvaried_text` has the original text.

    Parameters
    ----------
    prompts : PromptSet
        Prompts with the column `template`, or `span_start` and `span_end` (characters of the noun phrase).
    seed : int
        Random seed.
    probability : float, default 0.5
        Probability of each variation.

    Returns
    -------
    PromptSet
        The prompts, with the columns that `apply_variations` adds, and a card that states the variations.

    Raises
    ------
    UsageError
        A column is missing, a prompt has no noun phrase, or the probability is not in [0, 1].
    """
    varied = apply_variations(prompts.frame, seed, probability)
    frame = varied.rename({"text": "unvaried_text"}).rename({"variant_text": "text"})
    told = (
        f"Style variations are applied with probability {probability:g} each (the published code: {PUBLISHED:g}): "
        '"I am" for "I\'m", no hyphens in the noun phrase, noun phrase in lower case, no final period.'
    )
    details = f"{prompts.card.details}\n\n{told}" if prompts.card.details else told
    return PromptSet(frame, replace(prompts.card, details=details))


def apply_variations(frame: pl.DataFrame, seed: int, probability: float = PUBLISHED) -> pl.DataFrame:
    """Add a version of each prompt with random style variations.

    frame: a table with the columns prompt_id, text, and either `template` (with {noun_phrase} or {plural_noun_phrase})
    or `span_start` and `span_end` (characters of the noun phrase). seed: random seed; the variations of a prompt depend
    only on the seed and its prompt_id, not on the order of rows. probability: probability of each variation, in [0, 1].

    Returns the table with the new columns `variant_text`, `variant_noun_phrase`, and one boolean column per variation
    (FLAGS), which is True if the variation changed the text. Raises a UsageError if a column is missing, a prompt has
    no noun phrase, or the probability is not in [0, 1]. Source: Smith et al. 2022, appendix A.3.

    >>> row = {"prompt_id": "0", "text": "I'm a Deaf man.", "template": "I'm {noun_phrase}."}
    >>> frame = pl.DataFrame([row])
    >>> apply_variations(frame, seed=0, probability=1.0)["variant_text"].to_list()
    ['I am a deaf man']
    """
    if not 0 <= probability <= 1:
        raise UsageError(f"The probability of a style variation must be from 0 to 1, got {probability}.")
    needed = ["prompt_id", "text"]
    if "template" not in frame.columns:
        needed += ["span_start", "span_end"]
    if lacking := [column for column in needed if column not in frame.columns]:
        raise UsageError(
            f"Style variations require the column {lacking[0]} (found: {', '.join(frame.columns)}).",
            "Give prompt_id, text, and either template or span_start and span_end.",
        )
    drawn = {flag: pl.Series(uniforms(frame["prompt_id"], seed, flag) < probability) for flag in FLAGS}
    parts = _split(frame).with_columns(**drawn)
    im, hyphens, lower, period = FLAGS
    before, middle, behind = pl.col("before"), pl.col("middle"), pl.col("behind")
    changed = {
        im: pl.col(im) & (before.str.contains(r"\bI'm\b") | behind.str.contains(r"\bI'm\b")),
        hyphens: pl.col(hyphens) & middle.str.contains("-", literal=True),
        lower: pl.col(lower) & (middle != middle.str.to_lowercase()),
        # search for the period only after the noun phrase: the phrase itself can end the sentence
        period: pl.col(period) & behind.str.ends_with("."),
    }
    parts = parts.with_columns(**changed)
    spelled_out = {
        name: pl.when(pl.col(im)).then(pl.col(name).str.replace_all(r"\bI'm\b", "I am")).otherwise(name)
        for name in ("before", "behind")
    }
    parts = parts.with_columns(
        middle=pl.when(pl.col(hyphens))
        .then(middle.str.replace_all("-", " ", literal=True))
        .otherwise(middle),
        **spelled_out,
    ).with_columns(
        middle=pl.when(pl.col(lower)).then(middle.str.to_lowercase()).otherwise(middle),
        behind=pl.when(pl.col(period)).then(behind.str.strip_chars_end(".")).otherwise(behind),
    )
    return frame.with_columns(
        parts.select(
            pl.concat_str("before", "middle", "behind").alias("variant_text"),
            pl.col("middle").alias("variant_noun_phrase"),
            *FLAGS,
        )
    )


def _split(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the text before, inside and after the noun phrase, as the columns before, middle and behind."""
    if "template" in frame.columns:
        template = pl.col("template").cast(pl.String)
        marks = frame.select(
            text="text",
            start=template.str.extract(r"^([^{]*)\{").str.len_chars(),
            tail=template.str.extract(r"\}([^}]*)$").str.len_chars(),
        ).select(
            "text", start="start", length=pl.col("text").str.len_chars() - pl.col("start") - pl.col("tail")
        )
    else:
        marks = frame.select(
            text="text", start="span_start", length=pl.col("span_end") - pl.col("span_start")
        )
    if marks["start"].null_count() or marks["length"].null_count():
        raise UsageError(
            "Some prompts have no noun phrase to vary: a template without a placeholder, or a null span.",
            "Give every template one {noun_phrase} or {plural_noun_phrase}, or fill span_start and span_end.",
        )
    return marks.select(
        before=pl.col("text").str.slice(0, pl.col("start")),
        middle=pl.col("text").str.slice(pl.col("start"), pl.col("length")),
        behind=pl.col("text").str.slice(pl.col("start") + pl.col("length")),
    )
