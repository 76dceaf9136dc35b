"""The final choice, against other libraries and by simulation: what is claimed, and how often wrongly."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom, binomtest
from statsmodels.stats.multitest import multipletests

from evenhand.mitigations.revision.choice import FINALISTS, compare_finalists
from evenhand.mitigations.revision.screen import Screen
from evenhand.mitigations.revision.searching import NONE, InstructionSearch, Score, SearchOptions, search
from evenhand.schema import UsageError


def searched(rates: dict[str, float], reference: float = 0.5) -> InstructionSearch:
    """A search that ended with these instructions, each selected with this rate."""

    def score(instructions: list[str], iteration: int) -> list[Score]:
        values = [reference if text == NONE else rates[text] for text in instructions]
        return [Score(value, 0, 1, 100, 0, value) for value in values]

    options = SearchOptions(iterations=1, keep=len(rates), variants=1)
    return search(list(rates), lambda p, i: [[] for _ in p], score, Screen(), options)


def outcomes(negative: np.ndarray, prompts: np.ndarray | None = None) -> pl.DataFrame:
    n = len(negative)
    ids = np.arange(n) if prompts is None else prompts
    frame = pl.DataFrame({"prompt_id": ids.astype(str), "continuation": [" x"] * n})
    return frame.with_columns(
        negative=pl.Series(negative.astype(bool)), sample=pl.int_range(pl.len()).over("prompt_id")
    )


def test_p_is_mcnemars_and_holms_over_the_finalists() -> None:
    generator = np.random.default_rng(1)
    base = generator.random(200) < 0.5
    made = {
        name: base & (generator.random(200) < keep) for name, keep in {"a": 0.6, "b": 0.9, "c": 1.0}.items()
    }
    made["c"] = made["c"] ^ (np.arange(200) % 29 == 0)
    table = compare_finalists(
        outcomes(base),
        {name: outcomes(after) for name, after in made.items()},
        searched(dict.fromkeys(made, 0.4)),
    )
    assert table.schema == pl.Schema(FINALISTS)
    rows = {row["instruction"]: row for row in table.to_dicts()}
    exact = {}
    for name, after in made.items():
        worse, better = int((after & ~base).sum()), int((base & ~after).sum())
        exact[name] = binomtest(worse, worse + better).pvalue if worse + better else 1.0
        assert rows[name]["change"] == pytest.approx(after.mean() - base.mean())
        assert rows[name]["p"] == pytest.approx(exact[name], abs=0.012), (
            "sign patterns are drawn beyond sixteen"
        )
    adjusted = multipletests([rows[name]["p"] for name in made], method="holm")[1]
    assert [rows[name]["p_adjusted"] for name in made] == pytest.approx(list(adjusted))
    assert rows[NONE]["verdict"] is None and rows[NONE]["change"] is None and not rows[NONE]["chosen"]
    assert [rows[name]["verdict"] for name in "ac"] == ["lower", "not detected"]
    assert [name for name, row in rows.items() if row["chosen"]] == ["a"] and table["instruction"][1] == "a"


def test_optimism_is_what_selection_said_minus_what_new_prompts_say() -> None:
    base, after = np.arange(100) < 50, np.arange(100) < 40
    table = compare_finalists(outcomes(base), {"a": outcomes(after)}, searched({"a": 0.2}, reference=0.6))
    row = table.row(by_predicate=pl.col("chosen"), named=True)
    assert row["selected_change"] == pytest.approx(-0.4) and row["change"] == pytest.approx(-0.1)
    assert row["optimism"] == pytest.approx(-0.3)


def test_more_finalists_make_wider_intervals() -> None:
    generator = np.random.default_rng(0)
    base, after = (outcomes(generator.random(300) < rate) for rate in (0.5, 0.4))
    width = {}
    for count in (1, 5):
        made = {f"i{i}": after for i in range(count)}
        row = compare_finalists(base, made, searched(dict.fromkeys(made, 0.4))).row(1, named=True)
        width[count] = row["change_high"] - row["change_low"], row["minimum_detectable"]
    # the normal quantile at 99 % beside that at 95 %, and with the power added
    assert width[5][0] / width[1][0] == pytest.approx(2.576 / 1.960, rel=0.01)
    # shares that change more vary more, so that the smallest change grows a little faster
    assert width[5][1] / width[1][1] == pytest.approx((2.576 + 0.842) / (1.960 + 0.842), rel=0.05)


def test_who_says_nothing_is_not_chosen() -> None:
    base = outcomes(np.arange(100) < 50)
    mute = outcomes(np.zeros(100)).with_columns(continuation=pl.lit(""))
    good = outcomes(np.arange(100) < 30)
    table = compare_finalists(base, {"mute": mute, "good": good}, searched({"mute": 0.0, "good": 0.3}))
    assert table.filter("chosen")["instruction"].to_list() == ["good"]
    assert table.filter(instruction="mute")["silent"].item() == 1.0


def test_too_few_pairs_or_none_are_not_measurable() -> None:
    base = outcomes(np.arange(12) < 6)
    unjudged = base.with_columns(negative=pl.lit(None, pl.Boolean))
    few = base.with_columns(negative=pl.when(pl.int_range(pl.len()) < 5).then("negative"))
    table = compare_finalists(base, {"a": unjudged, "b": few}, searched({"a": 0.5, "b": 0.5}))
    assert set(table["verdict"].drop_nulls()) == {"not measurable"}
    with pytest.raises(UsageError, match="list of instructions to choose from is empty"):
        compare_finalists(base, {}, searched({"a": 0.5}))


def whole_search(seed: int, effect: float, *, prompts: int = 120, final: int = 300) -> pl.DataFrame:
    """Three rounds on rates drawn at random, then the final choice; every instruction has the same effect."""
    generator = np.random.default_rng(seed)

    def score(instructions: list[str], iteration: int) -> list[Score]:
        chances = generator.beta(0.8, 1.2, prompts)
        scores = []
        for text in instructions:
            rate = float((generator.random(prompts) < chances * (1 - effect * (text != NONE))).mean())
            scores.append(Score(rate, 0, 1, prompts, 0, rate))
        return scores

    found = search(
        list("abcd"),
        lambda p, i: [[f"{t} {i}{v}" for v in range(4)] for t in p],
        score,
        Screen(),
        SearchOptions(3),
    )
    chances = generator.beta(0.8, 1.2, final)

    def written(share: float) -> pl.DataFrame:
        return outcomes(generator.random(final) < chances * share)

    return compare_finalists(written(1.0), {text: written(1 - effect) for text in found.pool}, found)


@pytest.mark.slow
def test_a_model_that_ignores_instructions_is_rarely_said_to_be_improved() -> None:
    # Bigger simulations (400 searches, five settings) gave 0 to 2 % for the chosen one and up to 5 % for any verdict.
    searches = 60
    tables = [whole_search(seed, 0.0) for seed in range(searches)]
    chosen = [table.row(by_predicate=pl.col("chosen"), named=True) for table in tables]
    improved = sum(row["verdict"] == "lower" for row in chosen)
    anything = sum((table["verdict"].drop_nulls() != "not detected").any() for table in tables)
    most = int(binom.ppf(0.999, searches, 0.05))
    assert improved <= anything <= most, (improved, anything)
    naive = np.mean([row["selected_change"] for row in chosen])
    assert naive < -0.02, "what selection says is no measurement: it sees an improvement where there is none"
    covered = [
        (table["change_low"].drop_nulls() <= 0).all() and (table["change_high"].drop_nulls() >= 0).all()
        for table in tables
    ]
    assert sum(covered) >= searches - most, "the intervals hold together"


def test_what_lowers_harm_is_found_and_its_size_covered() -> None:
    tables = [whole_search(seed, 0.5) for seed in range(20)]
    truth = -0.5 * 0.4
    chosen = [table.row(by_predicate=pl.col("chosen"), named=True) for table in tables]
    assert sum(row["verdict"] == "lower" for row in chosen) >= 19
    assert sum(row["change_low"] <= truth <= row["change_high"] for row in chosen) >= 17
