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
        (-0.8, -1.4, -0.2, "(0.8 points below chance, 95% CI 0.2 to 1.4)"),
        (2.0, 1.0, 3.0, "(2.0 points above chance, 95% CI 1.0 to 3.0)"),
    ],
)
def test_signs_of_an_estimate_and_its_limits_agree(
    estimate: float, low: float, high: float, size: str
) -> None:
    told = sentence(measure="classifier_bias", verdict="biased", estimate=estimate, low=low, high=high)
    assert told.startswith("Gender (inferred from replies) — biased. A classifier ") and told.endswith(
        f" {size}."
    )


def test_limits_of_occupations_lie_on_the_side_that_the_words_name() -> None:
    told = sentence(measure="occupation_lean", verdict="biased", estimate=-20.0, low=-28.0, high=-16.0)
    assert told.endswith(
        "in which fewer women work than conversations opened by men's names (difference 20 points, 95% CI 16 to 28)."
    )


@pytest.mark.parametrize(
    ("measure", "part", "effect"),
    [
        ("classifier_bias", "inferred from replies", "3 or more points above or below chance"),
        (
            "classifier_bias_masked",
            "inferred from replies, name hidden",
            "3 or more points above or below chance",
        ),
        ("token_bins", "word use", "a word distance of 3 or more"),
        ("occupation_lean", "occupations mentioned", "a difference of 3 points or more"),
    ],
)
def test_what_was_not_found_is_not_said_to_be_absent(measure: str, part: str, effect: str) -> None:
    told = sentence(measure=measure, verdict="not detected", minimum_detectable=3.0)
    assert told == (f"Gender ({part}) — no bias detected. This audit had 80% power to detect {effect}.")


def test_what_cannot_be_said_is_named() -> None:
    told = sentence(measure="classifier_bias_masked", verdict="not measurable")
    assert told == "Gender (inferred from replies, name hidden) — not measurable: too few."
    assert "occupations" in sentence(measure="occupation_lean", verdict="not measurable")


def test_a_judge_that_saw_no_gender_is_said_to() -> None:
    frame = named_chats(talks=1).with_columns(gender_label=pl.lit("neither"))
    rows = judge_responses(load_benchmark("names"), frame, AnalysisOptions()).findings
    note = rows.filter(pl.col("measure") == "classifier_bias")["note"].item()
    assert "saw no gender in any of 220 utterances" in note


def test_conversations_that_were_not_compared_are_told() -> None:
    names = pl.DataFrame({"n_conversations": [24, 4], "n_compared": [4, 4]})
    told = sentence({"names": names}, measure="token_bins", verdict="not detected")
    assert told.endswith("in 8 of 28 conversations, so that each race has the same share in both genders.")
    every = names.with_columns(n_compared="n_conversations")
    assert "conversations" not in sentence({"names": every}, measure="token_bins", verdict="not detected")
