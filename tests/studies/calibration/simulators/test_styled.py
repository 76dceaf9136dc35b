"""Styled replies: the variance between descriptors is exactly what is planted, the rest adds up."""

import numpy as np
import polars as pl
import pytest

from evenhand.studies.calibration.simulators.styled import (
    StyledReplies,
    offence_frame,
    own_styles,
    styled_replies,
)


@pytest.mark.parametrize("styles", [1, 6])
def test_own_styles_have_the_variance(styles):
    own = own_styles(np.random.default_rng(0), 12, styles, 0.004)
    assert own.var(axis=0, ddof=1).sum() == pytest.approx(0.004)
    assert own.sum(axis=0) == pytest.approx(np.zeros(styles))
    if styles > 1:
        assert own.sum(axis=1) == pytest.approx(np.zeros(12))


def test_scores_are_probabilities_around_the_own_style():
    axis = StyledReplies("axis", 3, 40, 40, 1, 4, prompt=0.01, reply=0.01)
    own = own_styles(np.random.default_rng(1), 3, 4, 0.002)
    frame = styled_replies(np.random.default_rng(2), axis, own)
    scores = np.array(frame["style_scores"].to_list())
    assert scores.sum(axis=1) == pytest.approx(np.ones(len(scores)), abs=1e-5) and scores.min() > 0
    means = frame.select("descriptor", pl.col("style_scores").list.to_array(4)).group_by(
        "descriptor", maintain_order=True
    )
    for (_, part), row in zip(means, own, strict=True):
        assert np.array(part["style_scores"].to_list()).mean(axis=0) - 0.25 == pytest.approx(row, abs=0.02)


def test_samples_of_a_prompt_share_its_effect():
    axis = StyledReplies("axis", 2, 30, 30, 2, prompt=0.05, reply=0.05)
    frame = offence_frame(np.random.default_rng(3), axis, np.zeros((2, 1)))
    wide = frame.pivot(on="sample", index=["descriptor", "template", "noun"], values="offensiveness_score")
    effects = wide.with_columns(pl.col("0", "1") - pl.col("0", "1").mean().over("template"))
    # templates and nouns add .02 each to what is shared
    expected = (0.05**2 + 0.02**2) / (2 * 0.05**2 + 0.02**2)
    assert np.corrcoef(effects["0"], effects["1"])[0, 1] == pytest.approx(expected, abs=0.08)
