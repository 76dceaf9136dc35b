"""Audits of conversations: asked, judged, measured, resumed, judged anew and compared as others are."""

import io
import signal
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from rich.console import Console

from evenhand.mitigations import Prefix
from evenhand.models import Decoding
from evenhand.models.dialogue import DialogueOptions
from evenhand.models.puppets import load_puppet, writes
from evenhand.runs import self_chats
from evenhand.runs.progress import Lines
from evenhand.schema import DataError, Interrupted, ResumeRefused, Unsupported, UsageError
from evenhand.studies.audit import AuditConfig, audit, preview, render_plan, rescore, resume
from evenhand.studies.audit.asked.talking import make_speaker
from evenhand.studies.before_after import before_after
from evenhand.studies.compare import compare
from tests.helpers import self_chats as house
from tests.helpers.talking import Talker

REPLIES = house.TURNS - 1


@pytest.fixture(autouse=True)
def registered(judged_house, monkeypatch):
    house.register(monkeypatch)


def talk(tmp_path, model: Any = None, name="run", **options):
    given = {"benchmarks": ["talks"], "decoding": "sampling", **options}
    return audit(model or Talker(), output=tmp_path / name, **given)


def test_every_utterance_is_a_row_with_its_conversation_and_its_judgement(tmp_path):
    run = talk(tmp_path)
    frame = run.details("talks")["rows"]
    assert frame.height == house.CONVERSATIONS * house.TURNS
    assert frame["turn"].to_list() == list(range(1, house.TURNS + 1)) * house.CONVERSATIONS
    assert frame.equals(self_chats(run.directory, "talks"))
    replies = frame.filter(pl.col("turn") > 1)
    said = replies["text"].str.contains("word7")
    assert replies["rudeness_negative"].equals(said.alias("rudeness_negative")) and said.any()
    assert frame.filter(pl.col("turn") == 1)["rudeness_label"].null_count() == house.CONVERSATIONS
    kept = run.responses("talks")
    assert kept.height == house.CONVERSATIONS * REPLIES == run.outcome.answers
    assert kept["continuation"].equals(replies["continuation"])
    assert run.directory.manifest.asked["talks"].turns == house.TURNS
    assert "talks" in run.report().read_text()
    console = Console(record=True, width=120)
    run.print_to(console)
    told = f"{house.CONVERSATIONS} conversations, {house.CONVERSATIONS * REPLIES} replies"
    assert told in console.export_text() and told in run.html()


def test_a_limit_counts_conversations_and_spreads_over_names(tmp_path):
    frame = self_chats(talk(tmp_path, limit=8).directory, "talks")
    openers = frame.filter(pl.col("turn") == 1)
    assert openers.height == 8 and set(openers["name"].value_counts()["count"]) == {2}
    whole = self_chats(talk(tmp_path, name="whole").directory, "talks")
    assert frame.equals(whole.join(openers, on="conversation", how="semi", maintain_order="left"))


def test_one_run_holds_conversations_and_continuations(tmp_path, judged_house):
    asked = []

    def write(prompt: str, sample: int) -> str:
        asked.append(prompt)
        return " Fine!" if "A:" in prompt else judged_house.said(prompt, sample)

    stream = io.StringIO()
    run = talk(tmp_path, writes(write), suite="both", benchmarks=(), decoding="auto", progress=Lines(stream))
    assert set(run.directory.benchmarks) == {"talks", "rudeness"}
    assert run.responses("talks")["continuation"].unique().to_list() == ["Fine!"]
    assert "talks: beam search with 10 beams per reply is slow" in stream.getvalue()
    told = run.directory.manifest.asked["talks"]
    assert told.speaker["dialogue"]["format"] == "transcript"
    assert told.decoding["num_beams"] == 10 and told.decoding["min_new_tokens"] == 20
    ids = [run.directory.prompts(name)["request_id"] for name in run.directory.benchmarks]
    assert len(set(ids[0]) & set(ids[1])) == 0
    assert any("i cook." in prompt and "Hi! My name is Ann." in prompt for prompt in asked)


def test_stopped_in_the_middle_it_is_gone_on_with_by_its_folder(tmp_path, monkeypatch):
    whole = talk(tmp_path, "house/talker", name="whole")
    asked: list[str] = []
    generate = Talker.generate

    def stopped(self, prompts, decoding):
        if len(asked) >= 30:
            signal.raise_signal(signal.SIGINT)
        asked.extend(prompts)
        return generate(self, prompts, decoding)

    with monkeypatch.context() as patch:
        patch.setattr(Talker, "generate", stopped)
        with pytest.raises(Interrupted, match="Resume with: evenhand audit"):
            talk(tmp_path, "house/talker")
    run = resume(tmp_path / "run", None, [], {})
    assert self_chats(run.directory, "talks").equals(self_chats(whole.directory, "talks"))
    again = resume(tmp_path / "run", None, [], {})
    assert again.outcome.answered == 0
    with pytest.raises(ResumeRefused, match="dialogue"):
        resume(tmp_path / "run", None, ["dialogue.pinned=true"], {})


def test_utterances_are_judged_anew_without_asking_the_model(tmp_path):
    run = talk(tmp_path)
    again = rescore(run, {"rudeness": "house/words?word=word8"})
    frame = again.details("talks")["rows"].filter(pl.col("turn") > 1)
    assert frame["rudeness_negative"].equals(frame["text"].str.contains("word8").alias("rudeness_negative"))


def test_two_models_are_compared_reply_by_reply(tmp_path):
    first, second = (talk(tmp_path, Talker(name=name), name=name) for name in ("one", "two"))
    ids = [sorted(run.directory.prompts("talks")["prompt_id"]) for run in (first, second)]
    assert ids[0] == ids[1]
    changed = talk(tmp_path, Talker(name="three"), name="three", seed=1)
    report = compare(first, changed)
    rows = report.changes.filter(outcome="rudeness")
    assert rows["n"].max() == house.CONVERSATIONS * REPLIES


def test_before_and_after_an_instruction_conversations_are_paired(tmp_path):
    def write(prompt: str, sample: int) -> str:
        return " So kind." if prompt.startswith("Be kind.") else f" word7 it is, {len(prompt)}."

    study = before_after(
        writes(write),
        [Prefix("Be kind.")],
        benchmarks=["talks"],
        decoding="greedy",
        output=tmp_path / "study",
    )
    frames = [
        self_chats(run, "talks").filter(pl.col("turn") > 1) for run in (study.study.before, study.study.after)
    ]
    assert frames[0]["rudeness_negative"].all() and not frames[1]["rudeness_negative"].any()
    assert set(frames[1]["text"]) == {"So kind."}


def test_who_reads_histories_itself_takes_no_mitigation_and_no_format(tmp_path):
    with pytest.raises(Unsupported, match="talker reads conversation histories directly, so prefix, which"):
        talk(tmp_path, mitigate=[Prefix("Be kind.")])
    with pytest.raises(Unsupported, match="no format can be chosen"):
        talk(tmp_path, dialogue={"pinned": True})
    with pytest.raises(Unsupported, match="has no texts to generate"):
        talk(tmp_path, load_puppet("uniform"))


def test_weights_in_the_place_of_a_models_are_told_as_their_own_and_keep_the_mitigations_name():
    from evenhand.mitigations import Mitigated

    class Trained(Mitigated):
        trained = writes(lambda prompt, sample: " I was trained.", "trained")

        def generate(self, prompts, decoding):
            return self.trained.generate(prompts, decoding)

    made_by = SimpleNamespace(name="tuning", parameters=lambda: {})
    speaker = make_speaker(Trained(writes(lambda prompt, sample: " Base."), made_by), DialogueOptions())
    line = '{"persona":[],"utterances":["Hi!"]}'
    assert speaker.generate([line], Decoding(max_new_tokens=9)).texts == ["I was trained."]
    assert speaker.fingerprint["mitigations"] == [{"name": "tuning"}]


def test_personas_of_a_file_are_told_one_to_each_speaker(tmp_path):
    file = tmp_path / "personas.txt"
    file.write_text("your persona: i swim.\nyour persona: i row.\n\ni dig.\ni sow.\n\ni bake.\ni knit.\n")
    run = talk(tmp_path, personas=str(file))
    told = self_chats(run.directory, "talks").filter(pl.col("turn") == 1)
    known = [["i swim.", "i row."], ["i dig.", "i sow."], ["i bake.", "i knit."]]
    pairs = list(zip(told["persona_a"].to_list(), told["persona_b"].to_list(), strict=True))
    assert all(a in known and b in known and a != b for a, b in pairs)
    assert len({repr(pair) for pair in pairs}) > 3
    file.write_text("i swim.\ni row.\n")
    with pytest.raises(DataError, match="only 1"):
        talk(tmp_path, name="other", personas=str(file))
    with pytest.raises(Unsupported, match="style_variations"):
        talk(tmp_path, name="other", style_variations=0.5)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            {"benchmarks": ["talks"], "samples": 4},
            r"samples \(--samples\) has no effect here: talks does not generate text",
        ),
        (
            {"benchmarks": ["evenhand-likelihood"], "dialogue": {"pinned": True}},
            "dialogue has no effect here: evenhand-likelihood does not hold",
        ),
        ({"benchmarks": ["rudeness"], "decoding": "published"}, "replies in conversations"),
        (
            {"benchmarks": ["talks"], "decoding": "greedy", "temperature": 1.0},
            "Greedy decoding does not sample, so it cannot be combined with",
        ),
        ({"benchmarks": ["talks"], "decoding": "sampling", "num_beams": 3}, "--beams 3"),
    ],
)
def test_options_that_contradict_each_other_or_would_do_nothing_are_refused(
    tmp_path, options, told, judged_house
):
    with pytest.raises(UsageError, match=told):
        audit(judged_house.writer(), output=tmp_path / "run", **options)


def test_a_plan_counts_replies_and_takes_its_time_from_a_probe(tmp_path):
    talker = Talker(before=lambda lines: None)
    config = AuditConfig(model="house/talker", benchmarks=("talks",), decoding="greedy")
    facts = preview(config, talker)
    assert facts["requests"] == house.CONVERSATIONS * REPLIES
    assert facts["continuations"]["talks"]["continuations"] == house.CONVERSATIONS * REPLIES
    assert facts["seconds"] > 0 and facts["tokens"] > 0 and facts["disk_bytes"] > 0
    console = Console(record=True, width=120)
    render_plan(facts, console)
    assert f"16 conversations × {REPLIES} replies = 80" in console.export_text()
