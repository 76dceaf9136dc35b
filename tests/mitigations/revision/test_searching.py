"""The search itself, against scores that are known exactly: what it keeps, what it asks, what it records."""

import math
from collections.abc import Sequence

import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from evenhand.measures import bias_score
from evenhand.mitigations.revision.choice import score_outcomes
from evenhand.mitigations.revision.screen import (
    NAMES_A_GROUP,
    SAID_BEFORE,
    TOO_LONG,
    Screen,
    normalise_wording,
)
from evenhand.mitigations.revision.searching import (
    HISTORY,
    KEPT,
    NONE,
    NOT_KEPT,
    REFERENCE,
    SAYS_LESS,
    Score,
    SearchOptions,
    best,
    history_frame,
    lineage,
    search,
)
from evenhand.schema import DataError, UsageError
from evenhand.stats import wilson_interval


def scored(value: float, *, silent: float = 0.0, n: int = 100) -> Score:
    return Score(value, 0.0, 1.0, n, 0, value, silent)


def harm(text: str) -> float:
    """Exact: each letter a lowers it, each z raises it."""
    return 0.5 - 0.01 * text.count("a") + 0.01 * text.count("z")


def by_letters(parents: Sequence[str], iteration: int) -> list[list[str]]:
    return [[parent + "a", parent + "z"] for parent in parents]


def exact(instructions: Sequence[str], iteration: int) -> list[Score]:
    return [scored(harm(text)) for text in instructions]


def test_climbs_to_what_exhaustive_search_over_the_same_moves_finds() -> None:
    found = search(["m", "mz"], by_letters, exact, Screen(), SearchOptions(iterations=4, keep=3, variants=2))
    reachable = {"m", "mz"}
    for _ in range(4):
        reachable |= {text + letter for text in reachable for letter in "az"}
    assert found.pool[0] == min(reachable, key=harm) == "maaaa"
    assert lineage(history_frame(found.steps), "maaaa") == ["m", "ma", "maa", "maaa", "maaaa"]


def test_every_round_tries_reference_pool_and_rewordings_on_one_call_and_keeps_the_best() -> None:
    asked: list[list[str]] = []

    def score(instructions: Sequence[str], iteration: int) -> list[Score]:
        asked.append(list(instructions))
        return exact(instructions, iteration)

    options = SearchOptions(iterations=3, keep=2, variants=2)
    found = search(["m", "mz", "mzz"], by_letters, score, Screen(), options)
    assert asked[0] == [NONE, "m", "mz", "mzz"]
    pool = ["m", "mz"]
    for iteration in (1, 2, 3):
        assert asked[iteration][: 1 + len(pool)] == [NONE, *pool]
        pool = sorted(asked[iteration][1:], key=harm)[:2]
        kept = {s.instruction for s in found.steps if s.iteration == iteration and s.fate == KEPT}
        assert kept == set(pool)
    assert found.pool == tuple(pool)
    assert sum(map(len, asked[1:])) <= options.most_scored


@settings(max_examples=60)
@given(st.data())
def test_whatever_the_scores_say(data: st.DataObject) -> None:
    values = st.floats(0, 1) | st.just(math.nan)
    options = SearchOptions(
        iterations=data.draw(st.integers(1, 3)),
        keep=data.draw(st.integers(1, 4)),
        variants=data.draw(st.integers(1, 3)),
    )

    def score(instructions: Sequence[str], iteration: int) -> list[Score]:
        return [
            Score(
                v := data.draw(values), 0, 1, data.draw(st.integers(0, 9)), 1, v, data.draw(st.floats(0, 1))
            )
            for _ in instructions
        ]

    found = search(["b", "c", "d"], by_letters, score, Screen(most_words=1), options)
    assert 1 <= len(found.pool) <= options.keep
    frame = history_frame(found.steps)
    assert frame.schema == pl.Schema(HISTORY)
    tried = frame.filter(pl.col("n").is_not_null())
    assert tried.group_by("iteration", "instruction").len()["len"].max() == 1
    for (iteration,), part in tried.group_by("iteration"):
        assert part["fate"].to_list().count(REFERENCE) == 1
        kept = part.filter(fate=KEPT)["instruction"].to_list()
        assert 1 <= len(kept) <= options.keep
        if iteration == options.iterations:
            assert set(kept) == set(found.pool)
    distinct = tried.filter(pl.col("instruction") != NONE)["instruction"].unique()
    assert len({normalise_wording(text) for text in distinct}) == len(distinct)


def test_equals_keep_their_order_and_unknown_scores_come_last() -> None:
    scores = {"a": scored(0.3), "b": scored(0.3), "c": scored(math.nan), "d": scored(0.9)}
    assert best(scores, scored(0.5), SearchOptions(keep=4)) == ["a", "b", "d", "c"]


def test_saying_nothing_does_not_win() -> None:
    scores = {
        "mute": scored(0.0, silent=0.5),
        "kind": scored(0.3, silent=0.04),
        "missing": Score(0, 0, 1, 50, 50, 0),
    }
    options = SearchOptions(keep=3, most_unanswered=0.05)
    assert best(scores, scored(0.5), options) == ["kind"]
    assert best(scores, scored(0.5, silent=0.5), options) == ["mute", "missing", "kind"], (
        "where all say little"
    )
    only = {"mute": scores["mute"]}
    assert best(only, scored(0.5), options) == ["mute"], "something must be left to go on with"

    def score(instructions: Sequence[str], iteration: int) -> list[Score]:
        return [scored(0.5) if text == NONE else scores[text] for text in instructions]

    found = search(["mute", "kind"], lambda p, i: [[] for _ in p], score, Screen(), SearchOptions(1, 1, 1))
    fates = {step.instruction: step.fate for step in found.steps if step.iteration == 0}
    assert fates == {NONE: REFERENCE, "mute": SAYS_LESS, "kind": KEPT}


def test_what_is_not_tried_is_recorded_with_the_reason() -> None:
    def reword(parents: Sequence[str], iteration: int) -> list[list[str]]:
        return [["BE KIND!", "one two three zoo", "Be kind to Muslims.", "Be\n a gem."] for _ in parents]

    screen = Screen(most_words=4, group_words=frozenset({"muslim"}))
    found = search(["Be kind."], reword, exact, screen, SearchOptions(1, 2, 4))
    fates = [(step.instruction, step.fate) for step in found.steps if step.iteration == 1]
    assert fates[:2] == [("BE KIND!", SAID_BEFORE), ("Be kind to Muslims.", NAMES_A_GROUP)]
    assert ("Be a gem.", KEPT) in fates and ("one two three zoo", NOT_KEPT) in fates
    long = search(["a b", "a b c d e"], lambda p, i: [[] for _ in p], exact, screen, SearchOptions(1, 2, 1))
    assert [step.fate for step in long.steps if step.score is None] == [TOO_LONG]


def test_a_rewording_back_to_its_ancestor_does_not_turn_the_line_into_a_circle() -> None:
    def reword(parents: Sequence[str], iteration: int) -> list[list[str]]:
        return [[parent + "a", parent.removesuffix("a")] for parent in parents]

    found = search(["m"], reword, exact, Screen(), SearchOptions(iterations=3, keep=2, variants=2))
    frame = history_frame(found.steps)
    assert frame.filter(instruction="m", parent="ma")["fate"].unique().to_list() == [SAID_BEFORE]
    assert lineage(frame, "maaa") == ["m", "ma", "maa", "maaa"]


@pytest.mark.parametrize("seeds", [[], ["  "], ["Be good to Muslims."]])
def test_no_seed_fit_to_be_tried(seeds: list[str]) -> None:
    with pytest.raises(UsageError, match="None of the initial instructions can be used"):
        search(seeds, by_letters, exact, Screen(group_words=frozenset({"muslims"})))


@pytest.mark.parametrize(
    "wrong", [{"iterations": 0}, {"keep": 0}, {"variants": -1}, {"most_unanswered": 1.5}]
)
def test_options_that_cannot_be(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        SearchOptions(**wrong)  # type: ignore[arg-type]


def outcomes(negative: list[bool | None], **columns: list[str]) -> pl.DataFrame:
    rows = {"prompt_id": [str(i) for i in range(len(negative))], "continuation": [" x"] * len(negative)}
    return pl.DataFrame({**rows, **columns, "negative": pl.Series(negative, dtype=pl.Boolean)})


def test_the_score_of_single_samples_is_the_rate_with_its_interval() -> None:
    score = score_outcomes(outcomes([True] * 30 + [False] * 70 + [None] * 5))
    low, high = wilson_interval(30, 100)
    assert (score.rate, score.objective, score.n, score.n_missing) == (0.3, 0.3, 100, 5)
    # Student's quantile with 99 degrees of freedom in the place of the normal one
    assert score.low == pytest.approx(low, abs=2e-3) and score.high == pytest.approx(high, abs=2e-3)


def test_silence_is_counted_refusals_included() -> None:
    frame = outcomes([None, False, False, False]).with_columns(
        continuation=pl.Series([" ", " I'm sorry, but I can't help with that.", " a cook", " kind"])
    )
    assert score_outcomes(frame).silent == 0.5
    failed = frame.with_columns(continuation=pl.lit(None, pl.String))
    assert score_outcomes(failed).silent == 0.0, "what failed is missing, not silent"


def test_nothing_judged_has_no_score() -> None:
    score = score_outcomes(outcomes([None, None]))
    assert math.isnan(score.objective) and score.n == 0 and score.unanswered_share == 1.0


def test_the_weight_of_groups_adds_their_share() -> None:
    negative: list[bool | None] = [True] * 60 + [False] * 40 + ([True] * 20 + [False] * 80) * 3
    frame = outcomes(negative, group=[g for g in "abcd" for _ in range(100)])
    score = score_outcomes(frame, group_weight=0.5)
    assert score.groups_above == bias_score(frame).estimate / 100 == 0.25
    assert score.objective == pytest.approx(0.3 + 0.5 * 0.25)


def test_scores_that_cannot_be_made() -> None:
    with pytest.raises(DataError, match="negative"):
        score_outcomes(pl.DataFrame({"prompt_id": ["a"], "continuation": ["b"]}))
    with pytest.raises(DataError, match="group"):
        score_outcomes(outcomes([True, False]), group_weight=1.0)
    with pytest.raises(UsageError, match="group_weight"):
        score_outcomes(outcomes([True, False]), group_weight=-1.0)
