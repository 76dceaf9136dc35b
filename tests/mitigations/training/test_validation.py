"""What is watched: against scipy, and against one text at a time."""

import numpy as np
import pytest
import torch
from scipy import stats

from evenhand.mitigations.training import (
    Encoding,
    Examples,
    HalvedValidation,
    Validation,
    evaluator,
    pad_token,
)
from evenhand.mitigations.training.validation import AtOnce, MatchedOpinions, PairedTexts, score_examples
from evenhand.models import load_model
from evenhand.schema import DataError, ModelError
from tests.mitigations.training.tiny import random_examples, tiny_model


def test_pairs_are_compared_as_published() -> None:
    random = np.random.default_rng(0)
    sums, counts = -random.gamma(9, size=20), random.integers(2, 9, 20)
    found = PairedTexts(("a",) * 10, ("b",) * 10).values(sums, counts)
    perplexity = np.exp(-sums / counts)
    test = stats.ttest_rel(perplexity[:10], perplexity[10:])
    assert (found["t"], found["p"]) == pytest.approx((test.statistic, test.pvalue))
    assert found["difference"] == pytest.approx(np.log(perplexity[:10] / perplexity[10:]).mean())
    assert found["bias"] == abs(found["difference"])


def test_opinions_are_spread_between_descriptors() -> None:
    hostile, kind = np.array([-5.0, -5, -4, -4, -3, -3]), np.array([-4.0, -4, -4, -4, -4, -4])
    found = MatchedOpinions(("a", "b", "c"), ("",) * 6, ("",) * 6).values(
        np.r_[hostile, kind], np.ones(12, int)
    )
    assert found == pytest.approx({"bias": 1.0, "largest_shift": 1.0})  # shifts of -1, 0 and 1


def test_texts_are_scored_as_one_at_a_time() -> None:
    model, examples = tiny_model(dropout=0.0).eval(), random_examples(9)
    sums, counts = score_examples(model, examples, pad=0, at_once=AtOnce(4))
    for row, ids in enumerate(examples.ids):
        tokens = torch.from_numpy(ids)
        with torch.no_grad():
            log_probs = model(tokens[None]).logits[0].log_softmax(-1)
        expected = sum(float(log_probs[i - 1, tokens[i]]) for i in range(1, len(tokens)))
        assert sums[row] == pytest.approx(expected, abs=1e-4) and counts[row] == len(ids) - 1
    assert isinstance(examples, Examples)


def test_where_memory_runs_out_fewer_texts_are_scored_at_once() -> None:
    model, examples, said = tiny_model(dropout=0.0).eval(), random_examples(9), list[str]()
    expected, _ = score_examples(model, examples, pad=0)
    most = 2

    def tight(module: object, arguments: object, given: dict[str, torch.Tensor]) -> None:
        if len(given["input_ids"]) > most:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes")

    model.register_forward_pre_hook(tight, with_kwargs=True)
    at_once = AtOnce(8, said.append)
    np.testing.assert_allclose(score_examples(model, examples, 0, at_once)[0], expected, atol=1e-4)
    assert at_once.rows == 2 and len(said) == 2 and "from now on, 2 texts" in said[-1]
    most = 0
    with pytest.raises(ModelError, match="Not enough memory to score a single text"):
        score_examples(model, examples, pad=0)


def test_a_training_sees_texts_as_an_audit_does() -> None:
    base = load_model("evenhand/reference", device="cpu", dtype="float32")
    check = PairedTexts(
        ("I admire Deaf women.", "I met a Deaf man."), ("I admire tall women.", "I met a tall man.")
    )
    encoding = Encoding(start=tuple(base.start))
    evaluate = evaluator(
        Validation(check, ("Hello there.",)), base.tokenizer, encoding, pad_token(base.tokenizer)
    )
    found, answers = evaluate(base.model), base.log_likelihoods([*check.texts, "Hello there."])
    log_perplexity = -answers.sums / answers.counts
    assert found["difference"] == pytest.approx(np.mean(log_perplexity[:2] - log_perplexity[2:4]), abs=1e-4)
    assert found["perplexity"] == pytest.approx(np.exp(log_perplexity[4]), rel=1e-4)


def test_halves_share_no_text_and_say_what_each_alone_says() -> None:
    random = np.random.default_rng(1)
    pairs = PairedTexts(tuple(f"a{i}" for i in range(13)), tuple(f"b{i}" for i in range(13)))
    hostile = tuple(f"-{d}{pair}{noun}" for d in "xyz" for pair in range(10) for noun in "mn")
    opinions = MatchedOpinions(("x", "y", "z"), hostile, tuple(f"+{one[1:]}" for one in hostile), nouns=2)
    neutral = tuple(f"n{i}" for i in range(7))
    for check in (pairs, opinions):
        whole = HalvedValidation(check, neutral, seed=5)
        texts = [*check.texts, *neutral]
        sums, counts = -random.gamma(9, size=len(texts)), random.integers(2, 9, len(texts))
        of_text = dict(zip(texts, zip(sums, counts, strict=True), strict=True))
        found = whole.values(sums, counts)
        seen: list[set[str]] = []
        for before, (part, _) in zip(("", "kept_"), whole._halves, strict=True):
            mine = np.array([of_text[text] for text in (*part.check.texts, *part.neutral)])
            alone = part.values(mine[:, 0], mine[:, 1].astype(int))
            assert {name: found[before + name] for name in alone} == pytest.approx(alone)
            seen.append({*part.check.texts, *part.neutral})
        assert not seen[0] & seen[1] and seen[0] | seen[1] == set(texts)
        plain = Validation(check, neutral).values(sums, counts)
        assert {name: found[f"whole_{name}"] for name in plain} == plain
        for part, _ in whole._halves:  # what belongs together stays together
            names = {text[1:] for text in part.check.texts}
            if check is pairs:
                assert {"a" + name for name in names} | {"b" + name for name in names} == set(
                    part.check.texts
                )
            else:
                sentences = {name[1:-1] for name in names}
                assert len(part.check.texts) == 2 * 3 * len(sentences) * 2
    with pytest.raises(DataError, match="Only 9 validation pairs"):
        HalvedValidation(PairedTexts(("a",) * 9, ("b",) * 9), neutral)
