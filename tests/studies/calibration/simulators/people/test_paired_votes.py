"""Drawn votes have the share, the correlations and the sides they are said to have."""

import numpy as np
import pytest

from evenhand.schema import VOTES
from evenhand.studies.calibration.simulators.people import PairedVotes


def test_the_share_is_what_it_says_and_sides_draw_it_towards_a_half() -> None:
    votes = PairedVotes(6000, person_sd=1.5, item_sd=1.0, share=0.8, side=0.5)
    drawn, _, left = votes.draw(np.random.default_rng(0))
    assert drawn.mean() == pytest.approx(votes.truth, abs=0.01) and 0.75 < votes.truth < 0.8
    assert drawn[left].mean() > drawn[~left].mean() + 0.1 and left.mean() == pytest.approx(0.5, abs=0.01)
    assert PairedVotes(20, person_sd=1.0, side=2.0).truth == pytest.approx(0.5)


def test_persons_and_items_are_crossed_and_nobody_judges_an_item_twice() -> None:
    votes = PairedVotes(40, each=5, per_item=2, heavy=0.2)
    _, (person, item), _ = votes.draw(np.random.default_rng(1))
    assert (person == 0).mean() == pytest.approx(0.2, abs=0.01) and np.bincount(item).max() == 2
    assert len(np.unique(person[person == 0] * 1000 + item[person == 0])) == (person == 0).sum()


def test_conversations_of_a_pool_stand_in_several_items() -> None:
    frame = PairedVotes(60, per_item=1, pool=10, conversation_sd=1.0).frame(np.random.default_rng(2))
    assert frame["a"].n_unique() == frame["b"].n_unique() == 10 and frame["item"].n_unique() == 300
    assert set(frame.columns) <= set(VOTES)
