"""The choice among trials: the Pareto front against brute force, the rules against tables made by hand."""

import math

import pytest
from hypothesis import given, settings, strategies as st

from evenhand.schema import UsageError
from evenhand.studies.debias.choosing import Choice, Tried, choose, distance, pareto_front

BASE = {"bias": 1.0, "perplexity": 10.0, "whole_p": 0.001}


def trial(bias: float | None, perplexity: float | None, p: float | None = None, weight: float = 1.0) -> Tried:
    return Tried("", {"weight": weight}, {"bias": bias, "perplexity": perplexity, "whole_p": p})


numbers = st.one_of(st.integers(0, 4).map(float), st.just(math.nan), st.just(math.inf), st.floats(0, 5))


@settings(max_examples=300)
@given(st.lists(st.tuples(numbers, numbers), max_size=14))
def test_the_front_is_what_nothing_dominates(points: list[tuple[float, float]]) -> None:
    def beats(one: tuple[float, float], other: tuple[float, float]) -> bool:
        return one[0] <= other[0] and one[1] <= other[1] and one != other

    known = [point for point in points if math.isfinite(point[0]) and math.isfinite(point[1])]
    expected = [point in known and not any(beats(other, point) for other in known) for point in points]
    assert pareto_front(points) == expected


def test_the_least_bias_within_the_guard() -> None:
    trials = [trial(0.1, 10.6), trial(0.5, 10.2), trial(0.3, 10.5), trial(0.3, 10.4), trial(0.9, 9.0)]
    assert choose(trials, BASE, "bias", 1.05) == Choice(3, 3), "of equals the one that reads better"
    assert choose(trials, BASE, "bias", 1.06).chosen == 0
    assert choose(trials, BASE, "bias", 1.0).chosen == 4
    assert choose(trials[:2], BASE, "bias", 1.0) == Choice(None, 1), "nearest to the guard"


def test_controls_and_failures_are_never_chosen() -> None:
    failed = Tried("", {"weight": 1.0}, {}, "the loss is nan")
    empty = trial(None, 10.0)
    trials = [trial(0.0, 10.0, 0.9, weight=0.0), failed, empty, trial(0.7, 10.1, 0.2)]
    for criterion in ("bias", "pareto", "published"):
        assert choose(trials, BASE, criterion, 1.05).chosen == 3
    assert choose(trials[:3], BASE, "bias", 1.05) == Choice(None, None)
    assert choose([], {}, "bias", 1.05) == Choice(None, None)


def test_both_together_within_the_guard() -> None:
    # of bias and guard are left and used: (.1, .9), (.4, .4), (.9, .0), and one outside
    trials = [trial(0.1, 10.45), trial(0.4, 10.2), trial(0.9, 9.5), trial(0.0, 10.6)]
    assert choose(trials, BASE, "pareto", 1.05).chosen == 1
    assert distance(trials[1], BASE, 1.05) == pytest.approx(math.hypot(0.4, 0.4))
    assert choose(trials, BASE, "bias", 1.05).chosen == 0
    assert choose(trials, BASE, "pareto", 1.0).chosen == 2, "a guard without room"


@settings(max_examples=200)
@given(st.lists(st.tuples(st.floats(0, 1.5), st.floats(9, 11)), min_size=1, max_size=12))
def test_what_is_chosen_by_both_is_on_the_front_of_what_may_be(points: list[tuple[float, float]]) -> None:
    for criterion in ("bias", "pareto"):
        chosen = choose([trial(*point) for point in points], BASE, criterion, 1.05).chosen
        within = [point for point in points if point[1] / 10 <= 1.05]
        assert (chosen is None) == (not within)
        if chosen is not None:
            bias, perplexity = points[chosen]
            better = [
                (b, c) for b, c in within if b <= bias and c <= perplexity and (b, c) != (bias, perplexity)
            ]
            # to read better than the model by itself is worth nothing, and bias is compared to twelve figures
            assert all(
                (c <= 10 and perplexity <= 10) or math.isclose(b, bias, abs_tol=1e-9) for b, c in better
            )


def test_the_published_criterion_sees_nothing_but_p() -> None:
    trials = [trial(0.2, 10.0, 0.04), trial(0.9, 9000.0, 0.8), trial(0.1, 10.1, None), trial(0.3, 10.0, 0.8)]
    assert choose(trials, BASE, "published", 1.05).chosen == 3, "of equals the one that reads better"
    assert choose(trials[:3], BASE, "published", 1.05).chosen == 1
    with pytest.raises(UsageError, match="requires pairs of texts about two groups"):
        choose([Tried("", {}, {"bias": 0.1, "perplexity": 10.0})], BASE, "published", 1.05)
