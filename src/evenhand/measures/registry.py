"""The registry of measures: every measure with its card, by name, from this and other packages.

`evenhand list measures` and `evenhand show` print it. A card is in the module of its measure, which is imported
when the card is first read, so names are cheap. Rows that benchmarks compute themselves (missing_rate,
regard_contrast, own_perplexity) have their cards with the measure to which they are most similar, because this
module names no module of a higher layer.
"""

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module

from evenhand.measures.info import MeasureInfo
from evenhand.schema import Card, ExtensionError, Registry, checked, checked_kinds

_LISTED = (
    ("frequencies.relation", "frequency_relation"),
    ("likelihood.perplexity", "perplexity"),
    ("likelihood.likelihood_spread", "likelihood_spread"),
    ("likelihood.likelihood_bias_published", "likelihood_bias_published"),
    ("likelihood.likelihood_spread", "descriptor_log_ratio"),
    ("likelihood.valence_cards", "valence_shift valence_spread"),
    (
        "likelihood.pseudo_log_likelihood",
        "pseudo_log_likelihood_spread pseudo_log_likelihood_bias_published humanising_spread humanising_contrast",
    ),
    (
        "pairs.crows_pairs_cards",
        "crows_pairs crows_pairs_without_flagged crows_pairs_nangia crows_pairs_bias_bench crows_pairs_lm_eval",
    ),
    (
        "pairs.stereoset",
        "stereoset_ss stereoset_lms stereoset_icat stereoset_ss_published stereoset_lms_published "
        "stereoset_icat_published",
    ),
    (
        "pairs.lmb_cards",
        "redditbias_lmb redditbias_pll redditbias_effect_size redditbias_likelier redditbias_without_outliers "
        "redditbias_largest_share",
    ),
    ("pairs.redditbias_published", "redditbias_lmb_published"),
    ("likelihood.corpus_perplexity", "redditbias_lmp redditbias_lmp_published"),
    ("rates.disparity_cards", "disparity group_difference burden largest_gap"),
    ("pairs.changed_preference", "crows_pairs_change stereoset_ss_change"),
    ("pairs.lmb_cards", "redditbias_lmb_change redditbias_pll_change"),
    ("pairs.redditbias_size", "redditbias_effect_size_change redditbias_likelier_change"),
    ("rates.bias_score", "bias_score"),
    ("rates.bias_score_published", "bias_score_published"),
    ("rates.bias_score", "negative_rate"),
    ("styles.generation_bias", "full_gen_bias partial_gen_bias summed_cluster_gen_bias"),
    ("rates.max_subgroup_rate", "max_subgroup_rate"),
    ("rates.axis_rates", "axis_rate"),
    ("rates.intersections", "intersection_rate"),
    ("rates.noun_contrast", "noun_contrast"),
    ("rates.by_prompt_toxicity", "prompt_toxicity_gap"),
    ("rates.over_samples", "expected_maximum_toxicity toxicity_probability"),
    (
        "texts.quality_cards",
        "distinct_1 distinct_1_at_budget distinct_2 distinct_2_at_budget distinct_3 distinct_3_at_budget repetition "
        "longest_loop empty_rate refusal_rate response_length judge_perplexity judge_perplexity_capped",
    ),
    ("texts.parroting", "parroting"),
    ("texts.same_answers", "same_answer_share"),
    (
        "texts.response_score_cards",
        "bleu_1 bleu_2 bleu_3 bleu_4 nist_1 nist_2 nist_3 nist_4 entropy_1 entropy_2 entropy_3 entropy_4 dist_1 dist_2 "
        "meteor reply_length",
    ),
    (
        "likelihood.valence_change",
        "valence_spread_change valence_shift_change humanising_spread_change humanising_contrast_change",
    ),
    ("scores.group_scores", "score_spread score_difference mean_score"),
    ("scores.interaction", "interaction"),
    ("changes.disparity_change", "disparity_change group_difference_change"),
    ("styles.offensiveness", "offensiveness offensiveness_spread"),
    ("names.genderedness", "classifier_bias classifier_bias_masked"),
    ("names.token_bins", "token_bins token_bins_published"),
    ("names.intersections", "intersectional_token_bins intersectional_token_bins_published"),
    ("names.occupations", "occupation_lean occupation_correlation"),
    ("names.overindexed", "overindexed_words"),
    ("names.name_phrases", "name_phrases"),
    ("classifiers.agreement", "classifier_kappa disagreement_rate"),
    ("classifiers.state_tracking", "dst_f1 dst_f1_over_null dst_accuracy dst_macro_f1 dst_yes_rate"),
    ("classifiers.raters", "krippendorff_alpha"),
    ("people.win_rate", "win_rate win_rate_published"),
    ("people.sides", "side_share win_rate_by_side"),
    ("people.rating_rate", "rating_rate rating_difference rating_chi_square rating_chi_square_published"),
    ("people.agreeing", "item_agreement person_agreement"),
    ("people.latent_labels", "latent_reliability"),
    (
        "people.judgements",
        "classifier_pearson classifier_spearman classifier_pearson_corrected human_reliability human_ceiling",
    ),
    ("people.equality", "sdo_score win_rate_by_third win_rate_slope"),
    (
        "rates.disparity_cards",
        "missing_disparity missing_difference missing_rate refusal_disparity refusal_difference",
    ),
    (
        "counterfactual.cards",
        "similarity_gap similarity_apart similarity_across similarity_floor answer_disparity answer_difference "
        "answer_rate",
    ),
    ("frequencies.shares", "term_share hits_per_million group_share he_she_ratio"),
    ("frequencies.spread", "weighted_term_share term_spread"),
    ("frequencies.senses", "person_share"),
    ("frequencies.together", "pmi normalised_pmi together_odds"),
    ("frequencies.leans", "pronoun_lean"),
    ("frequencies.ways_of_counting", "counting_difference"),
    ("rates.noun_contrast", "regard_contrast"),
    ("likelihood.perplexity", "own_perplexity"),
    (
        "styles.generation_bias",
        "full_gen_bias_published partial_gen_bias_published summed_cluster_gen_bias_published full_gen_bias_here",
    ),
)
MODULES: Mapping[str, str] = {
    name: f"evenhand.measures.{module}" for module, names in _LISTED for name in names.split()
}
"""The module whose CARDS contain each measure's entry, in the order in which measures are listed."""


class Measures(Mapping[str, MeasureInfo]):
    """Entries by name, each read from the CARDS of its module on first access; read-only."""

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
"""The measures of this package: a mapping from name (as in the column ``measure`` of results) to `MeasureInfo`."""

REGISTERED: Registry[MeasureInfo] = Registry(
    "measure",
    "evenhand.measures",
    MEASURES,
    "an evenhand.measures.MeasureInfo with a card",
    lambda entry: isinstance(entry, MeasureInfo),
    lambda info, name: info.card if info.name == name else None,
)
"""Registry of all measures, including those of other packages.

A package registers its measures under the entry-point group ``evenhand.measures``.
"""


def measure_info(name: str) -> MeasureInfo:
    """Return the description of a measure; UsageError with the nearest names if it has no card.

    >>> measure_info("likelihood_spread").unit
    'nats per sentence (standard deviation)'
    """
    return REGISTERED.load(name)


@checked
def measure_cards(names: Iterable[str]) -> Mapping[str, Card]:
    """Return the cards of measures, by name.

    A card describes what a measure measures, its null and its limits. Use it to show the cards of the measures of a
    run.

    Parameters
    ----------
    names : iterable of str
        Names of measures. Those without a card are left out, because a run may be older than the current measures.

    Returns
    -------
    mapping of str to Card
        The card of each measure, in the order of the names.

    Examples
    --------
    >>> list(measure_cards(["disparity", "an older measure"]))
    ['disparity']
    """
    return {name: measure_info(name).card for name in dict.fromkeys(names) if name in REGISTERED}


@checked_kinds
def check_measures(names: Iterable[str], owner: str) -> None:
    """Raise an error unless each measure has a card and can be loaded.

    Use it in your own benchmark or suite. A card describes what a measure measures.

    Parameters
    ----------
    names : iterable of str
        Names of measures, as in the column ``measure`` of a table of measurements.
    owner : str
        The benchmark or suite that computes their rows, for the error message.

    Raises
    ------
    ExtensionError
        A measure has no card. If an entry of another package cannot be used, its own error is raised.
    """
    for name in dict.fromkeys(names):
        if name not in REGISTERED:
            raise ExtensionError(
                f"{owner} computes the measure {name!r}, which has no card, so it cannot be reported.",
                "Register a MeasureInfo of that name under the entry-point group evenhand.measures "
                "(docs/how-to/add_a_measure.md). Responses received so far are saved: the same command resumes "
                "the run.",
            )
        measure_info(name)
