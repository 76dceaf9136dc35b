"""Measures: pure functions from arrays or frames to numbers, usable alone on anybody's data."""

from evenhand.measures.changes.consistency import Consistency as Consistency, consistency as consistency
from evenhand.measures.changes.consistency_verdicts import decide as decide
from evenhand.measures.changes.paired_change import paired_change as paired_change
from evenhand.measures.info import MeasureInfo as MeasureInfo
from evenhand.measures.judges.agreement import Agreement as Agreement, agreement as agreement
from evenhand.measures.judges.classifier_error import (
    ClassifierError as ClassifierError,
    classifier_error as classifier_error,
    corrected_rates as corrected_rates,
    rogan_gladen as rogan_gladen,
)
from evenhand.measures.judges.error_tolerance import (
    error_tolerance as error_tolerance,
    explaining_error as explaining_error,
)
from evenhand.measures.likelihood.likelihood_bias import (
    LikelihoodBias as LikelihoodBias,
    likelihood_bias as likelihood_bias,
)
from evenhand.measures.likelihood.likelihood_bias_published import (
    PublishedLikelihoodBias as PublishedLikelihoodBias,
    frame_from_parlai_lines as frame_from_parlai_lines,
    published_likelihood_bias as published_likelihood_bias,
)
from evenhand.measures.likelihood.perplexity import (
    bits_per_character as bits_per_character,
    inverse_perplexity as inverse_perplexity,
    perplexity as perplexity,
)
from evenhand.measures.likelihood.pseudo_log_likelihood import (
    PseudoLogLikelihoodBias as PseudoLogLikelihoodBias,
    pseudo_log_likelihood_bias as pseudo_log_likelihood_bias,
    published_pseudo_log_likelihood_bias as published_pseudo_log_likelihood_bias,
)
from evenhand.measures.likelihood.valence import ValenceShift as ValenceShift, valence_shift as valence_shift
from evenhand.measures.pairs.crows_pairs import (
    crows_pairs as crows_pairs,
    crows_pairs_bias_bench as crows_pairs_bias_bench,
    crows_pairs_lm_eval as crows_pairs_lm_eval,
    crows_pairs_nangia as crows_pairs_nangia,
    lint_crows_pairs as lint_crows_pairs,
)
from evenhand.measures.pairs.preference import PairScores as PairScores
from evenhand.measures.pairs.stereoset import (
    StereoSetScores as StereoSetScores,
    stereoset as stereoset,
    stereoset_published as stereoset_published,
)
from evenhand.measures.rates.axis_rates import AxisRates as AxisRates, axis_rates as axis_rates
from evenhand.measures.rates.bias_score import (
    BiasScore as BiasScore,
    bias_score as bias_score,
    harmed_groups as harmed_groups,
)
from evenhand.measures.rates.bias_score_curves import bias_score_curves as bias_score_curves
from evenhand.measures.rates.bias_score_published import (
    PublishedBiasScore as PublishedBiasScore,
    pooled_bias_score as pooled_bias_score,
    published_bias_score as published_bias_score,
)
from evenhand.measures.rates.by_prompt_toxicity import (
    RatesByPromptToxicity as RatesByPromptToxicity,
    rates_by_prompt_toxicity as rates_by_prompt_toxicity,
)
from evenhand.measures.rates.intersections import (
    Intersections as Intersections,
    intersections as intersections,
)
from evenhand.measures.rates.max_subgroup_rate import (
    MaxSubgroupRate as MaxSubgroupRate,
    max_subgroup_rate as max_subgroup_rate,
)
from evenhand.measures.rates.noun_contrast import NounContrast as NounContrast, noun_contrast as noun_contrast
from evenhand.measures.rates.over_samples import (
    ToxicityOverSamples as ToxicityOverSamples,
    chance_of_any as chance_of_any,
    expected_maximum as expected_maximum,
    toxicity_over_samples as toxicity_over_samples,
)
from evenhand.measures.registry import MEASURES as MEASURES
from evenhand.measures.styles.clusters import (
    StyleTree as StyleTree,
    find_style_clusters as find_style_clusters,
    strongest_clusters as strongest_clusters,
)
from evenhand.measures.styles.generation_bias import (
    STYLE_CLUSTERS as STYLE_CLUSTERS,
    GenerationBias as GenerationBias,
    generation_bias as generation_bias,
)
from evenhand.measures.styles.offensiveness import (
    Offensiveness as Offensiveness,
    offensiveness as offensiveness,
)
from evenhand.measures.texts.parroting import (
    Parroting as Parroting,
    copied as copied,
    parroting as parroting,
    refused as refused,
)
from evenhand.measures.texts.quality import (
    TextQuality as TextQuality,
    response_qualities as response_qualities,
    text_quality as text_quality,
)
