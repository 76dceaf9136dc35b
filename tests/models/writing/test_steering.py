"""Steered writing and scoring against one plain forward pass a context and a step, and Hugging Face's beams."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from evenhand.mitigations.steering.rules import ContrastiveRule, SelfDebiasingRule
from evenhand.models import load_model
from evenhand.models.contract import Texts
from evenhand.models.decoding import Decoding
from evenhand.models.huggingface.causal import CausalModel, CausalOptions
from evenhand.models.huggingface.steered_scoring import Groups, scores
from evenhand.models.writing.steered_state import SteeredState, common_beginnings
from evenhand.models.writing.steering import SteerableModel, Steering, steerable
from evenhand.schema import ResponseError, Unsupported, UsageError

PROMPTS = [
    "I love old",
    "My neighbour is a kind person who is",
    "Hi.",
    "What do you think about wheelchair users?",
    "They were born in São Paulo; ",
    "I love older men and",
]
CONTEXTS = ("My neighbour is unbelievable:\n", "(kind) ", " ", "What do you")
RULE = SelfDebiasingRule(10.0)
STEERING = Steering(CONTEXTS, RULE)
CAUSAL = ("gpt2", "llama", "opt", "bloom", "gpt_neo", "gpt_neox", "mistral", "qwen2")
SEQ2SEQ = ("t5", "bart", "blenderbot")


def loaded(tiny_folder: Callable[..., Path], architecture: str, lift: float | None = None) -> Any:
    """A tiny model; lift: its end token is this much less likely than its likeliest one."""
    model: Any = load_model(str(tiny_folder(architecture)))
    model.model.generation_config.forced_eos_token_id = None
    if lift is not None:
        (end,) = model.writer.end_ids

        def lifted(_: Any, __: Any, logits: torch.Tensor) -> torch.Tensor:
            logits = logits.clone()
            logits[..., end] = logits.amax(-1) - lift
            return logits

        model.model.get_output_embeddings().register_forward_hook(lifted)
    return model


def reference_distribution(
    model: Any, prompt: str, written: Sequence[int], steering: Steering, banned: Any
) -> Any:
    """Log probabilities of the next token, from one forward pass a context, with nothing shared or padded."""
    raw = []
    for context in ("", *steering.contexts):
        ids = model.tokenizer(context + prompt)["input_ids"]
        with torch.inference_mode():
            if model.architecture == "encoder-decoder":
                target = torch.tensor([[model.start, *written]])
                logits = model.model(input_ids=torch.tensor([ids]), decoder_input_ids=target).logits
            else:
                logits = model.model(torch.tensor([[*ids, *written]])).logits
        raw.append(logits[0, -1].double())
        raw[-1][banned] = -torch.inf
    if isinstance(steering.rule, ContrastiveRule):
        return steering.rule.combine(
            raw[0].log_softmax(-1)[None], torch.stack(raw[1:]).log_softmax(-1)[:, None]
        )[0]
    # the paper's formula as it is printed
    p = raw[0].softmax(-1)
    delta = torch.stack([p - other.softmax(-1) for other in raw[1:]]).amin(0)
    alpha = torch.where(delta >= 0, 1.0, (steering.rule.decay * delta).exp().clamp(min=steering.rule.floor))
    return (p * alpha / (p * alpha).sum()).log()


def reference_greedy(
    model: Any, prompt: str, decoding: Decoding, steering: Steering
) -> tuple[list[int], float]:
    written: list[int] = []
    total = 0.0
    while len(written) < decoding.max_new_tokens:
        banned = list(model.writer.end_ids) if len(written) < decoding.min_new_tokens else []
        if decoding.no_repeat_ngram_size == 1:
            before = model.tokenizer(prompt)["input_ids"] if model.architecture == "causal" else []
            banned = sorted({*banned, *before, *written})
        combined = reference_distribution(model, prompt, written, steering, banned)
        written.append(int(combined.argmax()))
        total += float(combined.max())
        if written[-1] in model.writer.end_ids:
            break
    return written, total


@pytest.mark.parametrize(
    ("architecture", "rule", "settings"),
    [(a, RULE, {}) for a in ("gpt2", "llama", "bloom", "mistral")]
    + [("t5", SelfDebiasingRule(1000.0), {})]  # what a tiny T5 reads changes little of what it says
    + [("opt", ContrastiveRule(), {}), ("gpt2", RULE, {"min_new_tokens": 6, "no_repeat_ngram_size": 1})]
    + [
        pytest.param(a, rule, settings, marks=pytest.mark.slow)
        for a in (*CAUSAL, *SEQ2SEQ)
        for rule in (RULE, SelfDebiasingRule(50.0), ContrastiveRule(0.5))
        for settings in ({}, {"min_new_tokens": 10, "no_repeat_ngram_size": 1})
    ],
)
def test_greedy_is_a_loop_over_plain_forward_passes(
    tiny_folder: Callable[..., Path], architecture: str, rule: Any, settings: dict[str, Any]
) -> None:
    model = loaded(tiny_folder, architecture, lift=0.5)
    decoding = Decoding(max_new_tokens=12, **settings)
    steering = Steering(CONTEXTS, rule)
    answers = model.generate_steered(PROMPTS, decoding, steering)
    assert answers.errors == [None] * len(PROMPTS)
    assert model.writer.budget.batches == 1
    for i, prompt in enumerate(PROMPTS):
        tokens, likelihood = reference_greedy(model, prompt, decoding, steering)
        assert answers.row(i).tolist() == tokens
        assert answers.log_likelihood[i] == pytest.approx(likelihood, abs=2e-3)
    plain = model.generate(PROMPTS, decoding)
    assert np.abs(plain.log_likelihood - answers.log_likelihood).max() > 0.01


@dataclass
class PublishedProcessor:
    """Hugging Face's generate with all rows of one prompt in one batch: text-major, beams within, as published."""

    steering: Steering

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        beams = len(scores) // self.steering.rows
        log_probs = scores.log_softmax(-1)
        for row in range(beams):
            group = log_probs[row::beams]
            p, q = group[0].exp(), group[1:].exp().amax(0)
            alpha = (
                (-self.steering.rule.decay * (q - p).clamp(min=0)).exp().clamp(min=self.steering.rule.floor)
            )
            scores[row::beams] = (p * alpha / (p * alpha).sum()).log()
        return scores


def published(model: Any, prompt: str, decoding: Decoding, steering: Steering) -> list[int]:
    """Greedy or beam search by `generate` with a LogitsProcessor."""
    from transformers import LogitsProcessorList

    model.tokenizer.padding_side = "left" if model.architecture == "causal" else "right"
    model.tokenizer.pad_token = model.tokenizer.pad_token or model.tokenizer.eos_token
    batch = model.tokenizer([c + prompt for c in ("", *steering.contexts)], return_tensors="pt", padding=True)
    with torch.inference_mode():
        written = model.model.generate(
            input_ids=batch["input_ids"],
            attention_mask=batch["attention_mask"],
            logits_processor=LogitsProcessorList([PublishedProcessor(steering)]),
            do_sample=False,
            num_beams=decoding.num_beams or 1,
            max_new_tokens=decoding.max_new_tokens,
            min_new_tokens=decoding.min_new_tokens,
            pad_token_id=model.tokenizer.pad_token_id,
        )
    skip = 1 if model.architecture == "encoder-decoder" else batch["input_ids"].shape[1]
    tokens: list[int] = written[0, skip:].tolist()
    ends = [k for k, token in enumerate(tokens) if token in model.writer.end_ids]
    return tokens[: ends[0] + 1] if ends else tokens


@pytest.mark.parametrize(
    ("architecture", "lift"),
    [("gpt2", None), ("llama", 1.0), ("t5", 1.0)]
    + [
        pytest.param(a, lift, marks=pytest.mark.slow)
        for a in ("gpt2", "opt", "bloom", "bart")
        for lift in (0.5, 2.0)
    ],
)
def test_beams_are_hugging_faces_with_the_published_processor(
    tiny_folder: Callable[..., Path], architecture: str, lift: float | None
) -> None:
    model = loaded(tiny_folder, architecture, lift)
    length = 10
    settings = {"min_new_tokens": length} if lift is None else {}  # as published, or ending when they end
    decoding = Decoding(max_new_tokens=length, num_beams=3, **settings)
    answers = model.generate_steered(PROMPTS, decoding, STEERING)
    for i, prompt in enumerate(PROMPTS):
        assert answers.row(i).tolist() == published(model, prompt, decoding, STEERING), prompt


def test_drawn_tokens_follow_the_exact_product(tiny_folder: Callable[..., Path]) -> None:
    from scipy.stats import chisquare

    model = loaded(tiny_folder, "gpt2")
    count = 4000
    rule = Decoding(max_new_tokens=1, min_new_tokens=1, temperature=0.8, top_k=12, samples=count)
    answers = model.generate_steered(PROMPTS[:1], rule, STEERING)
    log_probs = reference_distribution(model, PROMPTS[0], [], STEERING, list(model.writer.end_ids))
    warmed = log_probs / 0.8
    warmed[warmed < warmed.topk(12).values[-1]] = -torch.inf
    expected = warmed.softmax(-1).numpy()
    seen = np.bincount(answers.token_ids, minlength=len(expected))
    assert seen[expected == 0].sum() == 0 and (seen > 0).sum() > 3
    kept = expected * count >= 5
    found = np.append(seen[kept], seen[~kept].sum())
    wanted = np.append(expected[kept], expected[~kept].sum()) * count
    found, wanted = found[wanted > 0], wanted[wanted > 0]
    assert chisquare(found, wanted * found.sum() / wanted.sum()).pvalue > 1e-3
    np.testing.assert_allclose(answers.log_likelihood, log_probs.numpy()[answers.token_ids], atol=1e-4)


@pytest.mark.parametrize("architecture", ["gpt2", "mistral", "t5"])
def test_what_is_drawn_depends_on_nothing_but_prompt_and_number(
    tiny_folder: Callable[..., Path], architecture: str
) -> None:
    model = loaded(tiny_folder, architecture, lift=-3.0 if architecture == "t5" else 2.0)
    rule = Decoding(max_new_tokens=10, temperature=1.2, top_k=50, samples=3, seed=4)

    def rows(prompts: list[str], decoding: Decoding) -> dict[tuple[str, int], list[int]]:
        answers = model.generate_steered(prompts, decoding, STEERING)
        pairs = zip(answers.prompt, answers.sample, strict=True)
        return {(prompts[p], int(s)): answers.row(i).tolist() for i, (p, s) in enumerate(pairs)}

    whole = rows(PROMPTS, rule)
    assert len({len(tokens) for tokens in whole.values()}) > 2  # rows finish at different times
    assert rows(PROMPTS[::-1], rule) == whole
    assert rows(PROMPTS[2:3], rule).items() <= whole.items()
    model.writer.budget.tokens = 500  # some groups at once, others take the places of finished ones
    before = model.writer.budget.batches
    assert rows(PROMPTS, rule) == whole
    assert model.writer.budget.batches - before > 2
    model.writer.budget.tokens = 40  # less than one group
    assert rows(PROMPTS, rule) == whole


@pytest.mark.parametrize(
    "settings",
    [{}, {"temperature": 1.0, "top_p": 0.9, "samples": 2}, {"num_beams": 3}],
)
@pytest.mark.parametrize("architecture", ["gpt2", "t5"])
def test_without_strength_it_is_the_model_itself(
    tiny_folder: Callable[..., Path], architecture: str, settings: dict[str, Any]
) -> None:
    model = loaded(tiny_folder, architecture)
    decoding = Decoding(max_new_tokens=10, **settings)
    idle = model.generate_steered(PROMPTS, decoding, Steering(CONTEXTS, SelfDebiasingRule(0.0)))
    plain = model.generate(PROMPTS, decoding)
    assert idle.texts == plain.texts
    np.testing.assert_allclose(idle.log_likelihood, plain.log_likelihood, atol=1e-3)
    scored = model.steered_log_likelihoods(PROMPTS, steering=Steering(CONTEXTS, SelfDebiasingRule(0.0)))
    np.testing.assert_allclose(scored.log_probs, model.log_likelihoods(PROMPTS).log_probs, atol=1e-4)


def test_contexts_are_read_once_up_to_where_a_tokenizer_joins(tiny_folder: Callable[..., Path]) -> None:
    model = loaded(tiny_folder, "gpt2")
    tokenizer = model.tokenizer
    context = "My neighbour is "
    alone = tokenizer(context)["input_ids"]
    joined = [tokenizer(context + prompt)["input_ids"] for prompt in ("unbelievable", "a kind")]
    assert all(ids[: len(alone)] != alone for ids in joined), (
        "this tokenizer was to join the space with what follows"
    )
    groups = [[tokenizer(prompt)["input_ids"], ids] for prompt, ids in zip(("un", "a"), joined, strict=True)]
    assert common_beginnings(groups, 2) == [[], alone[:-1]]
    steering = Steering((context, "Hi. " * 8), RULE)
    prompts = ["unbelievable", "a kind person", "hard of hearing."]
    before = model.writer.work.tokens_read
    answers = model.generate_steered(prompts, Decoding(max_new_tokens=8), steering)
    whole = sum(len(tokenizer(c + p)["input_ids"]) for c in ("", *steering.contexts) for p in prompts)
    assert model.writer.work.tokens_read - before < whole - 2 * len(tokenizer("Hi. " * 8)["input_ids"]) + 10
    for i, prompt in enumerate(prompts):
        assert (
            answers.row(i).tolist()
            == reference_greedy(model, prompt, Decoding(max_new_tokens=8), steering)[0]
        )


def test_a_model_that_beginnings_read_apart_confuse_reads_everything(
    tiny_folder: Callable[..., Path],
) -> None:
    model = loaded(tiny_folder, "gpt2")
    expected = model.generate_steered(PROMPTS, Decoding(max_new_tokens=6), STEERING)
    other = loaded(tiny_folder, "gpt2")
    state = other.writer.state
    plain = state.join_behind

    def confused(*given: Any) -> torch.Tensor:
        result: torch.Tensor = plain(*given)
        return result.flip(-1)

    state.join_behind = confused
    answers = other.generate_steered(PROMPTS, Decoding(max_new_tokens=6), STEERING)
    assert answers.token_ids.tolist() == expected.token_ids.tolist()
    assert "apart" in other.describe()["generation"]["contexts_read_for_every_prompt"]
    assert "contexts_read_for_every_prompt" not in model.describe()["generation"]
    scored = [m.steered_log_likelihoods(PROMPTS, steering=STEERING).log_probs for m in (model, other)]
    np.testing.assert_allclose(*scored, atol=1e-4)


def test_room_errors_and_memory(tiny_folder: Callable[..., Path]) -> None:
    model = loaded(tiny_folder, "gpt2")
    rule = Decoding(max_new_tokens=10)
    long = Steering(("Hi. " * 30,), RULE)
    tokens = len(model.tokenizer("Hi. " * 30)["input_ids"])
    assert tokens + 15 < model.longest < tokens + 40
    prompts = ["Hi.", "Hi. " * 12, " "]
    answers = model.generate_steered(prompts, rule, long)
    assert answers.errors == [None, ResponseError.TOO_LONG, ResponseError.EMPTY_TEXT]
    assert "behind context 1" in (answers.details[1] or "")
    beyond = model.generate_steered(PROMPTS, rule, Steering(("Hi. " * 400,), RULE))
    assert beyond.errors == [ResponseError.TOO_LONG] * len(PROMPTS)
    assert len(model.generate_steered([], rule, STEERING)) == 0
    scored = model.steered_log_likelihoods(["Hi. " * 200, "", "Hi."], steering=STEERING)
    assert scored.errors == [ResponseError.TOO_LONG, ResponseError.EMPTY_TEXT, None]
    assert model.steered_log_likelihoods(["Hi."], steering=Steering(("Hi. " * 400,), RULE)).errors == [
        ResponseError.TOO_LONG
    ]
    expected = model.generate_steered(PROMPTS, rule, STEERING)
    advance = model.writer.state.advance

    def limited(tokens: torch.Tensor) -> torch.Tensor:
        if len(tokens) > 2 * STEERING.rows:
            raise torch.OutOfMemoryError("CUDA out of memory")
        result: torch.Tensor = advance(tokens)
        return result

    model.writer.state.advance = limited
    assert model.generate_steered(PROMPTS, rule, STEERING).token_ids.tolist() == expected.token_ids.tolist()
    assert model.writer.budget.halvings


@pytest.mark.parametrize("architecture", ["gpt2", "opt", "bloom", "t5"])
def test_likelihoods_are_those_of_plain_forward_passes(
    tiny_folder: Callable[..., Path], architecture: str
) -> None:
    model = loaded(tiny_folder, architecture)
    texts = ["I love old men.", "Hi.", "They were born in São Paulo;", "an unbelievable person"]
    own = [None, "My neighbour said:", "Hi.", "She is"]
    found = model.steered_log_likelihoods(Texts(texts, own), steering=STEERING)
    plain = model.log_likelihoods(Texts(texts, own))
    assert found.errors == [None] * 4
    assert found.token_ids.tolist() == plain.token_ids.tolist()
    for i, (text, context) in enumerate(zip(texts, own, strict=True)):
        tokens = found.token_ids[found.offsets[i] : found.offsets[i + 1]].tolist()
        expected = [
            float(_distribution(model, text, context, tokens, k)[token]) for k, token in enumerate(tokens)
        ]
        np.testing.assert_allclose(found.row(i), expected, atol=2e-4)


def _distribution(model: Any, text: str, context: str | None, tokens: list[int], k: int) -> Any:
    raw = []
    for extra in ("", *CONTEXTS):
        front = extra + (context or "")
        with torch.inference_mode():
            if model.architecture == "encoder-decoder":
                read = torch.tensor([model.tokenizer(front)["input_ids"]])
                written = torch.tensor([[model.start, *tokens[:k]]])
                logits = model.model(input_ids=read, decoder_input_ids=written).logits
            else:
                gap = "" if not front or front[-1].isspace() else " "
                ids = model.tokenizer(front + gap + text, add_special_tokens=False)["input_ids"]
                if ids[-len(tokens) :] != tokens:
                    # the published way: the context's own tokens in front of the text's
                    plain = (context + " " if context else "") + text
                    ids = [
                        *model.tokenizer(extra, add_special_tokens=False)["input_ids"],
                        *model.tokenizer(plain, add_special_tokens=False)["input_ids"],
                    ]
                ids = [*model.start, *ids[: len(ids) - len(tokens) + k]]
                logits = model.model(torch.tensor([ids])).logits
        raw.append(logits[0, -1].log_softmax(-1))
    return RULE.combine(raw[0][None], torch.stack(raw[1:])[:, None])[0]


def test_what_was_written_scores_what_was_recorded(tiny_folder: Callable[..., Path]) -> None:
    model = loaded(tiny_folder, "gpt2")
    answers = model.generate_steered(PROMPTS, Decoding(max_new_tokens=8), STEERING)
    groups = Groups()
    for i, prompt in enumerate(PROMPTS):
        read = [model.tokenizer(context + prompt)["input_ids"] for context in ("", *CONTEXTS)]
        groups.add(
            [[*ids, *answers.row(i).tolist()] for ids in read],
            [np.arange(len(ids), len(ids) + len(answers.row(i))) for ids in read],
        )
    found, unfit = scores(model.model, model.writer, model.scorer, groups, STEERING)
    assert not unfit
    np.testing.assert_allclose([part.sum() for part in found], answers.log_likelihood, atol=1e-3)


def test_spans_and_starts_are_those_of_plain_scoring(tiny_folder: Callable[..., Path]) -> None:
    model = loaded(tiny_folder, "llama")
    texts, spans = ["I love old men.", "My neighbour is a kind person"], [(7, 10), None]
    found = model.steered_log_likelihoods(Texts(texts, spans=spans, want_starts=True), steering=STEERING)
    plain = model.log_likelihoods(Texts(texts, spans=spans, want_starts=True))
    assert found.token_ids.tolist() == plain.token_ids.tolist()
    assert found.starts.tolist() == plain.starts.tolist()
    whole = model.steered_log_likelihoods(texts, steering=STEERING)
    assert set(found.row(0).round(3)) <= set(whole.row(0).round(3))


def test_chat_models_read_the_frame_of_the_message_once(tiny_folder: Callable[..., Path]) -> None:
    plain = loaded(tiny_folder, "llama")
    plain.tokenizer.chat_template = (
        "{% for m in messages %}<s>{{ m['role'] }}: {{ m['content'] }}</s>{% endfor %}<s>assistant:"
    )
    model = CausalModel(plain.model, plain.tokenizer, {"name": "chat"}, CausalOptions(chat=True))
    steering = Steering(CONTEXTS[:2], RULE)
    answers = model.generate_steered(PROMPTS, Decoding(max_new_tokens=6), steering)

    def framed(text: str) -> list[int]:
        return list(
            plain.tokenizer(f"<s>user: {text}</s><s>assistant:", add_special_tokens=False)["input_ids"]
        )

    for i, prompt in enumerate(PROMPTS):
        written: list[int] = []
        for _ in range(6):
            with torch.inference_mode():
                rows = [
                    model.model(torch.tensor([[*framed(c + prompt), *written]])).logits[0, -1].log_softmax(-1)
                    for c in ("", *steering.contexts)
                ]
            written.append(int(RULE.combine(rows[0][None], torch.stack(rows[1:])[:, None]).argmax()))
            if written[-1] in model.writer.end_ids:
                break
        assert answers.row(i).tolist() == written


def test_rows_of_a_group_move_together() -> None:
    calls: list[Any] = []

    class Recorder:
        model, device, staggers, tokens_read = None, torch.device("cpu"), False, 0
        name, pads = "a list", True

        def finish(self, places: torch.Tensor) -> None:
            calls.append(places.tolist())

        select = finish

        def advance(self, tokens: torch.Tensor) -> torch.Tensor:
            calls.append(tokens.tolist())
            return torch.arange(len(tokens) * 2.0).view(-1, 2)

    state = SteeredState(Recorder(), [], 3)  # type: ignore[arg-type]
    state.finish(torch.tensor([1]))
    state.select(torch.tensor([2, 0]))
    logits = state.advance(torch.tensor([7, 8]))
    assert calls == [[3, 4, 5], [6, 7, 8, 0, 1, 2], [7, 7, 7, 8, 8, 8]]
    assert logits.shape == (2, 3, 2) and logits[1, 0].tolist() == [6.0, 7.0]


def test_what_cannot_be_steered(tiny_folder: Callable[..., Path]) -> None:
    from evenhand.models.puppets import load_puppet

    with pytest.raises(UsageError, match="The list of steering contexts is empty"):
        Steering((), RULE)
    with pytest.raises(Unsupported, match=r"servers, vLLM.*\n.*prefix"):
        steerable(load_puppet("puppet/random"))
    model = loaded(tiny_folder, "gpt2")
    assert isinstance(model, SteerableModel) and steerable(model) is model
    model.writer.ways.reason_for_equal_lengths = "padding changes this model's answers"
    model.writer.ways.tried = 100  # tokens that rows may have without being tried anew
    for ask in (
        lambda: model.generate_steered(PROMPTS, Decoding(max_new_tokens=3), STEERING),
        lambda: model.steered_log_likelihoods(PROMPTS, steering=STEERING),
    ):
        with pytest.raises(Unsupported, match="its rows must have equal length, but the contexts do"):
            ask()
