"""A model that workers hold is one like any other: for the engine, for labels, for conversations."""

import polars as pl
import pytest

from evenhand.classifiers import Classifier
from evenhand.models import Decoding, LanguageModel, TextGenerator, text_generator
from evenhand.models.contract import Texts
from evenhand.runs import GenerateRequest, Labelling, RunDirectory, answers, execute, label
from evenhand.runs.cluster import (
    Recipe,
    RemoteClassifier,
    count_copies,
    describe_workers,
    load_remote_model,
    run_where_loaded,
)
from evenhand.runs.cluster.placement import merge_descriptions
from evenhand.runs.cluster.pool import Pool
from evenhand.schema import Unsupported, is_a
from tests.helpers.hands import FakeHands, Killed, pool_of

WORDS = ["kind", "old", "", "tall", "shy", "young"] * 20


def test_it_answers_the_contracts_of_what_workers_hold(fakes):
    pool, recipe, _ = pool_of(fakes.HashWriter)
    writer = load_remote_model(pool, recipe)
    assert is_a(writer, TextGenerator) and writer.fingerprint == fakes.HashWriter().fingerprint
    scorer = load_remote_model(pool, Recipe(fakes.HashModel))
    assert is_a(scorer, LanguageModel) and not is_a(scorer, TextGenerator)
    with pytest.raises(Unsupported, match="only scores"):
        text_generator(scorer)
    assert is_a(RemoteClassifier(pool, Recipe(fakes.HashClassifier)), Classifier)
    assert (count_copies(writer), count_copies(fakes.HashModel())) == (2, 1)
    assert describe_workers(writer)["workers"] == 2 and describe_workers(fakes.HashModel()) is None


def test_texts_with_contexts_spans_and_starts_come_back_whole(fakes):
    pool, recipe, _ = pool_of(fakes.HashModel, 3, seed=4)
    texts = Texts(WORDS, [f"context {i}" for i in range(120)], [(0, 1)] * 120, want_starts=True)
    far, near = (
        load_remote_model(pool, recipe).log_likelihoods(texts),
        fakes.HashModel().log_likelihoods(texts),
    )
    for name in ("offsets", "log_probs", "token_ids", "starts"):
        assert (getattr(far, name) == getattr(near, name)).all(), name
    assert far.errors == near.errors


def test_continuations_and_judgements_are_those_of_one_machine(fakes):
    pool, recipe, _ = pool_of(fakes.HashWriter, 3, seed=2)
    decoding = Decoding(max_new_tokens=5, temperature=1.0, samples=3)
    far, near = (
        model.generate(WORDS, decoding) for model in (load_remote_model(pool, recipe), fakes.HashWriter())
    )
    assert far.texts == near.texts and far.prompt.tolist() == near.prompt.tolist()
    assert (
        far.sample.tolist() == near.sample.tolist()
        and len(load_remote_model(pool, recipe).generate([], decoding)) == 0
    )
    judge = RemoteClassifier(pool, Recipe(fakes.HashClassifier))
    far, near = judge.classify(WORDS), fakes.HashClassifier().classify(WORDS)
    assert far.labels == near.labels and far.errors == near.errors
    assert far.score.tolist() == pytest.approx(near.score.tolist(), nan_ok=True)


def test_a_run_among_dying_workers_equals_one_without_any(start, fakes):
    deaths = iter([True, False, False, True, False, True])

    def die(texts):
        if next(deaths, False):
            raise Killed

    texts = [f"prompt {i}" for i in range(90)] + [""]
    request = GenerateRequest(Decoding(max_new_tokens=9, temperature=1.0, samples=2))
    plan, model, near = start(texts, fakes.HashWriter(), request, "near")
    execute(plan, model, near)
    pool = Pool(FakeHands(seed=7), 2)
    held = load_remote_model(pool, Recipe(lambda: fakes.HashWriter(die)))
    plan, _, far = start(texts, held, request, "far")
    execute(plan, held, far)
    session = RunDirectory.open(far.path).manifest.sessions[-1]
    assert session.workers["workers"] == 2 and session.workers["deaths"] == 3
    assert near.manifest.sessions[-1].workers is None
    wanted = [Labelling("texts", "harm", "judge")]
    label(near, wanted, {"judge": fakes.HashClassifier()})
    label(far, wanted, {"judge": RemoteClassifier(pool, Recipe(fakes.HashClassifier))})
    assert answers(far, "texts").equals(answers(near, "texts"))
    (record,) = far.manifest.labels.values()
    assert record.workers["workers"] == 2


def test_a_text_that_breaks_the_model_is_a_row_of_the_same_words(start, fakes):
    def fail(texts):
        if "text 5" in texts:
            raise ValueError("an unlucky number")

    texts, rows = [f"text {i}" for i in range(40)], []
    pool = Pool(FakeHands(), 2)
    for name, model in (
        ("near", fakes.HashModel(fail)),
        ("far", load_remote_model(pool, Recipe(lambda: fakes.HashModel(fail)))),
    ):
        plan, _, directory = start(texts, model, None, name)
        outcome = execute(plan, model, directory, error_threshold=1.0)
        assert outcome.errors == {"model_error": 1}
        rows.append(pl.read_parquet(directory.responses_folder / "*.parquet").sort("request_id"))
    assert rows[0].equals(rows[1])


def test_a_function_of_a_model_runs_where_the_model_is(fakes):
    pool, recipe, _ = pool_of(fakes.HashModel)
    assert batches(fakes.HashModel()) == batches(load_remote_model(pool, recipe)) == 0


@run_where_loaded
def batches(model):
    """Only the model itself has them."""
    return len(model.batches)


def test_what_stands_on_what_workers_hold_is_made_from_it(fakes):
    pool, recipe, _ = pool_of(fakes.HashModel)
    model = load_remote_model(pool, recipe)
    assert load_remote_model(pool, model.derive_recipe(renamed)).fingerprint["name"] == "hash, renamed"


def renamed(model):
    model.name += ", renamed"
    return model


def test_copies_say_their_counts_together():
    said = merge_descriptions(
        [{"texts": 3, "generation": {"tokens_per_second": 2.0, "seconds_per_step": 1}}] * 3
    )
    assert said == {"texts": 9, "generation": {"tokens_per_second": 6.0, "seconds_per_step": 1}}
