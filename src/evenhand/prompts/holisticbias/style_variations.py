"""Intermittent style variations of a sentence: "I am" for "I'm", no hyphens, lower case, no final period."""

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
"""With what probability the published `get_sentence` applies each variation."""


def with_style_variations(prompts: PromptSet, seed: int, probability: float = PUBLISHED) -> PromptSet:
    """Return prompts with varied wording. The original text is in `unvaried_text`.

    Parameters and errors are those of `apply_variations`.
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
    """Add a varied wording of each prompt, each variation drawn with a given probability.

    frame: has prompt_id, text, and either `template` (with its {noun_phrase} or {plural_noun_phrase}) or
    `span_start` and `span_end` (characters of the noun phrase). seed: any integer; draws depend on it and
    the prompt_id only, never on order. probability: of each variation, in [0, 1]. Returns the frame with
    `variant_text`, `variant_noun_phrase` and the four flags, true where that variation changed something.
    Raises UsageError for missing columns or a probability outside [0, 1].
    Source: Smith et al. 2022, appendix A.3.

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
        # the noun phrase may itself end the sentence, so the period is looked for behind it only
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
    """The text before, in and behind the noun phrase."""
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
