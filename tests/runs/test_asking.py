"""Turning likelihoods, and failures, into response rows."""

import numpy as np
import polars as pl
import pytest

from evenhand.models.contract import Likelihoods
from evenhand.runs import PlanPart, ScoreRequest, make_plan
from evenhand.runs.asking import HOPELESS, answer, response_rows
from evenhand.schema import RESPONSES, ModelError, ResponseError, Unsupported


def requests_of(texts, model, keep_tokens=False):
    prompts = pl.DataFrame({"prompt_id": [str(i) for i in range(len(texts))], "text": texts})
    return make_plan(
        [PlanPart("texts", prompts, ScoreRequest(keep_tokens=keep_tokens))], model.fingerprint
    ).requests


def likelihoods(rows, errors=None):
    counts = [len(row) for row in rows]
    return Likelihoods(
        offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        log_probs=np.array([value for row in rows for value in row], dtype=np.float32),
        token_ids=np.arange(sum(counts), dtype=np.int32),
        starts=np.arange(sum(counts), dtype=np.uint32),
        errors=errors or [None] * len(rows),
    )


def test_rows_hold_the_sums_a_loop_gives(fakes):
    model = fakes.HashModel()
    requests = requests_of([f"text {i}" for i in range(200)], model)
    rows = answer(model, requests)
    assert dict(rows.schema) == {
        name: pl.DataFrame(schema={name: kind}).schema[name] for name, kind in RESPONSES.items()
    }
    assert rows["request_id"].to_list() == requests["request_id"].to_list()
    values = [fakes.token_values(text, None, None, None) for text in requests["text"]]
    assert rows["log_likelihood"].to_list() == [sum(np.float32(v).item() for v in row) for row in values]
    assert rows["token_count"].to_list() == [len(row) for row in values]
    assert rows["sample"].unique().to_list() == [0]
    assert rows["token_ids"].null_count() == rows.height


def test_a_token_that_is_not_finite_spoils_its_own_row_only(fakes):
    requests = requests_of(list("abcde"), fakes.HashModel(), keep_tokens=True)
    rows = response_rows(
        requests, likelihoods([[-1, -2], [-1, np.nan], [-np.inf], [-3], []], [None, None, None, None, None])
    )
    assert rows["error"].to_list() == [None, "not_finite", "not_finite", None, "no_scored_token"]
    assert rows["log_likelihood"].to_list() == [-3.0, None, None, -3.0, None]
    assert rows["token_count"].to_list() == [2, None, None, 1, None]
    assert rows["token_log_likelihoods"].to_list() == [[-1, -2], None, None, [-3], None]
    assert rows["token_ids"].to_list() == [[0, 1], None, None, [5], None]
    assert rows["detail"].null_count() == 2


def test_the_models_own_code_and_message_stand(fakes):
    requests = requests_of(["a", "b"], fakes.HashModel())
    answered = likelihoods([[], [-1]], [ResponseError.TOO_LONG, None])
    told = Likelihoods(**{**vars(answered), "details": ["2000 tokens; the model takes 1024", None]})
    rows = response_rows(requests, told)
    assert rows.select("error", "detail", "log_likelihood").rows() == [
        ("too_long", "2000 tokens; the model takes 1024", None),
        (None, None, -1.0),
    ]


def test_tokens_are_kept_only_where_asked(fakes):
    requests = requests_of(["a", "b", "c"], fakes.HashModel())
    requests = requests.with_columns(keep_tokens=pl.Series([False, True, False]))
    rows = response_rows(requests, likelihoods([[-1], [-2, -3], [-4]]))
    assert rows["token_log_likelihoods"].to_list() == [None, [-2.0, -3.0], None]
    assert rows["token_starts"].to_list() == [None, [1, 2], None]


@pytest.mark.parametrize("poisonous", [{"text 0"}, {"text 63"}, {"text 7", "text 8", "text 40"}])
def test_a_poisonous_text_becomes_one_error_row(fakes, poisonous):
    def choke(texts):
        if poisonous & set(texts):
            raise ValueError("cannot tokenise this")

    model = fakes.HashModel(choke)
    requests = requests_of([f"text {i}" for i in range(64)], model)
    rows = requests.select("request_id", asked="text").join(answer(model, requests), on="request_id")
    failed = rows.filter(pl.col("error").is_not_null())
    assert set(failed["asked"]) == poisonous
    assert failed["error"].unique().to_list() == ["model_error"]
    assert failed["detail"].unique().to_list() == ["ValueError: cannot tokenise this"]
    clean = answer(fakes.HashModel(), requests).filter(
        ~pl.col("request_id").is_in(failed["request_id"].implode())
    )
    good = rows.filter(pl.col("error").is_null()).select(clean.columns)
    assert good.sort("request_id").equals(clean.sort("request_id"))


@pytest.mark.parametrize("kind", [MemoryError, type("OutOfMemoryError", (RuntimeError,), {})])
def test_a_text_too_large_for_memory_even_alone_is_called_that(fakes, kind):
    def exhaust(texts):
        if "b" in texts:
            raise kind("no memory")

    model = fakes.HashModel(exhaust)
    rows = answer(model, requests_of(["a", "b", "c"], model))
    assert sorted(rows["error"].drop_nulls()) == ["out_of_memory"]


def test_errors_meant_for_the_user_are_not_turned_into_rows(fakes):
    def refuse(texts):
        raise Unsupported("no likelihoods here", "use another backend")

    model = fakes.HashModel(refuse)
    with pytest.raises(Unsupported, match="no likelihoods here"):
        answer(model, requests_of(["a", "b"], model))


def test_a_model_that_answers_nothing_is_an_error_not_a_table_of_errors(fakes):
    def broken(texts):
        raise RuntimeError("device is gone")

    model = fakes.HashModel(broken)
    with pytest.raises(ModelError, match=f"each of {HOPELESS} texts.*device is gone"):
        answer(model, requests_of([str(i) for i in range(100)], model))
    few = answer(model, requests_of(["a", "b"], model))
    assert few["error"].to_list() == ["model_error"] * 2


def test_a_model_without_offsets_leaves_the_starts_null(fakes):
    requests = requests_of(["a", "b"], fakes.HashModel(), keep_tokens=True)
    answered = Likelihoods(**{**vars(likelihoods([[-1], [-2, -3]])), "starts": np.zeros(0, np.uint32)})
    rows = response_rows(requests, answered)
    assert rows["token_log_likelihoods"].to_list() == [[-1], [-2, -3]]
    assert rows["token_starts"].to_list() == [None, None]


@pytest.mark.parametrize(
    "wrong",
    [
        likelihoods([[-1]]),
        Likelihoods(**{**vars(likelihoods([[-1], [-2]])), "offsets": np.array([0, 1, 3])}),
        Likelihoods(**{**vars(likelihoods([[-1], [-2]])), "offsets": np.array([0, 2])}),
        Likelihoods(**{**vars(likelihoods([[-1], [-2]])), "token_ids": np.array([0])}),
        Likelihoods(**{**vars(likelihoods([[-1], [-2]])), "starts": np.array([0])}),
    ],
)
def test_an_answer_of_the_wrong_shape_is_refused(fakes, wrong):
    with pytest.raises(ModelError, match="rows for 2 texts"):
        response_rows(requests_of(["a", "b"], fakes.HashModel()), wrong)
