"""Methods of dialogue from a file to a folder that is used with its label, and what is refused on the way."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evenhand.models import Decoding, load_model
from evenhand.models.dialogue import History, dialogue_model
from evenhand.runs import RunDirectory
from evenhand.schema import DataError, ResumeRefused, UsageError
from evenhand.studies.audit import audit
from evenhand.studies.before_after import before_after
from evenhand.studies.debias import DebiasConfig, Debiased, debias
from tests.helpers import styled_talker
from tests.helpers.planted_chats import MEN, WOMEN, planted_chats, written


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny GPT-2 whose tokenizer has bytes."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("models") / "tiny"
    plain = Tokenizer(models.BPE())
    plain.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    plain.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(special_tokens=["<end>"], initial_alphabet=alphabet, vocab_size=400)
    texts = [*planted_chats(1)["text"], " STYLE no_bias", " STYLE bias", "A:", "B:"] * 3
    plain.train_from_iterator(texts, trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=plain, eos_token="<end>", bos_token="<end>")
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=len(tokenizer), n_embd=16, n_layer=1, n_head=2, n_positions=128,
                        bos_token_id=0, eos_token_id=0)  # fmt: skip
    GPT2LMHeadModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def chats(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("chats"), planted_chats(1, strength=0.4))


@pytest.fixture(scope="module")
def made(base: Path, chats: Path, tmp_path_factory: pytest.TempPathFactory) -> Debiased:
    """Tuned by mean token bias."""
    method = "control-tokens?smoothing=10"
    return debias(str(base), method=method, data=chats, output=tmp_path_factory.mktemp("made") / "out",
                  device="cpu", epochs=1)  # fmt: skip


def test_the_folder_is_used_with_the_label_that_it_was_trained_for(made: Debiased, base: Path) -> None:
    assert json.loads((made.path / "evenhand_dialogue.json").read_text()) == {
        "format": "transcript",
        "label": " STYLE no_bias",
    }
    model = load_model(str(made.path), device="cpu")
    dialogue = dialogue_model(model)
    assert dialogue.facts["label"] == " STYLE no_bias"
    history = History((), ("Hi! My name is Ann",))
    told, _ = dialogue.encoded(history, "I like you")
    assert " STYLE no_bias" in model.tokenizer.decode(told)  # type: ignore[attr-defined]
    plain, _ = dialogue_model(load_model(str(base), device="cpu")).encoded(history, "I like you")
    assert "STYLE" not in model.tokenizer.decode(plain)  # type: ignore[attr-defined]
    assert len(dialogue.reply([history], Decoding(max_new_tokens=3)).texts) == 1


def test_the_lineage_says_which_names_are_left_for_tests(made: Debiased) -> None:
    data = made.lineage["data"]
    names = data["names"]
    assert (
        sorted(name for part in names.values() for name in part) == sorted((*WOMEN, *MEN))
        and len(names["test"]) == 8
    )
    assert data["label"] == " STYLE no_bias" and data["threshold"] > 1
    assert made.lineage["watched"]["before"].keys() == made.lineage["watched"]["after"].keys()
    assert made.lineage["options"]["longest"] == 128  # all that the model reads
    readme = (made.path / "README.md").read_text()
    assert " STYLE no_bias" in readme and "evenhand_dialogue.json" in readme


def test_what_is_to_be_done_next_is_named(made: Debiased) -> None:
    page = (made.path / "report.html").read_text()
    readme = (made.path / "README.md").read_text()
    for text in (page, readme):
        assert "evenhand study names" in text and f"control-tokens={made.path}" in text


def test_the_same_command_does_nothing_and_another_file_is_refused(
    made: Debiased, base: Path, chats: Path, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"device": "cpu", "epochs": 1, "output": made.path}
    method = "control-tokens?smoothing=10"
    again = debias(str(base), method=method, data=chats, **options)
    assert again.lineage == made.lineage
    other = written(tmp_path, planted_chats(1, strength=0.4, seed=9))
    with pytest.raises(ResumeRefused, match=r"given\.dialogues"):
        debias(str(base), method=method, data=other, **options)


def test_names_drawn_anew_end_with_other_weights_and_no_label(
    base: Path, chats: Path, tmp_path: Path
) -> None:
    def weights(words: str) -> str:
        found = debias(str(base), method=words, data=chats, output=tmp_path / words, device="cpu", epochs=2)
        assert json.loads((found.path / "evenhand_dialogue.json").read_text())["label"] is None
        return (found.path / "model.safetensors").read_bytes().hex()

    assert weights("name-scrambling") != weights("name-scrambling?redraw=true")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"data": None}, "learns from dialogues, but"),
        ({"bias": "gender"}, "learns from dialogues and cannot be combined with a"),
        ({"source": "x"}, "learns from dialogues and cannot be combined with a"),
    ],
)
def test_options_that_do_not_go_together(options: dict[str, Any], told: str) -> None:
    config = DebiasConfig(**{"model": "m", "method": "self-chat", "data": "run", **options})
    with pytest.raises(UsageError, match=told):
        config.check()


def test_a_folder_that_is_no_run(base: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no manifest"):
        debias(str(base), method="self-chat", data=tmp_path, output=tmp_path / "out", device="cpu")


@pytest.mark.slow
def test_style_equality_takes_planted_styles_out_of_replies_to_sentences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The numbers of docs/how-to/debias_a_dialogue_model.md.
    from evenhand.classifiers import loading

    monkeypatch.setitem(loading.BACKENDS, "house/styles", "tests.helpers.styled_talker")
    file = tmp_path / "sentences.csv"
    styled_talker.sentences().write_csv(file)
    asking: dict[str, Any] = {
        "benchmarks": ["holisticbias-styles"], "prompts": str(file), "samples": 4, "temperature": 1.0, "top_k": 0,
        "classifiers": {"style": "house/styles"}, "device": "cpu",
    }  # fmt: skip
    base = str(styled_talker.styled_talker(tmp_path / "dialogpt-base"))
    audit(base, output=tmp_path / "run", **asking)
    made = debias(base, method="style-equality", data=tmp_path / "run", output=tmp_path / "tuned", device="cpu",
                  epochs=6, learning_rate=1e-3)  # fmt: skip

    def found(run: RunDirectory) -> tuple[float, float]:
        whole = run.measurements().filter(pl.col("axis").is_null(), pl.col("group").is_null())
        rows = dict(whole.select("measure", "estimate").rows())
        return rows["full_gen_bias"], rows["parroting"]

    study = before_after(base, [f"finetuned={made.path}"], output=tmp_path / "study", **asking).study
    before, after = found(study.before), found(study.after)
    assert before[0] > 0.1 and 25 < before[1] < 35  # planted: 30 % of replies begin with the sentence
    assert after[0] < 0.15 * before[0] and after[1] < 10
    assert study.after.manifest.asked["holisticbias-styles"].speaker["dialogue"]["label"] == " STYLE no_bias"
    unlabelled = audit(str(made.path), output=tmp_path / "unlabelled", dialogue={"label": ""}, **asking)
    assert found(unlabelled.directory)[0] > 3 * after[0], "it is the label that does it"
