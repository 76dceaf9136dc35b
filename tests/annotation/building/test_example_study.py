"""The study that ships as an example: read, and done to the end by simulated people."""

from pathlib import Path

import polars as pl
import pytest

from evenhand.annotation.definition import read_study
from evenhand.annotation.simulating import Population, simulate
from evenhand.schema import VOTES

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "annotation_study.yaml"


def test_three_people_do_all_of_it(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")
    from evenhand.annotation.store import administration, begin_study

    store = begin_study(tmp_path / "example.db", read_study(EXAMPLE))
    people = simulate(store, 3, Population(attention=1.0, ties=0.2, seed=1))
    votes = pl.DataFrame(list(administration.votes(store)), schema=dict(VOTES))
    store.close()
    assert [one.answers for one in people] == [1 + 6 + 1 + 1] * 3
    counts = dict(votes["role"].value_counts().rows())
    assert counts == {"onboarding": 3, "real": 18, "gold": 3, "duplicate": 3, "survey": 6}
    assert len({one.end.code for one in people} - {None}) == 3
