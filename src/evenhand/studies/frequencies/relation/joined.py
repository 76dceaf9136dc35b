"""A run joined with a count: what page and terminal draw."""

from dataclasses import dataclass

from evenhand.measures import FrequencyRelation
from evenhand.studies.frequencies.relation.matching import Matched
from evenhand.studies.frequencies.relation.outcomes import DescribedBenchmark


@dataclass(frozen=True)
class JoinedBenchmark:
    """One benchmark of the run: its outcomes, the frequencies of its descriptors, and what came of both."""

    asked: DescribedBenchmark
    matched: Matched
    found: FrequencyRelation


@dataclass(frozen=True)
class Joined:
    """model: its name. corpora: what was counted, by name. benchmarks: those of the run that name descriptors.

    trained_on: whether the model says that it was trained on the corpus counted. unfinished: whether the run has
    prompts yet to ask. alpha: the chance of a false relation.
    """

    model: str
    corpora: tuple[str, ...]
    benchmarks: tuple[JoinedBenchmark, ...]
    trained_on: bool
    unfinished: bool
    alpha: float
