"""Contrasts of known truth: shifts are planted, variation is even, uneven, correlated, or odd in one place."""

import numpy as np

FIVE_BY_FOUR = np.array(
    [
        [[0.2, -1.1, 0.4, 0.1], [0.0, -1.3, 0.5, 0.2]],
        [[-0.1, -0.9, 0.3, -0.2], [0.1, -0.6, 0.1, 0.0]],
        [[0.3, -1.4, 0.0, 0.2], [0.2, -1.0, 0.2, 0.3]],
        [[0.1, -0.7, 0.6, -0.1], [-0.2, -1.1, 0.4, 0.1]],
        [[0.0, -1.2, 0.2, 0.4], [0.3, -1.5, 0.1, 0.2]],
    ]
)
"""Five contrasts with two nouns of their own and four descriptors, whose figures are printed."""
WORLDS = {
    "even": (0.3, 0.3, 0.0),
    "uneven": (0.3, 0.3, 0.5),
    "noisy": (0.2, 0.6, 0.5),
    "quiet": (0.15, 0.03, 0.5),
    "very uneven": (0.15, 0.03, 0.8),
    "one factor": (0.3, 0.3, 0.0),
    "odd pair": (0.3, 0.3, 0.5),
}


def draw(world, contrasts, nouns, descriptors, *, rng, shift=0.0, noun_sd=None):
    """(contrasts, nouns, descriptors): nats, with the world's interactions and t noise of 5 degrees of freedom.

    noun_sd: nouns are crossed and shared, with effects of their own on descriptors.
    """
    pair_sd, sentence_sd, uneven = WORLDS[world]
    own = np.exp(uneven * rng.normal(size=descriptors))
    # the median descriptor varies as the world says; root mean square would let a few dominate the scale
    interaction = rng.normal(size=(contrasts, 1, descriptors))
    if world == "one factor":
        interaction = rng.normal(size=(contrasts, 1, 1)) * rng.normal(size=descriptors)
    values = pair_sd * own * interaction
    if world == "odd pair":
        odd = rng.choice(descriptors, max(1, descriptors // 10), replace=False)
        values[rng.integers(contrasts), :, odd] += 3 * rng.choice([-1, 1], size=(len(odd), 1))
    noise = rng.standard_t(5, size=(contrasts, nouns, descriptors)) * np.sqrt(3 / 5)
    values = values + np.sqrt(2) * sentence_sd * np.exp(uneven * rng.normal(size=descriptors)) * noise
    if noun_sd is not None:
        values = values + noun_sd * rng.normal(size=(1, nouns, descriptors))
    return values + shift


def lone(descriptors, by):
    """One descriptor that lies `by` from the mean of the others."""
    shift = np.zeros(descriptors)
    shift[0] = by
    return shift
