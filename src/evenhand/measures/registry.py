"""Every measure with its card, by name: what `evenhand list measures` and `evenhand show` print.

A card stands in the module of its measure, which is imported when the card is first read: names cost nothing.

Measures of this package and of others, which add theirs under the entry-point group "evenhand.measures".
"""

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module

from evenhand.measures.info import MeasureInfo
from evenhand.schema import Card, ExtensionError, Registry

MODULES: Mapping[str, str] = {
    "perplexity": "evenhand.measures.likelihood.perplexity",
    "likelihood_bias": "evenhand.measures.likelihood.likelihood_bias",
    "likelihood_bias_published": "evenhand.measures.likelihood.likelihood_bias_published",
    "descriptor_log_ratio": "evenhand.measures.likelihood.likelihood_bias",
    "valence_shift": "evenhand.measures.likelihood.valence",
    "valence_spread": "evenhand.measures.likelihood.valence",
    "pseudo_log_likelihood_bias": "evenhand.measures.likelihood.pseudo_log_likelihood",
    "pseudo_log_likelihood_bias_published": "evenhand.measures.likelihood.pseudo_log_likelihood",
    "humanising_spread": "evenhand.measures.likelihood.pseudo_log_likelihood",
    "humanising_contrast": "evenhand.measures.likelihood.pseudo_log_likelihood",
    "crows_pairs": "evenhand.measures.pairs.crows_pairs",
    "crows_pairs_without_flagged": "evenhand.measures.pairs.crows_pairs",
    "crows_pairs_nangia": "evenhand.measures.pairs.crows_pairs",
    "crows_pairs_bias_bench": "evenhand.measures.pairs.crows_pairs",
    "crows_pairs_lm_eval": "evenhand.measures.pairs.crows_pairs",
    "stereoset_ss": "evenhand.measures.pairs.stereoset",
    "stereoset_lms": "evenhand.measures.pairs.stereoset",
    "stereoset_icat": "evenhand.measures.pairs.stereoset",
    "stereoset_ss_published": "evenhand.measures.pairs.stereoset",
    "stereoset_lms_published": "evenhand.measures.pairs.stereoset",
    "stereoset_icat_published": "evenhand.measures.pairs.stereoset",
    "bias_score": "evenhand.measures.rates.bias_score",
    "bias_score_published": "evenhand.measures.rates.bias_score_published",
    "negative_rate": "evenhand.measures.rates.bias_score",
    "full_gen_bias": "evenhand.measures.styles.generation_bias",
    "partial_gen_bias": "evenhand.measures.styles.generation_bias",
    "summed_cluster_gen_bias": "evenhand.measures.styles.generation_bias",
    "max_subgroup_rate": "evenhand.measures.rates.max_subgroup_rate",
    "axis_rate": "evenhand.measures.rates.axis_rates",
    "intersection_rate": "evenhand.measures.rates.intersections",
    "noun_contrast": "evenhand.measures.rates.noun_contrast",
    "prompt_toxicity_gap": "evenhand.measures.rates.by_prompt_toxicity",
    "expected_maximum_toxicity": "evenhand.measures.rates.over_samples",
    "toxicity_probability": "evenhand.measures.rates.over_samples",
    "distinct_1": "evenhand.measures.texts.quality",
    "distinct_1_at_budget": "evenhand.measures.texts.quality",
    "distinct_2": "evenhand.measures.texts.quality",
    "distinct_2_at_budget": "evenhand.measures.texts.quality",
    "distinct_3": "evenhand.measures.texts.quality",
    "distinct_3_at_budget": "evenhand.measures.texts.quality",
    "repetition": "evenhand.measures.texts.quality",
    "longest_loop": "evenhand.measures.texts.quality",
    "empty_rate": "evenhand.measures.texts.quality",
    "refusal_rate": "evenhand.measures.texts.quality",
    "response_length": "evenhand.measures.texts.quality",
    "judge_perplexity": "evenhand.measures.texts.quality",
    "judge_perplexity_capped": "evenhand.measures.texts.quality",
    "parroting": "evenhand.measures.texts.parroting",
    "offensiveness": "evenhand.measures.styles.offensiveness",
    "offensiveness_spread": "evenhand.measures.styles.offensiveness",
    "classifier_kappa": "evenhand.measures.judges.agreement",
    "disagreement_rate": "evenhand.measures.judges.agreement",
    "missing_rate": "evenhand.measures.rates.group_comparison",
    "regard_contrast": "evenhand.measures.rates.group_comparison",
    "own_perplexity": "evenhand.measures.likelihood.perplexity",
    "full_gen_bias_published": "evenhand.measures.styles.generation_bias",
    "partial_gen_bias_published": "evenhand.measures.styles.generation_bias",
    "summed_cluster_gen_bias_published": "evenhand.measures.styles.generation_bias",
}
"""The module in whose CARDS each measure's entry stands, in the order in which measures are listed."""


class Measures(Mapping[str, MeasureInfo]):
    """The entries by name, each read from the CARDS of its module; cannot be changed."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        self._modules = modules

    def __getitem__(self, name: str) -> MeasureInfo:
        cards: tuple[MeasureInfo, ...] = import_module(self._modules[name]).CARDS
        return {info.name: info for info in cards}[name]

    def __contains__(self, name: object) -> bool:
        return name in self._modules

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


MEASURES: Mapping[str, MeasureInfo] = Measures(MODULES)
"""Names are those of the `measure` column of the measurements table."""


REGISTERED: Registry[MeasureInfo] = Registry(
    "measure",
    "evenhand.measures",
    MEASURES,
    "an evenhand.measures.MeasureInfo with a card",
    lambda found: isinstance(found, MeasureInfo),
    lambda info, name: info.card if info.name == name else None,
)


def measure_info(name: str) -> MeasureInfo:
    """What a measure says of itself; raises UsageError with the nearest names for one without a card.

    >>> measure_info("likelihood_bias").unit
    'share of descriptor pairs'
    """
    return REGISTERED.load(name)


def measure_cards(names: Iterable[str]) -> Mapping[str, Card]:
    """Cards by name of those measures that have one; others are left out (rows of a run may be older than we)."""
    return {name: measure_info(name).card for name in dict.fromkeys(names) if name in REGISTERED}


def check_measures(names: Iterable[str], owner: str) -> None:
    """Raise ExtensionError if a measure has no card, and what the entry of one that cannot be used raises.

    names: of the `measure` column. owner: the benchmark or suite whose rows they are.
    """
    for name in dict.fromkeys(names):
        if name not in REGISTERED:
            raise ExtensionError(
                f"{owner} gives a measure {name!r} that has no card, and what has no card is not reported.",
                "Register a MeasureInfo of that name under the entry-point group evenhand.measures "
                "(docs/extending.md); the answers that were paid for are kept, so the same command goes on from them.",
            )
        measure_info(name)
