"""State tracking learned end to end on our own small data, and each published quirk against its plain description."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from evenhand.measures import state_tracking
from evenhand.mitigations.training import TrainingOptions
from evenhand.models import load_model
from evenhand.prompts.dialogue_tasks import StatePair, classification_pairs, read_multiwoz
from evenhand.studies.redditbias.tasks import TrackingOptions, track_states
from evenhand.studies.redditbias.tasks.state_classifier import StateClassifier
from evenhand.studies.redditbias.tasks.state_tracking import (
    YesOrNo,
    encoded_questions,
)
from tests.prompts.dialogue_tasks.small import write_multiwoz

FEW = TrainingOptions(epochs=4, batch_size=8, learning_rate=2e-3, dropout=False)


def reference() -> Any:
    return load_model("evenhand/reference", device="cpu", dtype="float32")


def question(user: str, value: str, is_new: bool, dialogue: str = "d", system: str = "") -> StatePair:
    return StatePair(dialogue, 0, system, user, "hotel-area", value, is_new)


def test_what_can_be_learned_is_learned(tmp_path: Path) -> None:
    # of every pair the value alone tells: north is always right
    pairs = [
        question(f"text {i % 7}", v, v == "north", f"d{i}") for i in range(24) for v in ("north", "south")
    ]
    found = track_states(reference(), pairs, pairs, TrackingOptions(training=FEW), tmp_path, device="cpu")
    scores = dict(state_tracking(found).select("measure", "estimate").rows())
    assert scores["dst_f1"] == 1
    assert scores["dst_f1_over_null"] == pytest.approx(1 / 3)


def test_the_road_from_the_archive_to_the_score_runs_and_goes_on(tmp_path: Path) -> None:
    data = read_multiwoz(write_multiwoz(tmp_path / "data", archive=True))
    train, test = (classification_pairs(data, split).pairs for split in ("train", "test"))
    for as_published in (False, True):
        options = TrackingOptions(as_published=as_published, training=replace(FEW, epochs=1))
        folder = tmp_path / str(as_published)
        found = track_states(reference(), train, test, options, folder, device="cpu")
        assert found["is_new"].to_list() == [pair.is_new for pair in test]
        again = track_states(reference(), train, test, options, folder, device="cpu")
        assert again.equals(found)


def test_long_questions_keep_their_slot_value_or_lose_it_as_published() -> None:
    tokenizer = reference().tokenizer
    long = question(" ".join(["word"] * 80), "the centre of the town", True, system=" ".join(["old"] * 20))
    [cut] = encoded_questions(tokenizer, [long], 40, cut_end=True).ids
    [kept] = encoded_questions(tokenizer, [long], 40, cut_end=False).ids
    assert len(cut) == len(kept) == 40
    assert tokenizer.decode(kept).endswith("word hotel-area-the centre of the town")
    assert "hotel" not in tokenizer.decode(cut) and tokenizer.decode(cut).startswith("old old")
    short = question("text", "north", True, system="yes .")
    both = [encoded_questions(tokenizer, [short], 40, cut_end=cut).ids[0].tolist() for cut in (True, False)]
    assert both[0] == both[1]
    assert tokenizer.decode(both[0]) == "yes . [SEP] text hotel-area-north"


def test_the_last_token_is_read_and_padding_changes_nothing_unless_as_published() -> None:
    model = reference()
    classifier = StateClassifier(model.model, seed=0).eval()
    examples = encoded_questions(
        model.tokenizer,
        [question("a room", "north", True), question("a room in the south of the old town", "south", False)],
        64,
        cut_end=False,
    )
    together, alone = examples.batch([0, 1], pad=7), examples.batch([0], pad=7)
    body = model.model.base_model(input_ids=alone.input_ids).last_hidden_state
    with torch.no_grad():
        by_hand = classifier.head(body[:, -1]).squeeze(-1)
        right = classifier(together.input_ids, together.attention_mask)
        published = classifier(together.input_ids, None)
        padded = model.model.base_model(input_ids=together.input_ids).last_hidden_state
        of_padding = classifier.head(padded[:, -1]).squeeze(-1)
    torch.testing.assert_close(right[0], by_hand[0])
    torch.testing.assert_close(published, of_padding)
    assert abs(float(published[0] - by_hand[0])) > 1e-3
    torch.testing.assert_close(published[1], right[1])


@pytest.mark.parametrize("as_published", [False, True])
def test_the_loss_is_cross_entropy_written_out(as_published: bool) -> None:
    model = reference()
    classifier, objective = StateClassifier(model.model, seed=1).eval(), YesOrNo(as_published)
    pairs = [question("a room", "north", True), question("in the town", "south", False)]
    batch = encoded_questions(model.tokenizer, pairs, 64, cut_end=as_published).batch([0, 1], pad=0)
    with torch.no_grad():
        answers = classifier(batch.input_ids, None if as_published else batch.attention_mask).double().numpy()
        found = float(objective.sums(classifier, batch)["state"])
    chance = 1 / (1 + np.exp(-answers))
    assert found == pytest.approx(-np.log(chance[0]) - np.log(1 - chance[1]), rel=1e-5)
    assert objective.pooled is not as_published
    assert objective.sizes(batch) == {"state": 2}


def test_as_published_three_tokens_are_added_and_the_last_pads(tmp_path: Path) -> None:
    model = reference()
    rows = model.model.get_input_embeddings().weight.shape[0]
    pairs = [question("a room", "north", True), question("in the middle of the town", "south", False)]
    options = TrackingOptions(as_published=True, training=replace(FEW, epochs=1, batch_size=2))
    track_states(model, pairs, pairs, options, tmp_path, device="cpu")
    assert model.model.get_input_embeddings().weight.shape[0] == rows + 3
