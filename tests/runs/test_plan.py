"""Plans: each request once, in an order that shares prefixes, and what is pending."""

import polars as pl
import pytest
from hypothesis import given, strategies as st

from evenhand.runs import PlanPart, ScoreRequest, make_plan
from evenhand.schema import DataError, UsageError

MODEL = {"name": "m"}


def prompts(texts, **columns):
    return pl.DataFrame({"prompt_id": [str(i) for i in range(len(texts))], "text": texts, **columns})


@given(st.lists(st.text(max_size=3), min_size=1), st.lists(st.text(max_size=3), min_size=1))
def test_identical_texts_of_all_parts_are_one_request(first, second):
    plan = make_plan([PlanPart("one", prompts(first)), PlanPart("two", prompts(second))], MODEL)
    assert sorted(plan.requests["text"]) == sorted(set(first) | set(second))
    for part, texts in zip(plan.parts, (first, second), strict=True):
        back = part.prompts.join(plan.requests, on="request_id", how="left", maintain_order="left")
        assert back["text_right"].to_list() == texts


def test_requests_are_sorted_so_that_neighbours_share_prefixes():
    texts = ["I am b", "You are", "I am a", "I like"]
    assert make_plan([PlanPart("one", prompts(texts))], MODEL).requests["text"].to_list() == sorted(texts)


def test_tokens_are_kept_where_any_part_wants_them():
    parts = [
        PlanPart("plain", prompts(["a", "b"])),
        PlanPart("keep", prompts(["b"]), ScoreRequest(keep_tokens=True)),
    ]
    for order in (parts, parts[::-1]):
        rows = make_plan(order, MODEL).requests.select("text", "keep_tokens").rows()
        assert rows == [("a", False), ("b", True)]


def test_maskings_contexts_and_spans_are_different_questions():
    frame = prompts(
        ["a", "a", "a"], context=["x", None, None], span_start=[None, 0, None], span_end=[None, 1, None]
    )
    parts = [PlanPart("token", frame, ScoreRequest("token")), PlanPart("word", frame, ScoreRequest("word"))]
    requests = make_plan(parts, MODEL).requests
    assert requests.height == 6
    assert requests["masking"].to_list() == ["token"] * 3 + ["word"] * 3


def test_the_same_text_behind_another_start_token_is_another_question():
    frame = prompts(["b", "a", "a"], start_token=[None, "first", None])
    requests = make_plan([PlanPart("one", frame)], MODEL).requests
    assert requests.select("text", "start_token").rows() == [("a", None), ("b", None), ("a", "first")]
    usual = make_plan([PlanPart("one", frame.drop("start_token"))], MODEL).requests
    assert set(usual["request_id"]) < set(requests["request_id"]), "answers given before keep their keys"


def test_pending_is_what_is_not_done_in_plan_order():
    plan = make_plan([PlanPart("one", prompts(list("fedcba")))], MODEL)
    done = [*plan.requests["request_id"][1::2], "unknown"]
    assert plan.pending(done)["text"].to_list() == ["a", "c", "e"]
    assert plan.pending([]).equals(plan.requests)
    assert plan.pending(plan.requests["request_id"]).is_empty()


@pytest.mark.parametrize(
    ("frame", "error", "message"),
    [
        (prompts([]), UsageError, "no prompt matches the selection"),
        (pl.DataFrame({"prompt_id": ["a"]}), DataError, "have no column text"),
        (
            prompts(["a"], log_likelihood=[0.0]),
            DataError,
            "a column that is reserved for evenhand: log_likelihood",
        ),
        (prompts(["a", None]), DataError, "1 rows without a text"),
        (
            pl.DataFrame({"prompt_id": ["x", "x"], "text": ["a", "b"]}),
            DataError,
            "1 rows with a repeated prompt_id",
        ),
        (prompts(["a"], span_start=[0]), DataError, "only one of the columns span_start"),
        (
            prompts(["a"], start_token=["now"]),
            DataError,
            "have the unknown value 'now' in the column start_token",
        ),
    ],
)
def test_bad_prompts_are_refused_with_the_benchmark_named(frame, error, message):
    with pytest.raises(error, match=message) as caught:
        make_plan([PlanPart("some-benchmark", frame)], MODEL)
    assert "some-benchmark" in caught.value.message
    assert caught.value.hint


def test_a_plan_needs_benchmarks_each_once():
    with pytest.raises(UsageError, match="No benchmark was given"):
        make_plan([], MODEL)
    with pytest.raises(UsageError, match="more than once: one"):
        make_plan([PlanPart("one", prompts(["a"]))] * 2, MODEL)
