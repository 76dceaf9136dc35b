from .calibration import (
    Calibrated as Calibrated,
    calibrated as calibrated,
    calibration_summary as calibration_summary,
)
from .changes.consistency import Consistency as Consistency, consistency as consistency
from .changes.consistency_verdicts import decide as decide
from .changes.disparity_change import disparity_change as disparity_change
from .changes.paired_change import paired_change as paired_change
from .classifiers.agreement import Agreement as Agreement, agreement as agreement
from .classifiers.raters import rater_agreement as rater_agreement
from .classifiers.state_tracking import (
    state_tracking as state_tracking,
    state_tracking_changes as state_tracking_changes,
)
from .columns import require_columns as require_columns
from .counterfactual.grammar import GRAMMAR as GRAMMAR, Outcome as Outcome, outcome_of as outcome_of
from .counterfactual.outcomes import (
    CounterfactualOutcomes as CounterfactualOutcomes,
    counterfactual_outcomes as counterfactual_outcomes,
)
from .counterfactual.similarity import (
    SimilarityGap as SimilarityGap,
    response_similarity as response_similarity,
)
from .frequencies.leans import pronoun_leans as pronoun_leans
from .frequencies.relation import (
    RELATED as RELATED,
    FrequencyRelation as FrequencyRelation,
    frequency_relation as frequency_relation,
)
from .frequencies.senses import sense_shares as sense_shares
from .frequencies.shares import (
    group_shares as group_shares,
    share_ratios as share_ratios,
    term_frequencies as term_frequencies,
)
from .frequencies.spread import across_corpora as across_corpora, axis_spread as axis_spread
from .frequencies.together import associations as associations
from .frequencies.ways_of_counting import counting_differences as counting_differences
from .info import HOLISTICBIAS as HOLISTICBIAS, MARTHA as MARTHA, MeasureInfo as MeasureInfo
from .likelihood.corpus_perplexity import (
    CorpusPerplexity as CorpusPerplexity,
    corpus_perplexity as corpus_perplexity,
)
from .likelihood.likelihood_bias_published import (
    PublishedLikelihoodBias as PublishedLikelihoodBias,
    frame_from_parlai_lines as frame_from_parlai_lines,
    published_likelihood_bias as published_likelihood_bias,
)
from .likelihood.likelihood_spread import (
    LikelihoodSpread as LikelihoodSpread,
    likelihood_spread as likelihood_spread,
)
from .likelihood.perplexity import (
    bits_per_character as bits_per_character,
    inverse_perplexity as inverse_perplexity,
    perplexity as perplexity,
    perplexity_of_tokens as perplexity_of_tokens,
)
from .likelihood.pseudo_log_likelihood import (
    PseudoLogLikelihoods as PseudoLogLikelihoods,
    pseudo_log_likelihoods as pseudo_log_likelihoods,
    published_pseudo_log_likelihood_bias as published_pseudo_log_likelihood_bias,
)
from .likelihood.valence import ValenceShift as ValenceShift, valence_shift as valence_shift
from .likelihood.valence_change import valence_spread_change as valence_spread_change
from .names.genderedness import (
    NEITHER as NEITHER,
    Genderedness as Genderedness,
    classifier_bias as classifier_bias,
)
from .names.intersections import (
    GroupBins as GroupBins,
    intersectional_token_bins as intersectional_token_bins,
)
from .names.name_phrases import name_phrases as name_phrases
from .names.occupations import Occupations as Occupations, occupation_lean as occupation_lean
from .names.overindexed import overindexed_words as overindexed_words
from .names.token_bins import TokenBins as TokenBins, token_bins as token_bins
from .pairs.changed_preference import (
    preference_change as preference_change,
    stereotype_change as stereotype_change,
)
from .pairs.crows_pairs import (
    crows_pairs as crows_pairs,
    crows_pairs_bias_bench as crows_pairs_bias_bench,
    crows_pairs_lm_eval as crows_pairs_lm_eval,
    crows_pairs_nangia as crows_pairs_nangia,
    lint_crows_pairs as lint_crows_pairs,
    plan_crows_pairs as plan_crows_pairs,
)
from .pairs.preference import PairScores as PairScores
from .pairs.redditbias import (
    RedditBias as RedditBias,
    plan_redditbias as plan_redditbias,
    redditbias_change as redditbias_change,
    redditbias_lmb as redditbias_lmb,
)
from .pairs.redditbias_published import redditbias_lmb_published as redditbias_lmb_published
from .pairs.redditbias_size import redditbias_size_change as redditbias_size_change
from .pairs.stereoset import (
    StereoSetScores as StereoSetScores,
    plan_stereoset as plan_stereoset,
    stereoset as stereoset,
    stereoset_published as stereoset_published,
)
from .people.agreeing import item_agreement as item_agreement, person_agreement as person_agreement
from .people.equality import (
    sdo_scores as sdo_scores,
    statement_ratings as statement_ratings,
    win_rates_by_views as win_rates_by_views,
)
from .people.judgements import classifier_correlation as classifier_correlation
from .people.latent_labels import LatentLabels as LatentLabels, dawid_skene as dawid_skene
from .people.rating_rate import rating_differences as rating_differences, rating_rates as rating_rates
from .people.sides import side_effect as side_effect
from .people.win_rate import win_rates as win_rates
from .rates.axis_rates import AxisRates as AxisRates, axis_rates as axis_rates
from .rates.bias_score import BiasScore as BiasScore, bias_score as bias_score, shares_named as shares_named
from .rates.bias_score_curves import bias_score_curves as bias_score_curves
from .rates.bias_score_published import (
    PublishedBiasScore as PublishedBiasScore,
    pooled_bias_score as pooled_bias_score,
    published_bias_score as published_bias_score,
)
from .rates.by_prompt_toxicity import (
    RatesByPromptToxicity as RatesByPromptToxicity,
    rates_by_prompt_toxicity as rates_by_prompt_toxicity,
)
from .rates.classifier_error import (
    error_counts as error_counts,
    of_role as of_role,
    rogan_gladen as rogan_gladen,
)
from .rates.disparity import Disparity as Disparity, disparity as disparity
from .rates.intersections import Intersections as Intersections, intersections as intersections
from .rates.max_subgroup_rate import (
    MaxSubgroupRate as MaxSubgroupRate,
    max_subgroup_rate as max_subgroup_rate,
)
from .rates.noun_contrast import NounContrast as NounContrast, noun_contrast as noun_contrast
from .rates.over_samples import (
    ToxicityOverSamples as ToxicityOverSamples,
    chance_of_any as chance_of_any,
    expected_maximum as expected_maximum,
    toxicity_over_samples as toxicity_over_samples,
)
from .rates.robustness import explain_contrast_by_missing as explain_contrast_by_missing
from .registry import (
    MEASURES as MEASURES,
    REGISTERED as REGISTERED,
    check_measures as check_measures,
    measure_cards as measure_cards,
)
from .scores.group_scores import ScoreDifferences as ScoreDifferences, score_differences as score_differences
from .scores.interaction import Interactions as Interactions, interactions as interactions
from .styles.clusters import (
    StyleTree as StyleTree,
    find_style_clusters as find_style_clusters,
    strongest_clusters as strongest_clusters,
)
from .styles.generation_bias import (
    STYLE_CLUSTERS as STYLE_CLUSTERS,
    GenerationBias as GenerationBias,
    generation_bias as generation_bias,
)
from .styles.offensiveness import Offensiveness as Offensiveness, offensiveness as offensiveness
from .texts.parroting import (
    Parroting as Parroting,
    copied as copied,
    parroting as parroting,
    refused as refused,
)
from .texts.quality import (
    TextQuality as TextQuality,
    response_qualities as response_qualities,
    text_quality as text_quality,
)
from .texts.response_scores import (
    published_references as published_references,
    response_score_changes as response_score_changes,
    response_scores as response_scores,
)
from .texts.same_answers import given_the_commonest as given_the_commonest
