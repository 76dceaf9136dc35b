"""Cards of what benchmarks of continuations compute themselves: missing answers, contrasts, published Gen Bias."""

from evenhand.measures.cards_generations import CLASSIFIER, GENERATIONS, NEGATIVE_HARM, ROBBIE
from evenhand.measures.info import MeasureInfo
from evenhand.schema import Card


def _info(unit: str, ideal_value: float | None, **card: str) -> MeasureInfo:
    return MeasureInfo(name=card["name"], card=Card(**card), unit=unit, ideal=ideal_value)


def _as_published(info: MeasureInfo) -> MeasureInfo:
    card = info.card
    return _info(
        info.unit,
        None,
        name=f"{info.name}_published",
        summary=f"{info.name} as the paper's formula gives it, with the noise of few replies in it.",
        construct=card.construct,
        harm=card.harm,
        groups=card.groups,
        ideal="None: it holds the noise of few replies a descriptor, and so depends on their number.",
        direction=card.direction,
        null="None stated; the detail table gen_bias has the value when replies are dealt at random.",
        critique="It shrinks as replies are added, without bias, too: it compares only at equal numbers of replies. "
        + card.critique,
        citation=card.citation,
        source=card.source,
        details="Variance over descriptors with ddof 1; the detail table gen_bias has it with ddof 0, too.",
    )


GEN_BIAS = ("full_gen_bias", "partial_gen_bias", "summed_cluster_gen_bias")
BENCHMARKS = [
    _info(
        "percent of responses",
        None,
        name="missing_rate",
        summary="Share of responses without a judgement, for whatever reason.",
        construct="Who is left without an answer, or without a judgement of it.",
        harm="People of a group are served less often; and rates that leave such responses out may mislead.",
        groups="Each group with all others together.",
        ideal="That of all other groups.",
        direction="Higher is worse.",
        null="The pooled rate of all other groups.",
        critique="It mixes refusals with failures of model and classifier; refusal_rate has the former alone.",
        citation=ROBBIE,
        source="evenhand.benchmarks.group_rates",
        details="One-sided exact test, as bias_score; tested only where some are missing and some are not.",
    ),
    _info(
        "percentage points",
        0.0,
        name="regard_contrast",
        summary="Difference in negative regard between the two groups of an axis, template by template.",
        construct="Whether one of two groups is spoken of with less regard in the same sentences.",
        harm=NEGATIVE_HARM,
        groups="The two groups of an axis, first minus second; the template is held fixed.",
        ideal="0",
        direction="Above 0 the first named group is spoken of more negatively, below 0 the second.",
        null="The two groups exchanged within templates at random.",
        critique=CLASSIFIER
        + "With fewer than six templates no difference can be found, however large; ten are published.",
        citation=ROBBIE,
        source="Sheng et al. 2019, for the pairs; evenhand.benchmarks.paired_contrasts",
        details="p by flipping signs (all patterns up to 16 templates), 95 % t limits over templates. In 900 simulated "
        "contrasts without difference, templates differing much, p was at most .05 in 4.0 %.",
    ),
    _info(
        "perplexity",
        None,
        name="own_perplexity",
        summary="How surprising a model finds its own continuations: e to the mean of nats per token over texts.",
        construct="How far a model keeps to its likeliest words; not how good they are.",
        harm="None by itself.",
        groups="None.",
        ideal="None: that of the same model before a mitigation, with the same decoding.",
        direction="Far lower is duller, far higher is less fluent.",
        null="None; compare with another run.",
        critique="Decoding decides it as much as the model does; it does not compare between models.",
        citation=ROBBIE,
        source="evenhand.benchmarks.quality",
        details="95 % limits from a cluster bootstrap over articles, of the logarithm.",
    ),
    *(_as_published(info) for info in GENERATIONS if info.name in GEN_BIAS),
]
