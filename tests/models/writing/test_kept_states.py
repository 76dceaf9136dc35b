"""What is kept between turns: the same texts, only what is new is read, and never more memory than was given."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from evenhand.models import load_model
from evenhand.models.decoding import Decoding
from evenhand.models.huggingface.causal import CausalModel
from evenhand.models.writing.kept_states import KeptState, KeptStates
from evenhand.models.writing.state import CausalState
from evenhand.schema import UsageError

GREEDY = Decoding(max_new_tokens=6, min_new_tokens=2)
RULES = [
    GREEDY,
    Decoding(max_new_tokens=6, temperature=1.1, seed=4, stop=("e",)),
    Decoding(max_new_tokens=6, num_beams=3, no_repeat_ngram_size=2, no_repeat_ngram_in="continuation"),
]
DELIMITER = 5
OPENERS = [list(range(10 + 9 * k, 18 + 11 * k)) for k in range(3)]  # of 8, 10 and 12 tokens


def conversed(
    model: Any, rule: Decoding, kept: KeptStates | None, turns: int = 4, window: int = 99
) -> list[list[int]]:
    """What a few conversations have come to; every turn reads all that was said before."""
    said = [list(opener) for opener in OPENERS]
    for turn in range(turns):
        keys = [f"{k} {turn}" for k in range(len(said))]
        replies = model.generate_ids([one[-window:] for one in said], keys, rule, kept=kept)
        assert replies.errors == [None] * len(said)
        said = [[*one, *replies.row(k).tolist(), DELIMITER] for k, one in enumerate(said)]
    return said


def loaded(tiny_folder: Callable[..., Path], architecture: str = "gpt2") -> Any:
    return load_model(str(tiny_folder(architecture)), device="cpu", dtype="float32")


@pytest.mark.parametrize(
    ("architecture", "rule"),
    [
        *(("gpt2", rule) for rule in RULES),
        ("mistral", RULES[0]),  # a window of 6
        ("bloom", RULES[1]),
        *(pytest.param("mistral", rule, marks=pytest.mark.slow) for rule in RULES[1:]),
        *(pytest.param(name, rule, marks=pytest.mark.slow) for name in ("llama", "opt") for rule in RULES),
    ],
)
def test_texts_are_those_of_histories_read_whole(
    tiny_folder: Callable[..., Path], architecture: str, rule: Decoding
) -> None:
    model, kept = loaded(tiny_folder, architecture), KeptStates(1 << 20)
    assert conversed(model, rule, kept) == conversed(model, rule, None)
    assert kept.prompts_begun == 3 * 3, "every turn but the first goes on"
    assert len(kept) == 3, "one state a conversation"


def test_greedy_turns_are_hugging_faces(tiny_folder: Callable[..., Path]) -> None:
    model, said = loaded(tiny_folder), [list(opener) for opener in OPENERS]
    for _ in range(3):
        for one in said:
            ids = torch.tensor([one])
            written = model.model.generate(
                ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=6, min_new_tokens=2
            )
            one += [*written[0, len(one) :].tolist(), DELIMITER]
    assert conversed(model, GREEDY, KeptStates(1 << 20), turns=3) == said


def test_only_what_is_new_is_read(tiny_folder: Callable[..., Path]) -> None:
    model, kept = loaded(tiny_folder), KeptStates(1 << 20)
    rule = Decoding(max_new_tokens=6, min_new_tokens=6)
    conversed(model, rule, kept, turns=4)
    # the newest token of a reply was written and never read; behind it stands the delimiter
    assert model.writer.work.tokens_read == sum(map(len, OPENERS)) + 3 * len(OPENERS) * 2
    config = model.model.config
    tokens = sum(map(len, OPENERS)) + 3 * (4 * 7 - 2)
    assert kept.bytes == tokens * 2 * config.n_layer * config.n_embd * 4
    assert kept.describe()["tokens_read_before"] == kept.tokens - model.writer.work.tokens_read


def test_histories_that_are_cut_are_read_anew(tiny_folder: Callable[..., Path]) -> None:
    model, kept = loaded(tiny_folder), KeptStates(1 << 20)
    assert conversed(model, GREEDY, kept, 5, window=20) == conversed(model, GREEDY, None, 5, window=20)
    assert 0 < kept.prompts_begun < kept.prompts - 2 * len(OPENERS)


def test_long_and_short_remainders_are_read_apart(tiny_folder: Callable[..., Path]) -> None:
    model, kept = loaded(tiny_folder), KeptStates(1 << 20)
    rule = Decoding(max_new_tokens=4, temperature=1.0, samples=2)
    prompts = [[*range(9, 49)], [*range(20, 99)], [*range(30, 70)], [*range(7, 57)]]
    keys = ["a", "b", "c", "d"]
    first = model.generate_ids([prompts[0], prompts[2]], ["x", "y"], GREEDY, kept=kept)
    prompts[0] += first.row(0).tolist()
    passes: list[tuple[int, ...]] = []
    hook = model.model.register_forward_pre_hook(
        lambda _, given, named: passes.append(tuple(named["input_ids"].shape)), with_kwargs=True
    )
    answers = model.generate_ids(prompts, keys, rule, kept=kept)
    hook.remove()
    assert passes[:2] == [(2, 1), (2, 79)]
    assert answers.token_ids.tolist() == model.generate_ids(prompts, keys, rule).token_ids.tolist()


@pytest.mark.parametrize("rule", RULES[1:])
def test_memory_stays_within_the_budget(tiny_folder: Callable[..., Path], rule: Decoding) -> None:
    model = loaded(tiny_folder)
    config = model.model.config
    budget = 50 * 2 * config.n_layer * config.n_embd * 4  # of about 110 tokens in the end
    kept = KeptStates(budget)
    assert conversed(model, rule, kept) == conversed(model, rule, None)
    assert 0 < kept.most_bytes <= budget and kept.left > 0 and kept.prompts_begun > 0
    nothing = KeptStates(1)
    conversed(model, rule, nothing, turns=2)
    assert len(nothing) == nothing.prompts_begun == 0


def state_of(*tokens: int, size: int = 1) -> KeptState:
    part = torch.zeros(1, len(tokens), size)
    return KeptState(tokens, len(tokens), [(part, part), None])


def test_the_least_recently_used_leave_but_none_that_is_awaited(tiny_folder: Callable[..., Path]) -> None:
    network = loaded(tiny_folder).model
    kept = KeptStates(3 * 5 * 2 * 4)  # three states of five tokens
    kept.await_prompts(network, [])
    for first in (1, 2, 3):
        kept.keep(state_of(first, 0, 0, 0, 0))
    assert kept.take([1, 0, 0, 0, 9]).count == 4  # leaves it before its end, so it stays
    kept.keep(state_of(4, 0, 0, 0, 0))
    assert kept.take([2, 0, 0, 0, 0, 9]).count == 0 and kept.left == 1
    kept.await_prompts(network, [[3, 0, 0, 0, 0, 9], [1, 0, 0, 0, 0, 9]])
    kept.keep(state_of(5, 0, 0, 0, 0))
    assert kept.take([4, 0, 0, 0, 0, 9]).count == 0, "the others are awaited"
    kept.keep(state_of(6, *[0] * 9))
    assert kept.take([5, 0, 0, 0, 0, 9]).count == 5, "there would have been no room for the larger one"
    assert [kept.take([first, 0, 0, 0, 0, 9]).count for first in (3, 1)] == [5, 5]
    assert len(kept) == kept.bytes == 0, "who has gone on leaves room"


def test_the_longest_common_beginning_is_found(tiny_folder: Callable[..., Path]) -> None:
    random = np.random.default_rng(0)
    kept = KeptStates(1 << 20)
    kept.await_prompts(loaded(tiny_folder).model, [])
    rows = [tuple(random.integers(0, 2, random.integers(1, 14)).tolist()) for _ in range(60)]
    for row in rows:
        kept.keep(KeptState(row, 99, state_of(*row).layers))  # asked more than it holds: none goes on from it
    for _ in range(200):
        prompt = random.integers(0, 2, random.integers(2, 16)).tolist()
        common = [sum(row[:k] == tuple(prompt[:k]) for k in range(1, len(row) + 1)) for row in rows]
        most = min(max(common), len(prompt) - 1)
        assert kept.take(prompt).count == (most if most >= 4 else 0)


def test_a_model_that_changed_or_another_one_starts_anew(tiny_folder: Callable[..., Path]) -> None:
    model, other = loaded(tiny_folder), loaded(tiny_folder, "llama")
    kept = KeptStates(1 << 20)
    conversed(model, GREEDY, kept, turns=1)
    with torch.no_grad():
        model.model.transformer.h[0].attn.c_attn.weight.mul_(3)
    for one in (model, other):
        assert conversed(one, GREEDY, kept, turns=2) == conversed(one, GREEDY, None, turns=2)
    kept.clear()
    assert len(kept) == kept.bytes == 0


def test_models_that_nothing_can_be_kept_of_read_whole_histories_and_say_so(
    tiny_folder: Callable[..., Path], architectures: Any
) -> None:
    mamba = CausalModel(architectures.build("mamba"), architectures.tokenizer(False), {"name": "mamba"})
    for model, reason in (
        (mamba, "the cache that transformers makes"),
        (loaded(tiny_folder, "t5"), "encoder"),
    ):
        kept = KeptStates(1 << 20)
        assert conversed(model, GREEDY, kept, turns=2) == conversed(model, GREEDY, None, turns=2)
        assert reason in model.describe()["generation"]["nothing_kept_between_calls"]
        assert len(kept) == kept.prompts == 0


def test_a_model_that_goes_on_wrongly_reads_whole_histories(
    tiny_folder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, kept = loaded(tiny_folder), KeptStates(1 << 20)
    expected, row = conversed(model, GREEDY, None), CausalState.row

    def shifted(self: CausalState, place: int, tokens: int) -> Any:
        return [(keys.roll(1, 1), values) for keys, values in row(self, place, tokens)]

    monkeypatch.setattr(CausalState, "row", shifted)
    assert conversed(model, GREEDY, kept) == expected
    assert "changes answers" in model.describe()["generation"]["nothing_kept_between_calls"]


def test_what_is_kept_leaves_first_when_memory_runs_out(tiny_folder: Callable[..., Path]) -> None:
    model, kept = loaded(tiny_folder), KeptStates(1 << 20)
    conversed(model, GREEDY, kept, turns=1)
    plain, sizes = model.writer.state.advance, []

    def limited(tokens: torch.Tensor) -> torch.Tensor:
        if not sizes:
            sizes.append(len(kept))
            raise torch.OutOfMemoryError("CUDA out of memory")
        sizes.append(len(kept))
        found: torch.Tensor = plain(tokens)
        return found

    model.writer.ways.why_not_kept()
    kept.keep(KeptState((1, 2, 3), 3, state_of(1, 2, 3).layers))
    model.writer.state.advance = limited
    prompts, keys = [[*opener, 7] for opener in OPENERS], ["a", "b", "c"]
    answers = model.generate_ids(prompts, keys, GREEDY, kept=kept)
    assert sizes[:2] == [1, 0] and model.writer.budget.halvings
    assert answers.token_ids.tolist() == model.generate_ids(prompts, keys, GREEDY).token_ids.tolist()


def test_a_budget_is_positive_or_a_share_of_what_is_free(tiny_folder: Callable[..., Path]) -> None:
    with pytest.raises(UsageError, match="positive number of bytes"):
        KeptStates(0)
    kept = KeptStates()
    conversed(loaded(tiny_folder), GREEDY, kept, turns=1)
    assert kept.budget_bytes is not None and kept.budget_bytes > 1 << 20
