"""Conversations asked round by round: what is asked, what is stored, and what a failure or a stop leaves."""

import signal
from collections import Counter

import polars as pl
import pytest

from evenhand.models.decoding import Decoding
from evenhand.models.dialogue import History
from evenhand.runs import (
    ConversationRequest,
    Labelling,
    PlanPart,
    RunDirectory,
    answers,
    execute,
    judgements,
    label,
    make_plan,
    self_chats,
)
from evenhand.runs.progress import Silence
from evenhand.schema import DataError, Interrupted, ResumeRefused, UsageError
from tests.helpers import talking
from tests.helpers.talking import DRAWN, GREEDY, Talker, introductions

TURNS = 12


def begin(tmp_path, openers, talker, decoding=DRAWN, name="run", turns=TURNS):
    plan = make_plan(
        [PlanPart("names", openers, ConversationRequest(decoding, turns))], {"name": "plain"}, talker
    )
    path = tmp_path / name
    known = RunDirectory.is_run(path)
    model = talking.Plain()
    directory = (
        RunDirectory.open(path) if known else RunDirectory.create(path, model=model, given={}, resolved={})
    )
    return plan, model, directory


def alone(talker, row, decoding, turns=TURNS):
    """One conversation by itself, written as slowly and plainly as can be."""
    said = [row["text"]]
    for turn in range(2, turns + 1):
        persona = row["persona_b" if turn % 2 == 0 else "persona_a"]
        chat = str(row["conversation"]) if decoding.temperature else ""
        history = History(tuple(persona), tuple(said), chat)
        answer = talker.generate([history.prompt()], decoding)
        if answer.errors[0] is not None:
            said.append(None)
            break
        said.append(answer.texts[0])
    return said


@pytest.mark.parametrize("decoding", [DRAWN, GREEDY])
def test_conversations_are_those_held_one_at_a_time(tmp_path, decoding):
    openers, talker = introductions(20), Talker()
    plan, model, directory = begin(tmp_path, openers, talker, decoding)
    outcome = execute(plan, model, directory, first_shard=8)
    frame = self_chats(directory, "names")
    assert outcome.answers == 20 * 11 and not outcome.errors
    assert frame.height == 20 * 12
    for row in openers.iter_rows(named=True):
        its = frame.filter(pl.col("conversation") == row["conversation"])
        assert its["text"].to_list() == alone(Talker(), row, decoding)
        assert its["turn"].to_list() == list(range(1, 13))
        assert its["speaker"].to_list() == ["A", "B"] * 6
        assert its["name"].unique().to_list() == [row["name"]]
    assert frame["text"].equals(frame["continuation"])
    assert (frame["text"] == "").any(), "an empty reply is something said"
    assert frame.filter(pl.col("turn") == 1)["text"].to_list() == openers["text"].to_list()
    # the talker reads six utterances: the opener is among them up to the seventh turn
    assert frame.filter("name_in_context")["turn"].max() == 7
    assert frame["prompt_id"].n_unique() == frame.height


def test_equal_histories_draw_apart_and_are_asked_once_where_nothing_is_drawn(tmp_path):
    same = pl.DataFrame(
        {"prompt_id": ["a", "b"], "conversation": [1, 2], "text": ["Hi! My name is Ann."] * 2}
    )
    for decoding, times, name in [(DRAWN, 2, "drawn"), (GREEDY, 1, "greedy")]:
        talker = Talker()
        plan, model, directory = begin(tmp_path, same, talker, decoding, name)
        outcome = execute(plan, model, directory)
        said = [list(part["text"]) for _, part in self_chats(directory, "names").group_by("conversation")]
        assert (said[0] == said[1]) == (times == 1)
        assert outcome.requests == len(talker.asked) == times * 11
        assert outcome.answers == 22


def test_a_failed_utterance_ends_its_conversation_and_is_counted_with_what_it_kept_from_being_said(tmp_path):
    openers, talker = (
        introductions(20),
        Talker(fails=lambda line: "word7" in History.from_prompt(line).utterances[-1]),
    )
    plan, model, directory = begin(tmp_path, openers, talker)
    outcome = execute(plan, model, directory, error_threshold=0.01)
    frame = self_chats(directory, "names")
    failed = frame.filter(pl.col("error").is_not_null())
    assert 0 < failed.height < 20 and set(failed["error"]) == {"model_error"}
    assert failed["text"].null_count() == failed.height
    last = frame.group_by("conversation").agg(pl.all().sort_by("turn").last())
    assert set(failed["prompt_id"]) <= set(last["prompt_id"])
    assert outcome.errors["model_error"] == failed.height
    assert outcome.errors["missing"] == int((TURNS - failed["turn"].cast(pl.Int64)).sum())
    assert frame.height == 20 * 12 - outcome.errors["missing"]
    assert outcome.above_threshold and outcome.error_share == pytest.approx(
        (outcome.errors["missing"] + failed.height) / 220
    )
    assert last.filter(pl.col("error").is_null())["turn"].unique().to_list() == [12]
    # asked again where the model failed, the conversations go on to what they would have been
    mended, asked_before = Talker(), len(talker.asked)
    plan, model, directory = begin(tmp_path, openers, mended)
    again = execute(plan, model, directory)
    assert again.answered == len(mended.asked) == 0 and again.errors == outcome.errors
    again = execute(plan, model, directory, retry_errors=True)
    assert (
        again.errors == {}
        and again.answered == len(mended.asked) == failed.height + outcome.errors["missing"]
    )
    assert len(set(mended.asked)) == len(mended.asked)
    assert self_chats(directory, "names")["text"].to_list() == [
        said for row in openers.iter_rows(named=True) for said in alone(Talker(), row, DRAWN)
    ]
    assert asked_before + len(mended.asked) == 220 + failed.height


@pytest.mark.parametrize("decoding", [DRAWN, GREEDY])
def test_some_at_a_time_they_are_the_same_conversations(tmp_path, decoding):
    openers = introductions(20).with_columns(
        persona_a=pl.Series([["i cook."]] * 20), persona_b=pl.Series([["i fly."]] * 20)
    )
    talkers, frames = [], []
    for size in (None, 6):
        talker = Talker()
        talker.conversations_at_once = size
        plan, model, directory = begin(tmp_path, openers, talker, decoding, f"by-{size}")
        bar = Bar()
        outcome = execute(plan, model, directory, progress=bar, max_shard=4)
        assert bar.done == bar.total and outcome.requests == len(talker.asked) == len(set(talker.asked))
        assert (
            directory.manifest.sessions[-1].requests_after == directory.manifest.requests == len(talker.asked)
        )
        talkers.append(talker)
        frames.append(self_chats(directory, "names"))
    assert frames[0].equals(frames[1]) and set(talkers[0].asked) == set(talkers[1].asked)
    turns = [History.from_prompt(line).turn for line in talkers[1].asked]
    assert turns[: turns.index(12)] == sorted(turns[: turns.index(12)])
    assert (turns == sorted(turns)) == (decoding == GREEDY), (
        "without chance four conversations are all there are"
    )


class Bar(Silence):
    def __init__(self):
        self.total = self.done = 0

    def start(self, total, done, unit="requests"):
        self.total, self.done = total, done

    def advance(self, requests, tokens, errors):
        self.done += requests


@pytest.mark.parametrize(("decoding", "at_once"), [(DRAWN, None), (DRAWN, 7), (GREEDY, None)])
def test_stopped_at_random_turns_it_goes_on_to_equal_texts_and_asks_nothing_twice(
    tmp_path, decoding, at_once
):
    openers, asked = introductions(20), []

    class Stopped(Talker):
        left = 0
        conversations_at_once = at_once

        def generate(self, prompts, decoding):
            if self.left <= 0:
                signal.raise_signal(signal.SIGINT)
            self.left -= 1
            return super().generate(prompts, decoding)

    for batches in (1, 0, 9, 4, 17):
        talker = Stopped()
        talker.left = batches
        plan, model, directory = begin(tmp_path, openers, talker, decoding)
        with pytest.raises(Interrupted, match="All results so far are saved"):
            execute(plan, model, directory, first_shard=8, max_shard=3)
        asked += talker.asked
        assert directory.manifest.status == "interrupted"
        assert directory.manifest.sessions[-1].requests_after == len(asked)
    talker, bar = Talker(), Bar()
    talker.conversations_at_once = at_once
    plan, model, directory = begin(tmp_path, openers, talker, decoding)
    outcome = execute(plan, model, directory, first_shard=8, max_shard=3, progress=bar)
    asked += talker.asked
    assert max(Counter(asked).values()) == 1
    assert bar.done == bar.total == 220
    assert directory.manifest.status == "complete" and directory.manifest.requests == outcome.requests == len(
        asked
    )
    parts = pl.concat(pl.read_parquet(part) for part in directory.responses_folder.glob("part-*.parquet"))
    assert parts["request_id"].is_duplicated().sum() == 0
    whole = begin(tmp_path, openers, Talker(), decoding, "whole")
    execute(*whole)
    assert self_chats(directory, "names").equals(self_chats(whole[2], "names"))
    # and once more with nothing to do
    again = execute(*begin(tmp_path, openers, Talker(), decoding))
    assert again.answered == 0


def test_a_run_of_other_personas_or_another_telling_is_refused(tmp_path):
    openers = introductions(3)
    execute(*begin(tmp_path, openers, Talker()))
    other = openers.with_columns(persona_a=pl.Series([["i fly."]] * 3))
    with pytest.raises(ResumeRefused, match="prompts of 'names'"):
        execute(*begin(tmp_path, other, Talker()))
    with pytest.raises(ResumeRefused, match="The format in which the model receives conversations"):
        execute(*begin(tmp_path, openers, Talker(name="other")))


@pytest.mark.parametrize(
    ("openers", "message"),
    [
        (introductions(2).drop("conversation"), "no column conversation"),
        (introductions(2).with_columns(conversation=pl.lit(1)), "with one number"),
        (
            introductions(2).with_columns(persona_a=pl.lit("i cook.")),
            "The prompts of 'names': the column persona_a must contain lists",
        ),
        (introductions(2).with_columns(persona_b=pl.Series([["i cook.", None]] * 2)), "persona_b"),
        (introductions(2).with_columns(turn=pl.lit(1)), "turn"),
    ],
)
def test_openers_of_another_shape_are_refused(tmp_path, openers, message):
    with pytest.raises(DataError, match=message):
        begin(tmp_path, openers, Talker())


def test_what_is_no_conversation_is_refused(start, fakes):
    with pytest.raises(UsageError, match="1 turns"):
        ConversationRequest(GREEDY, 1)
    with pytest.raises(UsageError, match="2 replies"):
        ConversationRequest(Decoding(max_new_tokens=9, temperature=1.0, samples=2), 12)
    with pytest.raises(UsageError, match="requires conversations, but no speaker was given"):
        make_plan([PlanPart("names", introductions(2), ConversationRequest(GREEDY, 12))], {})
    plan, model, directory = start(["Hi."])
    execute(plan, model, directory)
    with pytest.raises(DataError, match="no conversations of the benchmark 'texts'"):
        self_chats(directory, "texts")


def test_judges_are_shown_each_utterance_with_the_lines_before_it(tmp_path, fakes):
    plan, model, directory = begin(tmp_path, introductions(4), Talker())
    execute(plan, model, directory)
    behind = fakes.HashClassifier(reads_context=True)
    label(directory, [Labelling("names", "insult", "behind")], {"behind": behind})
    frame = self_chats(directory, "names")
    shown = {one for batch in behind.batches for one in batch}
    for (_,), its in frame.group_by("conversation"):
        said = its.sort("turn")["text"].to_list()
        for turn in range(2, 13):
            assert (said[turn - 1], "\n".join(said[max(turn - 5, 0) : turn - 1])) in shown
    replies = frame.filter(pl.col("turn") > 1)
    assert len(shown) == replies.select("text", "lines_before").n_unique()
    assert frame.filter(pl.col("turn") == 1)["insult_label"].null_count() == 4
    spoken = replies.filter(pl.col("text") != "")
    assert spoken["insult_label"].null_count() == 0
    said = judgements(directory, "names", "insult")
    assert said["judged_text"].to_list() == replies["text"].to_list()
    some = answers(directory, "names", ["name", "turn"])
    assert {"name", "turn", "continuation", "insult_score"} <= set(
        some.columns
    ) and "text" not in some.columns


def test_a_run_asks_likelihoods_and_conversations_each_of_its_own_model(tmp_path, fakes):
    model, talker = fakes.HashModel(), Talker()
    parts = [
        PlanPart("numbered", fakes.numbered_prompts(30)),
        PlanPart("names", introductions(5), ConversationRequest(GREEDY, 4)),
        PlanPart("others", introductions(3).with_columns(text=pl.lit("Hi!")), ConversationRequest(GREEDY, 3)),
    ]
    plan = make_plan(parts, model.fingerprint, talker)
    assert plan.prompts == plan.answers == 30 + 5 * 3 + 3 * 2
    directory = RunDirectory.create(tmp_path / "run", model=model, given={}, resolved={})
    outcome = execute(plan, model, directory)
    assert outcome.answers == 51 and not outcome.errors
    assert [self_chats(directory, name).height for name in ("names", "others")] == [20, 9]
    assert answers(directory, "numbered")["error"].null_count() == 30
    assert {History.from_prompt(line).turn for line in talker.asked} == {2, 3, 4}
    assert outcome.requests == 30 + len(talker.asked)
    with pytest.raises(ResumeRefused, match="also contains prompts of"):
        execute(make_plan(parts[:2], model.fingerprint, talker), model, directory)
