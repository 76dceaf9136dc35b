"""The one place where rules of exclusion are applied: to a person's rows live, and to an export's in the analysis."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from evenhand.annotation.definition import Action, Rule


@dataclass(frozen=True)
class Broken:
    """A rule that a person's answers break."""

    person: str
    rule: str
    action: Action
    sentence: str
    """With the numbers: "2 of 8 gold items right, 75 % wanted"."""


def broken_rules(votes: pl.DataFrame, rules: Sequence[Rule]) -> list[Broken]:
    """Which persons break which rules. votes: VOTES, of one person or of all."""
    raise NotImplementedError


def excluded(votes: pl.DataFrame, rules: Sequence[Rule]) -> pl.DataFrame:
    """VOTES with `excluded` filled in: the names of the rules that block or exclude the person, and "rejected"."""
    raise NotImplementedError
