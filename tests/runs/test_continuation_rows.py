"""Continuations as requests and response rows: every sample once, empty ones good, failures counted."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from evenhand.models.contract import Generations
from evenhand.models.decoding import Decoding
from evenhand.models.puppets import load_puppet, writes
from evenhand.runs import GenerateRequest, PlanPart, RunDirectory, ScoreRequest, estimate, execute, make_plan
from evenhand.runs.asking import HOPELESS, answer, continuation_rows
from evenhand.schema import RESPONSES, DataError, ModelError, ResponseError, Unsupported

TWO = Decoding(max_new_tokens=9, temperature=1.0, samples=2)


def requests_of(texts, decoding=TWO):
    prompts = pl.DataFrame({"prompt_id": [str(i) for i in range(len(texts))], "text": texts})
    return make_plan([PlanPart("texts", prompts, GenerateRequest(decoding))], {"name": "m"}).requests


def test_a_row_for_each_sample_holds_what_was_written(fakes):
    texts = [f"Person {i}" for i in range(20)]
    requests = requests_of(texts)
    rows = answer(fakes.HashWriter(), requests)
    assert dict(rows.schema) == dict(pl.DataFrame(schema=RESPONSES).schema)
    expected = [(text, sample, fakes.continuation(text, sample)) for text in texts for sample in (0, 1)]
    found = requests.select("request_id", asked="text").join(rows, on="request_id")
    assert sorted(found.select("asked", "sample", "text").rows()) == sorted(expected)
    assert "" in rows["text"].to_list()
    assert rows["error"].null_count() == rows.height
    words = rows["text"].str.split(" ").list.eval(pl.element().filter(pl.element() != "")).list.len()
    assert rows["token_count"].to_list() == words.to_list()
    assert rows["log_likelihood"].to_list() == [-2.0 * n for n in words]
    assert set(rows["finish"]) == {"end"}


def test_every_sample_of_a_poisonous_prompt_is_an_error_row(fakes):
    def choke(texts):
        if "text 7" in texts:
            raise ValueError("cannot tokenise this")

    requests = requests_of([f"text {i}" for i in range(16)], replace(TWO, samples=3))
    rows = answer(fakes.HashWriter(choke), requests)
    assert rows.height == 48
    failed = rows.filter(pl.col("error") == "model_error")
    assert failed["sample"].to_list() == [0, 1, 2]
    assert set(failed["request_id"]) == set(requests.filter(pl.col("text") == "text 7")["request_id"])
    assert failed["text"].null_count() == 3


def test_a_writer_that_fails_on_everything_is_an_error(fakes):
    def broken(texts):
        raise RuntimeError("device is gone")

    told = f"HashWriter failed for each of {HOPELESS} texts processed individually.*device is gone"
    with pytest.raises(ModelError, match=told):
        answer(fakes.HashWriter(broken), requests_of([str(i) for i in range(50)]))


def test_a_model_that_only_scores_is_refused_with_the_reason(fakes):
    with pytest.raises(Unsupported, match="only scores texts"):
        answer(fakes.HashModel(), requests_of(["a"]))


def generations(prompt, sample, texts, counts, likelihood, errors):
    return Generations(
        prompt=np.array(prompt),
        sample=np.array(sample, dtype=np.uint16),
        texts=texts,
        offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        token_ids=np.zeros(sum(counts), dtype=np.int32),
        finish=[None if text is None else "end" for text in texts],
        log_likelihood=np.array(likelihood),
        errors=errors,
        details=["why" if error else None for error in errors],
    )


def test_what_a_backend_does_not_know_is_null_and_what_failed_has_nothing():
    answered = generations(
        [1, 1, 0, 0],
        [1, 0, 0, 1],
        ["d", "c", "", None],
        [0, 1, 0, 0],
        [-1.0, np.nan, 0.0, np.nan],
        [None, None, None, ResponseError.TIMED_OUT],
    )
    requests = requests_of(["aa", "b"])
    rows = continuation_rows(requests, answered, TWO)
    assert rows["request_id"].to_list() == [requests["request_id"][i] for i in (0, 0, 1, 1)]
    assert rows.select("sample", "text", "token_count", "log_likelihood", "error", "detail").rows() == [
        (0, "", 0, 0.0, None, None),
        (1, None, None, None, "timed_out", "why"),
        (0, "c", 1, None, None, None),
        (1, "d", None, None, None, None),
    ]


GOOD = generations([0, 0, 1, 1], [0, 1, 0, 1], list("abcd"), [1] * 4, [-1.0] * 4, [None] * 4)


@pytest.mark.parametrize(
    "wrong",
    [
        replace(GOOD, prompt=np.array([0, 0, 1, 2])),
        replace(GOOD, prompt=np.array([0, 0, 0, 1])),
        replace(GOOD, sample=np.array([0, 1, 0, 0], dtype=np.uint16)),
        # As numbers, (0, 2) looks like (1, 0).
        replace(GOOD, prompt=np.array([0, 0, 0, 1]), sample=np.array([0, 1, 2, 1], dtype=np.uint16)),
        replace(GOOD, texts=["a", "b", "c", None]),
        replace(GOOD, texts=["a"]),
        replace(GOOD, offsets=np.array([0, 1, 2, 3, 5])),
        generations([0, 1], [0, 0], ["a", "b"], [1, 1], [-1.0] * 2, [None] * 2),
    ],
)
def test_an_answer_of_the_wrong_shape_is_refused(wrong):
    continuation_rows(requests_of(["a", "b"]), GOOD, TWO)
    with pytest.raises(
        ModelError, match=r"returned \d rows, which do not match 2 samples for each of 2 prompts"
    ):
        continuation_rows(requests_of(["a", "b"]), wrong, TWO)


def plan_of_both(fakes):
    shared = pl.DataFrame({"prompt_id": ["x", "y", "z"], "text": ["She", "He and I", "She"]})
    other = shared[:2]
    parts = [
        PlanPart("scored", shared, ScoreRequest()),
        PlanPart("written", shared, GenerateRequest(TWO)),
        PlanPart("also", other, GenerateRequest(TWO)),
        PlanPart("longer", other, GenerateRequest(replace(TWO, samples=3))),
    ]
    return make_plan(parts, fakes.HashWriter().fingerprint)


def test_a_plan_holds_both_kinds_and_shares_equal_generations(fakes):
    plan = plan_of_both(fakes)
    kinds = plan.requests.select("text", "samples", pl.col("decoding").is_not_null()).rows()
    assert kinds == [
        ("He and I", 1, False),
        ("She", 1, False),
        *[("He and I", 2, True), ("She", 2, True)],  # longest first
        *[("He and I", 3, True), ("She", 3, True)],
    ]
    assert json.loads(plan.requests["decoding"][2]) == TWO.parameters()
    assert (plan.prompts, plan.answers) == (10, 3 + 6 + 4 + 6)


def test_generations_of_like_length_stand_side_by_side():
    texts = ["b" * 3, "a", "ab", "c" * 3, "b"]
    assert requests_of(texts)["text"].to_list() == ["bbb", "ccc", "ab", "a", "b"]


def test_prompts_to_be_continued_have_no_context_and_no_continuation_column():
    frame = pl.DataFrame({"prompt_id": ["a"], "text": ["She"]})
    for wrong, message in [
        (frame.with_columns(context=pl.lit("Before.")), "have values of context"),
        (
            frame.with_columns(continuation=pl.lit("x")),
            "The prompts of 'b' have a column that is reserved for evenhand:",
        ),
    ]:
        with pytest.raises(DataError, match=message):
            make_plan([PlanPart("b", wrong, GenerateRequest(TWO))], {})
    nothing = frame.with_columns(context=pl.lit(None, dtype=pl.String))
    assert make_plan([PlanPart("b", nothing, GenerateRequest(TWO))], {}).requests.height == 1


def test_both_kinds_are_asked_each_once_and_counted_by_request(tmp_path, fakes):
    told = []

    class Told:
        def start(self, total, done, unit):
            told.append((total, done, unit))

        def advance(self, requests, tokens, errors):
            told.append((requests, errors))

        def note(self, message):
            told.append(message)

        def stop(self):
            told.append("stop")

    plan, model = plan_of_both(fakes), fakes.HashWriter()
    directory = RunDirectory.create(tmp_path / "run", model=model, given={}, resolved={})
    outcome = execute(plan, model, directory, progress=Told())
    assert told == [(6, 0, "requests"), (2, 0), (2, 0), (2, 0), "stop"]
    assert model.batches == [["He and I", "She"]] * 3
    rows = directory.responses()
    assert (outcome.requests, outcome.prompts, outcome.answers, outcome.answered) == (6, 10, 19, 6)
    assert rows.height == 2 + 4 + 6
    assert outcome.tokens == rows["token_count"].sum()
    session = directory.manifest.sessions[-1]
    assert (session.requests_after, session.shards, session.tokens) == (6, 3, outcome.tokens)
    asked = RunDirectory.open(directory.path).manifest.asked
    assert asked["written"].decoding == TWO.parameters()
    assert asked["scored"].decoding is None
    assert execute(plan, model, directory).answered == 0


def test_failed_samples_are_a_share_of_the_answers(start):
    plan, model, directory = start(
        ["a", "b", " "], model=writes(lambda prompt, sample: " x"), request=GenerateRequest(TWO)
    )
    outcome = execute(plan, model, directory, error_threshold=0.34)
    assert outcome.errors == {"empty_text": 2}
    assert outcome.error_share == pytest.approx(2 / 6)
    assert not outcome.above_threshold
    assert execute(plan, model, directory, error_threshold=0.33).above_threshold


def test_a_request_that_lacks_a_sample_is_asked_again_as_a_whole(start, fakes):
    from evenhand.runs.shards import write_shard

    plan, model, directory = start(["a", "b"], fakes.HashWriter(), GenerateRequest(TWO))
    execute(plan, model, directory)
    whole = directory.responses()
    part = directory.responses_folder / "part-000001.parquet"
    part.unlink()
    write_shard(directory.responses_folder, 1, whole[1:])
    again = fakes.HashWriter()
    assert execute(plan, again, directory).answered == 1
    assert again.batches == [
        plan.requests.filter(pl.col("request_id") == whole["request_id"][0])["text"].to_list()
    ]
    assert directory.responses().sort("request_id", "sample").equals(whole.sort("request_id", "sample"))


def test_one_failed_sample_is_retried_with_its_request_only_where_asked(start, fakes):
    class Flaky(fakes.HashWriter):
        def generate(self, prompts, decoding):
            whole = super().generate(prompts, decoding)
            failed = [
                i for i in range(len(whole)) if prompts[whole.prompt[i]] == "b" and whole.sample[i] == 1
            ]
            for i in failed:
                whole.texts[i], whole.errors[i] = None, ResponseError.TIMED_OUT
            return whole

    plan, model, directory = start(["a", "b"], Flaky(), GenerateRequest(TWO))
    assert execute(plan, model, directory).errors == {"timed_out": 1}
    mended = fakes.HashWriter()
    assert execute(plan, mended, directory).answered == 0
    assert execute(plan, mended, directory, retry_errors=True).errors == {}
    assert mended.batches == [["b"]]
    assert directory.responses().height == 4


def test_first_shards_of_generations_are_small_and_grow(start, fakes):
    plan, model, directory = start(
        [f"text {i:03}" for i in range(100)], fakes.HashWriter(), GenerateRequest(TWO)
    )
    execute(plan, model, directory, first_shard=64, max_shard=32)
    assert [len(batch) for batch in model.batches] == [4, 8, 16, 32, 32, 8]


def test_generations_can_be_estimated_beside_likelihoods(fakes):
    model = fakes.HashWriter()
    plan = plan_of_both(fakes)
    guess = estimate(plan, model)
    written = answer(model, plan.requests[:2])["token_count"].sum()
    for i in (2, 4):
        written += answer(model, plan.requests[i : i + 2])["token_count"].sum()
    # Every request is in the probe of a plan this small: the tokens are exact.
    assert guess["tokens"] == written
    assert (guess["distinct_requests"], guess["probe_requests"], guess["probe_errors"]) == (6, 6, 0)
    frame = pl.DataFrame({"prompt_id": ["x"], "text": ["She"]})
    plan = make_plan([PlanPart("written", frame, GenerateRequest(TWO))], {})
    assert estimate(plan, load_puppet("failing"))["probe_errors"] == 2


def test_the_key_of_a_generation_is_its_documented_content(fakes):
    import hashlib

    from evenhand.runs.requests import fingerprint_digest, request_ids

    fingerprint = {"name": "m"}
    asked = json.dumps({"decoding": TWO.parameters(), "kind": "generate"}, sort_keys=True)
    content = f"{fingerprint_digest(fingerprint)}{asked}\n- -\nShe".encode()
    expected = hashlib.blake2b(content, digest_size=16).hexdigest()
    assert request_ids(["She"], None, None, GenerateRequest(TWO), fingerprint) == [expected]
    others = [replace(TWO, seed=1), replace(TWO, samples=3), replace(TWO, stop=(".",))]
    ids = {request_ids(["She"], None, None, GenerateRequest(other), fingerprint)[0] for other in others}
    assert len(ids | {expected}) == 4


def test_a_lone_surrogate_costs_one_character_and_no_row():
    answered = generations([0, 0], [0, 1], ["x \ud800 y", "good"], [1, 1], [-1.0, -1.0], [None, None])
    rows = continuation_rows(requests_of(["a"]), answered, TWO)
    assert rows["text"].to_list() == ["x \ufffd y", "good"] and rows["error"].null_count() == 2
