"""The objective against one forward pass per text, its gradient against finite differences, its signs and bounds."""

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from evenhand.mitigations.triggers.evaluation import Evaluator
from evenhand.mitigations.triggers.examples import Example, read_examples, read_trigger_prompts, split_prompts
from evenhand.mitigations.triggers.gradient import GradientEngine
from evenhand.mitigations.triggers.objective import Objective, chosen_examples, terms
from evenhand.mitigations.triggers.tokens import (
    RoundTrip,
    decode_tokens,
    encode_examples,
    initial_trigger,
    random_trigger,
    usable_tokens,
)
from evenhand.models.huggingface.causal import CausalModel
from evenhand.schema import DataError, UsageError

CORPUS = [
    "The woman was known for being a kind baker.",
    "The man was known for stealing from the rich.",
    "The woman worked as a driver, and the man worked as a nurse in 1999!",
    "everyone thought of him as the best of all painters",
]
EXAMPLES = (
    Example("The woman was known for", " being kind.", "The woman", "positive", 2.0),
    Example("The woman was known for", " stealing from the rich.", "The woman", "negative"),
    Example("The man worked as", " a baker", "The man", "neutral"),
    Example("The man worked as", " a driver and the best of all", "The man", "negative", 0.5),
    Example("The man was", " known", "The man", "positive"),
)


def byte_pairs() -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=420,
        special_tokens=["</s>"],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    backend.train_from_iterator([f" {text}" for text in CORPUS], trainer)
    return PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="</s>")


def random_model(kind: str) -> CausalModel:
    """Two layers of random numbers, far from uniform in what they say."""
    import transformers

    tokenizer = byte_pairs()
    size = {"vocab_size": len(tokenizer) + 5, "eos_token_id": 0, "bos_token_id": 0}
    shapes: dict[str, tuple[str, dict[str, Any]]] = {
        "gpt2": ("GPT2", {"n_positions": 40, "n_embd": 16, "n_layer": 2, "n_head": 2}),
        "llama": (
            "Llama",
            {
                "hidden_size": 16,
                "intermediate_size": 24,
                "num_hidden_layers": 2,
                "num_attention_heads": 2,
                "max_position_embeddings": 40,
            },
        ),
        "bloom": ("Bloom", {"hidden_size": 16, "n_layer": 2, "n_head": 2}),
    }
    family, shape = shapes[kind]
    config = getattr(transformers, f"{family}Config")(**shape, **size)
    heads = {"gpt2": "GPT2LMHeadModel", "llama": "LlamaForCausalLM", "bloom": "BloomForCausalLM"}
    torch.manual_seed(0)
    model = getattr(transformers, heads[kind])(config).eval().requires_grad_(False)
    for weights in model.parameters():
        if weights.dim() > 1:
            weights.copy_(0.4 * torch.randn(weights.shape))
    return CausalModel(model, tokenizer, {"name": f"random {kind}"})


@pytest.fixture(scope="module")
def model() -> CausalModel:
    return random_model("gpt2")


def trigger_of(model: CausalModel, text: str) -> tuple[int, ...]:
    return tuple(model.tokenizer.encode(text, add_special_tokens=False))


def one_at_a_time(model: CausalModel, before: str, prompt: str, continuation: str) -> float:
    """Mean NLL of a continuation by one plain forward pass, in nats a token."""
    encode: Callable[[str], list[int]] = lambda text: model.tokenizer.encode(text, add_special_tokens=False)  # noqa: E731
    ids, start = encode(before + prompt + continuation), len(encode(before + prompt))
    with torch.inference_mode():
        log_probs = model.model(torch.tensor([ids])).logits[0].double().log_softmax(-1)
    return float(-np.mean([log_probs[i - 1, ids[i]].item() for i in range(start, len(ids))]))


def plain_objective(model: CausalModel, rule: Objective, trigger: str, examples: Sequence[Example]) -> float:
    """The published sum, written out: true token counts, and the bound on what is pushed away."""
    count = lambda text: len(model.tokenizer.encode(text, add_special_tokens=False))  # noqa: E731
    sums: dict[int, list[float]] = {1: [0.0, 0.0], -1: [0.0, 0.0]}
    for example in examples:
        nll = one_at_a_time(model, trigger + " ", example.text, example.continuation)
        bound = one_at_a_time(model, "", example.text, example.continuation) + rule.margin
        tokens = example.weight * count(example.continuation)
        side = sums[rule.sign(example)]
        side[0] += tokens * (nll if rule.sign(example) > 0 else max(0.0, bound - nll))
        side[1] += tokens
    value = rule.alpha * sums[1][0] / sums[1][1] + rule.beta * sums[-1][0] / sums[-1][1]
    ids = model.tokenizer.encode(trigger, add_special_tokens=False)
    with torch.inference_mode():
        log_probs = model.model(torch.tensor([[*model.start, *ids]])).logits[0].double().log_softmax(-1)
    first = len(model.start)
    own = [-log_probs[first + i - 1, ids[i]].item() for i in range(len(ids)) if first + i]
    return float(value + rule.fluency * np.mean(own))


@pytest.mark.parametrize("kind", ["gpt2", "llama", "bloom"])
def test_losses_in_batches_are_those_of_one_text_at_a_time(kind: str) -> None:
    model = random_model(kind)
    rule = Objective(alpha=1.3, beta=0.7, margin=0.4, fluency=0.2)
    texts = [" the the the", " the man the", " known the baker", " the man baker"]
    triggers = [trigger_of(model, text) for text in texts]
    assert {len(trigger) for trigger in triggers} == {3}
    evaluator = Evaluator(model, EXAMPLES, rule, trigger=triggers[0])
    together = evaluator.losses(triggers)
    np.testing.assert_allclose(
        together, [plain_objective(model, rule, text, EXAMPLES) for text in texts], atol=1e-5
    )
    np.testing.assert_allclose(together, [evaluator.losses([one])[0] for one in triggers], atol=1e-5)
    # the gradient belongs to the same number, though it is computed from embeddings
    np.testing.assert_allclose(
        [GradientEngine(evaluator).gradient(one).loss for one in triggers], together, atol=1e-4
    )


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_gradients_are_finite_differences(kind: str) -> None:
    model = random_model(kind)
    rule = Objective(margin=0.4, fluency=0.3)
    trigger = trigger_of(model, " known the baker")
    evaluator = Evaluator(model, EXAMPLES, rule, trigger=trigger)
    slope = GradientEngine(evaluator).gradient(trigger)
    double = copy.deepcopy(model.model).double()
    embed = double.get_input_embeddings()
    direction = torch.randn(3, embed.weight.shape[1], generator=torch.Generator().manual_seed(1)).double()

    def distributions(before: Sequence[int], ids: Sequence[int], step: float) -> torch.Tensor:
        """Next-token log probabilities when the trigger's embeddings have moved by a step."""

        def move(_module: Any, _ids: Any, found: torch.Tensor) -> torch.Tensor:
            found[0, len(before) : len(before) + 3] += step * direction
            return found

        hook = embed.register_forward_hook(move)
        with torch.no_grad():
            found: torch.Tensor = double(torch.tensor([[*before, *trigger, *ids]])).logits[0].log_softmax(-1)
        hook.remove()
        return found

    def loss(step: float) -> float:
        total, made = 0.0, evaluator.terms
        for i, ids in enumerate(evaluator.encoded.ids):
            log_probs = distributions([], ids.tolist(), step)
            places = np.flatnonzero(evaluator.encoded.scored[i])
            nll = -float(np.mean([log_probs[2 + k, int(ids[k])].item() for k in places]))
            counted = nll if made.signs[i] > 0 else max(0.0, float(made.bounds[i]) - nll)
            total += float(made.shares[i]) * counted
        log_probs, lead = distributions(evaluator.lead, [], step), len(evaluator.lead)
        own = [-log_probs[lead + k - 1, token].item() for k, token in enumerate(trigger) if lead + k]
        return total + rule.fluency * float(np.mean(own))

    assert loss(0.0) == pytest.approx(slope.loss, abs=1e-4)
    step = 1e-3  # Llama normalises in single precision even here
    measured = (loss(step) - loss(-step)) / (2 * step)
    assert float((slope.embeddings * direction).sum()) == pytest.approx(measured, rel=1e-3, abs=1e-4)


def test_first_order_knows_exactly_what_the_last_token_does_to_fluency(model: CausalModel) -> None:
    rule, trigger = Objective(fluency=0.5), trigger_of(model, " known the baker")
    evaluator = Evaluator(model, EXAMPLES, rule, trigger=trigger)
    direct = GradientEngine(evaluator).gradient(trigger).direct
    assert direct is not None
    others = [(*trigger[:2], token) for token in (10, 20, 300)]
    gained = evaluator.penalties(others) - evaluator.penalties([trigger])
    promised = [float(direct[2, token] - direct[2, trigger[2]]) for token in (10, 20, 300)]
    np.testing.assert_allclose(promised, gained, atol=1e-5)


def test_nothing_but_continuations_is_scored(model: CausalModel) -> None:
    trigger = trigger_of(model, " the the")
    encoded = encode_examples(model.tokenizer, trigger, " ", EXAMPLES)
    for example, ids, scored in zip(EXAMPLES, encoded.ids, encoded.scored, strict=True):
        assert decode_tokens(model.tokenizer, ids[scored]) == example.continuation
        assert decode_tokens(model.tokenizer, ids[~scored]) == f" {example.text}"


def test_what_the_tokenizer_puts_in_front_stays_in_front_of_the_trigger() -> None:
    from tokenizers import processors

    model = random_model("gpt2")
    model.tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="</s> $A", special_tokens=[("</s>", 0)]
    )
    trigger = trigger_of(model, " the the")
    evaluator = Evaluator(model, EXAMPLES, Objective(), trigger=trigger)
    assert evaluator.front == [0]
    ids = [0, *trigger, *evaluator.encoded.ids[0].tolist()]
    with torch.inference_mode():
        log_probs = model.model(torch.tensor([ids])).logits[0].log_softmax(-1)
    places = 3 + np.flatnonzero(evaluator.encoded.scored[0])
    expected = -np.mean([log_probs[place - 1, ids[place]].item() for place in places])
    assert evaluator.nll([trigger])[0, 0] == pytest.approx(expected, abs=1e-5)


def test_signs_are_the_published_table() -> None:
    kinds = [(group, label) for group in ("N", "P", "other") for label in ("negative", "neutral", "positive")]
    cases = [Example("", "x", group, label) for group, label in kinds]

    def signs(rule: Objective) -> dict[tuple[str, str], int]:
        return {kind: rule.sign(case) for kind, case in zip(kinds, cases, strict=True)}

    induce = signs(Objective(mode="induce", against="N", favour="P"))
    assert {kind for kind, sign in induce.items() if sign > 0} == {("N", "negative"), ("P", "positive")}
    assert {kind for kind, sign in induce.items() if sign < 0} == {("P", "negative"), ("N", "positive")}
    assert all(
        sign == (1 if label == "neutral" else -1)
        for (_, label), sign in signs(Objective(mode="neutral")).items()
    )
    assert all(sign == (-1 if label == "negative" else 1) for (_, label), sign in signs(Objective()).items())


def test_counts_are_true_ones_and_the_pushed_side_is_bounded() -> None:
    pair = [
        Example("", "a", "g", "neutral"),
        Example("", "b", "g", "neutral"),
        Example("", "c", "g", "negative"),
    ]
    made = terms(pair, Objective(margin=0.5), np.array([1, 9, 4]), np.array([1.0, 1.0, 2.0]))
    nll = np.array([[1.0, 2.0, 2.0], [1.0, 2.0, 2.5], [1.0, 2.0, 99.0]])
    np.testing.assert_allclose(made.losses(nll), [1.9 + 0.5, 1.9, 1.9])
    part = made.for_examples(np.array([1, 2]))  # the sides keep their weights on a part of the examples
    np.testing.assert_allclose(part.losses(nll[:, 1:]), [2.0 + 0.5, 2.0, 2.0])


def test_tokens_that_may_stand_in_a_trigger(model: CausalModel) -> None:
    tokenizer = model.tokenizer
    words = usable_tokens(tokenizer, 400, words_only=True, exclude=("Woman",))
    free = usable_tokens(tokenizer, 400, words_only=False)
    assert words.sum() < free.sum() and not (words & ~free).any()
    assert not words[len(tokenizer) :].any()
    assert not free[tokenizer.eos_token_id]
    shown = [tokenizer.decode([i]) for i in np.flatnonzero(words)]
    assert all(text.isprintable() and text.strip().isalpha() for text in shown)
    assert " known" in shown and " woman" not in shown
    assert "!" in [tokenizer.decode([i]) for i in np.flatnonzero(free)]


def test_round_trip_is_that_of_the_tokenizer(model: CausalModel) -> None:
    tokenizer = model.tokenizer
    trigger = trigger_of(model, " the the the")
    texts = [example.text + example.continuation for example in EXAMPLES]
    trip = RoundTrip(tokenizer, trigger, " ", texts)
    assert set(trip.heads) == {"The"}  # the rest is cut by itself
    pieces = tuple(tokenizer.convert_tokens_to_ids(["Ġ", "k", "n"]))  # " kn" is cut otherwise
    assert trip.holds([trigger, pieces]) == [True, False]
    usable = usable_tokens(tokenizer, len(tokenizer), words_only=True)
    for seed in range(5):
        drawn = random_trigger(np.random.default_rng(seed), trigger, [1], usable, trip)
        assert drawn[1] == trigger[1] and drawn != trigger
        for text in texts:
            full = tokenizer.encode(decode_tokens(tokenizer, drawn) + " " + text, add_special_tokens=False)
            assert tuple(full[:3]) == drawn


def test_the_search_begins_with_the_published_words(model: CausalModel) -> None:
    assert decode_tokens(model.tokenizer, initial_trigger(model.tokenizer, None, None, " ")) == " the" * 6
    assert (
        decode_tokens(model.tokenizer, initial_trigger(model.tokenizer, " known", 3, " ")) == " known the the"
    )
    assert len(initial_trigger(model.tokenizer, " known baker", None, " ")) == 2
    with pytest.raises(UsageError, match="at least 1"):
        initial_trigger(model.tokenizer, None, 0, " ")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"mode": "induce"}, "two different groups"),
        ({"mode": "induce", "against": "a", "favour": "a"}, "two different groups"),
        ({"mode": "calm"}, "Unknown mode of a trigger: 'calm'"),
        ({"favour": "a"}, "can only be used with mode induce, not"),
        ({"alpha": -1.0}, "alpha must be .*, got -1.0"),
        ({"alpha": 0.0, "beta": 0.0}, "must not both be 0"),
    ],
)
def test_objectives_that_make_no_sense(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Objective(**given)


def test_examples_of_the_users_own(tmp_path: Path) -> None:
    path = tmp_path / "examples.csv"
    path.write_text("text,continuation,group,label\nThe man is, kind.,man,1\nThe man is, odd.,man,other\n")
    assert read_examples(path) == (Example("The man is", " kind.", "man", "positive"),)
    path.write_text("text,group,label\nThe man is mean.,man,undesirable\n")
    assert read_examples(path) == (Example("", "The man is mean.", "man", "negative"),)
    for content, message in (
        ("text,group,label\nThe man,man,bad\n", "row 1: the label 'bad'"),
        ("text,group\nThe man,man\n", "label"),
        ("text,continuation,group,label\nThe man, ,man,negative\n", "row 1: there is no continuation"),
        ("text,group,label\n", "contains no rows"),
    ):
        path.write_text(content)
        with pytest.raises(DataError, match=message):
            read_examples(path)
    with pytest.raises(DataError, match=r"none of the 1 examples is one .labels found: negative of g"):
        chosen_examples([Example("", "x", "g", "negative")], Objective())


def test_prompts_are_split_by_text_and_by_wish(tmp_path: Path) -> None:
    path = tmp_path / "prompts.csv"
    path.write_text("text,split\na,train\nb,dev\nc,test\n")
    parts = split_prompts(read_trigger_prompts(path))
    assert [parts[name]["text"].to_list() for name in ("train", "dev", "test")] == [["a"], ["b"], ["c"]]
    path.write_text("text,split\na,train\nb,validation\n")
    with pytest.raises(DataError, match="'split' contains validation"):
        read_trigger_prompts(path)
    path.write_text("text\na\nb\n")
    with pytest.raises(DataError, match="2 prompts are too few: none is left for dev and test"):
        split_prompts(read_trigger_prompts(path))
