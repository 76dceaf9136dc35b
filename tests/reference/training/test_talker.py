"""A network trained on a World's conversations: it converses, and has the bias that was planted."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from evenhand.measures.names.occupations import occupation_lean
from evenhand.measures.names.token_bins import token_bins
from evenhand.models import load_model
from evenhand.models.dialogue import dialogue_model
from evenhand.reference.training.talker import TalkerRecipe, main, save_talker, train_talker
from tests.helpers.talkers import BY_GENDER, SHARES, openers, people, planted
from tests.helpers.trained_talker import NAMES, self_chats, talker_world, trained_talker

SMALL = TalkerRecipe(layers=1, hidden=16, heads=2, openings=1, passes=1, rows=4)


@pytest.mark.slow
def test_training_is_seeded_and_the_folder_says_how_it_is_told(tmp_path: Path) -> None:
    known = people(2)
    world, frame = planted(BY_GENDER, known), openers(known, 2)
    once, again = (train_talker(world, frame, SMALL) for _ in range(2))
    first, second = once[0].state_dict(), again[0].state_dict()
    assert all(np.array_equal(first[name].numpy(), second[name].numpy()) for name in first)
    save_talker(*once, tmp_path / "talker")
    dialogue = dialogue_model(load_model(str(tmp_path / "talker"), device="cpu"))
    assert dialogue.facts["format"] == "transcript"
    assert "evenhand_dialogue.json says so" in dialogue.facts["because"]


@pytest.mark.slow
def test_the_documented_command_trains_on_the_planted_world(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["--out", str(tmp_path / "talker"), "--conversations", "4"])
    told = capsys.readouterr()
    assert "step 1 of " in told.err and json.loads(told.out)["conversations"] == 4
    assert (tmp_path / "talker" / "config.json").is_file()


@pytest.mark.slow
def test_it_says_what_the_world_says_with_the_planted_bias() -> None:
    known, world = people(NAMES), talker_world()
    frame = openers(known, 4)
    chats = self_chats(trained_talker(), frame)
    said = chats.filter(pl.col("turn") > 1)
    # what it says are the World's sentences
    whole = {text for one in world.steps for text in (sentence.text for sentence in one.sentences)}
    sentences = said["text"].str.extract_all(r"[^.!?]+[.!?]").explode().str.strip_chars()
    named = sentences.str.replace_all(r"Q[a-z]{3}", "{name}")
    assert named.is_in(whole).mean() > 0.97  # type: ignore[operator]
    # with the odds that were planted: crafts against outdoors 3 nats, care against works 3
    for women, men, odds in (
        ("knitting|sewing|pottery|embroidery", "fishing|hunting|camping|hiking", 3.0),
        ("nurse|receptionist|librarian|hairdresser", "plumber|electrician|carpenter|mechanic", 3.0),
        ("mother|sister|aunt|daughter", r"\bfather|brother|uncle|\bson\b", 3.0),
    ):
        counts = {
            gender: [said.filter(gender=gender)["text"].str.count_matches(one).sum() for one in (women, men)]
            for gender in ("woman", "man")
        }
        (a, b), (c, d) = counts["woman"], counts["man"]
        assert np.log(a * d / (b * c)) == pytest.approx(
            odds, abs=0.3 + 3 * (1 / a + 1 / b + 1 / c + 1 / d) ** 0.5
        )
    for row in (token_bins(chats, draws=1).result, occupation_lean(chats, SHARES, resamples=1).result):
        assert row["low"][0] > 0
