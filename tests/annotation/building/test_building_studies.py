"""Studies of runs: every item against what the house's model is known to say."""

import re
from collections import Counter
from pathlib import Path

import pytest

from evenhand.annotation.building import build_study
from evenhand.annotation.building.built import Chat, StudyText
from evenhand.annotation.definition import Item, Study, read_study, write_study
from evenhand.schema import DataError, UsageError
from evenhand.studies.audit import audit, rescore
from tests.annotation.building.conftest import Judged
from tests.helpers.judged_house import HAIR, said


def known(prompt: str, sample: int) -> str:
    return f" {sample}: {said(prompt, sample)}"


def test_each_answer_is_an_item_with_all_that_is_known_of_it(run_of: Judged) -> None:
    built = build_study([run_of("house/known", known)], "labels")
    assert len(built.study.items) == 48
    for item in built.study.items:
        sample = int(float(str(item.groups["sample"])))
        assert item.context is not None and item.text == known(item.context, sample).strip()
        assert item.model == "house/known"
        assert item.groups["benchmark"] == "rudeness" and item.groups["mitigation"] == "none"
        assert f"{item.groups['group']}-haired" in item.context
        judged = item.judgements["words/rude"]
        assert judged["negative"] is ("rude" in item.text)
        assert judged["label"] == ("harmful" if "rude" in item.text else "harmless")
        assert judged["scores"]["harmful"] == pytest.approx(0.9 if "rude" in item.text else 0.1)  # type: ignore[index, call-overload]
    assert len({item.id for item in built.study.items}) == 48
    assert built.study.name == "labels-house-known"
    assert built.notes == ()


def test_what_says_the_same_is_there_once_and_counted(run_of: Judged) -> None:
    built = build_study([run_of("house/plain", said)], "labels")
    texts = Counter((item.context, item.text) for item in built.study.items)
    assert set(texts.values()) == {1}
    # People with red hair are called rude in both samples of the 8 prompts about them.
    assert len(texts) == 40
    assert "8 texts of house/plain are left out because they repeat another text." in built.notes


def test_what_is_empty_is_left_out_and_counted(run_of: Judged) -> None:
    run = run_of("house/mute", lambda prompt, sample: "  " if "red-" in prompt else known(prompt, sample))
    built = build_study([run], "labels")
    assert {item.groups["group"] for item in built.study.items} == {"brown", "black"}
    assert built.notes == ("16 texts of house/mute are empty and left out.",)


def test_a_limit_is_spread_evenly_and_drawn_by_the_seed(run_of: Judged) -> None:
    run = run_of("house/known", known)

    def ids(**options: int) -> list[str]:
        return [item.id for item in build_study([run], "labels", **options).study.items]  # type: ignore[arg-type]

    study = build_study([run], "labels", limit=9, seed=1).study
    assert Counter(item.groups["group"] for item in study.items) == dict.fromkeys(HAIR, 3)
    assert study.seed == 1
    assert ids(limit=9, seed=1) == ids(limit=9, seed=1) != ids(limit=9, seed=2)
    assert set(ids(limit=9)) < set(ids(limit=30)) < set(ids())
    assert ids(limit=1000) == ids()


def test_items_have_the_same_names_when_the_same_was_said_again(run_of: Judged, tmp_path: Path) -> None:
    first = run_of("house/known", known).rename(tmp_path / "first")
    study = build_study([first], "labels").study
    again = build_study([run_of("house/known", known, "two-roles")], "labels").study
    assert {item.id for item in study.items} == {item.id for item in again.items}


def test_two_models_are_judged_in_one_study(run_of: Judged) -> None:
    first, second = run_of("house/one", known), run_of("house/two", lambda p, s: known(p, s) + " Yes.")
    study = build_study([first, second], "labels", limit=12).study
    assert Counter((item.model, item.groups["group"]) for item in study.items) == {
        (model, hair): 2 for model in ("house/one", "house/two") for hair in HAIR
    }


def test_the_judgements_of_all_who_judged_are_there(run_of: Judged) -> None:
    from evenhand.studies.audit import open_run

    run = open_run(run_of("house/known", known, "two-roles"))
    rescore(run, {"rudeness": "house/words?word=kind"})
    item = build_study([run.path], "labels").study.items[0]
    assert set(item.judgements) == {"words/rude", "words/kind", "words/mean"}
    # Meanness was judged of prompt and answer up to the first full stop, the noun hidden.
    judged = item.judgements["words/mean"]["text"]
    assert isinstance(judged, str) and judged.startswith("In case") and "XYZ" in judged
    assert "text" not in item.judgements["words/rude"]


def test_prompt_and_answer_can_be_shown_as_one_text_or_as_they_were_judged(run_of: Judged) -> None:
    run = run_of("house/known", known)
    for item in build_study([run], "labels", show="whole").study.items:
        assert item.context is None and item.text is not None
        assert item.text.startswith("In case") and re.search(r"neighbour \d: ", item.text)
        assert str(item.groups["prompt"]).startswith("In case")
    judged = build_study([run], "labels", show="judged").study
    assert {item.text for item in judged.items} == {
        item.text for item in build_study([run], "labels").study.items
    }
    unjudged = run_of("house/unjudged", known, "fluency")
    with pytest.raises(UsageError, match="has no classifier, so"):
        build_study([unjudged], "labels", show="judged")


@pytest.mark.slow
def test_unfinished_sentences_are_shown_whole(tmp_path: Path) -> None:
    options = {"limit": 6, "samples": 1, "classifiers": {"regard": "vader"}, "output": tmp_path / "run"}
    run = audit("evenhand/reference", benchmarks=["regard"], **options)  # type: ignore[arg-type]
    built = build_study([run.path], "regard")
    assert any(note.startswith("Prompts of regard begin a sentence") for note in built.notes)
    assert any("540 or more" in note for note in built.notes)
    for item in built.study.items:
        assert item.context is None and str(item.text).startswith(str(item.groups["prompt"]))
        assert str(item.judgements["vader"]["text"]).startswith("XYZ")


def test_texts_can_be_left_out_by_what_is_known_of_them(run_of: Judged) -> None:
    run = run_of("house/known", known)
    built = build_study([run], "labels", leave_out=["group=red"])
    assert len(built.study.items) == 32
    assert built.notes == ("16 texts with group=red are left out.",)
    with pytest.raises(UsageError, match="`--leave-out group=green`: no text") as caught:
        build_study([run], "labels", leave_out=["group=green"])
    assert "black, brown, red" in caught.value.hint
    with pytest.raises(UsageError, match="`--leave-out` expects COLUMN=VALUE, got 'red'"):
        build_study([run], "labels", leave_out=["red"])


@pytest.mark.parametrize("template", ["labels", "regard", "robbie", "redditbias"])
def test_a_study_made_is_a_file_that_is_read_again(run_of: Judged, tmp_path: Path, template: str) -> None:
    source = run_of("house/known", known)
    if template == "redditbias":
        source = tmp_path / "table.csv"
        source.write_text("comment,phrase\nreds are loud at home,reds are loud\n")
    study = build_study([source], template, name="of-mine", limit=5).study
    assert isinstance(study, Study) and study.name == "of-mine"
    assert read_study(write_study(study, tmp_path / "of-mine.yaml")) == study


def test_nothing_is_made_of_what_is_no_source(run_of: Judged, tmp_path: Path) -> None:
    run = run_of("house/known", known)
    with pytest.raises(UsageError, match="no run and no file was given"):
        build_study([], "labels")
    with pytest.raises(DataError, match="neither a run nor a table"):
        build_study([tmp_path], "labels")
    with pytest.raises(DataError, match="no texts of 'bold'") as caught:
        build_study([run], "labels", benchmark="bold")
    assert "rudeness" in caught.value.hint
    with pytest.raises(UsageError, match="shows single texts"):
        build_study([run], "labels", pairing="same")
    with pytest.raises(UsageError, match="Unknown speaker 'C'"):
        build_study([run, run], "acute", speaker="C")
    with pytest.raises(UsageError, match="pairs need two models"):
        build_study([run], "acute")


@pytest.mark.slow
def test_likelihoods_alone_make_no_study(tmp_path: Path) -> None:
    run = audit("puppet/uniform", benchmarks=["evenhand-likelihood"], limit=100, output=tmp_path / "run")
    with pytest.raises(DataError, match="has no generated text, only likelihoods, so there is"):
        build_study([run.path], "labels")


def test_control_characters_are_taken_out_of_groups_models_and_conversations() -> None:
    said = StudyText("a\x07b", context="c\x00d", model="m\x1b", groups={"group": "wo\x07men", "share": 0.5})
    assert (said.text, said.context, said.model) == ("ab", "cd", "m")
    assert said.groups == {"group": "women", "share": 0.5}
    chat = Chat((("A", "hi\x07"), ("B", "yes\x00")), "B", "m", groups={"name": "Ana\x07"})
    assert chat.turns == (("A", "hi"), ("B", "yes")) and chat.groups == {"name": "Ana"}


def test_control_characters_are_taken_out(run_of: Judged) -> None:
    run = run_of("house/rings", lambda prompt, sample: f" rings\x07 {prompt[-20:]} {sample}")
    items: tuple[Item, ...] = build_study([run], "labels").study.items
    assert all("\x07" not in str(item.text) and "rings" in str(item.text) for item in items)
