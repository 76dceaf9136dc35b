"""Dawid and Skene's own example, a likelihood by enumeration, and what was planted."""

import itertools

import numpy as np
import pytest

from evenhand.schema import UsageError
from evenhand.stats.votes import latent_classes, reliability_limits

# Dawid & Skene 1979, Table 1: 45 patients; the first observer rated each three times
ANAESTHETISTS = """
111 1 1 1 1/333 4 3 3 4/112 2 1 2 2/222 3 1 2 1/222 3 2 2 2/222 3 3 2 2/122 2 1 1 1/333 3 4 3 3/222 2 2 2 3
232 2 2 2 3/444 4 4 4 4/222 3 3 4 3/111 1 1 1 1/222 3 2 1 2/121 1 1 1 1/111 2 1 1 1/111 1 1 1 1/111 1 1 1 1
222 2 2 2 1/222 1 3 2 2/222 2 2 2 2/222 2 2 2 1/222 3 2 2 2/221 2 2 2 2/111 1 1 1 1/111 1 1 1 1/232 2 2 2 2
111 1 1 1 1/111 1 1 1 1/112 1 1 2 1/111 1 1 1 1/333 3 2 3 3/111 1 1 1 1/222 2 2 2 2/222 3 2 3 2/433 4 3 4 3
221 2 2 3 2/232 3 2 3 3/333 3 4 3 2/111 1 1 1 1/111 1 1 1 1/121 2 1 1 1/232 2 2 2 2/121 1 1 1 1/222 2 2 2 2
"""


def anaesthetists() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    patients = ANAESTHETISTS.strip().replace("\n", "/").split("/")
    rows = [
        (item, person, int(answer) - 1)
        for item, patient in enumerate(patients)
        for person, answers in enumerate(patient.split(" "))
        for answer in answers
    ]
    items, persons, answers = np.array(rows).T
    return items, persons, answers


def test_the_published_example() -> None:
    items, persons, answers = anaesthetists()
    assert len(items) == 45 * 7
    fit = latent_classes(items, persons, answers, 4, prior=0)
    assert fit.converged and fit.prevalence == pytest.approx([0.40, 0.42, 0.11, 0.07], abs=0.006)
    # Table 2, first and second observer
    assert fit.confusion[0].round(2).tolist() == [
        [0.89, 0.11, 0, 0],
        [0.07, 0.88, 0.05, 0],
        [0, 0.34, 0.66, 0],
        [0, 0, 0.56, 0.44],
    ]
    assert fit.confusion[1].round(2).tolist() == [
        [0.83, 0.17, 0, 0],
        [0.05, 0.63, 0.31, 0],
        [0, 0, 1, 0],
        [0, 0, 0, 1],
    ]
    # Table 4: patients who are not beyond doubt
    assert fit.posterior[6] == pytest.approx([0.981, 0.019, 0, 0], abs=1e-3)
    assert fit.posterior[34] == pytest.approx([0, 0.948, 0.052, 0], abs=1e-3)
    assert fit.posterior[37] == pytest.approx([0, 0.0212, 0.9788, 0], abs=1e-3)


def test_the_likelihood_is_that_of_all_ways_in_which_items_may_be() -> None:
    rng = np.random.default_rng(0)
    items, persons = np.repeat(np.arange(5), 3), np.tile(np.arange(3), 5)
    answers = rng.integers(0, 2, 15)
    fit = latent_classes(items, persons, answers, 2)
    total, by_item = 0.0, np.zeros((5, 2))
    for truth in itertools.product((0, 1), repeat=5):
        chance = np.prod(fit.prevalence[list(truth)])
        for item, person, answer in zip(items, persons, answers, strict=True):
            chance *= fit.confusion[person, truth[item], answer]
        total += chance
        by_item[np.arange(5), truth] += chance
    assert fit.log_likelihood == pytest.approx(np.log(total), abs=1e-5)
    assert fit.posterior == pytest.approx(by_item / total, abs=1e-4)


@pytest.mark.parametrize("classes", [2, 3])
def test_what_was_planted_is_found(classes: int) -> None:
    rng = np.random.default_rng(classes)
    right = np.array([0.95, 0.9, 0.8, 0.7, 0.6])
    truth = rng.integers(0, classes, 600)
    items, persons = np.repeat(np.arange(600), 5), np.tile(np.arange(5), 600)
    other = (truth[items] + rng.integers(1, classes, 3000)) % classes
    answers = np.where(rng.random(3000) < right[persons], truth[items], other)
    fit = latent_classes(items, persons, answers, classes)
    assert fit.reliability == pytest.approx(right, abs=0.04)
    majority = np.array([np.bincount(each, minlength=classes).argmax() for each in answers.reshape(600, 5)])
    likely = fit.posterior.argmax(axis=1)
    assert (likely == truth).mean() >= (majority == truth).mean()
    low, high = reliability_limits(items, persons, answers, fit, resamples=60)
    assert ((low < fit.reliability) & (fit.reliability < high)).all()
    assert ((low <= right + 0.01) & (right - 0.01 <= high)).sum() >= 4


def by_loops(votes: list[tuple[int, int, int]], classes: int, steps: int) -> np.ndarray:
    """EM of the same model vote by vote, to where nothing changes any more."""
    n_items, n_persons = (1 + max(vote[place] for vote in votes) for place in (0, 1))
    posterior = np.zeros((n_items, classes))
    for item, _, answer in votes:
        posterior[item, answer] += 1
    posterior /= posterior.sum(axis=1, keepdims=True)
    for _ in range(steps):
        counts = np.full((n_persons, classes, classes), 0.6 / (classes - 1))
        counts[:, range(classes), range(classes)] = 1.4
        for item, person, answer in votes:
            counts[person, :, answer] += posterior[item]
        counts /= counts.sum(axis=2, keepdims=True)
        logs = np.tile(np.log((posterior.sum(axis=0) + 1) / (n_items + classes)), (n_items, 1))
        for item, person, answer in votes:
            logs[item] += np.log(counts[person, :, answer])
        after = np.exp(logs - logs.max(axis=1, keepdims=True))
        after /= after.sum(axis=1, keepdims=True)
        change, posterior = np.abs(after - posterior).max(), after
        if change < 1e-12:
            break
    return posterior


@pytest.mark.parametrize("seed", range(6))
def test_em_goes_on_to_where_nothing_changes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    classes = 2 + seed % 3
    true, right = rng.integers(0, classes, 40), rng.uniform(0.45, 0.95, 10)
    votes = [
        (item, int(person), int(true[item] if rng.random() < right[person] else rng.integers(classes)))
        for item in range(40)
        for person in rng.choice(10, 3, replace=False)
    ]
    items, persons, answers = np.array(votes).T
    fit = latent_classes(items, persons, answers, classes)
    assert fit.converged
    assert np.abs(fit.posterior - by_loops(votes, classes, 4000)).max() < 1e-8


def test_weights_count_items_as_often_as_they_stand_there() -> None:
    items, persons, answers = anaesthetists()
    twice = np.where(np.arange(45) < 10, 2.0, 1.0)
    repeated = np.concatenate([np.arange(len(items)), np.flatnonzero(items < 10)])
    labels = np.concatenate([items, items[items < 10] + 45])
    weighted = latent_classes(items, persons, answers, 4, weights=twice)
    copied = latent_classes(labels, persons[repeated], answers[repeated], 4)
    assert weighted.confusion == pytest.approx(copied.confusion, abs=1e-4)


def test_without_votes_there_is_nothing_to_fit() -> None:
    none = np.zeros(0, dtype=np.int64)
    with pytest.raises(UsageError, match="at least one judgement"):
        latent_classes(none, none, none, 2)
