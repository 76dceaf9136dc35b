"""Rules of combination against the worked example, a loop over tokens, and what must stay untouched."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from evenhand.mitigations.steering.rules import ContrastiveRule, SelfDebiasingRule
from evenhand.models.writing.steering import CombinationRule, Steering
from evenhand.schema import UsageError


@pytest.fixture
def example(shared: Path) -> dict:
    return json.loads((shared / "parity" / "selfdebias_5token.json").read_text())


def log_probs(logits: list) -> torch.Tensor:
    return torch.tensor(logits, dtype=torch.float64).log_softmax(-1)


CASES = {
    "lambda_0": (0.0, 0.01, (0, 1)),
    "lambda_1": (1.0, 0.01, (0, 1)),
    "lambda_10": (10.0, 0.01, (0, 1)),
    "lambda_50": (50.0, 0.01, (0, 1)),
    "lambda_100": (100.0, 0.01, (0, 1)),
    "lambda_10_prefix0_only": (10.0, 0.01, (0,)),
    "lambda_10_prefix1_only": (10.0, 0.01, (1,)),
    "lambda_50_eps_0.1": (50.0, 0.1, (0, 1)),
}


@pytest.mark.parity
@pytest.mark.parametrize("case", CASES)
def test_the_worked_example_of_five_tokens(example: dict, case: str) -> None:
    assert set(CASES) == set(example["cases"])
    decay, floor, prefixes = CASES[case]
    regular = log_probs([example["regular_logits"]])
    steered = log_probs([[example["biased_logits"][i]] for i in prefixes])
    got = SelfDebiasingRule(decay, floor).combine(regular, steered).exp()[0].numpy()
    key = next(name for name in ("p_sd", "p_debiased", "result") if name in example["cases"][case])
    np.testing.assert_allclose(got, example["cases"][case][key], atol=1e-9, rtol=0)


@pytest.mark.parity
def test_what_wrong_implementations_give_is_not_what_we_give(example: dict) -> None:
    regular = log_probs([example["regular_logits"]])
    steered = log_probs([[row] for row in example["biased_logits"]])
    ours = SelfDebiasingRule(1.0).combine(regular, steered).exp()[0].numpy()
    assert len(example["wrong_lambda_1"]) == 3
    for wrong in example["wrong_lambda_1"].values():
        assert np.abs(ours - np.array(wrong)).max() > 1e-3
    # and they are wrong in the way their names say
    p, q = regular.exp(), steered.exp()
    mean = p * torch.exp(-(q.mean(0) - p).clamp(min=0)).clamp(min=0.01)
    np.testing.assert_allclose(
        (mean / mean.sum())[0].numpy(), example["wrong_lambda_1"]["mean_over_prefixes"], atol=1e-9
    )


def by_the_paper(p: list[float], contexts: list[list[float]], decay: float, floor: float) -> list[float]:
    weights = []
    for token, regular in enumerate(p):
        worst = max(q[token] for q in contexts)
        difference = regular - worst
        weights.append(regular * (1.0 if difference >= 0 else max(floor, math.exp(decay * difference))))
    return [weight / sum(weights) for weight in weights]


def test_rows_are_the_papers_formula_token_by_token() -> None:
    generator = torch.Generator().manual_seed(3)
    regular = torch.randn(7, 11, generator=generator, dtype=torch.float64).log_softmax(-1)
    steered = torch.randn(4, 7, 11, generator=generator, dtype=torch.float64).log_softmax(-1)
    got = SelfDebiasingRule(20.0, 0.05).combine(regular, steered).exp()
    for row in range(7):
        expected = by_the_paper(
            regular[row].exp().tolist(), [q[row].exp().tolist() for q in steered], 20.0, 0.05
        )
        np.testing.assert_allclose(got[row].numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("rule", [SelfDebiasingRule(50.0), ContrastiveRule(2.0, 0.05)])
def test_forbidden_tokens_stay_forbidden_and_rows_sum_to_one(rule: CombinationRule) -> None:
    regular = torch.tensor([[0.0, 1.0, -torch.inf, 2.0]]).log_softmax(-1)
    steered = torch.tensor([[[3.0, 1.0, -torch.inf, 2.0]], [[0.0, 0.0, -torch.inf, 9.0]]]).log_softmax(-1)
    got = rule.combine(regular, steered)
    assert got[0, 2] == -torch.inf
    assert torch.isfinite(got[0, [0, 1, 3]]).all()
    assert got.exp().sum().item() == pytest.approx(1.0, abs=1e-6)


def test_the_same_context_changes_nothing() -> None:
    regular = torch.randn(3, 9, generator=torch.Generator().manual_seed(0)).log_softmax(-1)
    for rule in (SelfDebiasingRule(50.0), ContrastiveRule(1.0, plausible=0.0)):
        torch.testing.assert_close(rule.combine(regular, regular[None]), regular)


def test_the_contrastive_rule_is_its_formula() -> None:
    regular = torch.tensor([[0.5, 0.3, 0.15, 0.05]], dtype=torch.float64).log()
    steered = torch.tensor([[[0.7, 0.1, 0.1, 0.1]], [[0.1, 0.1, 0.1, 0.7]]], dtype=torch.float64).log()
    scores = regular + 1.5 * (regular - (steered[0] + steered[1]) / 2)
    weights = scores.exp()
    weights[0, 3] = 0.0  # 0.05 is less than 0.2 of 0.5
    torch.testing.assert_close(
        ContrastiveRule(1.5, plausible=0.2).combine(regular, steered).exp(), weights / weights.sum()
    )


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: SelfDebiasingRule(decay=-1.0), "decay must be 0 or more .*got -1"),
        (lambda: SelfDebiasingRule(floor=0.0), "floor must be above 0 .*got 0"),
        (lambda: ContrastiveRule(strength=-1.0), "strength must be 0 or more, got -1"),
        (lambda: ContrastiveRule(plausible=2.0), "plausible must be a share from 0 to 1, got 2"),
        (lambda: Steering((), SelfDebiasingRule()), "The list of steering contexts is empty"),
        (lambda: Steering(("a", ""), SelfDebiasingRule()), "Context 2 of 2 is empty"),
    ],
)
def test_values_that_cannot_be(make, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        make()
