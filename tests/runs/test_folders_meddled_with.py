"""What others do to a run's folder while it runs: nothing is lost silently, and no second half run is begun."""

import shutil

import pytest

from evenhand.runs import Labelling, execute, label
from evenhand.schema import DataError, WriteError

TEXTS = [f"text {i}" for i in range(40)]


def after(batches, act):
    """Called with each batch: acts once, when so many have been asked."""
    asked = []

    def ask(texts):
        asked.append(texts)
        if len(asked) == batches:
            act()

    return ask


def test_responses_that_are_removed_meanwhile_are_asked_anew_by_the_next_session(start, fakes, tmp_path):
    remove = after(3, lambda: shutil.rmtree(tmp_path / "run" / "responses"))
    plan, model, directory = start(TEXTS, fakes.HashModel(remove))
    with pytest.raises(DataError, match="were deleted: 20 requests have no result") as caught:
        execute(plan, model, directory, first_shard=10, max_shard=10)
    assert "They were removed while the run was in progress" in caught.value.hint
    assert directory.manifest.status == "failed"
    outcome = execute(plan, model, directory)
    assert (outcome.answered, directory.manifest.status) == (20, "complete")
    assert directory.responses().height == 40


def test_labels_that_are_removed_meanwhile_are_made_anew_by_the_next_session(written, fakes, tmp_path):
    _, _, directory = written(TEXTS)  # four distinct continuations
    labelling = [Labelling("texts", "role", "hash")]
    remove = after(3, lambda: shutil.rmtree(tmp_path / "run" / "labels"))
    with pytest.raises(DataError, match="were deleted: 2 texts have no result"):
        label(directory, labelling, {"hash": fakes.HashClassifier(remove)}, first_shard=1, max_shard=1)
    assert "texts" not in directory.manifest.judged
    again = label(directory, labelling, {"hash": fakes.HashClassifier()})
    assert (again.texts, again.judged) == (4, 2)


def test_responses_that_are_removed_while_they_are_judged_are_not_measured_as_missing(
    written, fakes, tmp_path
):
    plan, model, directory = written(TEXTS)
    remove = after(1, lambda: shutil.rmtree(tmp_path / "run" / "responses"))
    with pytest.raises(DataError, match="were deleted: 80 requests have no result"):
        label(directory, [Labelling("texts", "role", "hash")], {"hash": fakes.HashClassifier(remove)})
    assert execute(plan, model, directory).answered == len(TEXTS)


@pytest.mark.parametrize("left", ["nothing", "another folder"])
def test_a_folder_that_is_moved_meanwhile_is_not_begun_a_second_time(start, fakes, tmp_path, left):
    def move():
        (tmp_path / "run").rename(tmp_path / "elsewhere")
        if left != "nothing":
            (tmp_path / "run").mkdir()

    plan, model, directory = start(TEXTS, fakes.HashModel(after(3, move)))
    with pytest.raises(WriteError, match="is no longer the folder in which this run started") as caught:
        execute(plan, model, directory, first_shard=10, max_shard=10)
    assert caught.value.exit_code == 1
    assert not (tmp_path / "run").exists() or not list((tmp_path / "run").iterdir())
    shutil.rmtree(tmp_path / "run", ignore_errors=True)
    (tmp_path / "elsewhere").rename(tmp_path / "run")
    assert execute(plan, model, directory).answered == 20
