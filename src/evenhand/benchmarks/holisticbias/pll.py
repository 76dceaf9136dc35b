"""holisticbias-pll: the published HolisticBias phrases in masked models, by pseudo-log-likelihood."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from evenhand.benchmarks.analysis import phrases_benchmark, seat_templates, with_axis_size
from evenhand.prompts import PromptSet
from evenhand.prompts.holisticbias import published_holisticbias
from evenhand.schema import Card


def _build(folders: Mapping[str, Path]) -> PromptSet:
    published = published_holisticbias(folders.get("holisticbias")).likelihood_subset()
    phrases = published.noun_phrases().select(
        "axis", "bucket", "descriptor", "noun", "noun_phrase", "plural_noun_phrase", gender="noun_gender"
    )
    templates = pl.DataFrame(
        {
            "template": one.text,
            "prefix": one.prefix,
            "suffix": one.suffix,
            "plural": one.plural,
            "humanising": one.humanising,
            "frame": one.pair or one.text,
        }
        for one in seat_templates()
    )
    phrase = pl.when("plural").then("plural_noun_phrase").otherwise("noun_phrase")
    opening = phrase.str.slice(0, 1).str.to_uppercase() + phrase.str.slice(1)
    start = pl.col("prefix").str.len_chars().cast(pl.UInt32)
    frame = (
        phrases.join(templates, how="cross", maintain_order="left_right")
        .with_columns(phrase=pl.when(pl.col("prefix") == "").then(opening).otherwise(phrase))
        .select(
            pl.int_range(pl.len()).cast(pl.String).alias("prompt_id"),
            pl.concat_str("prefix", "phrase", "suffix").alias("text"),
            *["axis", "bucket", "descriptor", "noun", "gender", "template", "humanising", "frame"],
            start.alias("span_start"),
            (start + pl.col("phrase").str.len_chars().cast(pl.UInt32)).alias("span_end"),
        )
    )
    card = Card(
        name="holisticbias-phrases",
        summary="HolisticBias v1.1 noun phrases (with corrected articles) in our neutral and humanising "
        "sentences.",
        licence="Phrases CC BY-SA 4.0, templates Apache-2.0",
        citation="Smith et al. 2022 (HolisticBias), EMNLP.",
    )
    return PromptSet(with_axis_size(frame), card)


BENCHMARK = phrases_benchmark(
    "holisticbias-pll",
    _build,
    summary="For masked models: are some people less likely in humanising sentences than in neutral ones? "
    "HolisticBias v1.1 phrases.",
    citation='Smith et al. 2022, "I\'m sorry to hear that": Finding New Biases in Language Models with a '
    "Holistic Descriptor Dataset, EMNLP 2022.",
    licence="Data CC BY-SA 4.0",
    source="HolisticBias §B.1 and Table 7; our own templates, after May et al. 2019.",
    datasets=("holisticbias",),
)
