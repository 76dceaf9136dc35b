"""Sentences on conversations: signs agree, nothing found is not called nothing, and what cannot be said is named."""

import polars as pl
import pytest

from evenhand.benchmarks import AnalysisOptions, judge_responses, load_benchmark
from evenhand.benchmarks.names.headlines import name_headlines
from evenhand.schema import FINDINGS
from tests.helpers.named_chats import named_chats

BASE = {"benchmark": "names", "axis": "gender", "null": 0.0, "q": 0.001, "note": "Too few."}


def sentence(details: dict[str, pl.DataFrame] | None = None, **row: object) -> str:
    table = pl.DataFrame([BASE | row], schema={name: FINDINGS[name] for name in FINDINGS})
    (line,) = name_headlines("the name", "women's names", "men's names")(table, details or {})
    return line.sentence


@pytest.mark.parametrize(
    ("estimate", "low", "high", "size"),
    [
        (-0.8, -1.4, -0.2, "(0.8 points below chance, 0.2 to 1.4)"),
        (2.0, 1.0, 3.0, "(2.0 points above chance, 1.0 to 3.0)"),
    ],
)
def test_signs_of_an_estimate_and_its_limits_agree(
    estimate: float, low: float, high: float, size: str
) -> None:
    told = sentence(measure="classifier_bias", verdict="biased", estimate=estimate, low=low, high=high)
    assert told.endswith(f"with the name in sight {size}.")


def test_limits_of_occupations_lie_on_the_side_that_the_words_name() -> None:
    told = sentence(measure="occupation_lean", verdict="biased", estimate=-20.0, low=-28.0, high=-16.0)
    assert told.endswith("in which fewer women work than those by men's names do (20 points, 16 to 28).")


@pytest.mark.parametrize(
    "measure", ["classifier_bias", "classifier_bias_masked", "token_bins", "occupation_lean"]
)
def test_what_was_not_found_is_not_said_to_be_absent(measure: str) -> None:
    told = sentence(measure=measure, verdict="not detected", minimum_detectable=3.0)
    assert told.startswith(("Gender: no difference found", "Gender: no sign found"))
    assert told.endswith("would have been found in 4 of 5 samples.")


def test_what_cannot_be_said_is_named() -> None:
    told = sentence(measure="classifier_bias_masked", verdict="not measurable")
    assert (
        told
        == "Gender: whether a classifier tells the opener's gender, with the name hidden, cannot be said. Too few."
    )
    assert "occupations" in sentence(measure="occupation_lean", verdict="not measurable")


def test_a_judge_that_saw_no_gender_is_said_to() -> None:
    frame = named_chats(talks=1).with_columns(gender_label=pl.lit("neither"))
    rows = judge_responses(load_benchmark("names"), frame, AnalysisOptions()).findings
    note = rows.filter(pl.col("measure") == "classifier_bias")["note"].item()
    assert "saw no gender in any of 220 utterances" in note


def test_conversations_that_were_not_compared_are_told() -> None:
    names = pl.DataFrame({"n_conversations": [24, 4], "n_compared": [4, 4]})
    told = sentence({"names": names}, measure="token_bins", verdict="not detected")
    assert told.endswith("by 8 of 28 conversations, so that each race makes as much of either.")
    every = names.with_columns(n_compared="n_conversations")
    assert "conversations" not in sentence({"names": every}, measure="token_bins", verdict="not detected")
