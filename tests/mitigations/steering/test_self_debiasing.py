"""Self-debiasing as a mitigation: its wordings, its chains, and planted harm that it lowers."""

from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

from evenhand.measures.changes.paired_change import paired_change
from evenhand.mitigations import (
    ContrastiveDebiasing,
    Prefix,
    SelfDebiasing,
    self_diagnosis,
    windowed_perplexity,
)
from evenhand.mitigations.loading import load_mitigation, mitigated, mitigation_cards
from evenhand.mitigations.steering.rules import SelfDebiasingRule
from evenhand.mitigations.steering.self_debiasing import PREFIXES
from evenhand.models.contract import Texts, generate_keyed, reads_start_apart, text_generator
from evenhand.models.decoding import Decoding
from evenhand.models.huggingface.causal import CausalModel
from evenhand.models.puppets import load_puppet
from evenhand.runs.requests import fingerprint_digest
from evenhand.schema import ResponseError, Unsupported, UsageError

NOUNS = ("man", "woman", "cook", "nurse", "pilot", "clerk")
BAD, GOOD = ("vile",), ("kind", "fine")
HARM, KIND = "text with harm :", "text with praise :"
SHARE_BAD = {"": 0.4, HARM: 0.9, KIND: 0.05}
WORDS = ("<end>", ":", "text", "with", "harm", "praise", "the", "is", "Yes", "No", *NOUNS, *BAD, *GOOD)


def speaker() -> Any:
    """A tiny GPT-2 that has learned SHARE_BAD: how often a person is called a bad word, and what announces it."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    backend = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="<end>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<end>", unk_token="<end>")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        size = dict(n_layer=1, n_embd=32, n_head=2, n_positions=64, initializer_range=0.2)
        config = GPT2Config(
            vocab_size=len(WORDS), bos_token_id=0, eos_token_id=0, loss_type="ForCausalLM", **size
        )
        model = GPT2LMHeadModel(config).eval()  # nothing is dropped
    # every text there is, each with the exact distribution of its last word
    texts = [
        (f"{start} {context} the {noun} is".split(), share)
        for start in ("", "<end>")  # texts are scored behind it, prompts have nothing in front
        for context, share in SHARE_BAD.items()
        for noun in NOUNS
    ]
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(60):
        loss = torch.zeros(())
        for length in (3, 4, 7, 8):
            chosen = [(words, share) for words, share in texts if len(words) == length]
            ids = torch.tensor([[WORDS.index(word) for word in words] for words, _ in chosen])
            wanted = torch.zeros(len(chosen), len(WORDS))
            shares = torch.tensor([share for _, share in chosen])
            for words, total in ((BAD, shares), (GOOD, 1 - shares)):
                for word in words:
                    wanted[:, WORDS.index(word)] = total / len(words)
            loss = loss - (wanted * model(ids).logits[:, -1].log_softmax(-1)).sum(-1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return CausalModel(model.eval(), tokenizer, {"name": "speaker"})


@pytest.fixture(scope="module")
def model() -> Any:
    return speaker()


PROMPTS = [f"the {noun} is" for noun in NOUNS]
DRAWN = Decoding(max_new_tokens=1, temperature=1.0, samples=40)


def harm(model: Any) -> np.ndarray:
    texts = text_generator(model).generate(PROMPTS, DRAWN).texts
    return np.array([text.strip() in BAD for text in texts], dtype=float)


def change(before: np.ndarray, after: np.ndarray) -> Any:
    prompts = np.repeat(np.arange(len(PROMPTS)), DRAWN.samples)
    frame = pl.DataFrame({"prompt_id": prompts, "before": before, "after": after})
    return paired_change(frame).row(0, named=True)


def test_planted_harm_is_lowered_and_asking_for_the_opposite_lowers_nothing(model: Any) -> None:
    before = harm(model)
    assert abs(before.mean() - SHARE_BAD[""]) < 0.12
    for method in (SelfDebiasing(prefixes=(f"{HARM} ",)), ContrastiveDebiasing(prefixes=(f"{HARM} ",))):
        found = change(before, harm(method(model)))
        assert found["high"] < -0.1
        opposite = method.specified([f"{KIND} "])
        assert change(before, harm(opposite(model)))["low"] > 0


def last_word_reader() -> Any:
    """The speaker without attention and positions: whatever stands in front of the last word changes nothing."""
    model = speaker()
    with torch.no_grad():
        model.model.transformer.wpe.weight.zero_()
        for block in model.model.transformer.h:
            block.attn.c_proj.weight.zero_()
            block.attn.c_proj.bias.zero_()
    return model


def test_draws_behind_mitigations_are_those_without_so_that_pairs_are_pairs() -> None:
    model = last_word_reader()
    drawn = Decoding(max_new_tokens=5, temperature=1.0, samples=8, seed=3)
    plain = text_generator(model).generate(PROMPTS, drawn).texts
    assert len(set(plain)) > 20
    front, steered = Prefix("text with", delimiter=" "), SelfDebiasing(0.0, prefixes=(f"{HARM} ",))
    for chain in (
        [front],
        [front, Prefix("praise :", delimiter=" ")],
        [steered],
        [front, steered],
        [steered, front],
    ):
        assert text_generator(mitigated(model, chain)).generate(PROMPTS, drawn).texts == plain
    keyed = generate_keyed(mitigated(model, [front]), PROMPTS, ["the man is"] * len(PROMPTS), drawn).texts
    assert keyed == plain[: drawn.samples] * len(PROMPTS)
    with pytest.raises(UsageError, match="got 1 keys for 6 prompts"):
        generate_keyed(model, PROMPTS, ["the man is"], drawn)


def test_stronger_decay_lowers_more_and_none_nothing(model: Any) -> None:
    shares = [harm(SelfDebiasing(decay, prefixes=(f"{HARM} ",))(model)).mean() for decay in (0, 1, 5, 100)]
    assert shares[0] == harm(model).mean()
    assert sorted(shares, reverse=True) == shares and shares[-1] < 0.1


def test_published_wordings() -> None:
    method = SelfDebiasing()
    assert len(method.prefixes) == 6 and all(text.endswith(":\n") for text in method.prefixes)
    assert (
        method.prefixes[0] == "The following text contains rude, disrespectful, or unreasonable language:\n"
    )
    levels = method.specification.levels
    assert levels["opposite"][3] == "The following text contains help:\n" and len(levels["opposite"]) == 6
    assert levels["blank"] == (" ",) * 6
    before, after = levels["frame"]
    assert all(
        text.startswith(before) and text.endswith(after) for text in (*method.prefixes, *levels["opposite"])
    )
    keywords = load_mitigation("self-debiasing?decay=100&prefixes=keywords")
    assert keywords.parameters()["decay"] == 100.0
    assert keywords.specification.texts[1] == "(sexually explicit) " and len(PREFIXES["keywords"]) == 8
    assert "opposite" not in keywords.specification.levels
    reworded = method.specified(levels["opposite"])
    assert (reworded.prefixes, reworded.decay) == (levels["opposite"], 50.0)
    assert load_mitigation("contrastive?strength=0.5").parameters()["strength"] == 0.5
    assert {"self-debiasing", "contrastive"} <= set(mitigation_cards())
    assert "46%" in method.card.critique


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("self-debiasing?prefixes=keyword", "Did you mean 'keywords'"),
        ("self-debiasing?decay=-1", "decay must be 0 or more .*got -1"),
        ("self-debiasing?floor=0", "floor must be above 0 .*got 0"),
        ("self-debiasing?decy=3", "Did you mean 'decay'"),
        ("contrastive?strength=-1", "strength must be 0 or more, got -1"),
    ],
)
def test_options_that_cannot_be(words: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        load_mitigation(words)


def test_lists_that_cannot_be() -> None:
    with pytest.raises(UsageError, match="is empty"):
        SelfDebiasing(prefixes=())
    with pytest.raises(UsageError, match="Context 2 of 2 is empty"):
        SelfDebiasing().specified(["(rude) ", ""])


def reference(
    model: Any, before: str, contexts: tuple[str, ...], prompt: str, decay: float, count: int
) -> str:
    """Greedy, one plain forward pass a context and a step; `before` stands in front of everything."""
    rule, written = SelfDebiasingRule(decay), []
    for _ in range(count):
        rows = [
            model.model(torch.tensor([[*model.tokenizer(before + c + prompt)["input_ids"], *written]]))
            for c in ("", *contexts)
        ]
        last = torch.stack([row.logits[0, -1] for row in rows]).log_softmax(-1)
        written.append(int(rule.combine(last[:1], last[1:, None]).argmax()))
    return str(model.tokenizer.decode(written))


@torch.inference_mode()
def test_chains_with_an_instruction_in_both_orders(model: Any) -> None:
    contexts = (f"{HARM} ", "text ")
    prefix, method = Prefix("with", delimiter=" "), SelfDebiasing(5.0, prefixes=contexts)
    rule = Decoding(max_new_tokens=4, min_new_tokens=4)
    inside, outside = mitigated(model, [prefix, method]), mitigated(model, [method, prefix])
    first = [reference(model, "with ", contexts, prompt, 5.0, 1) for prompt in PROMPTS]
    for chain, texts in ((inside, first), (outside, None)):
        found = text_generator(chain).generate(PROMPTS, Decoding(max_new_tokens=1)).texts
        expected = texts or [reference(model, "", contexts, f"with {p}", 5.0, 1) for p in PROMPTS]
        assert [text.strip() for text in found] == [text.strip() for text in expected]
    assert len({fingerprint_digest(m.fingerprint) for m in (model, inside, outside)}) == 3
    assert [step["name"] for step in inside.fingerprint["mitigations"]] == ["prefix", "self-debiasing"]
    twice = mitigated(model, [Prefix("text", delimiter=" "), prefix, SelfDebiasing(0.0, prefixes=contexts)])
    plain = mitigated(model, [Prefix("text", delimiter=" "), prefix])
    drawn = Decoding(max_new_tokens=4, temperature=1.0, samples=3)
    assert (
        text_generator(twice).generate(PROMPTS, drawn).texts
        == text_generator(plain).generate(PROMPTS, drawn).texts
    )
    scored = [m.log_likelihoods(Texts(PROMPTS, [None, "the"] * 3)).log_probs for m in (twice, plain)]
    np.testing.assert_allclose(*scored, atol=1e-4)
    assert len(text_generator(inside).generate(PROMPTS, rule)) == len(PROMPTS)


def test_backends_that_cannot_be_steered_say_what_works_there(model: Any) -> None:
    from evenhand.models.served.model import HttpModel

    served = HttpModel.__new__(HttpModel)  # nothing is asked of it
    served.__dict__.update(architecture="causal")
    for other in (load_puppet("puppet/random"), _Named(served)):
        with pytest.raises(Unsupported, match="instructive-debiasing"):
            SelfDebiasing()(other)
    with pytest.raises(Unsupported, match="cannot be combined"):
        SelfDebiasing()(ContrastiveDebiasing()(model))
    with pytest.raises(Unsupported, match="masks"):
        SelfDebiasing()(model).log_likelihoods(Texts(["the man"], masking="token"))


class _Named:
    """A server's model, as the mitigation sees it: with its methods and a name, without a server."""

    def __init__(self, served: Any):
        self.architecture, self.fingerprint = "causal", {"name": "gpt-served"}
        for name in ("log_likelihoods", "generate", "describe"):
            setattr(self, name, getattr(served, name))


def test_likelihoods_of_the_debiased_model_are_normalised_and_shift_from_harm(model: Any) -> None:
    debiased = SelfDebiasing(5.0, prefixes=(f"{HARM} ",))(model)
    contexts = ["the man is"] * len(WORDS)
    before = model.log_likelihoods(Texts(list(WORDS), contexts))
    after = debiased.log_likelihoods(Texts(list(WORDS), contexts))
    assert np.exp(after.sums).sum() == pytest.approx(1.0, abs=1e-4)
    for word in BAD:
        assert after.sums[WORDS.index(word)] < before.sums[WORDS.index(word)] - 0.5


@torch.inference_mode()
def test_each_pass_of_the_official_rule_is_steered_by_itself(model: Any) -> None:
    method = SelfDebiasing(5.0, prefixes=(f"{HARM} ", "text "))
    assert reads_start_apart(method(model))
    texts = ["the man is vile", "the", "is kind the cook is fine", "the " * 60]
    found = method(model).log_likelihoods(Texts(texts, start_token="first"))
    assert found.errors == [None, None, None, ResponseError.TOO_LONG]
    fronts = [model.tokenizer(text)["input_ids"] for text in ("", *method.prefixes)]

    def combined(front: list[int], ids: list[int]) -> torch.Tensor:
        rows = [model.model(torch.tensor([[*front, *one, *ids]])).logits[0, -1] for one in fronts]
        log_probs = torch.stack(rows).log_softmax(-1)
        return method.rule.combine(log_probs[:1], log_probs[1:, None])[0]

    for i, text in enumerate(texts[:3]):
        ids = model.tokenizer(text)["input_ids"]
        expected = [float(combined(model.start, [])[ids[0]])]
        expected += [float(combined([], ids[:k])[ids[k]]) for k in range(1, len(ids))]
        assert found.row(i) == pytest.approx(expected, abs=1e-4)
    idle = SelfDebiasing(0.0)(model).log_likelihoods(Texts(texts[:3], start_token="first"))
    plain = model.log_likelihoods(Texts(texts[:3], start_token="first"))
    assert idle.log_probs == pytest.approx(plain.log_probs, abs=1e-4)


@torch.inference_mode()
def test_self_diagnosis_is_the_softmax_of_two_logits(model: Any) -> None:
    texts, descriptions = ["the man is vile", "the\ncook is kind"], ["harm", "praise", "text"]
    found = self_diagnosis(model, texts, descriptions)
    for i, text in enumerate(texts):
        for k, description in enumerate(descriptions):
            question = (
                f'"{text}"'.replace("\n", " ")
                + f"\nQuestion: Does the above text contain {description}?\nAnswer:"
            )
            ids = model.tokenizer(question)[
                "input_ids"
            ]  # nothing in front, as the official program reads GPT-2
            logits = model.model(torch.tensor([ids])).logits[0, -1]
            pair = logits[[WORDS.index("Yes"), WORDS.index("No")]].softmax(0)
            assert found[i, k] == pytest.approx(float(pair[0]), abs=1e-5)
    long = self_diagnosis(model, ["vile " * 100], ["harm"])
    assert np.isnan(long).all() and self_diagnosis(model, [], ["harm"]).shape == (0, 1)
    assert model.log_likelihoods(Texts(["Yes"], ["vile " * 100])).errors == [ResponseError.TOO_LONG]


@torch.inference_mode()
@pytest.mark.parametrize("stride", [None, 5])
def test_windowed_perplexity_is_a_loop_over_positions(model: Any, stride: int | None) -> None:
    draw = np.random.default_rng(1)
    text = " ".join(f"the {draw.choice(NOUNS)} is {draw.choice(BAD + GOOD)}" for _ in range(9))
    method = SelfDebiasing(5.0, prefixes=(f"{HARM} ", "text "))
    window, step = 12, stride or 12
    ids = model.tokenizer(text)["input_ids"]
    values: list[list[float]] = []
    reached = 0
    for first in range(0, len(ids), step):
        if reached == len(ids):
            break
        tokens = ids[first : first + window]
        fresh = max(1, reached - first)
        values.append([])
        for place in range(fresh, len(tokens)):
            rows = [
                model.model(torch.tensor([[*model.tokenizer(c)["input_ids"], *tokens[:place]]])).logits[0, -1]
                for c in ("", *method.prefixes)
            ]
            log_probs = torch.stack(rows).log_softmax(-1)
            combined = method.rule.combine(log_probs[:1], log_probs[1:, None])[0]
            values[-1].append(float(combined[tokens[place]]))
        reached = first + len(tokens)
    flat = [value for part in values for value in part]
    found = windowed_perplexity(method(model), text, window=window, stride=stride)
    assert found.perplexity == pytest.approx(np.exp(-np.mean(flat)), rel=1e-4)
    assert (found.tokens, found.windows) == (len(flat), len(values))
    if stride is None:
        published = sum(-np.mean(part) * (len(part) + 1) for part in values) / len(ids)
        assert found.as_published == pytest.approx(np.exp(published), rel=1e-4)
    else:
        assert found.as_published is None
    idle = windowed_perplexity(SelfDebiasing(0.0)(model), text, window=window, stride=stride)
    plain = windowed_perplexity(model, text, window=window, stride=stride)
    assert idle.perplexity == pytest.approx(plain.perplexity, rel=1e-4)


def test_windows_that_cannot_be(model: Any) -> None:
    for given in ({"window": 1}, {"window": 8, "stride": 9}, {"window": 8, "stride": 0}):
        with pytest.raises(UsageError, match="window must be at least 2 tokens"):
            windowed_perplexity(model, "the man is kind", **given)
    with pytest.raises(UsageError, match="window=57 or less"):
        windowed_perplexity(
            SelfDebiasing(prefixes=("text with harm : the man is ",))(model), "the " * 99, window=60
        )
    with pytest.raises(UsageError, match="fewer than two"):
        windowed_perplexity(model, "the")
    with pytest.raises(Unsupported, match="windows of tokens"):
        windowed_perplexity(load_puppet("puppet/random"), "the man")


def test_a_whole_number_is_the_same_method() -> None:
    assert SelfDebiasing(decay=50).parameters() == load_mitigation("self-debiasing").parameters()
    assert str(SelfDebiasing(decay=50).parameters()) == str(SelfDebiasing(decay=50.0).parameters())
