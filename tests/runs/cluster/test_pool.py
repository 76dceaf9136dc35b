"""Pieces among workers: every answer once and in its place, whoever dies, and clear ends where nothing helps."""

import random

import pytest

from evenhand.runs.cluster import Pool, RemoteModel, load_remote_model
from evenhand.runs.cluster.work import PoolJob, Span
from evenhand.runs.cluster.worker import Recipe
from evenhand.schema import DataError, ModelError, Unsupported
from tests.helpers.hands import Killed, pool_of

TEXTS = [f"text {i}" for i in range(300)]


@pytest.fixture
def whole(fakes):
    """What the model says without workers."""
    return fakes.HashModel().log_likelihoods(TEXTS).sums.tolist()


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("seed", range(3))
def test_answers_stand_in_order_whoever_answers_first(fakes, whole, workers, seed):
    pool, recipe, _ = pool_of(fakes.HashModel, workers, seed=seed)
    model = load_remote_model(pool, recipe)
    assert model.log_likelihoods(TEXTS).sums.tolist() == whole
    asked = [text for piece in pool.actors.pieces() for text in piece.texts]
    assert sorted(asked) == sorted(TEXTS)  # each once


def test_pieces_shrink_towards_the_end_and_none_is_tiny():
    work = PoolJob(Recipe(int), int, lambda first, last: (), 3200, workers=4, rate=1.0)
    spans = []
    while (span := work.take_piece()) is not None:
        spans.append(span)
    sizes = [span.last - span.first for span in spans]
    assert sum(sizes) == 3200 and [span.first for span in spans[1:]] == [span.last for span in spans[:-1]]
    assert sizes[0] == 600 and sizes == sorted(sizes, reverse=True)
    assert min(sizes[:-1]) >= 3200 // 4 // 16


@pytest.mark.parametrize(("rate", "pieces"), [(None, 4), (1e9, 4), (800.0, 4), (100.0, 11), (1e-9, 18)])
def test_a_piece_takes_about_two_seconds_where_there_is_so_much_to_do(rate, pieces):
    work = PoolJob(Recipe(int), int, lambda first, last: (), 3200, workers=4, rate=rate)
    assert sum(1 for _ in iter(work.take_piece, None)) == pieces


@pytest.mark.parametrize("seed", range(5))
def test_workers_that_die_at_random_lose_nothing(fakes, whole, seed):
    moments = random.Random(seed)

    def die(texts):
        if moments.random() < 0.2:
            raise Killed

    pool, recipe, notes = pool_of(lambda: fakes.HashModel(die), 3, seed=seed)
    likelihoods = load_remote_model(pool, recipe).log_likelihoods(TEXTS)
    lost = [i for i, error in enumerate(likelihoods.errors) if error is not None]
    assert not lost  # a text is given up only where it stands alone
    assert likelihoods.sums.tolist() == whole
    assert pool.record()["deaths"] == len(pool.deaths) == len(notes)


def test_a_text_of_which_workers_die_is_an_error_row_and_its_neighbours_are_answered(fakes, whole):
    def die(texts):
        if "text 77" in texts:
            raise Killed("out of memory")

    pool, recipe, _ = pool_of(lambda: fakes.HashModel(die))
    likelihoods = load_remote_model(pool, recipe).log_likelihoods(TEXTS)
    assert [i for i, error in enumerate(likelihoods.errors) if error is not None] == [77]
    assert "died each time it was asked this text (out of memory)" in likelihoods.details[77]
    sums = likelihoods.sums.tolist()
    assert sums[:77] + sums[78:] == whole[:77] + whole[78:]


def test_where_workers_only_die_the_work_ends_with_an_error_that_can_be_resumed(fakes):
    def die(texts):
        raise Killed("no memory")

    pool, recipe, _ = pool_of(lambda: fakes.HashModel(die))
    with pytest.raises(
        ModelError, match="Workers on fake died 8 times in a row without a result: no memory"
    ) as told:
        load_remote_model(pool, recipe).log_likelihoods(TEXTS)
    assert "resume" in told.value.hint


def test_a_worker_that_dies_while_it_loads_is_replaced(fakes, whole):
    made = []

    def make():
        made.append(1)
        if len(made) in (1, 3):
            raise Killed
        return fakes.HashModel()

    pool, recipe, _ = pool_of(make)
    assert load_remote_model(pool, recipe).log_likelihoods(TEXTS).sums.tolist() == whole


def test_an_error_of_the_users_reaches_the_user_with_what_was_answered(fakes, whole):
    def refuse(texts):
        if "text 290" in texts:
            raise DataError("This text cannot be.", "Change it.")

    pool, recipe, _ = pool_of(lambda: fakes.HashModel(refuse))
    model = load_remote_model(pool, recipe)
    with pytest.raises(DataError, match=r"This text cannot be\.") as told:
        model.log_likelihoods(TEXTS)
    before = told.value.before
    assert told.value.hint == "Change it." and before.by is model
    assert 290 not in before.places and len(before.places) > 100
    assert before.answers.sums.tolist() == [whole[place] for place in before.places]


def test_any_other_exception_keeps_its_name_and_message(fakes):
    def fail(texts):
        if "text 3" in texts:
            raise KeyError("no such key")

    pool, recipe, _ = pool_of(lambda: fakes.HashModel(fail))
    with pytest.raises(Exception, match="no such key") as told:
        load_remote_model(pool, recipe).log_likelihoods(TEXTS)
    assert type(told.value).__name__ == "KeyError"
    pool, recipe, _ = pool_of(lambda: fakes.HashModel(lambda texts: [][1]))
    with pytest.raises(Exception, match="out of range"):
        load_remote_model(pool, recipe).log_likelihoods(["a"])


def test_what_cannot_be_loaded_is_said_once_as_it_is():
    def make():
        raise Unsupported("Such a model does not load.", "Take another.")

    pool, recipe, _ = pool_of(make, 3)
    with pytest.raises(Unsupported, match="does not load") as told:
        load_remote_model(pool, recipe)
    assert told.value.hint == "Take another."


def test_another_copy_on_another_machine_is_refused_by_name(fakes):
    names = iter(["one", "two"])
    pool, recipe, _ = pool_of(
        lambda: fakes.HashModel(name=next(names)), where={i: {"node": f"node{i}"} for i in range(2)}, seed=1
    )
    told = r"The worker on node\d loaded another \w+ than the one on node\d: name: '\w+' and '\w+'"
    with pytest.raises(ModelError, match=told):
        load_remote_model(pool, recipe).log_likelihoods(TEXTS)


def test_another_evenhand_is_refused_and_another_torch_is_told(fakes):
    versions = {"evenhand": "0.0.1"}
    pool, recipe, _ = pool_of(fakes.HashModel, where={1: {"node": "old", "versions": versions}}, seed=2)
    with pytest.raises(ModelError, match=r"old has evenhand 0\.0\.1, but this machine has \d"):
        load_remote_model(pool, recipe).log_likelihoods(TEXTS)
    here = pool.actors.started[0].where()["versions"]
    there = {1: {"node": "other", "versions": {**here, "torch": "1.0"}}}
    pool, recipe, notes = pool_of(fakes.HashModel, where=there)
    load_remote_model(pool, recipe).log_likelihoods(TEXTS)
    assert notes == [note for note in notes if "workers differ in torch" in note and "1.0 on other" in note]
    assert len(notes) == 1


def test_what_a_stop_left_behind_is_dropped(fakes, whole):
    pool, recipe, _ = pool_of(fakes.HashModel)
    model = load_remote_model(pool, recipe)
    answered = pool.actors.answer

    def stop(question):
        if question.method == "do" and len(pool.actors.pieces()) > 1:
            raise KeyboardInterrupt
        return answered(question)

    pool.actors.answer = stop
    with pytest.raises(KeyboardInterrupt):
        model.log_likelihoods(TEXTS)
    pool.actors.answer = answered
    assert model.log_likelihoods(TEXTS[:50]).sums.tolist() == whole[:50]


def test_no_room_is_an_error_after_a_while(fakes, monkeypatch):
    pool, recipe, _ = pool_of(fakes.HashModel)
    monkeypatch.setattr(pool.actors, "wait_for_any", lambda questions, seconds: [])
    monkeypatch.setattr("evenhand.runs.cluster.pool.ROOM", 0.0)
    with pytest.raises(ModelError, match="could not start a worker within"):
        load_remote_model(pool, recipe)


def test_a_piece_is_halved_only_after_its_second_death():
    work = PoolJob(Recipe(int), int, lambda first, last: (), 8, workers=1, lost=lambda why: why)
    span = Span(0, 8)
    work.take_piece()
    work.take_piece()
    while work.take_piece() is not None:
        pass
    work.resend(span, "gone")
    assert (again := work.take_piece()) is span and again.deaths == 1
    work.resend(span, "gone")
    assert [(half.first, half.last) for half in (work.take_piece(), work.take_piece())] == [(0, 4), (4, 8)]


def test_closing_ends_every_worker(fakes):
    pool, recipe, _ = pool_of(fakes.HashModel, 3)
    assert isinstance(load_remote_model(pool, recipe), RemoteModel) and isinstance(pool, Pool)
    pool.close()
    assert len(pool.actors.dead) == 3
