"""Pairs of two models: what answers one prompt stands side by side."""

from collections import Counter

import pytest

from evenhand.annotation.building import build_study
from evenhand.annotation.building.built import Chat, ContentSelection, Notes, StudyText
from evenhand.annotation.building.pairing import paired_chats, paired_texts
from evenhand.annotation.definition import Item
from evenhand.runs import RunDirectory
from evenhand.schema import DataError, UsageError
from tests.annotation.building.conftest import Judged


def old(prompt: str, sample: int) -> str:
    return f" is old, {prompt[8:9]} and {sample}"


def new(prompt: str, sample: int) -> str:
    return old(prompt, sample) if "red-" in prompt else old(prompt, sample).replace("old", "new")


def turns(item: Item, place: int) -> list[tuple[str, str]]:
    assert item.pair is not None
    return [(turn.speaker, turn.text) for turn in item.pair[place].turns]


def test_answers_to_one_prompt_are_a_pair(run_of: Judged) -> None:
    built = build_study([run_of("house/old", old), run_of("house/new", new)], "acute")
    assert len(built.study.items) == 32
    for item in built.study.items:
        assert item.pair is not None
        assert [side.model for side in item.pair] == ["house/old", "house/new"]
        assert [side.speaker for side in item.pair] == ["B", "B"]
        (asker, prompt), (answerer, first) = turns(item, 0)
        assert (asker, answerer) == ("A", "B") and turns(item, 1)[0] == ("A", prompt)
        sample = int(float(str(item.groups["sample"])))
        assert first == old(prompt, sample).strip() and turns(item, 1)[1][1] == new(prompt, sample).strip()
    same = "16 prompts are left out, because house/old and house/new gave the same response."
    assert same in built.notes
    assert "96 choices between house/old and house/new; the papers had 400 or more" in built.notes[-1]


def test_a_limit_is_spread_over_groups(run_of: Judged) -> None:
    runs = [run_of("house/old", old), run_of("house/new", new)]
    study = build_study(runs, "acute", limit=6).study
    assert Counter(item.groups["group"] for item in study.items) == {"brown": 3, "black": 3}


def test_three_models_make_three_comparisons(run_of: Judged) -> None:
    runs = [run_of(f"house/{word}", lambda p, s, word=word: f"{word} {p} {s}") for word in ("a", "b", "c")]
    study = build_study(runs, "acute", limit=4).study
    assert Counter((item.pair[0].model, item.pair[1].model) for item in study.items if item.pair) == {
        ("house/a", "house/b"): 4,
        ("house/a", "house/c"): 4,
        ("house/b", "house/c"): 4,
    }


@pytest.mark.slow
def test_nothing_that_people_read_names_the_model(talks: dict[str, RunDirectory]) -> None:
    study = build_study([run.path for run in talks.values()], "acute", limit=20).study
    for item in study.items:
        read = " ".join(f"{speaker} {text}" for place in (0, 1) for speaker, text in turns(item, place))
        assert "conversing" not in read and "evenhand" not in read


@pytest.mark.slow
def test_conversations_are_drawn_with_replacement(talks: dict[str, RunDirectory]) -> None:
    runs = [run.path for run in talks.values()]
    built = build_study(runs, "acute", seed=5)
    pairs = [item.pair for item in built.study.items if item.pair]
    assert len(pairs) <= 120
    assert f"{120 - len(pairs)} repeated pairs were merged into one item each." in built.notes
    firsts = Counter(pair[0].id for pair in pairs)
    # 120 draws of at most 24 conversations: nearly all are there, most of them several times.
    assert 20 <= len(firsts) <= 24 and max(firsts.values()) > 4
    assert {pair[0].speaker for pair in pairs} == {"B"}
    assert built.study == build_study(runs, "acute", seed=5).study
    assert built.study.items != build_study(runs, "acute", seed=6).study.items


@pytest.mark.slow
def test_conversations_from_one_opener_are_a_pair(talks: dict[str, RunDirectory]) -> None:
    built = build_study([run.path for run in talks.values()], "acute", pairing="same", speaker="A")
    for item in built.study.items:
        assert turns(item, 0)[0] == turns(item, 1)[0]
        assert turns(item, 0)[0][1] == f"Hi! My name is {item.groups['name']}."
        assert item.pair and item.pair[0].speaker == item.pair[1].speaker == "A"
    assert len({str(turns(item, 0)) for item in built.study.items}) == len(built.study.items)


@pytest.mark.slow
def test_what_was_called_toxic_is_left_out_unless_wanted(talks: dict[str, RunDirectory]) -> None:
    runs = [run.path for run in talks.values()]
    toxic = 0
    for run in talks.values():
        from evenhand.runs import self_chats

        rows = self_chats(run, "names")
        toxic += rows.filter("toxicity_negative")["conversation"].n_unique()
    assert toxic > 0
    built = build_study(runs, "acute", pairing="same")
    assert sum(int(note.split()[0]) for note in built.notes if "calls toxic" in note) == toxic
    kept = build_study(runs, "acute", pairing="same", drop_unsafe=False)
    assert not any("calls toxic" in note for note in kept.notes)
    assert len(kept.study.items) > len(built.study.items)


def said(text: str, model: str, prompt: str, **more: object) -> StudyText:
    return StudyText(text, "Hi.", model, prompt=(prompt,), **more)  # type: ignore[arg-type]


def test_descriptors_that_may_hurt_are_left_out() -> None:
    calm = {"descriptor": "tall", "preference": "no_data"}
    hurtful = {"descriptor": "x", "descriptor_preference": "dispreferred"}
    models = [
        [
            said(f"{model} one", model, "1", groups=calm),
            said(f"{model} two", model, "2", groups=hurtful),
            said(f"{model} three", model, "3", groups=calm, unsafe=model == "b"),
        ]
        for model in ("a", "b")
    ]
    notes = Notes()
    items = paired_texts(models, ContentSelection(), notes)
    assert [turns(item, 0)[1][1] for item in items] == ["a one"]
    assert notes.all() == (
        "1 answers of a to descriptors that may be hurtful or divisive are left out.",
        "1 answers of b to descriptors that may be hurtful or divisive are left out.",
        "1 answers of b that a classifier calls toxic or offensive are left out.",
        "1 responses of a or b are left out, because the other model has no response to the same prompt.",
    )
    assert len(paired_texts(models, ContentSelection(drop_unsafe=False), Notes())) == 3


def test_answers_that_are_all_the_same_make_no_study() -> None:
    models = [[said("yes", model, "1")] for model in ("a", "b")]
    with pytest.raises(DataError, match="no prompt has different responses"):
        paired_texts(models, ContentSelection(), Notes())
    with pytest.raises(DataError, match="No pair of conversations"):
        paired_chats([[], [Chat((("A", "Hi."),), "A", "b")]], ContentSelection(), Notes())


def test_single_answers_are_not_drawn(run_of: Judged) -> None:
    with pytest.raises(UsageError, match="paired by their prompt"):
        build_study([run_of("house/old", old), run_of("house/new", new)], "acute", pairing="drawn")


def test_a_before_after_study_is_two_sources(
    run_of: Judged, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("study")
    run_of("house/old", old).rename(folder / "before")
    with pytest.raises(DataError, match="is an unfinished before-after study"):
        build_study([folder], "acute")
    run_of("house/new", new).rename(folder / "after")
    assert len(build_study([folder], "acute").study.items) == 32


def test_equal_names_are_told_apart_by_their_folders(
    run_of: Judged, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("study")
    run_of("house/same", old).rename(folder / "first")
    run_of("house/same", new).rename(folder / "second")
    study = build_study([folder / "first", folder / "second"], "acute").study
    assert study.items[0].pair is not None
    assert [side.model for side in study.items[0].pair] == ["house/same (first)", "house/same (second)"]
