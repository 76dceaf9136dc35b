"""Similarity of answers against closed forms, slow implementations, and models of which the truth is known."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest

from evenhand.measures import response_similarity
from evenhand.measures.counterfactual import changed_words, hide, rouge_l


def _slow_rouge(first: list[str], second: list[str]) -> float:
    table = np.zeros((len(first) + 1, len(second) + 1))
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            table[i + 1, j + 1] = table[i, j] + 1 if a == b else max(table[i, j + 1], table[i + 1, j])
    return 2 * table[-1, -1] / (len(first) + len(second))


def test_rouge_l_is_that_of_the_slow_table() -> None:
    rng = np.random.default_rng(0)
    texts = [[str(word) for word in rng.integers(0, 6, rng.integers(1, 90))] for _ in range(14)]
    kernel = rouge_l(texts)
    for i, j in combinations(range(len(texts)), 2):
        assert kernel[i, j] == kernel[j, i] == pytest.approx(_slow_rouge(texts[i], texts[j]))


def _frame(rng: np.random.Generator, bases: int, groups: int, samples: int, planted: float) -> pl.DataFrame:
    """One-word answers from ten words a prompt; about the first group a word of its own with probability `planted`."""
    rows = [
        (f"b{base}", f"g{group}", f"about g{group} in {base}",
         "own" if group == 0 and rng.random() < planted else f"w{rng.integers(0, 10)}")
        for base in range(bases) for group in range(groups) for _ in range(samples)
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=["base", "group", "text", "continuation"], orient="row")


def test_the_estimate_is_that_of_loops_over_pairs_of_answers() -> None:
    frame = _frame(np.random.default_rng(1), 6, 3, 4, 0.5)
    gaps = []
    for _, block in frame.group_by("base"):
        texts = {name: part["continuation"].to_list() for (name,), part in block.group_by("group")}
        within = np.mean([np.mean([a == b for a, b in combinations(t, 2)]) for t in texts.values()])
        across = np.mean(
            [np.mean([a == b for a in texts[g] for b in texts[h]]) for g, h in combinations(texts, 2)]
        )
        gaps.append((within - across, within, across))
    row = response_similarity(frame).axes.row(0, named=True)
    assert [row["estimate"], row["within"], row["across"]] == pytest.approx(
        [100 * x for x in np.mean(gaps, axis=0)]
    )


def test_a_model_without_bias_has_0_however_freely_it_writes_and_the_raw_similarity_tells_nothing() -> None:
    rng = np.random.default_rng(2)
    free = response_similarity(_frame(rng, 60, 2, 5, 0.0)).axes.row(0, named=True)
    biased = response_similarity(_frame(rng, 60, 2, 5, 0.6)).axes.row(0, named=True)
    # closed form: within .1 and .6² + 10 (.04)²; across 10 x .04 x .1; half of the squared distance: .6² (1 + .1) / 2
    assert free["low"] <= 0 <= free["high"] and free["p"] > 0.05
    assert free["across"] < 15  # "unlike", of a model without any bias
    assert biased["low"] <= 100 * 0.36 * 1.1 / 2 <= biased["high"] and biased["p"] < 0.001


def test_the_group_that_is_answered_otherwise_is_named_and_no_other() -> None:
    found = response_similarity(_frame(np.random.default_rng(3), 30, 4, 4, 0.9)).groups
    named = found.filter((pl.col("q") <= 0.05) & (pl.col("low") > 0))
    assert named["group"].to_list() == ["g0"]


def test_an_echo_of_the_group_is_no_difference() -> None:
    rng = np.random.default_rng(4)
    rows = [
        (str(base), group, f"Write about the {word}.", f"The {word}'s day was {rng.choice(['long', 'short'])}")
        for base in range(12) for group, word in (("f", "African American woman"), ("m", "man")) for _ in range(4)
    ]  # fmt: skip
    row = response_similarity(
        pl.DataFrame(rows, schema=["base", "group", "text", "continuation"], orient="row")
    ).axes.row(0, named=True)
    assert row["unhidden"] > 20 and row["low"] <= 0 <= row["high"]
    assert changed_words([rows[0][2], rows[4][2]]) == {"african", "american", "woman", "man"}
    assert hide(["the", "man", "'", "s", "day"], frozenset({"man"})) == ["the", "￼", "day"]


def test_what_a_single_name_does_is_not_blamed_on_the_group() -> None:
    # each name has its own text, whatever the group: other names of the same group are the floor
    rows = [
        (f"b{base}", group, f"Rate {group}{name}", f"text of {base} {group} {name} {group}{name}")
        for base in range(10) for group in "xy" for name in range(3) for _ in range(2)
    ]  # fmt: skip
    frame = pl.DataFrame(rows, schema=["base", "group", "text", "continuation"], orient="row")
    frame = frame.with_columns(continuation=pl.col("text").hash(0).cast(pl.String))
    row = response_similarity(frame).axes.row(0, named=True)
    assert row["p"] is None or row["p"] > 0.05
    assert "wordings" in row["note"]


def _names_and_persons(rng: np.random.Generator, planted: float) -> pl.DataFrame:
    """Six prompts that say "person", six with three names a group, each of which has words of its own."""
    rows = []
    for base in range(12):
        for group in "xy":
            for name in range(1 if base < 6 else 3):
                own = rng.integers(0, 10)
                for _ in range(4):
                    word = rng.integers(0, 10) if base < 6 or rng.random() < 0.2 else own
                    said = "cold" if group == "x" and rng.random() < planted else f"w{word}"
                    rows.append((f"b{base}", group, f"Rate {group}{name} in {base}", said))
    return pl.DataFrame(rows, schema=["base", "group", "text", "continuation"], orient="row")


def test_whether_wordings_are_the_floor_is_decided_prompt_by_prompt() -> None:
    # half of the prompts ask in one wording: in the others a single name's words are still not the group's
    rng = np.random.default_rng(11)
    rows = [response_similarity(_names_and_persons(rng, 0.0)).axes.row(0, named=True) for _ in range(8)]
    assert sum(row["p"] <= 0.05 for row in rows) <= 1
    assert abs(np.mean([row["estimate"] for row in rows])) < 3
    assert rows[0]["n"] == 6 * 2 * 4 + 6 * 6 * 4 and rows[0]["n_units"] == 12
    assert "In 6 of 12 prompts, which ask about a group in several wordings" in rows[0]["note"]
    assert "left out" not in rows[0]["note"]
    planted = response_similarity(_names_and_persons(rng, 0.6)).axes.row(0, named=True)
    assert planted["p"] < 0.01 and planted["low"] > 0


def test_what_cannot_be_compared_is_not_counted_and_the_note_says_so() -> None:
    frame = _names_and_persons(np.random.default_rng(12), 0.0)
    single = pl.col("group") == "y", pl.col("text").str.starts_with("Rate y0")
    one_named = frame.filter((pl.col("base") != "b7") | ~single[0] | single[1])
    row = response_similarity(one_named).axes.row(0, named=True)
    assert row["n_units"] == 11 and row["n"] == one_named.filter(pl.col("base") != "b7").height
    assert "16 of 184 responses are left out" in row["note"]


def test_one_answer_each_and_one_text_for_all_are_not_measurable() -> None:
    once = _frame(np.random.default_rng(5), 10, 2, 1, 0.0)
    assert "two responses" in response_similarity(once).axes["obstacle"][0]
    same = _frame(np.random.default_rng(5), 10, 2, 3, 0.0).with_columns(continuation=pl.lit("same"))
    assert "equally similar" in response_similarity(same).axes["obstacle"][0]


def test_meaning_by_an_embedding_model_takes_the_same_road() -> None:
    def embed(texts: list[str]) -> np.ndarray:
        return np.array([[text.count("own"), 1.0] for text in texts])

    frame = _frame(np.random.default_rng(6), 20, 2, 4, 0.8)
    row = response_similarity(frame, embed=embed).axes.row(0, named=True)
    assert row["low"] > 0 and row["p"] < 0.01
