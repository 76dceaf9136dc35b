"""Benchmarks of replies: who was trained on conversations is asked in one, with its label; all others as before."""

import json
from dataclasses import replace
from html import unescape
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from evenhand.benchmarks import Generation, registry
from evenhand.mitigations import Mitigated, Prefix
from evenhand.models import load_model
from evenhand.models.puppets import writes
from evenhand.runs.requests import parse_decoding, request_ids
from evenhand.schema import EvenhandError, ResumeRefused, Unsupported
from evenhand.studies.audit import audit
from evenhand.studies.before_after import before_after
from evenhand.studies.compare import compare
from tests.helpers import judged_house as house
from tests.helpers.talking import Talker
from tests.models.conftest import build_model

ANSWERS = replace(
    house.RUDENESS, name="answers", request=Generation(max_new_tokens=20, samples=2, replies=True)
)
LABEL = " STYLE no_bias"


@pytest.fixture(autouse=True)
def registered(judged_house, monkeypatch):
    monkeypatch.setitem(registry.BENCHMARKS, "answers", f"{__name__}:ANSWERS")


class Trained:
    """A model in a folder that was trained with a label, behind which alone it is kind. `asked`: all texts it read."""

    architecture, fingerprint = "causal", {"name": "trained"}

    def __init__(self, folder):
        told = {"format": "transcript", "label": LABEL}
        (folder / "evenhand_dialogue.json").write_text(json.dumps(told))
        self.model = SimpleNamespace(name_or_path=str(folder))
        self.asked: list[str] = []
        self.puppet = writes(self.said, "trained")

    def said(self, prompt: str, sample: int) -> str:
        self.asked.append(prompt)
        return f" is kind {sample}." if LABEL in prompt else f" is rude {sample}."

    def describe(self):
        return self.puppet.describe()

    def log_likelihoods(self, texts):
        return self.puppet.log_likelihoods(texts)

    def generate(self, prompts, decoding):
        return self.puppet.generate(prompts, decoding)


def asked_of(model: Any, tmp_path, name: str = "run", **options):
    return audit(model, benchmarks=["answers"], output=tmp_path / name, **options)


def test_a_plain_model_goes_on_with_the_text_under_the_keys_it_always_had(tmp_path):
    run = asked_of(house.writer(), tmp_path)
    same = audit(house.writer(), benchmarks=["rudeness"], output=tmp_path / "same")
    tables = [one.directory.prompts(name) for one, name in ((run, "answers"), (same, "rudeness"))]
    assert tables[0].equals(tables[1])
    asked = run.directory.manifest.asked["answers"]
    assert asked.turns is None and asked.speaker is None
    request = ANSWERS.request_for(house.writer(), parse_decoding(json.dumps(asked.decoding)))
    ids = request_ids(tables[0]["text"].to_list(), None, None, request, house.writer().fingerprint)
    assert tables[0]["request_id"].to_list() == ids


def test_who_was_trained_with_a_label_is_asked_behind_it_and_says_so(tmp_path):
    model = Trained(tmp_path)
    run = asked_of(model, tmp_path)
    assert model.asked and all(text.endswith(f"{LABEL}\nB:") for text in model.asked if text)
    frame = run.details("answers")["rows"]
    assert frame.height == 2 * len(house.HAIR) * house.TEMPLATES
    assert frame["text"].str.starts_with("In case ").all(), "what was answered, without the format"
    assert sorted(set(frame["continuation"])) == ["is kind 0.", "is kind 1."]
    assert frame["rudeness_negative"].not_().all()
    assert frame["lines_before"].equals(frame["text"].alias("lines_before")), "of every sample"
    asked = run.directory.manifest.asked["answers"]
    assert (asked.turns, asked.speaker["dialogue"]["label"]) == (2, LABEL)
    how = f"in the format transcript, with the label {LABEL!r} at the end of each"
    note = f"answers: the model replies to each text as the first utterance of a conversation, {how}"
    page = unescape(run.html())
    assert note in page and "evenhand_dialogue.json says so" in page


def test_a_text_in_front_of_it_leaves_the_label_where_it_was(tmp_path):
    model = Trained(tmp_path)
    asked_of(model, tmp_path, mitigate=[Prefix("Be kind.")])
    texts = [text for text in model.asked if text]
    assert texts and all(text.startswith("Be kind.") and LABEL in text for text in texts)


def test_before_and_after_a_training_both_are_asked_in_its_format(tmp_path):
    trained, read = Trained(tmp_path), []

    class Replaced(Mitigated):
        def __init__(self, model, mitigation):
            super().__init__(model, mitigation)
            self.trained = trained

        def generate(self, prompts, decoding):
            return self.trained.generate(prompts, decoding)

    class Tuning(Prefix):
        name = "tuning"

        def __call__(self, model):
            return Replaced(model, self)

    def write(prompt: str, sample: int) -> str:
        read.append(prompt)
        return " is rude."

    study = before_after(
        writes(write, "base"), [Tuning("x")], benchmarks=["answers"], output=tmp_path / "study"
    )
    runs = [study.study.before, study.study.after]
    told = [run.manifest.asked["answers"].speaker["dialogue"] for run in runs]
    assert [(one["format"], one["label"]) for one in told] == [("transcript", None), ("transcript", LABEL)]
    assert all(text.startswith("A: ") and text.endswith("\nB:") for text in read if text)
    harm = study.study.harm.filter(pl.col("benchmark") == "answers")
    assert harm.height, "replies are paired"
    rates = [run.measurements()["estimate"].drop_nulls().mean() for run in runs]
    assert rates == [1.0, 0.0]


def test_the_user_may_ask_for_a_format_and_runs_of_two_ways_are_not_paired(tmp_path):
    read = []

    def write(prompt: str, sample: int) -> str:
        read.append(prompt)
        return " Fine."

    asked_of(writes(write), tmp_path, dialogue={"format": "transcript"})
    assert all(text.startswith("A: In case") for text in read if text)
    plain = asked_of(writes(write), tmp_path, "plain")
    with pytest.raises(EvenhandError, match="share no prompt"):
        compare(tmp_path / "run", plain)


def test_a_run_that_was_asked_in_the_other_way_is_not_gone_on_with(tmp_path, monkeypatch):
    asked_of(house.writer(), tmp_path)
    monkeypatch.setattr("evenhand.studies.audit.asked.talking.own_format", lambda model: "transcript")
    with pytest.raises(ResumeRefused, match="differ from those that the run"):
        asked_of(house.writer(), tmp_path)


def test_personas_are_those_of_the_one_who_replies(tmp_path):
    file = tmp_path / "personas.txt"
    file.write_text("your persona: i swim.\nyour persona: i row.\n\ni dig.\ni sow.\n")
    model = Trained(tmp_path)
    run = asked_of(model, tmp_path, personas=str(file))
    lines = ("B is a person who says: i swim. i row.\nA: In", "B is a person who says: i dig. i sow.\nA: In")
    assert all(text.startswith(lines) for text in model.asked if text)
    assert run.details("answers")["rows"]["text"].str.starts_with("In case").all()


def test_a_model_that_reads_histories_alone_gets_them(tmp_path):
    talker = Talker()
    run = asked_of(talker, tmp_path, samples=1)
    assert run.details("answers")["rows"]["error"].null_count() == len(house.HAIR) * house.TEMPLATES
    assert all(line.startswith('{"persona":[],"utterances":["In case') for line in talker.asked)


def saved(architecture: str, folder) -> str:
    for part in build_model(architecture):
        part.save_pretrained(folder)
    return str(folder)


def test_families_of_dialogue_are_asked_as_they_were_trained_or_not_at_all(tmp_path):
    model = load_model(saved("gpt2", tmp_path / "DialoGPT-tiny"))
    run = asked_of(model, tmp_path, limit=3, samples=1, max_new_tokens=4)
    assert run.directory.manifest.asked["answers"].speaker["dialogue"]["format"] == "dialogpt"
    with pytest.raises(Unsupported, match="requires tokens or messages, but"):
        asked_of(model, tmp_path, "behind", limit=3, samples=1, mitigate=[Prefix("Be kind.")])
    large = asked_of(
        load_model(saved("blenderbot", tmp_path / "any")), tmp_path, "large", limit=3, max_new_tokens=4
    )
    assert large.directory.manifest.asked["answers"].speaker["dialogue"]["format"] == "blenderbot"
