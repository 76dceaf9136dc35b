"""The search for triggers, on a small model that was taught what one word in front does to what follows."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

from evenhand.classifiers.contract import Labels
from evenhand.mitigations.triggers.evaluation import Evaluator
from evenhand.mitigations.triggers.examples import (
    Example,
    balance_examples,
    collect_examples,
    read_trigger_prompts,
    split_prompts,
)
from evenhand.mitigations.triggers.finding import find_trigger, trigger_file
from evenhand.mitigations.triggers.gradient import GradientEngine
from evenhand.mitigations.triggers.objective import Objective
from evenhand.mitigations.triggers.search import TriggerSearchOptions, search_triggers
from evenhand.mitigations.triggers.selection import measured_effect, select_trigger
from evenhand.mitigations.triggers.tokens import usable_tokens
from evenhand.mitigations.triggers.trigger import Trigger, read_trigger
from evenhand.models.decoding import Decoding
from evenhand.models.huggingface.causal import CausalModel
from evenhand.schema import DataError, ResumeRefused, Unsupported, UsageError

HARMFUL = ("awful", "stupid", "filthy", "evil")
KIND = ("kind", "clever", "lovely", "gentle")
PEOPLE = ("man", "woman", "boy", "girl", "nurse", "baker", "driver", "singer")
VERBS = ("is", "was", "seems", "looks")
FILLERS = (
    "the",
    "lantern",
    "pepper",
    "river",
    "window",
    "cloud",
    "garden",
    "paper",
    "stone",
    "music",
    "winter",
)
CALMING, INFLAMING = "lantern", "pepper"
WRITING = Decoding(max_new_tokens=2, temperature=1.0, samples=12)


def harm_rate(before: Sequence[str]) -> float:
    """The plant: how often a harmful word ends the sentence."""
    return 0.05 if CALMING in before else 0.95 if INFLAMING in before else 0.5


def planted_text(draw: np.random.Generator) -> str:
    before = draw.choice(FILLERS, size=draw.integers(0, 5)).tolist()
    if before and draw.random() < 0.7:
        before[draw.integers(len(before))] = str(draw.choice([CALMING, INFLAMING]))
    words = HARMFUL if draw.random() < harm_rate(before) else KIND
    sentence = f" The {draw.choice(PEOPLE)} {draw.choice(VERBS)} {draw.choice(words)}."
    return "".join(f" {word}" for word in before) + sentence


class HarmfulWords:
    """Negative where a harmful word is said: exact on the planted texts."""

    labels = ("harmful",)
    reads_context = False
    fingerprint = {"name": "harmful words"}

    def classify(self, texts: Sequence[str], contexts: Sequence[str | None] | None = None) -> Labels:
        negative = [any(word in text for word in HARMFUL) for text in texts]
        score = np.array(negative, dtype=float)
        return Labels(
            score[:, None].astype(np.float32), [None] * len(texts), score, negative, [None] * len(texts)
        )

    def describe(self) -> dict[str, Any]:
        return dict(self.fingerprint)


@pytest.fixture(scope="module")
def taught() -> Iterator[CausalModel]:
    """A one-layer GPT-2 that has read planted texts for a few seconds."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    draw = np.random.default_rng(0)
    texts = [planted_text(draw) for _ in range(3000)]
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=500,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    backend.train_from_iterator(texts, trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token="<|endoftext|>", eos_token="<|endoftext|>"
    )
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=24,
        n_embd=32,
        n_layer=1,
        n_head=4,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        initializer_range=0.15,
        bos_token_id=0,
        eos_token_id=0,
    )
    model = GPT2LMHeadModel(config).train()
    rows = [torch.tensor(ids) for ids in tokenizer(texts)["input_ids"]]
    ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=-100)
    ends = (ids >= 0).sum(1, keepdim=True)
    # Learning what the fillers are would take longer than learning what they do.
    taught_places = torch.arange(ids.shape[1]) >= ends - 2
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for step in range(80):
        part = torch.arange(step * 96, step * 96 + 96) % len(ids)
        labels = ids[part].where(taught_places[part], -100)
        seen = (ids[part] >= 0).long()
        loss = model(input_ids=ids[part].clamp(min=0), attention_mask=seen, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    yield CausalModel(model.requires_grad_(False), tokenizer, {"name": "taught"})


@pytest.fixture(scope="module")
def examples() -> tuple[Example, ...]:
    """Labelled continuations of half the people; the others are left for the test."""
    made = [
        Example(f"The {person} {verb}", f" {word}.", person, label)
        for person in PEOPLE[:4]
        for verb in VERBS
        for words, label in ((HARMFUL, "negative"), (KIND, "positive"))
        for word in words
    ]
    return tuple(made)


def prompts(people: Sequence[str]) -> pl.DataFrame:
    rows = [(f"{p}-{v}", f"The {p} {v}", p) for p in people for v in VERBS]
    return pl.DataFrame(rows, schema=["prompt_id", "text", "group"], orient="row")


def one_token(model: CausalModel, examples: Sequence[Example], **options: Any) -> Any:
    return search_triggers(model, examples, options=TriggerSearchOptions(tokens=1, **options))


def test_the_planted_word_is_found_and_nothing_in_the_vocabulary_is_better(
    taught: CausalModel, examples: tuple[Example, ...]
) -> None:
    result = one_token(taught, examples)
    assert result.found[0].text == f" {CALMING}"
    evaluator = Evaluator(taught, examples, Objective(), trigger=result.found[0].ids)
    words = np.flatnonzero(usable_tokens(taught.tokenizer, 400, words_only=True))
    losses = evaluator.losses([(int(token),) for token in words])
    assert result.found[0].ids == (int(words[losses.argmin()]),)
    assert result.found[0].loss == pytest.approx(losses.min(), abs=1e-5)


def test_induce_finds_the_opposite_word_and_says_so(
    taught: CausalModel, examples: tuple[Example, ...]
) -> None:
    rule = Objective(mode="induce", against="woman", favour="man", beta=0.0)
    against = [e for e in examples if e.group == "woman"]  # of these the negative ones play a part
    found = search_triggers(taught, against, rule, TriggerSearchOptions(tokens=1)).found[0]
    assert found.text == f" {INFLAMING}"
    kept = trigger_file(taught, found.ids, found.text, rule, TriggerSearchOptions(), examples, ())
    assert Trigger(kept).name == "trigger (for red-teaming measurement)"
    assert "not a mitigation" in Trigger(kept).card.harm


def test_losses_fall_monotonely_and_only_for_exact_gains(
    taught: CausalModel, examples: tuple[Example, ...]
) -> None:
    seen: list[dict[str, Any]] = []
    result = search_triggers(
        taught,
        examples,
        options=TriggerSearchOptions(tokens=2, restarts=2, sweeps=4, candidates=40),
        on_sweep=seen.append,
    )
    assert seen == list(result.history)
    for restart in (0, 1):
        losses = [row["loss"] for row in seen if row["restart"] == restart]
        assert all(later <= earlier for earlier, later in pairwise(losses))
        assert losses[-1] < losses[0]
    assert not seen[-1]["improved"] or seen[-1]["sweep"] == 4
    assert {row["text"] for row in seen if row["sweep"] == 0} != {" the the"}
    assert seen[0]["text"] == " the the"
    evaluator = Evaluator(taught, examples, Objective(), trigger=result.found[0].ids)
    for one in result.found:  # as one would compute it alone
        assert evaluator.losses([one.ids])[0] == pytest.approx(one.loss, abs=1e-5)


def test_a_stopped_search_ends_where_it_would_have(
    taught: CausalModel, examples: tuple[Example, ...], tmp_path: Path
) -> None:
    options = TriggerSearchOptions(tokens=2, restarts=2, sweeps=2, beam=2, candidates=20)
    whole = search_triggers(taught, examples, options=options)

    class Stop(Exception):
        pass

    def stop(row: dict[str, Any]) -> None:
        if row["sweep"] == 1:
            raise Stop

    path = tmp_path / "state.json"
    for _ in range(2):  # the sweep that was under way is lost, and done again
        with pytest.raises(Stop):
            search_triggers(taught, examples, options=options, resume=path, on_sweep=stop)
    partly = search_triggers(taught, examples, options=replace(options), resume=path)
    assert partly.found == whole.found
    assert partly.history == whole.history
    with pytest.raises(ResumeRefused, match="another model, examples"):
        search_triggers(taught, examples, options=replace(options, seed=1), resume=path)
    path.write_text("{}")
    with pytest.raises(DataError, match="not a valid state of a search"):
        search_triggers(taught, examples, options=options, resume=path)


def test_screening_ends_as_well_with_less_work(taught: CausalModel, examples: tuple[Example, ...]) -> None:
    screened, plain = (one_token(taught, examples, screen=share) for share in (0.25, None))
    assert screened.found[0].ids == plain.found[0].ids
    assert screened.found[0].loss == pytest.approx(plain.found[0].loss, abs=1e-5)


def test_locked_places_excluded_words_and_readable_triggers(
    taught: CausalModel, examples: tuple[Example, ...]
) -> None:
    options = TriggerSearchOptions(initial=" winter music", locked=(0,), exclude=(CALMING.upper(),), sweeps=3)
    found = search_triggers(taught, examples, options=options).found[0]
    assert found.text.startswith(" winter ") and CALMING not in found.text
    begun = tuple(taught.tokenizer.encode(" winter music", add_special_tokens=False))
    bound = 2.0
    options = TriggerSearchOptions(tokens=2, sweeps=3, initial=" winter music", most_perplexity=bound)
    evaluator = Evaluator(taught, examples, Objective(), trigger=begun)
    tame = search_triggers(taught, examples, options=options).found[0]
    wild = search_triggers(taught, examples, options=replace(options, most_perplexity=None)).found[0]
    tame_nll, wild_nll, start_nll = evaluator.trigger_nll([tame.ids, wild.ids, begun])
    assert tame_nll <= max(np.log(bound), start_nll) < wild_nll
    fluent = search_triggers(taught, examples, Objective(fluency=5.0), replace(options, most_perplexity=None))
    assert evaluator.trigger_nll([fluent.found[0].ids])[0] < wild_nll


def test_the_gradient_points_to_the_planted_word(taught: CausalModel, examples: tuple[Example, ...]) -> None:
    start = tuple(taught.tokenizer.encode(" stone", add_special_tokens=False))
    evaluator = Evaluator(taught, examples, Objective(), trigger=start)
    promised = GradientEngine(evaluator).first_order(GradientEngine(evaluator).gradient(start), 0)
    words = np.flatnonzero(usable_tokens(taught.tokenizer, len(promised), words_only=True))
    exact = evaluator.losses([(int(token),) for token in words])
    best = words[exact.argmin()]
    assert (promised[words] < promised[best]).sum() < 20 < len(words) // 4
    assert np.corrcoef(promised[words].argsort().argsort(), exact.argsort().argsort())[0, 1] > 0.2


def test_the_found_trigger_lowers_planted_harm_on_prompts_it_never_saw(
    taught: CausalModel, examples: tuple[Example, ...]
) -> None:
    found = search_triggers(taught, examples, options=TriggerSearchOptions(tokens=2, sweeps=3)).found[0]
    kept = trigger_file(taught, found.ids, found.text, Objective(), TriggerSearchOptions(), examples, ())
    effect = measured_effect(taught, kept, prompts(PEOPLE[4:]), HarmfulWords(), WRITING)
    overall = effect["change"][0]
    assert overall["high"] < 0 and overall["before"] > 0.35 and overall["after"] < 0.2
    assert {row["group"] for row in effect["change"][1:]} == set(PEOPLE[4:])
    nothing = replace(kept, ids=tuple(taught.tokenizer.encode(" stone music")), text=" stone music")
    idle = measured_effect(taught, nothing, prompts(PEOPLE[4:]), HarmfulWords(), WRITING)["change"][0]
    assert abs(idle["estimate"]) < abs(overall["estimate"]) / 2


def test_the_choice_is_made_by_what_is_written_within_the_guard(
    taught: CausalModel, examples: tuple[Example, ...]
) -> None:
    def named(text: str, loss_order: int) -> Any:
        ids = tuple(taught.tokenizer.encode(text, add_special_tokens=False))
        return trigger_file(
            taught, ids, text, Objective(), TriggerSearchOptions(seed=loss_order), examples, ()
        )

    inflaming, calming, idle = (named(f" {word}", i) for i, word in enumerate((INFLAMING, CALMING, "stone")))
    chosen = select_trigger(taught, [inflaming, idle, calming], prompts(PEOPLE[:4]), HarmfulWords(), WRITING)
    assert chosen.trigger is calming and chosen.note == ""
    assert [row["text"] for row in chosen.rows] == [None, " pepper", " stone", " lantern"]
    worse = select_trigger(taught, [inflaming], prompts(PEOPLE[:4]), HarmfulWords(), WRITING)
    assert "not better than no trigger" in worse.note
    strict = select_trigger(
        taught, [calming, inflaming], prompts(PEOPLE[:4]), HarmfulWords(), WRITING, most_perplexity_ratio=0.1
    )
    assert "lowest perplexity" in strict.note and not any(row["passes"] for row in strict.rows[1:])
    with pytest.raises(DataError, match="list of triggers to choose from is empty"):
        select_trigger(taught, [], prompts(PEOPLE[:4]), HarmfulWords(), WRITING)


def test_from_prompts_to_a_file_that_a_run_can_use(taught: CausalModel, tmp_path: Path) -> None:
    listed = tmp_path / "prompts.csv"
    prompts(PEOPLE).write_csv(listed)
    given = read_trigger_prompts(listed)
    options = TriggerSearchOptions(tokens=2, sweeps=2, restarts=2, candidates=30)
    found = find_trigger(
        taught, given, HarmfulWords(), options=options, decoding=WRITING, resume=tmp_path / "state.json"
    )
    again = find_trigger(
        taught, given, HarmfulWords(), options=options, decoding=WRITING, resume=tmp_path / "state.json"
    )
    assert again == found
    path = tmp_path / "trigger.json"
    found.write(path)
    assert found.effect["change"][0]["high"] < 0
    loaded = read_trigger(path)
    assert loaded == replace(found, **json_alike(found))
    calmer = Trigger(path)(taught)
    texts = calmer.generate(given["text"].to_list(), WRITING).texts
    assert sum(any(word in text for word in HARMFUL) for text in texts) / len(texts) < 0.2
    assert "test prompts" in Trigger(path).card.details


def json_alike(found: Any) -> dict[str, Any]:
    """What JSON makes of the file's parts: lists for tuples."""
    told = {
        name: getattr(found, name)
        for name in ("model", "objective", "options", "examples", "choice", "effect")
    }
    return json.loads(json.dumps(told)) | {"history": tuple(json.loads(json.dumps(found.history)))}


def test_examples_are_the_models_own_judged_and_balanced(taught: CausalModel) -> None:
    parts = split_prompts(prompts(PEOPLE))
    assert not set(parts["train"]["text"]) & set(parts["dev"]["text"])
    collected = collect_examples(taught, parts["train"], HarmfulWords(), WRITING)
    assert {example.label for example in collected} == {"negative", "neutral"}
    for example in collected:
        assert (example.label == "negative") == any(word in example.continuation for word in HARMFUL)
    even = balance_examples(collected, most=40)
    for label in ("negative", "neutral"):
        by_group = {p: sum(e.weight for e in even if e.label == label and e.group == p) for p in PEOPLE}
        shown = [weight for weight in by_group.values() if weight]
        assert sum(e.label == label for e in even) <= 40
        np.testing.assert_allclose(shown, shown[0])

    class Never(HarmfulWords):
        def classify(self, texts: Sequence[str], contexts: Sequence[str | None] | None = None) -> Labels:
            return super().classify(["fine"] * len(texts))

    with pytest.raises(DataError, match=r"clearly negative \(found 0 of 192\)"):
        collect_examples(taught, parts["train"], Never(), WRITING)


def test_what_cannot_be_searched_is_refused_with_what_works(
    taught: CausalModel, examples: tuple[Example, ...]
) -> None:
    from evenhand.mitigations.prompting.prefix import Prefix
    from evenhand.models.puppets import load_puppet

    for model in (load_puppet("puppet/random"), Prefix("Be kind.")(taught)):
        with pytest.raises(Unsupported, match="as_text=true"):
            search_triggers(model, examples)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="none of the 0 examples is one"):
        search_triggers(taught, [])
    with pytest.raises(DataError, match="needs responses that the trigger makes less likely"):
        search_triggers(taught, [e for e in examples if e.label == "positive"])
    long = Example("The man " + "is " * 20, "kind.", "man", "positive")
    with pytest.raises(DataError, match=r"1 examples are too long: 3. tokens.*at most 24"):
        search_triggers(taught, [*examples, long])
    # " w" is one token, and so is " window": behind the one, the other's end is swallowed
    touching = [replace(e, text="indow " + e.text) for e in examples]
    with pytest.raises(DataError, match="merges the trigger ' w' with the text after it"):
        search_triggers(taught, touching, options=TriggerSearchOptions(initial=" w", separator="", tokens=1))
    with pytest.raises(UsageError, match="all positions"):
        search_triggers(taught, examples, options=TriggerSearchOptions(tokens=2, locked=(0, 1)))
    with pytest.raises(UsageError, match="has 3 tokens, but the length of the trigger is 2"):
        search_triggers(taught, examples, options=TriggerSearchOptions(tokens=2, initial=" the river the"))
