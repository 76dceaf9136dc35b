"""A model that workers hold is one like any other: for the engine, for labels, for conversations."""

import polars as pl
import pytest

from evenhand.classifiers import Classifier
from evenhand.models import Decoding, LanguageModel, TextGenerator, text_generator
from evenhand.models.contract import Texts
from evenhand.runs import GenerateRequest, Labelling, RunDirectory, answers, execute, label
from evenhand.runs.cluster import FarClassifier, Recipe, abreast, far_model, where_it_is, whereabouts
from evenhand.runs.cluster.placement import together
from evenhand.runs.cluster.pool import Pool
from evenhand.schema import Unsupported, is_a
from tests.helpers.hands import FakeHands, Killed, pool_of

WORDS = ["kind", "old", "", "tall", "shy", "young"] * 20


def test_it_answers_the_contracts_of_what_workers_hold(fakes):
    pool, recipe, _ = pool_of(fakes.HashWriter)
    writer = far_model(pool, recipe)
    assert is_a(writer, TextGenerator) and writer.fingerprint == fakes.HashWriter().fingerprint
    scorer = far_model(pool, Recipe(fakes.HashModel))
    assert is_a(scorer, LanguageModel) and not is_a(scorer, TextGenerator)
    with pytest.raises(Unsupported, match="only scores"):
        text_generator(scorer)
    assert is_a(FarClassifier(pool, Recipe(fakes.HashClassifier)), Classifier)
    assert (abreast(writer), abreast(fakes.HashModel())) == (2, 1)
    assert whereabouts(writer)["workers"] == 2 and whereabouts(fakes.HashModel()) is None


def test_texts_with_contexts_spans_and_starts_come_back_whole(fakes):
    pool, recipe, _ = pool_of(fakes.HashModel, 3, seed=4)
    texts = Texts(WORDS, [f"context {i}" for i in range(120)], [(0, 1)] * 120, want_starts=True)
    far, near = far_model(pool, recipe).log_likelihoods(texts), fakes.HashModel().log_likelihoods(texts)
    for name in ("offsets", "log_probs", "token_ids", "starts"):
        assert (getattr(far, name) == getattr(near, name)).all(), name
    assert far.errors == near.errors


def test_continuations_and_judgements_are_those_of_one_machine(fakes):
    pool, recipe, _ = pool_of(fakes.HashWriter, 3, seed=2)
    decoding = Decoding(max_new_tokens=5, temperature=1.0, samples=3)
    far, near = (model.generate(WORDS, decoding) for model in (far_model(pool, recipe), fakes.HashWriter()))
    assert far.texts == near.texts and far.prompt.tolist() == near.prompt.tolist()
    assert (
        far.sample.tolist() == near.sample.tolist()
        and len(far_model(pool, recipe).generate([], decoding)) == 0
    )
    judge = FarClassifier(pool, Recipe(fakes.HashClassifier))
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
    held = far_model(pool, Recipe(lambda: fakes.HashWriter(die)))
    plan, _, far = start(texts, held, request, "far")
    execute(plan, held, far)
    session = RunDirectory.open(far.path).manifest.sessions[-1]
    assert session.workers["workers"] == 2 and session.workers["deaths"] == 3
    assert near.manifest.sessions[-1].workers is None
    wanted = [Labelling("texts", "harm", "judge")]
    label(near, wanted, {"judge": fakes.HashClassifier()})
    label(far, wanted, {"judge": FarClassifier(pool, Recipe(fakes.HashClassifier))})
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
        ("far", far_model(pool, Recipe(lambda: fakes.HashModel(fail)))),
    ):
        plan, _, directory = start(texts, model, None, name)
        outcome = execute(plan, model, directory, error_threshold=1.0)
        assert outcome.errors == {"model_error": 1}
        rows.append(pl.read_parquet(directory.responses_folder / "*.parquet").sort("request_id"))
    assert rows[0].equals(rows[1])


def test_a_function_of_a_model_runs_where_the_model_is(fakes):
    pool, recipe, _ = pool_of(fakes.HashModel)
    assert batches(fakes.HashModel()) == batches(far_model(pool, recipe)) == 0


@where_it_is
def batches(model):
    """Only the model itself has them."""
    return len(model.batches)


def test_what_stands_on_what_workers_hold_is_made_from_it(fakes):
    pool, recipe, _ = pool_of(fakes.HashModel)
    model = far_model(pool, recipe)
    assert far_model(pool, model.behind(renamed)).fingerprint["name"] == "hash, renamed"


def renamed(model):
    model.name += ", renamed"
    return model


def test_copies_say_their_counts_together():
    said = together([{"texts": 3, "generation": {"tokens_per_second": 2.0, "seconds_per_step": 1}}] * 3)
    assert said == {"texts": 9, "generation": {"tokens_per_second": 6.0, "seconds_per_step": 1}}
