"""Responses learned end to end on our own small data, and each published quirk against its plain description."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch
from tokenizers.processors import TemplateProcessing

from evenhand.measures import response_scores
from evenhand.mitigations.training import IGNORED, TrainingOptions
from evenhand.models import load_model
from evenhand.prompts.dialogue_tasks import DialogueContext, Exchange, read_exchanges, read_test_contexts
from evenhand.schema import DataError, ModelError
from evenhand.studies.redditbias.tasks import ResponseOptions, generate_responses
from evenhand.studies.redditbias.tasks.response_generation import Responses, encoded_exchanges, front
from tests.prompts.dialogue_tasks.small import write_dstc7

FEW = TrainingOptions(epochs=1, batch_size=4, learning_rate=2e-3, dropout=False)
END = 0


def reference() -> Any:
    return load_model("evenhand/reference", device="cpu", dtype="float32")


def exchange(context: str, response: str) -> Exchange:
    return Exchange("k", "c", context, response)


def test_what_can_be_learned_is_said(tmp_path: Path) -> None:
    exchanges = [exchange(f"START EOS who is number {i}", "i am here .") for i in range(8)]
    asked = [DialogueContext("t", "d", "START EOS who is number 9", ("i am here .",))]
    options = ResponseOptions(top_k=1, training=replace(FEW, epochs=20))
    found = generate_responses(reference(), exchanges, asked, options, tmp_path, device="cpu")
    assert found["reply"].item().strip() == "i am here ."
    assert response_scores(found).filter(measure="bleu_4")["estimate"].item() == 1


def test_the_road_from_the_files_to_the_score_runs_and_goes_on(tmp_path: Path) -> None:
    folder = write_dstc7(tmp_path / "data")
    exchanges, asked = list(read_exchanges(folder)), read_test_contexts(folder)
    made = []
    for as_published in (False, False, True):
        options = ResponseOptions(as_published=as_published, longest=32, training=FEW)
        training = tmp_path / str(as_published)
        made.append(generate_responses(reference(), exchanges, asked, options, training, device="cpu"))
        assert made[-1]["key"].to_list() == ["t0", "t1", "t2"]
        assert made[-1]["references"].list.len().to_list() == [6, 6, 6]
        table = response_scores(made[-1], as_published=as_published)
        assert table.filter(pl.col("measure") == "reply_length")["estimate"].item() > 0
    assert made[0].equals(made[1])


def test_contexts_and_responses_are_laid_out_and_cut() -> None:
    tokenizer = reference().tokenizer

    def text(examples: Any, row: int = 0) -> tuple[str, str]:
        ids, labels = examples.ids[row], examples.labels[row]
        assert ((labels == IGNORED) | (labels == ids)).all()
        return tokenizer.decode(ids), tokenizer.decode(ids[labels != IGNORED])

    end = tokenizer.eos_token
    short = [exchange("START EOS one two EOS three", "four")]
    assert text(encoded_exchanges(tokenizer, short, 64, as_published=False)) == (
        f"one two{end}three{end}four{end}",
        f"four{end}",
    )
    published = encoded_exchanges(tokenizer, short, 64, as_published=True)
    assert text(published) == (f"START EOS one two EOS three{end}four{end}", f"four{end}")
    long = [exchange("old " * 30 + "new", " ".join(["the"] * 10))]
    for as_published in (False, True):
        whole, learned = text(encoded_exchanges(tokenizer, long, 20, as_published=as_published))
        assert learned.startswith("the the") and whole.endswith(end)
        assert f"new{end}the" in whole
        assert len(encoded_exchanges(tokenizer, long, 20, as_published=as_published).ids[0]) == 20


def test_what_stands_in_front_of_a_context_is_the_same_when_it_is_learned_and_when_it_is_replied_to(
    tmp_path: Path,
) -> None:
    model = reference()
    backend, start = model.tokenizer.backend_tokenizer, 5
    word = backend.id_to_token(start)
    backend.post_processor = TemplateProcessing(single=f"{word} $A", special_tokens=[(word, start)])
    exchanges = [exchange(f"START EOS who is number {i}", "i am here .") for i in range(4)]
    asked = [DialogueContext("t", "d", "START EOS who is number 2", ("i am here .",))]
    read: list[list[int]] = []
    model.model.register_forward_pre_hook(
        lambda _, given, named: read.extend(
            (named["input_ids"] if "input_ids" in named else given[0]).tolist()
        ),
        with_kwargs=True,
    )
    options = ResponseOptions(top_k=1, longest=32, training=FEW)
    generate_responses(model, exchanges, asked, options, tmp_path, device="cpu")
    [learned] = [row for row in read[:4] if "number 2" in model.tokenizer.decode(row)]
    end = model.tokenizer.eos_token_id
    context = learned[: learned.index(end, 1) + 1]
    assert context[0] == start and learned.count(start) == 1
    assert any(row == context for row in read[4:])


def test_responses_that_do_not_fit_are_cut_or_left_out_as_published() -> None:
    tokenizer = reference().tokenizer
    rambling = [exchange("a b c", "yes " * 40)]
    cut = encoded_exchanges(tokenizer, rambling, 20, as_published=True)
    assert tokenizer.decode(cut.ids[0]).startswith("a b c<")
    assert len(cut.ids[0]) == 20
    hopeless = [exchange("old " * 30, "yes " * 40)]
    with pytest.raises(DataError, match="No DSTC7 exchange fits into the context of the model"):
        encoded_exchanges(tokenizer, hopeless, 20, as_published=True)
    both = encoded_exchanges(tokenizer, hopeless, 20, as_published=False)
    assert len(both.ids[0]) == 20 and (both.labels[0] != IGNORED).sum() == 10  # type: ignore[index]


def test_the_newest_of_a_context_is_kept_or_the_oldest_as_published() -> None:
    tokenizer = reference().tokenizer
    context = "START EOS " + " ".join(f"old {i}" for i in range(20)) + " EOS the newest"
    text, before = front(tokenizer, context, 12, as_published=False)
    assert text.endswith(f"the newest{tokenizer.eos_token}") and "START" not in text and before == ""
    published, before = front(tokenizer, context, 12, as_published=True)
    assert published.startswith("START EOS old 0") and before == published
    assert front(tokenizer, "START EOS hi", 12, as_published=True) == (
        f"START EOS hi{tokenizer.eos_token}",
        "",
    )


def test_as_published_the_type_adds_the_embedding_of_token_zero() -> None:
    model = reference().model
    batch = encoded_exchanges(
        reference().tokenizer, [exchange("who is it", "it is me .")], 64, as_published=True
    ).batch([0], pad=END)
    with torch.no_grad():
        types = float(Responses(True).sums(model, batch)["response"])
        embedded = model.get_input_embeddings()(batch.input_ids) + model.get_input_embeddings().weight[0]
        logits = model(inputs_embeds=embedded, attention_mask=batch.attention_mask).logits[0].double()
        plain = float(Responses(False).sums(model, batch)["response"])
    log_chance = torch.log_softmax(logits, dim=-1)
    by_hand = -sum(
        float(log_chance[place - 1, token])
        for place, token in enumerate(batch.labels[0].tolist())
        if token != IGNORED
    )
    assert types == pytest.approx(by_hand, rel=1e-4)
    assert abs(plain - types) > 1e-2


def test_a_tokenizer_without_an_end_is_refused(tmp_path: Path) -> None:
    model = reference()
    model.tokenizer.eos_token = None
    with pytest.raises(ModelError, match="has no end-of-sequence token, which contexts and"):
        generate_responses(model, [], [], ResponseOptions(), tmp_path, device="cpu")
