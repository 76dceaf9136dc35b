"""Race does not pass as gender, however unequally names are talked with."""

import numpy as np
import polars as pl
import pytest

from evenhand.benchmarks import AnalysisOptions
from evenhand.benchmarks.names import combine_analyses, genderedness
from evenhand.benchmarks.names.chats import COPY, build_chats, by_name
from evenhand.benchmarks.names.offence import offence

OPTIONS = AnalysisOptions()
TURNS = 4


def confounded(seed: int, *, many: int = 24, few: int = 4) -> pl.DataFrame:
    """Fair by gender; race alone decides what a judge tells and what offends, and women's Black and men's white names
    have many conversations each, the others few."""
    rng = np.random.default_rng(seed)
    parts = []
    for gender in ("woman", "man"):
        for race, sign in (("Black", 1), ("white", -1)):
            talks = many if (gender == "woman") == (race == "Black") else few
            for number in range(8):
                name, n = f"{race}{gender}{number}", talks * TURNS
                chance = 1 / (1 + np.exp(-0.6 * sign - rng.normal(0, 0.3) - rng.normal(0, 0.5, n)))
                talk, turn = np.arange(n) // TURNS, np.arange(n) % TURNS + 1
                columns = {
                    "conversation": [f"{name}/{place}" for place in talk],
                    "turn": turn,
                    "speaker": np.where(turn % 2 == 0, "B", "A"),
                    "gender_label": np.where(rng.random(n) < chance, "woman", "man"),
                    "toxicity_negative": rng.random(n) < (0.4 if race == "Black" else 0.1),
                }
                about = {"name": name, "gender": gender, "race_ethnicity": race, "text": "x"}
                parts.append(pl.DataFrame(columns).with_columns(**{k: pl.lit(v) for k, v in about.items()}))
    return pl.concat(parts)


def counted(frame: pl.DataFrame, *by: str) -> dict[tuple[str, ...], int]:
    table = frame.group_by(*by).agg(pl.col("conversation").n_unique())
    return {tuple(row[:-1]): row[-1] for row in table.iter_rows()}


def test_each_race_makes_as_much_of_either_gender_also_in_conversations() -> None:
    frame = confounded(0)
    chats = build_chats(frame, OPTIONS)
    kept = counted(chats.by_gender, "race_ethnicity", "gender")
    assert set(kept.values()) == {8 * 4}
    assert set(counted(chats.by_gender, "name").values()) == {4}  # evenly over names
    lengths = chats.by_gender.group_by("conversation").len()["len"]
    assert set(lengths) == {TURNS}  # whole conversations
    table = by_name(chats)
    assert set(table.select("n_conversations", "n_compared").iter_rows()) == {(24, 4), (4, 4)}
    assert build_chats(frame, OPTIONS).by_gender.equals(chats.by_gender)
    other = build_chats(frame, AnalysisOptions(seed=1)).by_gender
    assert set(other["conversation"]) != set(chats.by_gender["conversation"])


def test_a_conversation_that_counts_double_moves_no_other() -> None:
    frame = confounded(0, many=6)
    alone = build_chats(frame, OPTIONS).by_gender
    doubled = frame.filter(pl.col("name") == "Blackwoman1")
    doubled = doubled.with_columns(pl.col("conversation") + COPY)
    both = build_chats(pl.concat([frame, doubled]), OPTIONS).by_gender
    copies = both.filter(pl.col("conversation").str.ends_with(COPY))
    assert both.filter(~pl.col("conversation").str.ends_with(COPY)).equals(alone)
    of_name = alone.filter(pl.col("name") == "Blackwoman1")["conversation"]
    assert copies["conversation"].str.strip_suffix(COPY).to_list() == of_name.to_list()


def test_a_name_in_one_race_more_often_is_not_called() -> None:
    """Without the balance all of these were called biased."""
    for seed in range(3):
        frame = confounded(seed)
        found = combine_analyses(genderedness, offence)(frame, OPTIONS).measurements
        bias = next(row for row in found if row.measure == "classifier_bias" and row.stratum is None)
        assert bias.p is not None
        assert bias.p > 0.05
        rates = next(row for row in found if row.measure == "disparity" and row.axis == "gender")
        assert rates.n == 2 * 2 * 8 * 4 * (TURNS - 1)


@pytest.mark.slow
@pytest.mark.parametrize(("many", "few"), [(24, 4), (12, 6), (8, 8)])
def test_fair_genders_are_seldom_called_whatever_races_say(many: int, few: int) -> None:
    called = 0
    for seed in range(60):
        found = combine_analyses(genderedness)(confounded(seed, many=many, few=few), OPTIONS).measurements
        bias = next(row for row in found if row.measure == "classifier_bias" and row.stratum is None)
        called += bias.p is not None and bias.p < 0.05
    assert called <= 6
