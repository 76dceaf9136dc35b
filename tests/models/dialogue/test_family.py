"""Which format a model is told in, and why; folders that say it themselves; what no format can do."""

import copy
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenhand.models import load_model
from evenhand.models.decoding import Decoding
from evenhand.models.dialogue import DialogueOptions, History, dialogue_model
from evenhand.models.puppets import writes
from evenhand.schema import DataError, ResponseError, Unsupported, UsageError
from tests.models.dialogue import tokenizers

OPENED = History(("i like tea.",), ("Hi! My name is Martha.",))


@pytest.fixture
def folder(tiny_folder: Callable[..., Path], tmp_path: Path) -> Callable[[str, str], Path]:
    def copied(architecture: str, name: str) -> Path:
        shutil.copytree(tiny_folder(architecture), tmp_path / name)
        return tmp_path / name

    return copied


@pytest.mark.parametrize(
    ("architecture", "name", "format", "because"),
    [
        ("blenderbot", "any", "blenderbot", "the model's type is blenderbot"),
        ("gpt2", "DialoGPT-small", "dialogpt", "the model is called DialoGPT-small"),
        ("gpt2", "any", "transcript", "no family"),
        ("llama", "dialogpt-like", "transcript", "no family"),
        ("t5", "any", "transcript", "no family"),
    ],
)
def test_the_format_is_the_familys_and_is_told(folder, architecture, name, format, because):
    dialogue = dialogue_model(load_model(str(folder(architecture, name))))
    told = dialogue.fingerprint["dialogue"]
    assert told["format"] == format and because in told["because"]
    assert dialogue.describe()["dialogue"]["told_in"] == "tokens"
    assert dialogue.reply([OPENED], Decoding(max_new_tokens=3)).errors == [None]


def test_a_folder_says_what_it_was_trained_with(folder):
    place = folder("gpt2", "tuned")
    (place / "evenhand_dialogue.json").write_text('{"format": "dialogpt", "label": " STYLE a"}')
    model = load_model(str(place))
    told = dialogue_model(model).facts
    assert (told["format"], told["label"]) == ("dialogpt", " STYLE a") and "evenhand_dialogue" in told[
        "because"
    ]
    labelled = dialogue_model(model).encoded(OPENED, "Hello.")[0]
    assert model.tokenizer.decode(labelled).endswith("Martha. STYLE a<|endoftext|>")
    assert dialogue_model(model).encoded(OPENED, "Hello.", " STYLE b")[0] != labelled
    other = dialogue_model(model, DialogueOptions(format="transcript", label=""))
    assert (other.facts["format"], other.facts["label"]) == ("transcript", None)


@pytest.mark.parametrize(
    "said", [[], {"format": "poem"}, {"label": 3}, {"format": "dialogpt", "more": 1}, "{"]
)
def test_a_file_that_says_something_else_is_refused(folder, said):
    place = folder("gpt2", "tuned")
    (place / "evenhand_dialogue.json").write_text(said if said == "{" else json.dumps(said))
    with pytest.raises(DataError, match="evenhand_dialogue"):
        dialogue_model(load_model(str(place)))


@pytest.mark.parametrize("kind", ["nowhere", "itself", "zeros", "folder", "pipe"])
def test_a_name_that_leads_to_no_file_is_not_taken_for_absent(folder, kind):
    place = folder("gpt2", "tuned")
    told = place / "evenhand_dialogue.json"
    match kind:
        case "folder":
            told.mkdir()
        case "pipe":
            os.mkfifo(told)
        case _:
            told.symlink_to({"nowhere": place / "gone", "itself": told, "zeros": Path("/dev/zero")}[kind])
    with pytest.raises(DataError, match=r"cannot be read as a file \(for example a broken link or a"):
        dialogue_model(load_model(str(place)))


def test_formats_of_another_architecture_are_refused(tiny_folder):
    causal, pairs = (load_model(str(tiny_folder(one))) for one in ("gpt2", "blenderbot"))
    for model, name in (
        (causal, "blenderbot"),
        (causal, "blenderbot-small"),
        (pairs, "dialogpt"),
        (pairs, "chat"),
    ):
        with pytest.raises(Unsupported, match=f"The format {name} is for "):
            dialogue_model(model, DialogueOptions(format=name))
    with pytest.raises(Unsupported, match="no token __newln__"):
        dialogue_model(pairs, DialogueOptions(format="blenderbot-small"))
    with pytest.raises(Unsupported, match="requires tokens or messages, but"):
        dialogue_model(writes(lambda prompt, sample: ""), DialogueOptions(format="dialogpt"))
    with pytest.raises(Unsupported, match="truncate and pinned"):
        dialogue_model(writes(lambda prompt, sample: ""), DialogueOptions(truncate=9))


def test_masked_models_do_not_converse(tiny_folder):
    with pytest.raises(Unsupported, match="fills in single masks"):
        dialogue_model(load_model(str(tiny_folder("bert"))))


def test_a_family_behind_a_mitigation_is_not_told_as_something_else(tiny_folder):
    from evenhand.mitigations import load_mitigation

    mitigated: Any = load_mitigation("prefix=Be kind.")(load_model(str(tiny_folder("blenderbot"))))
    with pytest.raises(Unsupported, match="The format blenderbot requires tokens or messages, but Prefixed"):
        dialogue_model(mitigated)
    plain = dialogue_model(mitigated, DialogueOptions(format="transcript"))
    assert plain.facts["told_in"] == "text"


def test_a_label_that_cannot_be_said_is_refused(tiny_folder):
    model: Any = load_model(str(tiny_folder("gpt2")))
    model.tokenizer = tokenizers.dialogpt()  # which knows a few letters
    with pytest.raises(Unsupported, match=r"cannot represent the label ' 7': decoded, it is ' '\.\nUse a"):
        dialogue_model(model, DialogueOptions(label=" 7"))


def test_a_label_that_is_no_part_of_a_line_is_refused(folder, tiny_folder):
    for label, told in (
        (" a\ud800", "lone surrogate"),
        (" a\x00", "control"),
        ("\nB:", "line break"),
        ("\u2028", "line"),
    ):
        with pytest.raises(UsageError, match=told):
            DialogueOptions(label=label)
        place = folder("gpt2", f"tuned{ord(label[-1])}")
        (place / "evenhand_dialogue.json").write_text(json.dumps({"label": label}))
        with pytest.raises(
            DataError, match=f"evenhand_dialogue.json: the training label .* is invalid: .*{told}"
        ):
            dialogue_model(load_model(str(place)))


def test_a_label_with_a_special_token_is_refused(tiny_folder):
    model: Any = load_model(str(tiny_folder("gpt2")))
    with pytest.raises(
        Unsupported, match=r"The label ' a<\|endoftext\|>' contains '<\|endoftext\|>', a special"
    ):
        dialogue_model(model, DialogueOptions(label=" a<|endoftext|>"))
    model.tokenizer = copy.deepcopy(model.tokenizer)
    model.tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>"]})
    with pytest.raises(Unsupported, match=r"contains '<\|im_start\|>', a special"):
        dialogue_model(model, DialogueOptions(label=" <|im_start|>system"))
    assert dialogue_model(model, DialogueOptions(label=" im_start")).facts["label"] == " im_start"


@pytest.mark.parametrize(
    ("architecture", "name"), [("gpt2", "transcript"), ("gpt2", "dialogpt"), ("t5", "transcript")]
)
def test_room_for_nothing_that_was_said_is_refused(tiny_folder, architecture, name):
    model: Any = load_model(str(tiny_folder(architecture)))
    alone: Any = dialogue_model(model, DialogueOptions(format=name)).telling
    around = len(alone.layout.tokenize_history(History((), ("",)), None).last(None))
    with pytest.raises(Unsupported, match=f"reads {around} tokens .* take {around}: no utterance fits"):
        dialogue_model(model, DialogueOptions(format=name, truncate=around))
    one: Any = dialogue_model(model, DialogueOptions(format=name, truncate=around + 1))
    assert one.reply([OPENED], Decoding(max_new_tokens=2)).errors == [None]
    with pytest.raises(Unsupported, match="and the label ' a a"):
        dialogue_model(model, DialogueOptions(format=name, truncate=99, label=" a" * 200))


def test_a_reply_that_leaves_room_for_the_label_alone_is_an_error_row(tiny_folder):
    model: Any = load_model(str(tiny_folder("gpt2")))
    dialogue: Any = dialogue_model(model, DialogueOptions(label=" STYLE no_bias"))
    around = len(dialogue.telling.layout.tokenize_history(History((), ("",)), " STYLE no_bias").turns)
    said = History((), ("Hi! My name is Martha.", "Hello Martha! How are you?"))
    rows = [
        dialogue.reply([said], Decoding(max_new_tokens=model.longest - left)) for left in (around, around + 1)
    ]
    assert rows[0].errors == [ResponseError.TOO_LONG] and "a label" in rows[0].details[0]
    assert rows[1].errors == [None]


class Converses:
    """A model that reads histories itself."""

    answers_histories = True
    architecture = "causal"
    fingerprint = {"name": "world"}

    def log_likelihoods(self, texts):
        raise Unsupported("The world gives no likelihoods.", "Use a model with weights.")

    def describe(self) -> dict[str, Any]:
        return {"name": "world"}

    def generate(self, prompts, decoding):
        return writes(lambda prompt, sample: prompt).generate(prompts, decoding)


def test_a_model_that_reads_histories_gets_them_as_they_are():
    dialogue = dialogue_model(Converses())
    rows = dialogue.generate([OPENED.prompt(), "Hi!"], Decoding(max_new_tokens=99))
    assert rows.texts == [OPENED.prompt(), None] and dialogue.facts["format"] == "history"
    assert dialogue.window(OPENED)
    with pytest.raises(Unsupported, match="no format can be chosen"):
        dialogue_model(Converses(), DialogueOptions(label=" a"))
    with pytest.raises(
        Unsupported, match=r"The tokens of world \(Converses\) are not known\.\nLoad its weights"
    ):
        dialogue.encoded(OPENED, "Hello.")
