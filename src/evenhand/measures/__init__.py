"""Measures: pure functions from arrays or frames to numbers, usable alone on anybody's data."""

from evenhand.measures.bias_score import (
    BiasScore as BiasScore,
    bias_score as bias_score,
    harmed_groups as harmed_groups,
)
from evenhand.measures.bias_score_curves import bias_score_curves as bias_score_curves
from evenhand.measures.bias_score_published import (
    PublishedBiasScore as PublishedBiasScore,
    pooled_bias_score as pooled_bias_score,
    published_bias_score as published_bias_score,
)
from evenhand.measures.classifier_error import (
    ClassifierError as ClassifierError,
    classifier_error as classifier_error,
)
from evenhand.measures.consistency import Consistency as Consistency, consistency as consistency
from evenhand.measures.consistency_verdicts import decide as decide
from evenhand.measures.corrected_rates import corrected_rates as corrected_rates, rogan_gladen as rogan_gladen
from evenhand.measures.crows_pairs import (
    crows_pairs as crows_pairs,
    crows_pairs_bias_bench as crows_pairs_bias_bench,
    crows_pairs_lm_eval as crows_pairs_lm_eval,
    crows_pairs_nangia as crows_pairs_nangia,
)
from evenhand.measures.crows_pairs_lint import lint_crows_pairs as lint_crows_pairs
from evenhand.measures.error_tolerance import (
    error_tolerance as error_tolerance,
    explaining_error as explaining_error,
)
from evenhand.measures.generation_bias import (
    STYLE_CLUSTERS as STYLE_CLUSTERS,
    GenerationBias as GenerationBias,
    generation_bias as generation_bias,
)
from evenhand.measures.info import MeasureInfo as MeasureInfo
from evenhand.measures.likelihood_bias import (
    LikelihoodBias as LikelihoodBias,
    likelihood_bias as likelihood_bias,
)
from evenhand.measures.likelihood_bias_published import (
    PublishedLikelihoodBias as PublishedLikelihoodBias,
    published_likelihood_bias as published_likelihood_bias,
)
from evenhand.measures.pair_preference import PairScores as PairScores
from evenhand.measures.paired_change import paired_change as paired_change
from evenhand.measures.parlai_logs import frame_from_parlai_lines as frame_from_parlai_lines
from evenhand.measures.perplexity import (
    bits_per_character as bits_per_character,
    inverse_perplexity as inverse_perplexity,
    perplexity as perplexity,
)
from evenhand.measures.pseudo_log_likelihood import (
    PseudoLogLikelihoodBias as PseudoLogLikelihoodBias,
    pseudo_log_likelihood_bias as pseudo_log_likelihood_bias,
    published_pseudo_log_likelihood_bias as published_pseudo_log_likelihood_bias,
)
from evenhand.measures.registry import MEASURES as MEASURES
from evenhand.measures.stereoset import (
    StereoSetScores as StereoSetScores,
    stereoset as stereoset,
    stereoset_published as stereoset_published,
)
from evenhand.measures.valence import (
    ValenceShift as ValenceShift,
    valence_shift as valence_shift,
)
