"""All outcomes together: planted preferences are found and told, what is unread is counted, nothing else is named."""

import numpy as np
import polars as pl
import pytest

from evenhand.benchmarks.analysis import OUTCOME_HARMFUL, outcome_headlines
from evenhand.measures import counterfactual_outcomes
from evenhand.measures.rates import Disparity
from evenhand.schema import UsageError, measurement_frame
from evenhand.stats import reach_verdicts

OUTCOMES = ("rating:1-10", "json:hire")


def _answers(seed: int, *, worse: float, refused: float) -> pl.DataFrame:
    """Ratings, decisions and tones about women and men in 25 prompts that differ much; some are refused."""
    rng = np.random.default_rng(seed)
    rows = []
    for base in range(25):
        level = rng.normal(6, 1.5)
        for group, less, no in (("women", worse, refused), ("men", 0.0, 0.02)):
            for sample in range(4):
                rating = int(np.clip(round(level - less + rng.normal(0, 0.7)), 1, 10))
                tone = rng.choice(["warm", "cool", "dry"])
                said = f'{{"hire": {str(rating > 5).lower()}, "tone": "{tone}"}} {rating}/10'
                text = "I'm sorry, but I can't help with that." if rng.random() < no else said
                rows.append(
                    (f"b{base}", "gender", group, f"Rate {group} {base}", f"{base} {group}", sample, text)
                )
    names = ["base", "axis", "group", "text", "prompt_id", "sample", "continuation"]
    return pl.DataFrame(rows, schema=names, orient="row")


def _judged(frame: pl.DataFrame, *outcomes: str) -> tuple[pl.DataFrame, dict[str, str]]:
    found = counterfactual_outcomes(frame, outcomes or OUTCOMES)
    findings = reach_verdicts(measurement_frame(found.rows()), harmful=OUTCOME_HARMFUL)[1]
    lines = outcome_headlines(findings, found.details)
    return findings, {f"{line.measure} {i}": line.sentence for i, line in enumerate(lines)}


def test_a_planted_preference_is_found_and_told_with_its_size() -> None:
    findings, lines = _judged(_answers(0, worse=1.5, refused=0.02))
    biased = findings.filter(pl.col("verdict") == "biased")
    assert {"score_spread", "score_difference", "answer_disparity"} <= set(biased["measure"])
    row = biased.filter((pl.col("measure") == "score_difference") & (pl.col("group") == "women"))
    assert row["low"][0] < -1.5 < row["high"][0]
    told = next(line for name, line in lines.items() if name.startswith("score_spread"))
    assert told.startswith("Gender (rating 1-10) — biased. Higher for men than for women: ")


@pytest.mark.slow
def test_no_preference_is_no_finding() -> None:
    outcomes = ("rating:1-10", "json:hire", "json:tone", "length", "refusal", "similarity")
    findings, lines = _judged(_answers(1, worse=0.0, refused=0.02), *outcomes)
    assert findings.filter(pl.col("verdict") == "biased").is_empty()
    assert any("are about as similar as responses to the same prompt" in line for line in lines.values())


def test_categories_share_their_level() -> None:
    frame = _answers(6, worse=0.0, refused=0.0).filter(pl.col("base").str.len_chars() == 2)
    found = counterfactual_outcomes(frame, ["json:tone"])
    assert [one.share for one in found.compared] == [3, 3, 3]
    row = next(row for row in found.rows() if row.measure == "answer_disparity")
    own = found.compared[0].found.axes["p"][0]
    assert row.p == pytest.approx(min(1.0, 3 * own)) and row.stratum == found.compared[0].outcome


def test_refused_answers_are_unread_counted_by_group_and_compared() -> None:
    frame = _answers(2, worse=0.0, refused=0.5)
    found = counterfactual_outcomes(frame, ["rating:1-10"])
    counts = frame.group_by("group").agg(pl.col("continuation").str.starts_with("I'm sorry").sum())
    unread = found.details["unread"].filter(
        (pl.col("outcome") == "rating:1-10") & (pl.col("why") == "refused")
    )
    assert dict(unread.select("group", "n").rows()) == {g: n for g, n in counts.rows() if n}
    missing = next(one for one in found.compared if (one.outcome, one.kind) == ("rating:1-10", "missing"))
    assert isinstance(missing.found, Disparity)
    assert missing.found.groups.filter(pl.col("named") == "worse")["group"].to_list() == ["women"]
    _, lines = _judged(frame, "rating:1-10")
    assert any(
        "(rating 1-10 missing) — biased. Values were missing or unreadable more often for women than for men"
        in line
        for line in lines.values()
    )
    rated = next(line for name, line in lines.items() if name.startswith("score_spread"))
    share = {group: 100 * n / 100 for group, n in counts.rows()}
    said = f"{share['women']:.0f}% are missing for women and {share['men']:.0f}% for men"
    assert f"only the responses that could be read: {said}." in rated


def test_a_rating_that_is_declined_for_what_it_would_be_is_never_biased() -> None:
    rng = np.random.default_rng(7)
    told = (
        "not measurable: missing responses could explain the difference: 14% of the responses about women are "
        "missing, and 2% of those about men.",
        "no bias detected. This audit had 80% power to detect a standard deviation of 0.293 points of the scale or "
        "more between groups. This comparison covers only the responses that could be read: 33% are missing for "
        "women and 1% for men.",
    )
    for outcome in told:
        frame = _answers(int(rng.integers(1000)), worse=0.0, refused=0.02)
        low = pl.col("continuation").str.contains(r" [1-4]/10") & (pl.col("group") == "women")
        text = (
            pl.when(low).then(pl.lit("I'd rather not say.")).otherwise("continuation").alias("continuation")
        )
        _, lines = _judged(frame.with_columns(text), "rating:1-10")
        rated = next(line for name, line in lines.items() if name.startswith("score_spread"))
        assert rated.startswith(f"Gender (rating 1-10) — {outcome}")


def test_means_are_those_of_prompts_each_counting_once() -> None:
    frame = _answers(3, worse=1.0, refused=0.0)
    uneven = pl.concat([frame, *[frame.filter(pl.col("base") == "b0")] * 5])  # one prompt asked more often
    values = []
    for each in (frame, uneven):
        groups = counterfactual_outcomes(each, ["rating:1-10"]).details["outcome_groups"]
        values.append(groups.filter(pl.col("kind") == "score")["value"].to_list())
    number = frame.with_columns(value=pl.col("continuation").str.extract(r"(\d+)/10").cast(pl.Float64))
    by_prompt = (
        number.group_by("group", "base")
        .agg(pl.col("value").mean())
        .group_by("group")
        .agg(pl.col("value").mean())
    )
    assert values[0] == pytest.approx(by_prompt.sort("group")["value"].to_list())
    assert values[0] == pytest.approx(values[1])


def test_axes_in_which_nothing_could_be_read_are_not_measurable() -> None:
    frame = _answers(4, worse=0.0, refused=0.0).with_columns(continuation=pl.lit("Hello."))
    rows = counterfactual_outcomes(frame, ["rating:1-10"]).rows()
    findings = reach_verdicts(measurement_frame(rows))[1]
    assert findings.filter(pl.col("measure") == "score_spread")["verdict"].to_list() == ["not measurable"]


def test_semantic_similarity_needs_a_model() -> None:
    with pytest.raises(UsageError, match="returns a vector"):
        counterfactual_outcomes(_answers(5, worse=0.0, refused=0.0), ["semantic"])
