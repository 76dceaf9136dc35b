"""Dawid-Skene model, fitted by EM: true classes of items, and each annotator's probability of answers given a class."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evenhand.schema import UsageError
from evenhand.stats.arrays import Codes, Floats

PRIOR_VOTES = 2.0
"""Weight of the prior for each annotator and class, as a number of judgements."""
PRIOR_RIGHT = 0.7
"""Share of these prior judgements that is correct; the rest is spread evenly over the other classes."""
STEPS, TOLERANCE = 20_000, 1e-10
"""Maximum number of EM steps, and change of posterior probabilities below which EM ends."""
WARM_STEPS = 30
"""Maximum number of EM steps of a bootstrap fit, which starts from the full fit."""


@dataclass(frozen=True)
class LatentClasses:
    """A fitted Dawid-Skene model of true classes and annotator errors.

    ``prevalence`` has the shape (classes,), ``confusion`` (persons, classes, answers) and ``posterior`` (items,
    classes). All are probabilities.
    """

    prevalence: Floats
    confusion: Floats
    posterior: Floats
    log_likelihood: float
    """Log-likelihood of the votes, without the prior."""
    converged: bool

    @property
    def reliability(self) -> Floats:
        """Return the probability that each person states the true class (persons,)."""
        return np.asarray(np.einsum("k,pkk->p", self.prevalence, self.confusion))


def latent_classes(
    items: Codes,
    persons: Codes,
    answers: Codes,
    classes: int,
    *,
    prior: float = PRIOR_VOTES,
    weights: Floats | None = None,
    start: LatentClasses | None = None,
    steps: int = STEPS,
) -> LatentClasses:
    """Fit the Dawid-Skene model of true classes and annotator errors, by EM.

    Parameters
    ----------
    items, persons, answers : numpy.ndarray of int, shape (n,)
        Codes of item, person and answer of each vote, from 0. A person may judge an item more than once.
    classes : int
        Number of classes.
    prior : float
        Number of votes that are assumed for each person and class (of which the share `PRIOR_RIGHT` is right), and one
        item per class. 0: maximum likelihood.
    weights : numpy.ndarray, shape (items,)
        Weight of each item.
    start : LatentClasses
        Fit to start from.
    steps : int
        Maximum number of steps.

    Returns
    -------
    LatentClasses
        A local maximum: the one in which most votes are right. It starts from the shares of the votes on each item.

    References
    ----------
    - Dawid & Skene 1979.

    Examples
    --------
    >>> answers = np.array([0, 0, 1, 1, 1, 1, 0, 0, 0, 1, 1, 0])
    >>> fit = latent_classes(np.repeat(np.arange(4), 3), np.tile(np.arange(3), 4), answers, 2)
    >>> fit.posterior.argmax(axis=1).tolist()
    [0, 1, 0, 1]
    """
    if len(items) == 0 or classes < 2:
        raise UsageError(
            f"The Dawid-Skene model needs at least one judgement and two classes, got {len(items)} and {classes}."
        )
    n_items, n_persons = int(items.max()) + 1, int(persons.max()) + 1
    mass = np.ones(n_items) if weights is None else np.asarray(weights, dtype=np.float64)
    assumed = np.full((classes, classes), prior * (1 - PRIOR_RIGHT) / (classes - 1))
    np.fill_diagonal(assumed, prior * PRIOR_RIGHT)
    if start is None:
        posterior = np.zeros((n_items, classes))
        np.add.at(posterior, (items, answers), 1.0)
        posterior /= np.maximum(posterior.sum(axis=1, keepdims=True), 1.0)
    else:
        posterior = start.posterior
    cell = persons * classes + answers
    fitted = None
    for _ in range(steps):
        prevalence = (mass[:, None] * posterior).sum(axis=0) + (1.0 if prior else 0.0)
        prevalence /= prevalence.sum()
        counted = np.stack(
            [
                np.bincount(cell, (mass[:, None] * posterior)[items, k], n_persons * classes)
                for k in range(classes)
            ],
            axis=1,
        ).reshape(n_persons, classes, classes)
        confusion = counted.transpose(0, 2, 1) + assumed
        sums = confusion.sum(axis=2, keepdims=True)
        confusion = np.divide(confusion, sums, out=np.full_like(confusion, 1 / classes), where=sums > 0)
        with np.errstate(divide="ignore"):
            log_confusion, log_prevalence = np.log(confusion), np.log(prevalence)
        joint = np.stack(
            [np.bincount(items, log_confusion[persons, k, answers], n_items) for k in range(classes)], axis=1
        )
        joint += log_prevalence
        top = joint.max(axis=1, keepdims=True)
        scaled = np.exp(joint - top)
        total = scaled.sum(axis=1, keepdims=True)
        before, posterior = posterior, scaled / total
        likelihood = float((mass * (top + np.log(total))[:, 0]).sum())
        settled = np.abs(posterior - before).max() < TOLERANCE
        fitted = LatentClasses(prevalence, confusion, posterior, likelihood, bool(settled))
        if settled:
            break
    assert fitted is not None
    return fitted


def reliability_limits(
    items: Codes,
    persons: Codes,
    answers: Codes,
    fit: LatentClasses,
    *,
    resamples: int = 200,
    level: float = 0.95,
    seed: int = 0,
) -> tuple[Floats, Floats]:
    """Return the bounds of each person's reliability (persons,): percentiles of fits to resampled items."""
    generator = np.random.default_rng(seed)
    number, classes = fit.posterior.shape
    drawn = np.stack(
        [
            latent_classes(
                items,
                persons,
                answers,
                classes,
                weights=generator.multinomial(number, np.full(number, 1 / number)).astype(np.float64),
                start=fit,
                steps=WARM_STEPS,
            ).reliability
            for _ in range(resamples)
        ]
    )
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return np.asarray(low), np.asarray(high)


def codes(labels: npt.ArrayLike) -> tuple[Codes, list[str]]:
    """Return labels (n,) as codes from 0, and their names in order."""
    names, found = np.unique(np.asarray(labels), return_inverse=True)
    return found.reshape(-1), [str(name) for name in names]
