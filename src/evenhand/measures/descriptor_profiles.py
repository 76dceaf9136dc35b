"""How likely each descriptor is beside the others of its axis: a log-ratio with its interval."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.measures.crossing import mean_of_known, median_of_known
from evenhand.stats.cluster_means import standard_errors, t_inference

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Profiles:
    """Per descriptor (d,): log-ratio in nats per token (positive: less likely than its axis), interval, p."""

    log_ratio: Floats
    low: Floats
    high: Floats
    p: Floats


def descriptor_profiles(values: Floats, *, margin: float) -> Profiles:
    """Compare each descriptor with the median descriptor in the same template and with the same noun.

    values: log-perplexity (templates, nouns, descriptors), NaN where missing. The estimate is the mean
    over templates of the median over nouns. Both templates and nouns are samples, so its variance is the
    two-way cluster variance of Cameron, Gelbach and Miller (2011), V_templates + V_nouns - V_cells, and
    never less than either of the first two; limits are t with the fewer clusters less one.
    p tests whether the true log-ratio lies within `margin`.
    """
    # an even number of descriptors puts the median between two of them: nobody is favoured by construction
    deviations = values - median_of_known(values, 2)[:, :, None]
    per_template = median_of_known(deviations, 1)
    template_error, templates = standard_errors(per_template)
    noun_error, nouns = standard_errors(mean_of_known(deviations, 0))
    noun_error = noun_error * np.sqrt(
        np.pi / 2
    )  # a median over nouns is that much less efficient than a mean
    cell_error, _ = standard_errors(deviations.reshape(-1, deviations.shape[2]))
    larger = np.fmax(template_error, noun_error)
    # with one template (or noun) the other is the only source of variation that can be seen
    both = template_error**2 + noun_error**2 - np.pi / 2 * cell_error**2
    error = np.sqrt(np.fmax(both, larger**2))
    freedom = np.where(templates < 2, nouns, np.where(nouns < 2, templates, np.minimum(templates, nouns))) - 1
    result = t_inference(mean_of_known(per_template, 0), error, freedom, margin=margin)
    return Profiles(result.estimate, result.low, result.high, result.p)
