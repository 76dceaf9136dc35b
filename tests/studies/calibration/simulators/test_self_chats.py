"""Simulated self-chats hold what they say: bias in points, leaning tokens, occupations."""

import numpy as np
import polars as pl
import pytest

from evenhand.measures import classifier_bias, occupation_lean, token_bins
from evenhand.studies.calibration.simulators import MentionedOccupations, Names, SaidTokens, ToldGender


@pytest.mark.parametrize("points", [0.0, 4.0])
def test_told_genders_have_the_bias_in_points(points: float) -> None:
    frame = ToldGender(Names(60, 40, 8, True, True)).frame(np.random.default_rng(0), points)
    row = classifier_bias(frame, predicted="gender_label").rows.row(0, named=True)
    assert row["low"] - 0.5 < points < row["high"] + 0.5
    assert frame["conversation"].n_unique() * 11 == frame.height


def test_occupations_are_as_far_apart_as_planted() -> None:
    chats = MentionedOccupations(Names(50, 50, 20))
    for points in (0.0, 25.0):
        assert float(np.diff(chats.odds(points) @ np.array(chats.shares))[0]) == pytest.approx(
            -points, abs=1e-6
        )
    row = occupation_lean(chats.frame(np.random.default_rng(1), 25.0), chats.table(), resamples=3).result
    assert row["low"].item() < 25 < row["high"].item()


def test_tokens_lean_in_the_planted_direction() -> None:
    frame = SaidTokens(Names(20, 20), taste=1e6).frame(np.random.default_rng(2), 1.5)
    found = token_bins(frame, draws=2)
    leaning = found.tokens.filter(pl.col("bin") == 1, pl.col("count") > 200)["token"]
    assert leaning.len()
    assert all(int(token) % 3 == 1 for token in leaning)
    assert found.result["low"].item() > 0
