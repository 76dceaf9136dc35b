"""The generation engine against Hugging Face's `generate`, exact distributions, and its own promises."""

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from evenhand.models import load_model
from evenhand.models.contract import Generations, TextGenerator, text_generator
from evenhand.models.decoding import Decoding, decoding_preset
from evenhand.models.huggingface.causal import CausalModel, CausalOptions
from evenhand.models.puppets import load_puppet, random_puppet, writes
from evenhand.schema import ResponseError, Unsupported

CAUSAL = ("gpt2", "llama", "opt", "bloom", "gpt_neo", "gpt_neox", "mistral", "qwen2")
SEQ2SEQ = ("t5", "bart", "blenderbot")
PROMPTS = [
    "I love old",
    "My neighbour is a kind person who is",
    "Hi.",
    "What do you think about wheelchair users and their unbelievable stories?",
    "They were born in São Paulo; ",
    "I love older men and",
]


def loaded(tiny_folder: Callable[..., Path], architecture: str, **options: Any) -> Any:
    return load_model(str(tiny_folder(architecture)), **options)


def hugging_face(model: Any, prompt: str, **settings: Any) -> list[int]:
    """Token ids of the continuation by `model.generate`, one prompt at a time."""
    ids = torch.tensor([model.tokenizer(prompt)["input_ids"]])
    with torch.inference_mode():
        written = model.model.generate(
            ids, attention_mask=torch.ones_like(ids), do_sample=False, num_beams=1, **settings
        )[0]
    skip = 1 if model.architecture == "encoder-decoder" else ids.shape[1]
    found: list[int] = written[skip:].tolist()
    return found


CONSTRAINED = {"no_repeat_ngram_size": 2, "min_new_tokens": 6}


@pytest.mark.parametrize(
    ("architecture", "settings"),
    [(a, {}) for a in CAUSAL + SEQ2SEQ]
    + [(a, CONSTRAINED) for a in ("gpt2", "t5")]
    + [pytest.param(a, CONSTRAINED, marks=pytest.mark.slow) for a in (*CAUSAL[1:], *SEQ2SEQ[1:])],
)
def test_greedy_is_hugging_faces_token_for_token(
    tiny_folder: Callable[..., Path], architecture: str, settings: dict[str, Any]
) -> None:
    model = loaded(tiny_folder, architecture)
    answers = model.generate(PROMPTS, Decoding(max_new_tokens=24, **settings))
    for i, prompt in enumerate(PROMPTS):
        assert answers.row(i).tolist() == hugging_face(model, prompt, max_new_tokens=24, **settings)
    assert answers.errors == [None] * len(PROMPTS)
    assert model.writer.budget.batches == 1  # padded, not one at a time


def tokens_by_row(answers: Generations, prompts: list[str]) -> dict[tuple[str, int], list[int]]:
    return {
        (prompts[p], int(s)): answers.row(i).tolist()
        for i, (p, s) in enumerate(zip(answers.prompt, answers.sample, strict=True))
    }


@pytest.mark.parametrize("architecture", ["gpt2", "bloom", "t5"])
def test_samples_depend_on_nothing_but_seed_prompt_and_number(
    tiny_folder: Callable[..., Path], architecture: str
) -> None:
    rule = Decoding(max_new_tokens=12, temperature=1.3, top_k=50, samples=3, seed=5)
    model = loaded(tiny_folder, architecture)
    whole = tokens_by_row(model.generate(PROMPTS, rule), PROMPTS)
    shuffled = [PROMPTS[i] for i in np.random.default_rng(1).permutation(len(PROMPTS))]
    assert tokens_by_row(model.generate(shuffled, rule), shuffled) == whole
    alone = tokens_by_row(model.generate(PROMPTS[2:3], rule), PROMPTS[2:3])
    assert alone.items() <= whole.items()
    more = Decoding(max_new_tokens=12, temperature=1.3, top_k=50, samples=7, seed=5)
    assert whole.items() <= tokens_by_row(model.generate(PROMPTS, more), PROMPTS).items()
    model.writer.budget.tokens = 40  # a batch now holds about one continuation
    before = model.writer.budget.batches
    assert tokens_by_row(model.generate(PROMPTS, rule), PROMPTS) == whole
    assert model.writer.budget.batches - before >= len(PROMPTS)
    other = Decoding(max_new_tokens=12, temperature=1.3, top_k=50, samples=3, seed=6)
    assert tokens_by_row(model.generate(PROMPTS, other), PROMPTS) != whole
    assert len({tuple(tokens) for tokens in whole.values()}) > len(PROMPTS)  # samples differ


@pytest.mark.parametrize("settings", [{"top_k": 12}, {"top_p": 0.8}, {"top_k": 20, "top_p": 0.9}])
def test_drawn_tokens_follow_the_filtered_distribution(
    tiny_folder: Callable[..., Path], settings: dict[str, Any]
) -> None:
    from scipy.stats import chisquare
    from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

    model = loaded(tiny_folder, "gpt2")
    count = 4000
    rule = Decoding(max_new_tokens=1, temperature=0.8, samples=count, **settings)
    answers = model.generate([PROMPTS[0]], rule)
    ids = torch.tensor([model.tokenizer(PROMPTS[0])["input_ids"]])
    with torch.inference_mode():
        raw = model.model(ids).logits[:, -1]
    logits = TemperatureLogitsWarper(0.8)(ids, raw)
    if "top_k" in settings:
        logits = TopKLogitsWarper(settings["top_k"])(ids, logits)
    if "top_p" in settings:
        logits = TopPLogitsWarper(settings["top_p"])(ids, logits)
    expected = logits.softmax(-1)[0].double().numpy()
    seen = np.bincount(answers.token_ids, minlength=len(expected))
    assert seen[expected == 0].sum() == 0
    common = expected * count >= 5
    found = np.append(seen[common], seen[~common].sum())
    wanted = np.append(expected[common], expected[~common].sum()) * count
    kept = wanted > 0
    assert chisquare(found[kept], wanted[kept] / wanted[kept].sum() * found[kept].sum()).pvalue > 1e-3
    # what is recorded is the model's own likelihood, not the filtered one
    own = raw.log_softmax(-1)[0].numpy()
    np.testing.assert_allclose(answers.log_likelihood, own[answers.token_ids], atol=1e-4)


@pytest.mark.parametrize("architecture", ["gpt2", "opt", "bloom", "mistral"])
def test_log_likelihoods_are_those_of_a_plain_forward_pass(
    tiny_folder: Callable[..., Path], architecture: str
) -> None:
    model = loaded(tiny_folder, architecture)
    answers = model.generate(PROMPTS, Decoding(max_new_tokens=15, temperature=1.0, top_p=0.9, samples=2))
    for i, p in enumerate(answers.prompt):
        before = model.tokenizer(PROMPTS[p])["input_ids"]
        ids = torch.tensor([before + answers.row(i).tolist()])
        with torch.inference_mode():
            log_probs = model.model(ids).logits[0].log_softmax(-1)
        own = log_probs[len(before) - 1 : -1].gather(1, ids[0, len(before) :, None])
        assert answers.log_likelihood[i] == pytest.approx(float(own.sum()), abs=1e-3)


def eager_to_end(tiny_folder: Callable[..., Path]) -> CausalModel:
    """A GPT-2 that ends its texts after a few tokens, each at its own time."""
    model: CausalModel = loaded(tiny_folder, "gpt2")
    head = model.model.lm_head
    bias = torch.zeros(head.out_features)
    bias[0] = 1.0
    head.bias = torch.nn.Parameter(bias * (model.model(torch.tensor([[5, 6]])).logits.std() * 2.2))
    return model


def test_finished_rows_leave_and_min_new_tokens_holds_the_end_back(tiny_folder: Callable[..., Path]) -> None:
    model = eager_to_end(tiny_folder)
    model.writer.ways.settle(100)  # what it tries is not counted below
    rows: list[int] = []
    plain = model.writer.state.advance
    model.writer.state.advance = lambda tokens: rows.append(len(tokens)) or plain(tokens)  # type: ignore[method-assign,func-returns-value]
    rule = Decoding(max_new_tokens=30, temperature=1.0, samples=8)
    answers = model.generate(PROMPTS, rule)
    assert rows == sorted(rows, reverse=True) and rows[-1] < rows[0] / 2
    ended = Counter(answers.finish)
    assert ended["end"] > 10
    for i, finish in enumerate(answers.finish):
        tokens = answers.row(i).tolist()
        assert (tokens[-1] == 0) == (finish == "end") and 0 not in tokens[:-1]
        assert finish == "end" or len(tokens) == 30
        assert "<|endoftext|>" not in (answers.texts[i] or "")
    late = model.generate(PROMPTS, Decoding(max_new_tokens=30, min_new_tokens=9, temperature=1.0, samples=8))
    assert late.token_count.min() >= 10  # nine tokens and the end


@pytest.mark.parametrize("architecture", ["gpt2", "llama", "opt", "t5"])
def test_texts_are_continuations_only_and_stop_in_front_of_a_stop_string(
    tiny_folder: Callable[..., Path], architecture: str
) -> None:
    model = loaded(tiny_folder, architecture)
    free = model.generate(PROMPTS, Decoding(max_new_tokens=25))
    for i, prompt in enumerate(PROMPTS):
        text = free.texts[i]
        assert text is not None
        if architecture != "t5":
            ids = model.tokenizer(prompt)["input_ids"]
            assert (
                model.tokenizer.decode(ids + free.row(i).tolist(), skip_special_tokens=True) == prompt + text
            )
    target = free.texts[0]
    assert target is not None
    stop = target[4:6]
    cut = model.generate(PROMPTS, Decoding(max_new_tokens=25, stop=(stop, "never said")))
    for text, whole, finish, tokens, all_tokens in zip(
        cut.texts, free.texts, cut.finish, cut.token_count, free.token_count, strict=True
    ):
        assert whole is not None and text == whole.split(stop)[0]
        assert (finish == "stop") == (stop in whole)
        assert tokens <= all_tokens
    assert cut.finish[0] == "stop" and cut.token_count[0] < free.token_count[0]


@pytest.mark.parametrize(
    "architecture",
    # places from the mask (BLOOM), windows by column (GPT-Neo, Mistral); the others are like GPT-2
    [a if a in ("bloom", "gpt_neo", "mistral") else pytest.param(a, marks=pytest.mark.slow) for a in CAUSAL],
)
def test_rows_that_join_later_write_what_they_would_alone(
    tiny_folder: Callable[..., Path], architecture: str
) -> None:
    model = loaded(tiny_folder, architecture)
    rule = Decoding(max_new_tokens=20, temperature=1.3, samples=3, stop=("e", "o", "a"))
    expected = tokens_by_row(model.generate(PROMPTS, rule), PROMPTS)
    assert len({len(tokens) for tokens in expected.values()}) > 4
    assert model.writer.staggers
    joins: list[int] = []
    join = model.writer.state.join
    model.writer.state.join = lambda *given: joins.append(int(model.writer.state.seen.sum())) or join(*given)  # type: ignore[func-returns-value]
    model.writer.budget.tokens = 5 * 50
    assert tokens_by_row(model.generate(PROMPTS, rule), PROMPTS) == expected
    assert len(joins) > 2 and max(joins) > 0


def test_an_encoder_decoder_models_batches_follow_one_another(tiny_folder: Callable[..., Path]) -> None:
    model = loaded(tiny_folder, "t5")
    rule = Decoding(max_new_tokens=10, temperature=1.5, samples=5)
    expected = tokens_by_row(model.generate(PROMPTS, rule), PROMPTS)
    model.writer.budget.tokens = 7 * 20  # the last batch is smaller than the others
    before = model.writer.budget.batches
    assert tokens_by_row(model.generate(PROMPTS, rule), PROMPTS) == expected
    assert model.writer.budget.batches > before + 2


def test_places_of_finished_rows_are_filled_again(tiny_folder: Callable[..., Path]) -> None:
    model = eager_to_end(tiny_folder)
    rule = Decoding(max_new_tokens=30, temperature=1.0, samples=4)
    prompts = [f"{prompt} {i}" for i in range(8) for prompt in PROMPTS]
    expected = tokens_by_row(model.generate(prompts, rule), prompts)
    rows: list[int] = []
    joins: list[int] = []
    model.writer.budget.tokens = 8 * 60
    plain, join = model.writer.state.advance, model.writer.state.join
    model.writer.state.advance = lambda tokens: rows.append(len(tokens)) or plain(tokens)  # type: ignore[method-assign,func-returns-value]
    model.writer.state.join = lambda *given: joins.append(len(rows)) or join(*given)  # type: ignore[method-assign,func-returns-value]
    answers = model.generate(prompts, rule)
    assert tokens_by_row(answers, prompts) == expected
    written = answers.token_count.sum() - len(answers)  # the first token of a row comes with its prompt
    assert written / sum(rows) > 0.8  # rows of the model that wrote, of all it computed
    assert len(set(joins)) > 10 and model.describe()["generation"]["tokens_read"] == 2 * sum(
        len(model.tokenizer(prompt)["input_ids"]) for prompt in prompts
    )


def test_bad_prompts_are_error_rows(tiny_folder: Callable[..., Path]) -> None:
    model = loaded(tiny_folder, "gpt2")  # 128 positions
    prompts = ["", "Hi.", " \n", "x y " * 60]
    answers = model.generate(prompts, Decoding(max_new_tokens=20, temperature=1.0, samples=2))
    codes = [None if e is None else e.value for e in answers.errors]
    assert codes == ["empty_text"] * 2 + [None] * 2 + ["empty_text"] * 2 + ["too_long"] * 2
    assert answers.prompt.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert answers.sample.tolist() == [0, 1] * 4
    assert [text is None for text in answers.texts] == [code is not None for code in codes]
    assert "128" in (answers.details[6] or "") and "20" in (answers.details[6] or "")
    assert math.isnan(answers.log_likelihood[0]) and answers.token_count[0] == 0
    exact = len(model.tokenizer(prompts[3])["input_ids"])
    fits = model.tokenizer.decode(model.tokenizer(prompts[3])["input_ids"][: 128 - 20])
    assert model.generate([fits], Decoding(max_new_tokens=20)).token_count[0] == 20 and exact > 108
    assert len(model.generate([], Decoding(max_new_tokens=2))) == 0
    assert [error.value for error in model.generate(["Hi."], Decoding(max_new_tokens=10**40)).errors] == [
        "too_long"
    ]


def test_nan_is_an_error_and_leaves_neighbours_alone(tiny_folder: Callable[..., Path]) -> None:
    model = loaded(tiny_folder, "gpt2")
    plain = model.writer.state.join

    def broken(prompts: list[list[int]], branch: Any, places: Any) -> torch.Tensor:
        logits: torch.Tensor = plain(prompts, branch, places)
        logits[0] = torch.nan
        return logits

    good = model.generate(PROMPTS[:2], Decoding(max_new_tokens=5, temperature=1.0))
    model.writer.state.join = broken
    bad = model.generate(PROMPTS[:2], Decoding(max_new_tokens=5, temperature=1.0))
    assert bad.errors == [None, ResponseError.NOT_FINITE]  # the longer prompt goes first
    assert bad.row(0).tolist() == good.row(0).tolist()


def test_budget_halves_and_samples_are_split_when_memory_runs_out(tiny_folder: Callable[..., Path]) -> None:
    model = loaded(tiny_folder, "gpt2")
    rule = Decoding(max_new_tokens=6, temperature=1.0, samples=6)
    expected = model.generate(PROMPTS, rule)
    plain = model.writer.state.advance

    def limited(tokens: torch.Tensor) -> torch.Tensor:
        if len(tokens) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        found: torch.Tensor = plain(tokens)
        return found

    model.writer.state.advance = limited
    answers = model.generate(PROMPTS, rule)
    assert answers.token_ids.tolist() == expected.token_ids.tolist()
    assert model.writer.budget.halvings and answers.errors == [None] * 36

    def never(tokens: torch.Tensor) -> torch.Tensor:
        raise torch.OutOfMemoryError("CUDA out of memory")

    model.writer.state.advance = never
    assert set(model.generate(PROMPTS[:1], rule).errors) == {ResponseError.OUT_OF_MEMORY}


def test_a_model_that_padding_confuses_gets_batches_of_equal_lengths(
    tiny_folder: Callable[..., Path],
) -> None:
    from evenhand.models.writing.state import CausalState
    from evenhand.models.writing.writer import Writer

    class Confused(CausalState):
        def join(self, prompts: Any, branch: Any, places: Any) -> torch.Tensor:
            logits: torch.Tensor = super().join(prompts, branch, places)
            self.seen = torch.ones_like(self.seen)  # looks at the padding from now on
            return logits

    model = loaded(tiny_folder, "gpt2")
    writer = Writer(
        Confused(model.model),
        model.tokenizer,
        ends=[0],
        vocabulary=len(model.tokenizer),
        device=torch.device("cpu"),
        cache_bytes=1,
    )
    assert "padding" in (writer.reason_for_equal_lengths or "")
    rule = Decoding(max_new_tokens=8, temperature=1.0, samples=2)
    expected = model.generate(PROMPTS, rule)
    model.__dict__["writer"] = writer
    assert model.generate(PROMPTS, rule).token_ids.tolist() == expected.token_ids.tolist()
    assert "batches_of_equal_lengths" in model.describe()["generation"]


def test_a_model_that_late_comers_confuse_fills_no_place_again(tiny_folder: Callable[..., Path]) -> None:
    from evenhand.models.writing.state import CausalState
    from evenhand.models.writing.writer import Writer

    class Counting(CausalState):
        """Counts positions from the first column, as models without position_ids do."""

        def _forward(self, ids: Any, seen: Any, cache: Any) -> torch.Tensor:
            if len(seen) > 1 and int(seen.argmax(1).max()) > 4:
                seen = torch.ones_like(seen)
            return super()._forward(ids, seen, cache)

    model = loaded(tiny_folder, "gpt2")
    writer = Writer(
        Counting(model.model),
        model.tokenizer,
        ends=[0],
        vocabulary=len(model.tokenizer),
        device=torch.device("cpu"),
        cache_bytes=1,
    )
    assert writer.reason_for_equal_lengths is None and "joining later" in (writer.reason_for_batches or "")
    writer.budget.tokens = 200
    writer.ways.settle(60)  # what it tries is not counted below
    joins: list[int] = []
    join = writer.state.join
    state: Any = writer.state
    state.join = lambda *given: joins.append(len(state.seen)) or join(*given)  # type: ignore[func-returns-value]
    model.__dict__["writer"] = writer
    model.generate(PROMPTS, Decoding(max_new_tokens=8, temperature=1.0, samples=6))
    assert len(joins) > 2 and not any(joins)  # nobody is under way when others join
    assert "places_not_filled_again" in model.describe()["generation"]


def test_describe_counts_what_was_done(tiny_folder: Callable[..., Path]) -> None:
    model = loaded(tiny_folder, "gpt2", options=CausalOptions(batch_tokens=300))
    assert "generation" not in model.describe()
    answers = model.generate(PROMPTS, decoding_preset("gpt2", max_new_tokens=8, samples=3))
    told = model.describe()["generation"]
    assert told["rows"] == 18 and told["tokens_written"] == answers.token_count.sum()
    assert told["tokens_read"] >= sum(len(model.tokenizer(p)["input_ids"]) for p in PROMPTS)
    assert told["peak_memory_bytes"] > 1 << 20
    assert told["tokens_per_second"] == pytest.approx(told["tokens_written"] / told["seconds"])
    assert told["batches"]["tokens"] == 300 and told["batches"]["batches"] > 1
    assert model.describe()["family"] == "gpt2" and loaded(tiny_folder, "t5").describe()["family"] == "t5"
    assert load_puppet("refusing").describe()["family"] == "puppet"


def test_models_that_cannot_write_say_so(tiny_folder: Callable[..., Path]) -> None:
    assert text_generator(loaded(tiny_folder, "gpt2")).architecture == "causal"
    assert isinstance(loaded(tiny_folder, "t5"), TextGenerator)
    with pytest.raises(Unsupported, match="fills in single masks"):
        text_generator(loaded(tiny_folder, "bert"))


def test_puppets_write_what_they_are_told() -> None:
    rule = Decoding(max_new_tokens=3, temperature=1.0, samples=2, stop=("END",))
    puppet = writes(lambda prompt, sample: " a b c d" if sample else f" {prompt[0]} END x")
    answers = text_generator(puppet).generate(["She", "", "He"], rule)
    assert answers.texts == [" S ", " a b c", None, None, " H ", " a b c"]
    assert answers.finish == ["stop", "length", None, None, "stop", "length"]
    assert answers.token_count.tolist() == [1, 3, 0, 0, 1, 3]
    assert answers.errors[2] is ResponseError.EMPTY_TEXT and math.isnan(answers.log_likelihood[2])
    refusing = load_puppet("refusing").generate(["She"], rule)
    assert refusing.errors == [ResponseError.REFUSED] * 2 and refusing.texts == [None, None]
    with pytest.raises(Unsupported, match="has no texts to generate"):
        random_puppet().generate(["She"], rule)


def test_what_a_tokenizer_puts_behind_a_text_is_left_out_unless_asked_for(
    tiny_tokenizer: Callable[[str], Any],
) -> None:
    from evenhand.models.writing.inputs import encode_prompts

    tokenizer = tiny_tokenizer("roberta")  # <s> text </s>
    whole = tokenizer(PROMPTS)["input_ids"]
    assert encode_prompts(tokenizer, PROMPTS, longest=None, behind=5, keep_end=True).ids == whole
    assert encode_prompts(tokenizer, PROMPTS, longest=None, behind=5).ids == [ids[:-1] for ids in whole]


def test_a_model_without_keys_and_values_says_so() -> None:
    from transformers import MambaConfig, MambaForCausalLM

    from evenhand.models.writing.state import CausalState

    config = MambaConfig(vocab_size=20, hidden_size=8, num_hidden_layers=1, state_size=2)
    with pytest.raises(Unsupported, match="keys and values"):
        CausalState(MambaForCausalLM(config))
