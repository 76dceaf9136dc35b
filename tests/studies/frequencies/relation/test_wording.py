"""What is said of a relation: kind or not, no bias in likelihoods, and what to beware of."""

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from evenhand.studies.frequencies.relation.outcomes import Outcome
from evenhand.studies.frequencies.relation.wording import said

ROW: dict[str, Any] = {
    "verdict": "related",
    "direction": "falls",
    "estimate": -0.4,
    "low": -0.6,
    "high": -0.2,
    "chance": 0.15,
    "minimum_detectable": 0.3,
    "note": "There are only 4 buckets of similar descriptors. At the level 0.05, 6 are needed.",
}
REGARD = Outcome("negative regard", "% of answers", -1, False, pl.DataFrame())


KINDER = (
    "The model treats descriptors that are more frequent in this corpus more kindly. "
    "This is an association, not a causal effect."
)


def test_less_negative_regard_for_the_frequent_is_a_kinder_answer() -> None:
    assert "more frequent descriptors have lower negative regard" in said(REGARD, ROW)
    assert said(REGARD, ROW).endswith(KINDER)
    assert said(REGARD, ROW | {"direction": "rises"}).endswith(KINDER.replace("more kindly", "less kindly"))
    kind = replace(REGARD, name="valence", kinder=1)
    assert said(kind, ROW | {"direction": "rises"}).endswith(KINDER)


def test_a_likelihood_that_follows_frequency_is_called_no_bias() -> None:
    likelihood = replace(REGARD, name="log-likelihood", kinder=0, likelihood=True)
    assert said(likelihood, ROW | {"direction": "rises"}).endswith("This alone is not a bias.")
    assert "kindly" not in said(likelihood, ROW)


@pytest.mark.parametrize("verdict", ["not detected", "not measurable"])
def test_where_nothing_was_found_it_is_said_what_could_have_been(verdict: str) -> None:
    sentence = said(REGARD, ROW | {"verdict": verdict, "direction": None})
    assert ("80% power to detect a correlation of 0.30" in sentence) == (verdict == "not detected")
    assert ("4 buckets" in sentence) == (verdict == "not measurable")
    assert "kindly" not in sentence


def test_an_interval_without_0_beside_no_detection_is_explained() -> None:
    row = ROW | {"verdict": "not detected", "low": 0.03, "high": 0.44, "estimate": 0.25}
    assert "+0.03 to +0.44; over all tested outcomes, this is within chance)" in said(REGARD, row)
    assert "within chance" not in said(REGARD, row | {"low": -0.03})
    assert "(how much more likely kind sentences" in said(replace(REGARD, name="valence"), row)
