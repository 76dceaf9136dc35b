"""redditbias end to end: the published number by a plain loop over a tiny model, and every kind of model."""

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import torch
from scipy.stats import ttest_rel

from evenhand.benchmarks import AnalysisOptions, judge_responses, load_benchmark
from evenhand.benchmarks.analysis import whole_pairs
from evenhand.models.puppets import load_puppet
from evenhand.prompts.prompt_set import PromptSet
from evenhand.schema import Card
from tests.benchmarks.test_official_rules import drawn_words, tiny_gpt2

REDDITBIAS, LMP = load_benchmark("redditbias"), load_benchmark("redditbias-lmp")
GROUPS = {"race": ("nurses", "cooks"), "gender": ("elves", "giants")}


def drawn_pairs(n: int = 40, seed: int = 0) -> PromptSet:
    rng = np.random.default_rng(seed)
    words, rows = drawn_words(rng, 80), []
    for axis, groups in GROUPS.items():
        for pair in range(n):
            sentence = [str(word) for word in rng.choice(words, rng.integers(3, 12))]
            place = int(rng.integers(len(sentence)))
            sides = [" ".join([*sentence[:place], group, *sentence[place:]]) for group in groups]
            for role, text, group in zip(("more", "less"), sides, groups, strict=True):
                rows.append((f"{axis}/{pair}-{role}", text, f"{axis}/{pair}", role, axis, group, *sides))
    names = ["prompt_id", "text", "pair_id", "role", "axis", "group", "sent_more", "sent_less"]
    return PromptSet(pl.DataFrame(rows, names, orient="row"), Card("drawn", "Drawn pairs."))


def plain_perplexity(model, text: str, longest: int | None = None) -> float:
    """As the published program: no start token, labels are the inputs, the mean over tokens 2 to T."""
    ids = torch.tensor([model.tokenizer(text, add_special_tokens=False)["input_ids"][:longest]])
    with torch.no_grad():
        logits = model.model(input_ids=ids).logits[0].double()
    losses = [-torch.log_softmax(logits[at], dim=-1)[ids[0, at + 1]].item() for at in range(ids.shape[1] - 1)]
    return math.exp(sum(losses) / len(losses))


def test_the_published_number_is_that_of_a_plain_loop_and_the_corrected_one_reads_the_start_token(put):
    prompts = drawn_pairs()
    model = tiny_gpt2(prompts.frame["text"].to_list(), seed=3)
    answered = put(REDDITBIAS, prompts, model)
    table = {row["axis"]: row for row in answered.details["published"].to_dicts()}
    t = answered.estimates("redditbias_lmb_published")
    for axis in GROUPS:
        part = prompts.frame.filter(axis=axis)
        sides = [
            np.array([plain_perplexity(model, text) for text in part.filter(role=role)["text"]])
            for role in ("more", "less")
        ]
        expected = ttest_rel(*sides)
        assert t[axis] == pytest.approx(expected.statistic, rel=1e-4)
        assert table[axis]["p"] == pytest.approx(expected.pvalue, rel=1e-3)
        tests = answered.details["published_tests"].filter(axis=axis).row(0, named=True)
        assert (tests["t"], tests["p"]) == (table[axis]["t"], table[axis]["p"])
        assert (table[axis]["mean_more"], table[axis]["mean_less"]) == pytest.approx(
            [side.mean() for side in sides], rel=1e-4
        )
    # the corrected one is of whole sentences behind the start token, by logarithms
    start = model.tokenizer.bos_token
    nats = {
        row["prompt_id"]: math.log(plain_perplexity(model, start + row["text"]))
        for row in prompts.frame.to_dicts()
    }
    difference = [nats[f"race/{pair}-more"] - nats[f"race/{pair}-less"] for pair in range(40)]
    phrases = answered.details["bias_types"].filter(axis="race")
    assert phrases["n_units"].item() == 40  # drawn phrases share few words
    assert answered.estimates("redditbias_lmb")["race"] == pytest.approx(np.mean(difference), rel=1e-4)
    assert answered.measurements.filter(measure="redditbias_lmb_published")["p"].null_count() == 2


def test_a_model_that_likes_one_group_is_found_and_named(put, opinion, word_model):
    likes = opinion("likes elves", lambda text: -2.0 if "elves" in text else -2.5)
    answered = put(REDDITBIAS, drawn_pairs(), word_model(likes))
    assert answered.verdicts("redditbias_lmb") == {"gender": "biased", "race": "not detected"}
    gender, race, names, rest = answered.headlines["sentence"].to_list()
    size = "perplexity 39% lower (95% CI 25 to 51), in 100% of phrases."
    assert gender == f'Gender — biased. Stereotypes are more likely for "elves" than for "giants": {size}'
    assert race.startswith("Race — no bias detected")
    assert names.startswith("The groups' names are part of the sentences") and "terms" in answered.details
    assert rest.startswith("Not asked: orientation, religion1 and religion2. --axis left them out, or")


def test_what_only_describes_has_no_verdict_where_there_are_too_few_pairs(put, opinion, word_model):
    likes = opinion("likes elves", lambda text: -2.0 if "elves" in text else -2.5)
    answered = put(REDDITBIAS, drawn_pairs(1), word_model(likes))
    assert set(answered.findings["measure"]) == {"redditbias_lmb"}
    assert set(answered.findings["verdict"]) == {"not measurable"}


@pytest.mark.parametrize(
    ("architecture", "measure"),
    [("masked", "redditbias_pll"), ("encoder-decoder", "redditbias_lmb"), ("causal", "redditbias_lmb")],
)
def test_what_each_kind_of_model_gets(put, opinion, word_model, architecture, measure):
    likes = opinion("likes giants", lambda text: -1.0 if "giants" in text else -1.6, architecture)
    answered = put(REDDITBIAS, drawn_pairs(), word_model(likes, architecture))
    assert answered.estimates(measure)["gender"] == pytest.approx(0.6, abs=1e-6)
    assert answered.verdicts(measure)["gender"] == "biased"
    measured = set(answered.measurements["measure"])
    assert (
        ("redditbias_lmb_published" in measured)
        == (architecture == "causal")
        == ("published" in answered.details)
    )


def test_a_causal_model_that_cannot_read_the_start_apart_has_no_published_number(put, opinion, word_model):
    served = word_model(opinion("served", lambda text: -2.0))
    served.reads_start_apart = False
    answered = put(REDDITBIAS, drawn_pairs(), served)
    assert "redditbias_lmb_published" not in set(answered.measurements["measure"])
    assert answered.responses.height == 160


def test_own_scores_get_the_published_number_of_the_perplexities_they_give():
    rng = np.random.default_rng(4)
    prompts = drawn_pairs().frame.drop("prompt_id")
    frame = prompts.with_columns(
        perplexity=pl.Series(np.exp(rng.normal(5, 1, prompts.height))), error=pl.lit(None)
    )
    judged = judge_responses(REDDITBIAS, frame, AnalysisOptions())
    race = frame.filter(axis="race").sort("pair_id", maintain_order=True)
    sides = [race.filter(role=role)["perplexity"].to_numpy() for role in ("more", "less")]
    found = judged.measurements.filter(measure="redditbias_lmb_published", axis="race")["estimate"].item()
    assert found == pytest.approx(ttest_rel(*sides).statistic)
    own_axes = judge_responses(
        REDDITBIAS, frame.with_columns(axis=pl.lit("jobs")), AnalysisOptions()
    ).headlines
    assert own_axes.height == 1, "nothing is said of published types where the pairs are somebody's own"


def test_a_part_holds_whole_pairs_of_every_type_and_a_plan_says_what_it_finds():
    part = whole_pairs(drawn_pairs(), 31, seed=1).frame
    assert part.height == 30 and part.group_by("pair_id").len()["len"].unique().to_list() == [2]
    options = AnalysisOptions(n_axes=5)
    planned = REDDITBIAS.minimum_detectable(part, options)
    whole = REDDITBIAS.minimum_detectable(drawn_pairs().frame, options)
    assert planned["axis"].to_list() == ["gender", "race"] and "nats per token" in planned["unit"][0]
    assert planned["minimum_detectable"].min() > whole["minimum_detectable"].max() > 0


def test_what_changed_between_two_models_is_told_pair_by_pair(put, opinion, word_model):
    models = [opinion(name, lambda text, of=of: -2.0 - 0.01 * len(text) - of * ("elves" in text))
              for name, of in (("first", 0.3), ("second", 0.0))]  # fmt: skip
    before, after = (put(REDDITBIAS, drawn_pairs(), word_model(model)).responses for model in models)
    found = REDDITBIAS.changes(before, after, AnalysisOptions(n_axes=5))
    rows = {row.axis: row for row in found if row.measure == "redditbias_lmb_change"}
    described = {
        (row.measure, row.axis): row for row in found if row.axis not in rows or row is not rows[row.axis]
    }
    assert {name for name, _ in described} == {"redditbias_effect_size_change", "redditbias_likelier_change"}
    assert all(row.p is None for row in described.values())
    assert rows["gender"].estimate == pytest.approx(-0.3, abs=1e-5)
    assert rows["gender"].p == pytest.approx((1 - 0.3 / 2) ** 40, rel=1e-3)
    assert rows["race"].estimate == pytest.approx(0.0, abs=1e-9) and rows["race"].p == 1.0


def test_a_puppet_without_opinions_is_not_called_biased(put):
    answered = put(REDDITBIAS, drawn_pairs(), load_puppet("uniform"))
    assert set(answered.verdicts("redditbias_lmb").values()) == {"not detected"}


def test_perplexity_of_lines_as_published_and_over_tokens(put):
    rng = np.random.default_rng(5)
    words = drawn_words(rng, 60)
    lines = [" ".join(rng.choice(words, n)) for n in [*rng.integers(2, 9, 40), 60, 70]]
    prompts = PromptSet(
        pl.DataFrame({"prompt_id": [str(i) for i in range(len(lines))], "text": lines}), Card("l", "Lines.")
    )
    model = tiny_gpt2(lines, seed=6)
    assert max(len(model.tokenizer(line)["input_ids"]) for line in lines) > 36
    found = put(LMP, prompts, model).measurements
    published = [math.log(plain_perplexity(model, line, longest=36)) for line in lines]
    start = model.tokenizer.bos_token
    counts = [len(model.tokenizer(line, add_special_tokens=False)["input_ids"]) for line in lines]
    nats = [
        n * math.log(plain_perplexity(model, start + line)) for n, line in zip(counts, lines, strict=True)
    ]
    by_name = {row["measure"]: row for row in found.to_dicts()}
    expected = {
        "redditbias_lmp_published": math.exp(np.mean(published)),
        "redditbias_lmp": math.exp(sum(nats) / sum(counts)),
    }
    for name, value in expected.items():
        row = by_name[name]
        assert row["estimate"] == pytest.approx(value, rel=1e-4) and row["low"] < value < row["high"]
        assert (row["n"], row["n_missing"]) == (42, 0)


@pytest.mark.parametrize("name", ["redditbias", "redditbias-valid"])
def test_both_parts_are_one_benchmark(name):
    benchmark = load_benchmark(name)
    same = replace(benchmark, name="", card=REDDITBIAS.card, build=REDDITBIAS.build)
    assert same == replace(REDDITBIAS, name="") and benchmark.card.name == name
