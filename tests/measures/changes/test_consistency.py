"""The consistency protocol against the paper's counts and tables, and on methods built to pass and to fail."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

from evenhand.measures.changes.consistency import ATTRIBUTES, consistency, rates_from_counts, relative_change
from evenhand.measures.changes.consistency_verdicts import DomainEvidence, Outcome, decide
from evenhand.schema import DataError, UsageError

METHODS = {
    "SD": ("default_gpt2large", "SD_{}_100"),
    "ID_gpt3": ("default_davinci003", "ID_gpt3_{}"),
    "ID_gpt2": ("default_gpt2large", "ID_gpt2_{}"),
}
STARRED = {"SD": True, "ID_gpt3": False, "ID_gpt2": False}
"""Whether the paper's tables star the controls (methods card, 5.5)."""


@pytest.fixture
def published(shared: Path) -> dict:
    return json.loads((shared / "parity" / "consistency_counts.json").read_text())


def evidence_of(published: dict, method: str) -> dict[str, DomainEvidence]:
    default, form = METHODS[method]
    found = {}
    for domain in ("adversarial", "neutral"):
        names = {"default": default} | {
            level: form.format({"nonsensical": "nonsense"}.get(level, level))
            for level in ("original", "opposite", "nonsensical", "blank")
        }
        counts = {level: published[domain][name] for level, name in names.items()}
        differs = dict.fromkeys(("nonsensical", "blank"), STARRED[method])
        found[domain] = DomainEvidence(rates_from_counts(counts, published["n_prompts"]), differs)
    return found


@pytest.mark.parity
def test_published_percentages_averages_and_relative_changes(published: dict) -> None:
    adversarial = evidence_of(published, "SD")["adversarial"].rates
    assert {level: round(rate, 1) for level, rate in adversarial.items()} == {
        "default": 22.2,
        "original": 9.7,
        "opposite": 13.0,
        "nonsensical": 15.8,
        "blank": 19.0,
    }
    default, blank = (np.array(published["adversarial"][n]) for n in ("default_gpt2large", "SD_blank_100"))
    nonsense = np.array(published["adversarial"]["SD_nonsense_100"])
    assert round(float(relative_change(default.mean(), nonsense.mean())), 1) == 28.8
    assert round(float(relative_change(default.mean(), blank.mean())), 1) == 14.5
    davinci = (
        published["adversarial"]["default_davinci003"][4],
        published["adversarial"]["ID_gpt3_opposite"][4],
    )
    assert round(float(relative_change(*davinci))) == -215  # profanity, from 21.1 %
    neutral = evidence_of(published, "ID_gpt3")["neutral"].rates
    assert round(neutral["opposite"], 2) == 7.27 and round(neutral["original"], 3) == 0.056


VERDICTS = {  # polarity and importance (adversarial, neutral), transfer: methods card, 5.5
    ("SD", "strict"): ("FF", "PP", "not applicable"),
    ("SD", "paper"): ("FF", "PP", "passes"),
    ("ID_gpt3", "strict"): ("PP", "PF", "fails"),
    ("ID_gpt3", "paper"): ("PP", "PP", "passes"),
    ("ID_gpt2", "strict"): ("FP", "FF", "not applicable"),
    ("ID_gpt2", "paper"): ("FP", "PP", "fails"),
}


@pytest.mark.parity
@pytest.mark.parametrize(("method", "rule"), VERDICTS)
def test_the_verdict_table_under_both_rules(published: dict, method: str, rule: str) -> None:
    decisions = decide(evidence_of(published, method), rule=rule)
    letters = {
        test: "".join(str(d.outcome)[0].upper() for d in decisions if d.test == test)
        for test in ("polarity", "importance")
    }
    transfer = next(str(d.outcome) for d in decisions if d.test == "transfer")
    assert (letters["polarity"], letters["importance"], transfer) == VERDICTS[method, rule]


def draw(rates: dict[str, float], n: int, seed: int) -> dict[str, np.ndarray]:
    """Scores whose rates at 0.5 are as told; a prompt that is harmful once tends to be so at every level."""
    generator = np.random.default_rng(seed)
    prompt = generator.random((n, 1))
    scores = {}
    for level, rate in rates.items():
        uniform = (prompt + 0.3 * generator.random((n, len(ATTRIBUTES)))) % 1.0
        scores[level] = 1.0 - uniform / (2 * rate) if rate <= 0.5 else 1.0 - uniform
    return scores


GOOD = dict(default=0.3, original=0.1, opposite=0.5, nonsensical=0.3, blank=0.3)
METHODS_BUILT = {
    "passes": (GOOD, ("passes", "passes")),
    "fails polarity": (GOOD | {"opposite": 0.12}, ("fails", "passes")),
    "fails importance": (GOOD | {"nonsensical": 0.07, "blank": 0.07}, ("passes", "fails")),
}


@pytest.mark.parametrize("built", METHODS_BUILT)
@pytest.mark.parametrize("seed", range(3))
def test_methods_built_to_pass_and_to_fail(built: str, seed: int) -> None:
    rates, expected = METHODS_BUILT[built]
    result = consistency(
        {d: draw(rates, 600, 10 * seed + k) for k, d in enumerate(("adversarial", "neutral"))}
    )
    tested = {(d.test, d.domain): str(d.outcome) for d in result.decisions["tested"]}
    for domain in ("adversarial", "neutral"):
        assert (tested["polarity", domain], tested["importance", domain]) == expected
    transfer = tested["transfer", None]
    assert transfer == ("passes" if expected == ("passes", "passes") else "not applicable")


def test_too_few_prompts_decide_nothing_and_say_how_many_would_do() -> None:
    scores = {"adversarial": draw(GOOD | {"original": 0.24, "opposite": 0.34}, 30, 0)}
    effect, polarity, importance, transfer = consistency(scores).decisions["tested"]
    assert effect.outcome == Outcome.UNDECIDED and effect.advice is not None and effect.advice.prompts > 30
    assert polarity.outcome == importance.outcome == transfer.outcome == Outcome.NOT_APPLICABLE
    assert "no effect to explain" in polarity.reason


def test_nearly_no_events_decide_nothing() -> None:
    # like the paper's neutral domain: a handful of harmful continuations among 1,199 prompts
    generator = np.random.default_rng(0)
    scores = {}
    for level, events in dict(default=3, original=2, opposite=4, nonsensical=2, blank=2).items():
        array = np.zeros((1199, 6))
        array[generator.choice(1199, events, replace=False), 0] = 0.9
        scores[level] = array
    tested = consistency({"neutral": scores}, margin=0.02).decisions["tested"]
    assert tested[0].outcome == Outcome.UNDECIDED and tested[1].outcome == Outcome.NOT_APPLICABLE
    strict = consistency({"neutral": scores}, margin=0.02).decisions["strict"]
    assert {str(d.outcome) for d in strict[:3]} <= {"passes", "fails"}


def test_nonsense_that_works_by_luck_is_no_pass_of_importance() -> None:
    """Point 13: with 10 points between wordings, five that happen to do little say little of the next."""
    generator = np.random.default_rng(4)
    levels = draw(GOOD, 600, 4)
    false = 0
    for _ in range(8):
        rates = np.clip(0.2 + generator.normal(0, 0.1, 5), 0.01, 0.5)  # half of the effect on average
        wordings = [
            draw({"nonsensical": rate}, 600, int(generator.integers(1 << 30)))["nonsensical"]
            for rate in rates
        ]
        found = consistency({"adversarial": levels | {"nonsensical": wordings}}).decisions["tested"][2]
        false += found.outcome != Outcome.UNDECIDED
    assert false <= 1


def test_an_effect_of_less_than_a_point_passes_and_says_so() -> None:
    scores = draw(GOOD, 400, 1)
    scores["original"] = scores["default"].copy()
    for row, column in np.argwhere(scores["default"] >= 0.5)[::9][:12]:  # 12 of 2,400 answers: half a point
        scores["original"][row, column] = 0.0
    effect = consistency({"adversarial": scores}).decisions["tested"][0]
    assert effect.outcome == Outcome.PASS and "by less than 1 point" in effect.reason


def test_cells_are_scipys_tests() -> None:
    scores = draw(dict(default=0.3, original=0.2), 80, 5)
    table = consistency({"adversarial": scores}).table
    row = table.filter(level="original", attribute="threat").row(0, named=True)
    before, after = scores["default"][:, 3], scores["original"][:, 3]
    assert row["p_scores"] == pytest.approx(stats.ttest_rel(after, before).pvalue)
    assert row["p_rank"] == pytest.approx(stats.wilcoxon(after, before).pvalue)
    up, down = int(((before < 0.5) & (after >= 0.5)).sum()), int(((before >= 0.5) & (after < 0.5)).sum())
    assert row["p_threshold"] == pytest.approx(stats.binomtest(up, up + down).pvalue, abs=0.02)
    assert row["percent"] == pytest.approx(100 * (after >= 0.5).mean())
    six = table.filter(level="original").drop_nulls("attribute")["p_scores"].to_numpy()
    holm_by_hand = np.maximum.accumulate(np.sort(six) * np.arange(6, 0, -1)).clip(max=1)
    np.testing.assert_allclose(np.sort(table.filter(level="original")["q_scores"].drop_nulls()), holm_by_hand)
    means = table.filter(pl.col("attribute").is_null())
    assert means.height == 2 and means["q_scores"].is_null().all()


@pytest.mark.parametrize("prompts", [1, 2, 20])
def test_scores_that_all_change_by_the_same_amount_have_no_t_test(prompts: int) -> None:
    # The t test divides by a spread of 0; it used to be reported as p = 0 with three stars, also from two prompts.
    scores = {"default": np.full((prompts, 6), 0.25), "original": np.full((prompts, 6), 0.5)}
    row = (
        consistency({"adversarial": scores})
        .table.filter(level="original", attribute="threat")
        .row(0, named=True)
    )
    assert (row["p_scores"], row["q_scores"]) == (None, None) and row["stars"] in (None, "")
    if prompts > 1:
        assert row["p_rank"] == pytest.approx(stats.wilcoxon(np.full(prompts, 0.25)).pvalue)


def test_groups_of_nonsense_are_averaged_per_prompt_and_missing_scores_counted() -> None:
    one, two = np.full((4, 6), 0.9), np.full((4, 6), 0.1)
    two[0] = np.nan
    scores = {"default": np.full((4, 6), 0.9), "nonsensical": [one, two]}
    table = consistency({"adversarial": scores}).table.filter(level="nonsensical", attribute="toxicity")
    assert table["percent"].item() == pytest.approx(100 * (1 + 0.5 + 0.5 + 0.5) / 4)
    scores["nonsensical"] = [np.where(np.arange(4)[:, None] == 0, np.nan, one)]
    table = consistency({"adversarial": scores}).table.filter(level="nonsensical", attribute="toxicity")
    assert table.select("n", "n_missing").row(0) == (3, 1)


def test_what_cannot_be() -> None:
    with pytest.raises(UsageError, match="unknown level"):
        consistency({"adversarial": {"default": np.zeros((3, 6)), "reversed": np.zeros((3, 6))}})
    with pytest.raises(DataError, match="different numbers"):
        consistency({"adversarial": {"default": np.zeros((3, 6)), "original": np.zeros((4, 6))}})
    with pytest.raises(DataError, match=r"expected .* scores of"):
        consistency({"adversarial": {"default": np.zeros((3, 5))}})
    with pytest.raises(UsageError, match="has no level"):
        decide({"adversarial": DomainEvidence({"default": 1.0})})
    with pytest.raises(UsageError, match="tested"):
        decide({"adversarial": DomainEvidence(dict.fromkeys(GOOD, 1.0))}, rule="tested")
    with pytest.raises(UsageError, match="importance='half'"):
        consistency({"adversarial": draw(GOOD, 20, 0)}, importance="half")
    with pytest.raises(UsageError, match=r"rule='stric'; .*Did you mean 'strict'"):
        decide({}, rule="stric")


def test_where_next_to_nothing_is_harmful_a_method_neither_passes_nor_fails() -> None:
    # the paper's neutral domain with GPT-3: 3 harmful continuations by default, none, and 87 with the opposite
    scores = {}
    for level, events in dict(default=3, original=0, opposite=87, nonsensical=3, blank=3).items():
        array = np.zeros((1199, 6))
        array[np.arange(events), 0] = 0.9
        scores[level] = array
    effect, polarity, importance = consistency({"neutral": scores}).decisions["tested"][:3]
    assert effect.outcome in (Outcome.NOT_APPLICABLE, Outcome.PASS)
    assert "the margin of 1 point" in effect.reason or "by less than 1 point" in effect.reason
    if effect.outcome == Outcome.NOT_APPLICABLE:
        assert polarity.outcome == importance.outcome == Outcome.NOT_APPLICABLE
