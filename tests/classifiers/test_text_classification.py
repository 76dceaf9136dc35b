"""Hugging Face classifiers: the numbers of transformers' own pipeline, whatever the batches; bad folders refused."""

import inspect
import json
import random
import shutil
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evenhand.classifiers import Classifier, load_classifier, text_classification as backend
from evenhand.schema import DataError, ModelError, ResponseError, UsageError

WORDS = ["the", "old", "young", "woman", "man", "worked", "as", "a", "cook", "doctor", "thief", "and", "was", "known",
         "for", "being", "kind", "cruel", "deaf", "people", "are"]  # fmt: skip
LIMIT = 24


def build_tokenizer(kind):
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    if kind == "gpt2":
        vocabulary = {word: i for i, word in enumerate(["<|endoftext|>", *WORDS])}
        backend = Tokenizer(models.WordLevel(vocabulary, unk_token="<|endoftext|>"))
        backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        return PreTrainedTokenizerFast(
            tokenizer_object=backend, eos_token="<|endoftext|>", unk_token="<|endoftext|>"
        )
    specials = {"bert": ["[PAD]", "[UNK]", "[CLS]", "[SEP]"], "roberta": ["<s>", "<pad>", "</s>", "<unk>"]}[
        kind
    ]
    begin, pad, end, unknown = (specials[i] for i in ((2, 0, 3, 1) if kind == "bert" else (0, 1, 2, 3)))
    vocabulary = {word: i for i, word in enumerate([*specials, *WORDS, *".,!"])}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token=unknown))
    backend.normalizer = normalizers.Lowercase()
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A {end}", special_tokens=[(begin, vocabulary[begin]), (end, vocabulary[end])]
    )
    names = dict(pad_token=pad, unk_token=unknown, cls_token=begin, sep_token=end)
    return PreTrainedTokenizerFast(tokenizer_object=backend, model_max_length=LIMIT, **names)


def save_classifier(folder, kind="bert", outputs=4, **settings):
    import torch
    import transformers

    tokenizer = build_tokenizer(kind)
    sizes = dict(vocab_size=len(tokenizer), num_labels=outputs, **settings)
    if kind == "gpt2":
        config = transformers.GPT2Config(
            n_embd=32, n_layer=2, n_head=2, n_positions=LIMIT, bos_token_id=0, eos_token_id=0, **sizes
        )
        model = transformers.GPT2ForSequenceClassification(config)
    else:
        hidden = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
        # RoBERTa numbers its positions from 2 on
        positions = LIMIT + 2 if kind == "roberta" else LIMIT
        name = {"bert": "Bert", "roberta": "Roberta"}[kind]
        config = getattr(transformers, f"{name}Config")(
            max_position_embeddings=positions, pad_token_id=tokenizer.pad_token_id, **hidden, **sizes
        )
        model = getattr(transformers, f"{name}ForSequenceClassification")(config)
    generator = torch.Generator().manual_seed(zlib.crc32(kind.encode()))
    with torch.no_grad():
        for _, parameter in sorted(model.named_parameters()):
            noise = torch.randn(parameter.shape, generator=generator)
            # initial weights are so small that every text would get nearly the same answer
            parameter.copy_(0.3 * noise if parameter.dim() > 1 else parameter + 0.1 * noise)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """`saved(kind, **settings)`: a folder made once; read-only."""
    made = {}

    def folder(kind="bert", **settings):
        key = f"{kind}{sorted(settings.items())}"
        if key not in made:
            made[key] = save_classifier(tmp_path_factory.mktemp(kind), kind, **settings)
        return made[key]

    return folder


@pytest.fixture
def copied(saved, tmp_path):
    return Path(shutil.copytree(saved(), tmp_path / "copy"))


@pytest.fixture(scope="module")
def texts():
    """Short and over-long texts with duplicates, shuffled."""
    chooser = random.Random(5)
    made = [" ".join(chooser.choices(WORDS, k=chooser.randint(1, LIMIT - 4))) + "." for _ in range(25)]
    made += [" ".join(chooser.choices(WORDS, k=3 * LIMIT)) for _ in range(3)]
    made += made[::2]
    chooser.shuffle(made)
    return made


def pipeline_scores(folder, texts, function):
    import transformers

    classify = transformers.pipeline("text-classification", model=str(folder), device="cpu")
    settings = dict(top_k=None, function_to_apply=function, batch_size=1, truncation=True)
    if not classify.tokenizer.pad_token:
        settings.pop("truncation")
    said = [{entry["label"]: entry["score"] for entry in classify(text, **settings)} for text in texts]
    return np.array([[row[f"LABEL_{i}"] for i in range(len(row))] for row in said])


@pytest.mark.parametrize("kind", ["bert", "roberta", "gpt2"])
@pytest.mark.parametrize(("problem", "function"), [("single_label", "softmax"), ("multi_label", "sigmoid")])
def test_the_pipeline_of_transformers_gives_the_same_numbers(saved, texts, kind, problem, function):
    texts = [
        text for text in texts if kind != "gpt2" or len(text.split()) < LIMIT
    ]  # the pipeline cannot cut these
    folder = saved(kind, problem_type=f"{problem}_classification")
    classifier = load_classifier(f"{folder}?batch_tokens=100&negative=1,3", device="cpu")
    assert isinstance(classifier, Classifier)
    said = classifier.classify(["", *texts, " \n"])
    expected = pipeline_scores(folder, texts, function)
    np.testing.assert_allclose(said.scores[1:-1], expected, atol=1e-5)
    assert expected.std(axis=0).min() > 0.01  # the texts do differ
    assert said.errors == [ResponseError.EMPTY_TEXT, *[None] * len(texts), ResponseError.EMPTY_TEXT]
    assert np.isnan(said.scores[[0, -1]]).all() and np.isnan(said.score[[0, -1]]).all()
    assert said.negative[0] is None and said.labels[0] is None
    if problem == "single_label":
        assert said.labels[1:-1] == [f"LABEL_{i}" for i in expected.argmax(axis=1)]
        np.testing.assert_allclose(said.score[1:-1], expected[:, [1, 3]].sum(axis=1), atol=1e-5)
        assert said.negative[1:-1] == [bool(i in (1, 3)) for i in expected.argmax(axis=1)]
        assert len(set(said.negative[1:-1])) == 2
    else:
        largest = expected[:, [1, 3]].max(axis=1)
        assert said.labels == [None] * len(said)
        np.testing.assert_allclose(said.score[1:-1], largest, atol=1e-5)
        assert said.negative[1:-1] == (largest >= 0.5).tolist()
        bound = (np.unique(largest)[3] + np.unique(largest)[4]) / 2
        stricter = load_classifier(f"{folder}?negative=1,3&threshold={bound}").classify(texts)
        assert stricter.negative == (largest >= bound).tolist() and len(set(stricter.negative)) == 2


@pytest.mark.parametrize("kind", ["bert", "roberta", "gpt2"])
def test_batches_order_and_repetition_change_nothing(saved, texts, kind):
    folder = saved(kind)
    alone = load_classifier(f"{folder}?batch_tokens=1").classify(texts)
    together = load_classifier(str(folder), options={"batch_tokens": 100_000})
    backwards = together.classify(texts[::-1])
    np.testing.assert_allclose(backwards.scores[::-1], alone.scores, atol=1e-6)
    lengths = {len(text.split()) for text in texts}
    # GPT-2 has no padding token, so only texts of one length share a batch
    assert together.describe()["calls"] == (len(lengths - {3 * LIMIT} | {LIMIT}) if kind == "gpt2" else 1)
    assert together.describe()["texts"] == len(set(texts))
    np.testing.assert_array_equal(together.classify(texts[::-1]).scores, backwards.scores)
    assert len(together.classify([])) == 0


def test_long_texts_are_cut_and_counted(saved, texts):
    classifier = load_classifier(str(saved("roberta")))
    assert classifier.describe()["maximum_tokens"] == LIMIT
    long = " ".join(["kind"] * 100)
    same = " ".join(["kind"] * (LIMIT - 2))
    said = classifier.classify([long, same, "kind"])
    np.testing.assert_array_equal(said.scores[0], said.scores[1])
    assert classifier.describe()["truncated"] == 1
    shorter = load_classifier(f"{saved('roberta')}?maximum_tokens=5").classify([same, "kind kind kind"])
    np.testing.assert_array_equal(shorter.scores[0], shorter.scores[1])


def test_thresholds_and_label_maps(saved, texts, tmp_path):
    folder = saved()
    names = tmp_path / "names.txt"
    names.write_text("calm\nAngry\nkind\ncruel\n")
    plain = load_classifier(str(folder)).classify(texts)
    assert plain.negative == [None] * len(texts) and np.isnan(plain.score).all()
    said = load_classifier(f"{folder}?labels={names}&negative=angry,3&threshold=0.6")
    assert said.labels == ("calm", "Angry", "kind", "cruel")
    judged = said.classify(texts)
    np.testing.assert_allclose(judged.score, plain.scores[:, [1, 3]].sum(axis=1), atol=1e-6)
    assert judged.negative == (judged.score >= 0.6).tolist() and len(set(judged.negative)) == 2
    by_argmax = load_classifier(f"{folder}?labels={names}&negative=cruel&threshold=argmax").classify(texts)
    assert by_argmax.negative == [label == "cruel" for label in by_argmax.labels]
    for wrong in (
        "negative=furious",
        "negative=4",
        "threshold=2",
        "threshold=often",
        "dtype=int8",
        "bacth_tokens=3",
    ):
        with pytest.raises(UsageError):
            load_classifier(f"{folder}?{wrong}")
    with pytest.raises(
        UsageError, match="several labels that can apply to one text, so it needs a threshold"
    ):
        load_classifier(f"{folder}?multi_label=true&negative=0&threshold=argmax")


def test_presets_read_a_local_copy(saved, texts):
    folder = saved(outputs=2)
    toxigen = load_classifier(f"toxigen?model={folder}")
    assert toxigen.labels == ("neutral", "toxic") and toxigen.describe()["name"] == "toxigen"
    said = toxigen.classify(texts)
    plain = load_classifier(str(folder)).classify(texts)
    np.testing.assert_array_equal(said.score.astype(np.float32), plain.scores[:, 1])
    assert said.negative == (plain.scores[:, 1] > 0.5).tolist()
    regard = load_classifier("regard", options={"model": str(saved(outputs=4))})
    assert regard.labels[0] == "negative" and regard.reading.negative == ("negative",)
    detoxify = load_classifier(f"detoxify?model={saved(outputs=6)}&threshold=0.3")
    assert detoxify.reading.multi_label and detoxify.reading.threshold == 0.3
    offensive = load_classifier(f"offensiveness?model={folder}")
    assert offensive.reading.negative == ("LABEL_1",) and offensive.reading.threshold == 0.5
    for name, outputs in (("toxigen", 4), ("regard", 2), ("detoxify", 4), ("style", 4), ("offensiveness", 4)):
        with pytest.raises(UsageError, match=rf"has {outputs} outputs"):
            load_classifier(f"{name}?model={saved(outputs=outputs)}")
    with pytest.raises(UsageError, match="are not published in a form that can be loaded"):
        load_classifier("style")


@pytest.mark.parity
def test_a_style_classifier_takes_its_names_from_a_file(saved, shared):
    styles = shared / "data" / "styles" / "style_classes_217.txt"
    classifier = load_classifier(f"style?model={saved(outputs=217)}&labels={styles}")
    said = classifier.classify(["kind people", "cruel people"])
    assert (
        classifier.labels[:2] == tuple(styles.read_text().splitlines()[:2]) and len(classifier.labels) == 217
    )
    np.testing.assert_allclose(said.scores.sum(axis=1), 1, atol=1e-5)
    assert said.negative == [None, None]


def test_a_contradicting_order_is_refused(copied):
    settings = json.loads((copied / "config.json").read_text())
    settings["id2label"] = {"0": "positive", "1": "neutral", "2": "negative", "3": "other"}
    (copied / "config.json").write_text(json.dumps(settings))
    with pytest.raises(
        UsageError, match=r"Output 0 of .* is named 'positive', but 'regard' expects 'negative'"
    ):
        load_classifier(f"regard?model={copied}")


def test_fingerprints_follow_what_changes_a_label(saved, copied, tmp_path):
    def fingerprint(name):
        return json.dumps(load_classifier(name).fingerprint)

    folder, first = saved(), fingerprint(str(saved()))
    assert fingerprint(str(copied)) == first
    assert fingerprint(f"{folder}?batch_tokens=50") == first
    names = tmp_path / "names.json"
    names.write_text(json.dumps({"LABEL_1": 0, "LABEL_0": 1, "LABEL_2": 2, "LABEL_3": 3}))
    others = [f"labels={names}", "negative=0", "negative=0&threshold=0.5", "negative=0&threshold=0.6",
              "maximum_tokens=9", "multi_label=true", "dtype=bfloat16"]  # fmt: skip
    changed = [fingerprint(f"{folder}?{options}") for options in others]
    weights = bytearray((copied / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (copied / "model.safetensors").write_bytes(weights)
    assert len({first, fingerprint(str(copied)), *changed}) == len(others) + 2


def test_nothing_is_printed(saved, texts, capfd):
    folder = saved("roberta")
    capfd.readouterr()  # saving the model prints
    load_classifier(str(folder)).classify(texts)
    assert capfd.readouterr() == ("", "")


def test_weights_are_loaded_when_needed(saved, monkeypatch):
    loaded = []
    original = backend.load_weights
    monkeypatch.setattr(backend, "load_weights", lambda *given: loaded.append(1) or original(*given))
    classifier = load_classifier(str(saved()))
    assert classifier.fingerprint and classifier.describe() and not loaded
    classifier.classify(["kind"])
    classifier.classify(["cruel"])
    assert loaded == [1]


def test_not_finite_and_too_large_are_rows(saved, monkeypatch):
    import torch

    classifier = load_classifier(f"{saved()}?batch_tokens=24&negative=0")
    model = classifier._model
    real = model.forward

    def forward(input_ids, attention_mask=None, **rest):
        if input_ids.shape[1] > 15:
            raise torch.OutOfMemoryError("CUDA out of memory")
        said = real(input_ids=input_ids, attention_mask=attention_mask, **rest)
        said.logits[(input_ids == classifier.checkpoint.tokenizer.get_vocab()["thief"]).any(dim=1), 2] = (
            float("nan")
        )
        return said

    monkeypatch.setattr(model, "forward", forward)
    said = classifier.classify(["kind", "a thief", "cruel " * 16, "old"])
    assert said.errors == [None, ResponseError.NOT_FINITE, ResponseError.OUT_OF_MEMORY, None]
    assert np.isnan(said.scores[1:3]).all() and said.negative[1:3] == [None, None]
    monkeypatch.setattr(model, "forward", lambda **_: (_ for _ in ()).throw(RuntimeError("another fault")))
    with pytest.raises(RuntimeError, match="another fault"):
        classifier.classify(["kind"])


def test_memory_that_runs_out_halves_the_batch(saved, texts, monkeypatch):
    import torch

    expected = load_classifier(str(saved())).classify(texts)
    classifier = load_classifier(f"{saved()}?batch_tokens=4096")
    real = classifier._model.forward

    def forward(input_ids, **rest):
        if input_ids.numel() > 60:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return real(input_ids=input_ids, **rest)

    forward.__signature__ = inspect.signature(real)
    monkeypatch.setattr(classifier._model, "forward", forward)
    said = classifier.classify(texts)
    np.testing.assert_allclose(said.scores, expected.scores, atol=1e-6)
    assert classifier.describe()["halvings"]


def test_pickled_weights_only_where_there_are_no_others(copied, texts, monkeypatch):
    import torch
    from safetensors.torch import load_file

    safe = load_classifier(str(copied))
    expected = safe.classify(texts)
    torch.save(load_file(copied / "model.safetensors"), copied / "pytorch_model.bin")
    assert load_classifier(str(copied)).fingerprint == safe.fingerprint
    (copied / "model.safetensors").unlink()
    pickled = load_classifier(str(copied))
    assert pickled.describe()["weights"] == "pickle"
    np.testing.assert_array_equal(pickled.classify(texts).scores, expected.scores)
    assert pickled.fingerprint != safe.fingerprint
    monkeypatch.setattr(torch, "__version__", "2.9.1+cpu")
    with pytest.raises(ModelError, match="run code"):
        load_classifier(str(copied)).classify(["kind"])


def test_what_is_no_classifier_is_refused(copied, tmp_path):
    def refused(match, kind=ModelError, name=None):
        with pytest.raises(kind, match=match):
            load_classifier(str(name or copied)).classify(["kind"])

    refused("classifier folder not found", name=tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    refused("no config.json", name=tmp_path / "empty")
    settings = json.loads((copied / "config.json").read_text())
    for change, match in (
        (
            {"architectures": ["BertForMaskedLM"]},
            "is not a text classifier",
        ),
        ({"problem_type": "regression"}, "without a scale"),
        ({"vocab_size": 9}, "the model knows only 9 tokens"),
        ({"id2label": None, "label2id": None, "num_labels": 5}, "do not fit its config.json"),
    ):
        (copied / "config.json").write_text(json.dumps({**settings, **change}))
        refused(match)
    (copied / "config.json").write_text(json.dumps(settings))
    whole = (copied / "model.safetensors").read_bytes()
    (copied / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    refused("cannot be loaded")
    (copied / "model.safetensors").unlink()
    refused("contains no weights")
    (copied / "tokenizer.json").unlink()
    refused("contains no tokenizer")
    with pytest.raises(DataError, match="Label file not found"):
        load_classifier(f"{copied}?labels=nowhere.txt")


def test_hub_names_offline_and_in_the_cache(saved, tmp_path, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    for name in ("toxigen", "regard", "detoxify", "someone/some-classifier"):
        with pytest.raises(ModelError, match=r"not in the local cache.*HF_HUB_OFFLINE") as refusal:
            load_classifier(name)
        assert "FOLDER" in str(refusal.value)
    with pytest.raises(ModelError, match=r"toxigen\?model=FOLDER"):
        load_classifier("toxigen")
    commit = "7e78d8747edaab24b37b7a623baf3b2ca16c1c8a"
    shutil.copytree(saved(outputs=4), tmp_path / "models--sasha--regardv3" / "snapshots" / commit)
    regard = load_classifier("regard")
    assert (regard.fingerprint["name"], regard.fingerprint["revision"]) == ("sasha/regardv3", commit)
    assert regard.classify(["kind people"]).errors == [None]
    with pytest.raises(ModelError):
        load_classifier("regard", revision="another")


def test_readings_that_contradict_themselves():
    reading = backend.LabelReading(("a", "b"), negative=("b",))
    with pytest.raises(UsageError, match="Unknown label: 'c'"):
        replace(reading, negative=("c",))
    with pytest.raises(
        UsageError, match="several labels that can apply to one text, so it needs a threshold"
    ):
        replace(reading, multi_label=True)


def test_devices(saved):
    with pytest.raises(UsageError, match="Unknown device: 'gpu'"):
        load_classifier(str(saved()), device="gpu")
    with pytest.raises(ModelError, match="this machine has none"):
        load_classifier(str(saved()), device="cuda:7")
