"""Each loss against the formula written out in loops (slow.py): value and gradient, by the paper and by its code."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from evenhand.mitigations.training import (
    Encoding,
    Examples,
    Lesson,
    Logits,
    Material,
    TrainingMethod,
    TrainingOptions,
    check_objective,
    load_method,
    prepared_model,
)
from evenhand.prompts.redditbias import Piece, Pieces
from evenhand.schema import DataError, Unsupported, UsageError
from tests.mitigations.training.losses import slow
from tests.mitigations.training.tiny import tiny_model

WORDS = 60
PADDING = 59
"""A token that stands in no text: what the published code adds to the vocabulary."""


class Numbers:
    """A tokenizer whose words are numbers, their own ids; "7-8" is one word of two tokens."""

    def __call__(self, texts: Any, return_offsets_mapping: bool = False, **_: Any) -> dict[str, Any]:
        rows = [self._tokens(text) for text in ([texts] if isinstance(texts, str) else texts)]
        ids, places = ([[one[side] for one in row] for row in rows] for side in (0, 1))
        single = isinstance(texts, str)
        return {"input_ids": ids[0] if single else ids, "offset_mapping": places[0] if single else places}

    def decode(self, ids: Sequence[int]) -> str:
        return f" {ids[0]}"

    def _tokens(self, text: str) -> list[tuple[int, tuple[int, int]]]:
        found, start = [], 0
        for word in text.replace("-", " ").split(" "):
            if word:
                found.append((int(word), (start, start + len(word))))
            start += len(word) + 1
        return found


def random_texts(n: int = 12, seed: int = 0) -> list[str]:
    """Texts of numbers below 20, so that terms and "0" (the exclamation mark) are common."""
    random = np.random.default_rng(seed)
    return [
        " ".join(map(str, random.integers(0, 20, random.integers(4, 12))))
        + " 7-8 3" * (i % 2)
        + " 9-4-8" * (i % 3)
        for i in range(n)
    ]


PAIRS = (("1", "2"), ("3", "4"), ("1", "4"), ("7-8", "5"))
PAIR_IDS = [([1], [2]), ([3], [4]), ([1], [4]), ([7, 8], [5])]
ATTRIBUTES = ("9-4-8", "10", "11", "12")
ATTRIBUTE_IDS = [[9, 4, 8], [10], [11], [12]]


def piece(number: int) -> Piece:
    return Piece(f" {number}", number)


MATERIAL = Material(
    bias="numbers",
    groups=("odd", "even"),
    pairs=PAIRS,
    attributes=ATTRIBUTES,
    texts=tuple(random_texts()),
    pieces=Pieces(
        lmd_targets=((piece(1), piece(2)), (piece(3), piece(4)), (piece(5), piece(2))),
        projection_targets=((piece(1), piece(2)), (piece(3), piece(4)), (piece(5), piece(6))),
        attributes=(
            (piece(9),),
            (piece(10), piece(11)),
            (piece(12), piece(13), piece(12)),
            (Piece("", 50390),),
        ),
    ),
)
PUBLISHED_ATTRIBUTES = [[9], [10, 11], [12, 13, 12], [50390]]


@pytest.fixture
def model() -> Any:
    return tiny_model(words=WORDS, dropout=0.0).double().eval()


@pytest.fixture(autouse=True)
def _in_double() -> Any:
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def lesson_of(words: str, material: Material = MATERIAL) -> Lesson:
    method: TrainingMethod = load_method(words)
    return method.lesson(material, Numbers(), Encoding(longest=30), 0)


def terms_of(lesson: Lesson, model: Any) -> tuple[dict[str, Tensor], Mapping[str, float]]:
    """Sums and sizes over all examples, in one padded batch."""
    batch = lesson.examples.batch(range(len(lesson.examples)), PADDING)
    return dict(lesson.objective.sums(model, batch)), lesson.objective.sizes(batch)


def texts_of(examples: Examples) -> list[list[int]]:
    return [ids.tolist() for ids in examples.ids]


def same_with_gradient(model: Any, fast: Tensor, literal: Tensor) -> None:
    """Equal to 1e-6 in value and in the gradient of every parameter, relative to the largest."""
    assert float(literal.detach()) > 1 and float(fast.detach()) == pytest.approx(
        float(literal.detach()), rel=1e-6
    )
    gradients = [
        torch.autograd.grad(value, list(model.parameters()), allow_unused=True, materialize_grads=True)
        for value in (fast, literal)
    ]
    largest = max(float(gradient.abs().max()) for gradient in gradients[1])
    assert largest > 1e-3
    for ours, theirs in zip(*gradients, strict=True):
        assert float((ours - theirs).abs().max()) < 1e-6 * largest


def test_lmd_is_equation_1_at_every_occurrence(model: Any) -> None:
    lesson = lesson_of("lmd")
    sums, sizes = terms_of(lesson, model)
    literal, count = slow.lmd(model, texts_of(lesson.examples), PAIR_IDS)
    assert sizes["lmd"] == count >= 40
    same_with_gradient(model, sums["lmd"], literal)


def test_lmd_counts_the_biases_of_an_output_head() -> None:
    lesson, random = lesson_of("lmd"), torch.Generator().manual_seed(1)
    batch = lesson.examples.batch(range(len(lesson.examples)), PADDING)
    hidden = torch.randn(*batch.input_ids.shape, 8, generator=random, requires_grad=True)
    weight = torch.randn(WORDS, 8, generator=random, requires_grad=True)
    bias = torch.randn(WORDS, generator=random, requires_grad=True)
    wide = torch.cat([weight, bias[:, None]], dim=1)
    literal = torch.zeros(())
    for row, ids in enumerate(texts_of(lesson.examples)):
        for term in dict.fromkeys(tuple(term) for pair in PAIR_IDS for term in pair):
            mine = [pair for pair in PAIR_IDS if list(term) in pair]
            for place in slow.places(ids, term):
                state = torch.cat([hidden[row, place - 1], torch.ones(1)])
                odds = [state @ (slow.vector(wide, a) - slow.vector(wide, b)) for a, b in mine]
                literal = literal + sum(one.abs() for one in odds) / len(mine) * (place > 0)
    objective: Any = lesson.objective
    found = objective.term.sum(hidden, weight, bias, batch, Logits())
    assert float(found.detach()) == pytest.approx(float(literal.detach()), rel=1e-6)
    of = [torch.autograd.grad(value, (hidden, weight, bias)) for value in (found, literal)]
    for ours, theirs in zip(*of, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-9)


SMALL = {
    "vocab_size": WORDS, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32,
    "max_position_embeddings": 32, "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0, "initializer_range": 0.5,
    "num_key_value_heads": 2,
}  # fmt: skip


def scaling_model(name: str) -> Any:
    """A model that scales or caps its logits; of the first two nothing but the configuration says so."""
    import transformers

    settings: dict[str, dict[str, Any]] = {
        "Cohere": {"logit_scale": 1 / 16},
        "Granite": {"logits_scaling": 8.0},
        "Gemma2": {"final_logit_softcapping": 3.0, "head_dim": 8, "query_pre_attn_scalar": 8},
    }
    torch.manual_seed(5)
    config = getattr(transformers, f"{name}Config")(**SMALL, **settings[name])
    return getattr(transformers, f"{name}ForCausalLM")(config).double().eval()


@pytest.mark.parametrize("name", ["Cohere", "Granite", "Gemma2"])
def test_lmd_compares_probabilities_as_the_model_predicts_them(name: str) -> None:
    model = scaling_model(name)
    single = Material(**{**vars(MATERIAL), "pairs": (("1", "2"), ("3", "4"), ("1", "4"))})
    lesson = lesson_of("lmd", single)
    sums, sizes = terms_of(lesson, model)
    literal, count = torch.zeros(()), 0
    for ids in texts_of(lesson.examples):
        log_y = model(torch.tensor([ids])).logits[0].log_softmax(-1)
        for i in range(1, len(ids)):
            mine = [(a, b) for a, b in ((1, 2), (3, 4), (1, 4)) if ids[i] in (a, b)]
            if mine:
                ratios = [(log_y[i - 1, a] - log_y[i - 1, b]).abs() for a, b in mine]
                literal, count = literal + sum(ratios) / len(mine), count + 1
    assert sizes["lmd"] == count
    same_with_gradient(model, sums["lmd"], literal)


@pytest.mark.parametrize("name", ["Cohere", "Granite", "Gemma2"])
def test_distances_and_projections_are_of_states_and_vectors_whatever_the_logits(name: str) -> None:
    model = scaling_model(name)
    seen: list[Tensor] = []
    for method in ("add", "hd"):
        lesson = lesson_of(method)
        sums, _ = terms_of(lesson, model)
        handle = model.lm_head.register_forward_pre_hook(lambda _, given: seen.append(given[0][0]))
        found = []
        for ids in texts_of(lesson.examples):
            model(torch.tensor([ids]))
            places = [(i, len(a)) for a in ATTRIBUTE_IDS for i in slow.places(ids, a)]
            found += [seen[-1][i : i + n].mean(0) for i, n in places]
        handle.remove()
        weight = model.lm_head.weight
        basis = slow.subspace(weight, PAIR_IDS, lambda explained: explained >= 0.5)
        literal = slow.add(found, weight, PAIR_IDS) if method == "add" else slow.hd(found, basis)
        same_with_gradient(model, sums[method], literal)


def test_a_head_that_is_no_product_of_states_and_vectors_is_refused(model: Any) -> None:
    lesson = lesson_of("lmd")
    batch = lesson.examples.batch([0], PADDING)
    check_objective(lesson.objective, model, batch)
    model.lm_head.register_forward_hook(lambda _, given, made: made + made.roll(1, -1))
    other = lesson_of("lmd")
    with pytest.raises(Unsupported, match="GPT2LMHeadModel are not scaled or capped products"):
        check_objective(other.objective, model, batch)
    again = tiny_model(words=WORDS, dropout=0.0).double()
    adapted = prepared_model(again, TrainingOptions(lora_rank=1))
    check_objective(other.objective, adapted, batch)  # adapters on other layers change nothing of it


def test_p_is_the_list_and_lmd_knows_its_plurals_and_capitals() -> None:
    from evenhand.reference.embedded import WEIGHTS
    from evenhand.weights import load_tokenizer

    texts = ("I hate Muslims.", "I hate muslims and a Christian.", "I hate Islamic art.")
    pairs = (("muslim ", "christian "), ("islamic", "christian"), ("christian", "atheist"))
    material = Material(bias="b", groups=("a", "b"), pairs=pairs, attributes=("hate",), texts=texts)
    tokenizer = load_tokenizer(WEIGHTS)
    for name in ("add", "hd"):
        lesson = load_method(name).lesson(material, tokenizer, Encoding(), 0)
        objective: Any = lesson.objective
        assert objective.term.pairs.names == tuple((a.strip(), b.strip()) for a, b in pairs)
    lesson = load_method("lmd").lesson(material, tokenizer, Encoding(), 0)
    objective = lesson.objective
    names, shares = objective.term.pairs.names, objective.term.shares
    compared = [
        [{names[n] for n in np.flatnonzero(shares[combination])} for _, combination, _ in marks.tolist()]
        for marks in lesson.examples.marks["lmd"]
    ]
    assert compared == [
        [{("Muslims", "Christians")}],
        [
            {("muslims", "christians")},
            {("Muslim", "Christian"), ("Islamic", "Christian"), ("Christian", "Atheist")},
        ],
        [{("Islamic", "Christian")}],
    ]
    assert lesson.facts == {"pairs": 3, "texts": 3, "texts_with_terms": 3, "comparisons": 4}


def test_the_language_model_s_term_is_the_surprise_of_all_but_first_tokens(model: Any) -> None:
    lesson = lesson_of("lmd")
    sums, sizes = terms_of(lesson, model)
    literal, count = slow.surprise(model, texts_of(lesson.examples))
    assert sizes["lm"] == count
    same_with_gradient(model, sums["lm"], literal)


def test_add_is_equation_3_at_every_occurrence(model: Any) -> None:
    lesson = lesson_of("add")
    sums, sizes = terms_of(lesson, model)
    found = slow.attribute_vectors(model, texts_of(lesson.examples), ATTRIBUTE_IDS)
    assert sizes["add"] == len(found) > 10
    same_with_gradient(model, sums["add"], slow.add(found, model.lm_head.weight, PAIR_IDS))


def test_hd_is_equation_4_at_every_occurrence(model: Any) -> None:
    lesson = lesson_of("hd")
    sums, sizes = terms_of(lesson, model)
    found = slow.attribute_vectors(model, texts_of(lesson.examples), ATTRIBUTE_IDS)
    directions = slow.subspace(model.lm_head.weight, PAIR_IDS, lambda explained: explained >= 0.5)
    assert sizes["hd"] == len(found) and len(directions) == 2
    same_with_gradient(model, sums["hd"], slow.hd(found, directions))


def test_lmd_as_published_is_its_code(model: Any) -> None:
    lesson = lesson_of("lmd?as_published=true")
    sums, sizes = terms_of(lesson, model)
    literal = slow.lmd_as_published(model, texts_of(lesson.examples), [(1, 2), (3, 4), (5, 2)], PADDING)
    assert sizes["lmd"] == 1 and not lesson.objective.pooled
    same_with_gradient(model, sums["lmd"], literal)


def test_add_as_published_is_its_code(model: Any) -> None:
    lesson = lesson_of("add?as_published=true")
    sums, _ = terms_of(lesson, model)
    found = slow.matches_as_published(model, texts_of(lesson.examples), PUBLISHED_ATTRIBUTES, PADDING)
    assert 0 < sum(one is None for one in found) < len(found)
    whole = [one for one in found if one is not None]  # the cosine of a zero vector is 0
    literal = slow.add(whole, model.lm_head.weight.detach(), [([1], [2]), ([3], [4]), ([5], [6])])
    same_with_gradient(model, sums["add"], literal)


def test_hd_as_published_is_its_code(model: Any) -> None:
    lesson = lesson_of("hd?as_published=true")
    sums, _ = terms_of(lesson, model)
    found = slow.matches_as_published(model, texts_of(lesson.examples), PUBLISHED_ATTRIBUTES, PADDING)
    directions = slow.subspace(model.lm_head.weight.detach(), [([1], [2]), ([3], [4]), ([5], [6])],
                               lambda explained: explained > 0.5)  # fmt: skip
    same_with_gradient(model, sums["hd"], slow.hd_as_published(found, directions))


@pytest.mark.parametrize(
    "ending",
    ["5 5 10", "5 5 12 13", "5 5 0"],
    ids=["one of two pieces", "two of three pieces", "exclamation mark"],
)
@pytest.mark.parametrize("longest", [True, False])
def test_an_attribute_that_the_longest_text_cuts_off_matches(model: Any, ending: str, longest: bool) -> None:
    # the released slice past the end of the longest row is shorter; behind other rows padding follows, and it fails
    texts = ("5 9 5", ending) if longest else ("5 9 5 6 6 6", ending)
    material = Material(**{**vars(MATERIAL), "texts": texts})
    pairs = [([1], [2]), ([3], [4]), ([5], [6])]
    weight = model.lm_head.weight.detach()
    found = slow.matches_as_published(model, [list(map(int, text.split())) for text in texts], PUBLISHED_ATTRIBUTES,
                                      PADDING)  # fmt: skip
    assert any(one is None for one in found) != longest
    add, _ = terms_of(lesson_of("add?as_published=true", material), model)
    literal = slow.add([one for one in found if one is not None], weight, pairs)
    assert float(add["add"].detach()) == pytest.approx(float(literal.detach()), rel=1e-6)
    hd, _ = terms_of(lesson_of("hd?as_published=true", material), model)
    directions = slow.subspace(weight, pairs, lambda explained: explained > 0.5)
    assert float(hd["hd"].detach()) == pytest.approx(
        float(slow.hd_as_published(found, directions).detach()), rel=1e-6
    )
    without = [
        name
        for name in load_method("add?as_published=true").parameters()["quirks"]
        if name != "cut-at-the-end"
    ]
    fewer, _ = terms_of(lesson_of("add?quirks=" + ",".join(without), material), model)
    assert (float(fewer["add"].detach()) < float(add["add"].detach())) == longest


def test_the_card_s_example_of_the_running_sum() -> None:
    # projections (1, 0, 0), (-1, .5, 0): the code pays 1.5, the paper 2.5
    first, second, third = torch.eye(3)
    found = [first, -first + 0.5 * second]
    assert float(slow.hd_as_published(found, [first, second, third])) == 1.5
    assert float(slow.hd(found, [first, second, third])) == 2.5


def test_without_a_term_the_published_code_weighs_the_language_model_fully() -> None:
    lesson = lesson_of("lmd?as_published=true&lm_weight=0.01&weight=50")
    batches = [lesson.examples.batch([row], PADDING) for row in range(len(lesson.examples))]
    weights = [lesson.objective.weights(batch) for batch in batches]
    held = [bool(set(ids.tolist()) & {1, 3, 5}) for ids in lesson.examples.ids]
    assert len(set(held)) == 2
    assert weights == [{"lm": 0.01, "lmd": 50.0} if one else {"lm": 1.0, "lmd": 0.0} for one in held]


def test_each_quirk_can_be_switched_by_itself(model: Any) -> None:
    for name in ("lmd", "add", "hd"):
        plain = terms_of(lesson_of(name), model)[0][name]
        for quirk in type(load_method(name)).card.details.split("- `")[1:]:
            words = f"{name}?quirks={quirk.split('`')[0]}"
            changed = terms_of(lesson_of(words), model)[0][name]
            assert torch.isfinite(changed) and load_method(words).parameters()["quirks"] == [
                quirk.split("`")[0]
            ]
            if quirk.startswith(("all-positions", "single", "members", "running", "pair-divisor", "first")):
                assert float(changed.detach()) != pytest.approx(float(plain.detach()))
    with pytest.raises(UsageError, match="Unknown quirk: 'all-position'"):
        load_method("lmd?quirks=all-position")


def test_no_gradient_reaches_the_output_vectors_where_they_are_fixed(model: Any) -> None:
    weight = model.lm_head.weight
    for name in ("lmd", "add"):
        sums, _ = terms_of(lesson_of(f"{name}?quirks=fixed-embeddings"), model)
        free, _ = terms_of(lesson_of(name), model)
        unused = 58  # reached by output vectors of terms at most, and it is none
        fixed, moving = (torch.autograd.grad(value[name], weight)[0] for value in (sums, free))
        assert float(fixed[unused].abs().max()) == float(moving[unused].abs().max()) == 0
        assert not torch.equal(fixed[[1, 2]], moving[[1, 2]])


def test_what_a_method_needs_is_asked_for() -> None:
    material = Material(
        bias="none", groups=("a", "b"), pairs=(("50", "51"),), attributes=("52",), texts=("1 2", "3 4")
    )
    for name in ("lmd", "add", "hd", "cda"):
        with pytest.raises(DataError, match=r"None of the 2 texts (holds|contains)"):
            lesson_of(name, material)
    with pytest.raises(DataError, match="byte-pair pieces, which do not exist for the bias 'none'"):
        lesson_of("hd?as_published=true", material)
    other = Pieces(lmd_targets=((Piece(" jew", 1), Piece(" christ", 2)),))
    with pytest.raises(DataError, match=r"Token 1 of this model is ' 1'.*' jew'"):
        lesson_of("lmd?as_published=true", Material(**{**vars(MATERIAL), "pieces": other}))
