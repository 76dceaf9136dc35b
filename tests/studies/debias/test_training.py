"""Trainings whose folder is not what it was: other terms, other files, other processes, values that are no number."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from evenhand.mitigations.training import HalvedValidation, Validation
from evenhand.runs import hold_lock
from evenhand.schema import DataError, Interrupted, ResumeRefused
from evenhand.studies.debias import DEBIAS, DebiasConfig, Debiased
from evenhand.studies.debias.lineage import check_lineage
from tests.helpers.terms import HEARING
from tests.studies.debias.test_trials import config, stop_before

OTHER = HEARING.replace('["Deaf", "Hearing"]]', '["Deaf", "Christian"]]')


def one(folder: Path, **options: Any) -> DebiasConfig:
    """A training of a step or two."""
    plain = config(folder, **options).model_dump(exclude={"search", "over", "guard"}, exclude_unset=True)
    return DebiasConfig(**{**plain, "epochs": 0.1})


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Debiased:
    """A training that has ended, in a folder beside its texts."""
    folder = tmp_path_factory.mktemp("made")
    return DEBIAS.conduct(one(folder, method="cda"), output=folder / "out")


def test_a_killed_training_does_not_go_on_with_other_terms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = one(tmp_path)
    with monkeypatch.context() as patch, pytest.raises(Interrupted):

        def stop() -> None:
            raise KeyboardInterrupt

        stop_before(1, stop, patch.setattr)
        DEBIAS.conduct(options, output=tmp_path / "out")
    (tmp_path / "terms.toml").write_text(OTHER)  # the same texts to learn from
    with pytest.raises(ResumeRefused, match=r"given.pairs: stored \"1, SHA-256") as refused:
        DEBIAS.conduct(options, output=tmp_path / "out")
    assert "given.specification" in str(refused.value) and "given.texts" not in str(refused.value)


def test_a_finished_folder_takes_no_other_texts_and_shows_what_differs(
    made: Debiased, tmp_path: Path
) -> None:
    for name, old, new, told in (
        ("texts.txt", "rude", "late", ("given.texts", "given.watched")),
        ("terms.toml", '"hearing"', '"sight"', ("given.bias", "given.groups")),
    ):
        options = one(tmp_path, method="cda")
        (tmp_path / name).write_text((tmp_path / name).read_text().replace(old, new))
        with pytest.raises(ResumeRefused) as refused:
            DEBIAS.conduct(options, output=made.path)
        assert all(part in str(refused.value) for part in told)


@pytest.mark.slow
def test_a_finished_search_takes_no_other_terms(tmp_path: Path) -> None:
    options = config(tmp_path, over=("weight=1",), epochs=0.01)
    DEBIAS.conduct(options, output=tmp_path / "out")
    (tmp_path / "terms.toml").write_text(OTHER)
    with pytest.raises(ResumeRefused, match=r"given\.pairs"):
        DEBIAS.conduct(options, output=tmp_path / "out")


def test_what_a_kill_behind_the_last_file_left_is_removed(made: Debiased, tmp_path: Path) -> None:
    left = made.path / "training" / "checkpoint.safetensors"
    left.write_bytes(b"x")
    DEBIAS.conduct(one(tmp_path, method="cda"), output=made.path)
    assert not left.exists()


def test_the_best_weights_do_not_stay_behind(tmp_path: Path) -> None:
    DEBIAS.conduct(one(tmp_path, patience=1, evaluate_every=1), output=tmp_path / "out")
    assert [path.name for path in (tmp_path / "out" / "training").iterdir()] == ["curves.jsonl"]


def test_a_folder_that_another_process_finished_is_taken_as_it_is(
    made: Debiased, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(path: Path) -> Any:
        shutil.copytree(made.path, path.parent, dirs_exist_ok=True)
        return hold_lock(path)

    monkeypatch.setattr("evenhand.studies.debias.training.hold_lock", late)
    begun = stop_before(-1, lambda: None, monkeypatch.setattr)
    again = DEBIAS.conduct(one(tmp_path, method="cda"), output=tmp_path / "out")
    assert begun == [0] and again.lineage == made.lineage


def test_a_model_is_written_whose_watched_values_are_no_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = Validation.values

    def spoilt(self: Validation, sums: Any, counts: Any) -> dict[str, float]:
        found = original(self, sums, counts)
        return {name: value if name == "perplexity" else float("nan") for name, value in found.items()}

    monkeypatch.setattr(Validation, "values", spoilt)
    options = one(tmp_path, method="cda")
    ended = DEBIAS.conduct(options, output=tmp_path / "out")
    assert (ended.path / "model.safetensors").is_file() and ended.lineage["watched"]["after"]["bias"] is None
    assert "| bias | – | – |" in (ended.path / "README.md").read_text()
    assert "Not a finite number" in (ended.path / "report.html").read_text()
    assert DEBIAS.conduct(options, output=tmp_path / "out").lineage == ended.lineage


def test_lineages_of_strangers_end_in_a_message(made: Debiased) -> None:
    whole = json.loads((made.path / "lineage.json").read_text())
    check_lineage(made.path, whole)
    projected = {name: value for name, value in whole.items() if name not in ("steps", "best_step")}
    check_lineage(made.path, {**projected, "told": "It was changed at once."})
    for change, told in (
        ({"base": "weights"}, "base"),
        ({"base": {"name": 5}}, "base.name"),
        ({"method": {"name": "x"}}, "method.summary"),
        ({"steps": "many"}, "steps"),
        ({"steps": None}, "steps"),
        ({"watched": {}}, "watched.before"),
        ({"watched": {"before": {"bias": "x"}, "after": {"bias": 1}}}, "watched.before.bias"),
        ({"watched": {"before": {}, "after": {"bias": 1.0}}}, "watched"),
        ({"search": {"tried": 3}}, "search"),
    ):
        with pytest.raises(
            DataError, match=rf"is not a valid record of how a model was trained .lineage.: {told}"
        ):
            check_lineage(made.path, {**whole, **change})


def test_the_halves_of_a_validation_have_its_texts() -> None:
    assert HalvedValidation.texts is Validation.texts  # so that a search is told from another by all of them
